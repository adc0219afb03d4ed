import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagtopic.corpus import Corpus, Document

COUNTS = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0], [1, 1, 1]])
TAGS = [["author:Ada", "year:1843"], [], None, ["year:1843", "draft"]]


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_counts(COUNTS, TAGS, words=["engine", "note", "number"], ids=["a", "b", "c", "d"])


def test_a_corpus_has_the_counts_tags_and_names_given(corpus: Corpus) -> None:
    assert (len(corpus), corpus.n_documents, corpus.n_words, corpus.n_tags, corpus.n_tokens) == (4, 4, 3, 3, 9)
    assert corpus.words == ("engine", "note", "number")
    assert corpus.tag_names == ("author:Ada", "draft", "year:1843")
    assert corpus.tag_kinds == ("author", "", "year")
    assert corpus.ids == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(corpus.counts.toarray(), COUNTS)
    np.testing.assert_array_equal(corpus.tags.toarray(), [[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 1]])
    assert corpus.lengths().tolist() == [3, 0, 3, 3]


def test_matrices_have_the_promised_types_and_are_read_only(corpus: Corpus) -> None:
    for matrix, kind in ((corpus.counts, np.int32), (corpus.tags, np.int8)):
        assert (matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (kind, np.int32, np.int32)
        assert matrix.tocoo().nnz == matrix.nnz  # scipy balks at mixed index types
        for array in (matrix.data, matrix.indices, matrix.indptr):
            assert not array.flags.writeable


def test_scipy_computes_with_the_matrices(corpus: Corpus) -> None:
    dense = corpus.counts.toarray()
    np.testing.assert_array_equal(corpus.counts @ np.arange(3), dense @ np.arange(3))
    np.testing.assert_array_equal(corpus.counts.sum(axis=0), dense.sum(axis=0))
    np.testing.assert_array_equal((corpus.tags.T @ corpus.counts).toarray(), corpus.tags.toarray().T @ dense)
    np.testing.assert_array_equal(corpus.counts[[2, 0]].toarray(), dense[[2, 0]])
    np.testing.assert_array_equal(corpus.counts.tocsc().toarray(), dense)


def test_a_document_prints_its_tags_and_words(corpus: Corpus) -> None:
    assert corpus[0] == Document("a", {"engine": 2, "number": 1}, ("author:Ada", "year:1843"))
    assert corpus[-1].id == "d"
    assert str(corpus[0]) == "a\n  tags: author:Ada, year:1843\n  words: engine x2, number"
    assert str(corpus[1]) == "b\n  tags: (none)\n  words: (none)"
    assert [document.id for document in corpus] == ["a", "b", "c", "d"]
    with pytest.raises(IndexError, match="no document 4: the corpus has 4"):
        corpus[4]


def test_default_names() -> None:
    corpus = Corpus.from_counts([[1, 2]], [[1, 0, 1]] @ np.eye(3))
    assert corpus.words == ("word_0", "word_1")
    assert corpus.tag_names == ("tag_0", "tag_1", "tag_2")
    assert corpus[0].tags == ("tag_0", "tag_2")
    assert corpus.ids == ["0"]
    assert Corpus.from_counts([[1]]).n_tags == 0


@pytest.mark.parametrize("index", [slice(1, 3), slice(None, None, 2), slice(3, 1), slice(None, None, -1)])
def test_slices_match_numpy(corpus: Corpus, index: slice) -> None:
    np.testing.assert_array_equal(corpus[index].counts.toarray(), COUNTS[index])
    assert corpus[index].ids == list("abcd")[index]


@pytest.mark.parametrize("index", [[], [2, 0, 2], [-1, -4], np.array([True, False, False, True])])
def test_arrays_and_masks_match_numpy(corpus: Corpus, index: Any) -> None:
    rows = np.arange(4)[np.asarray(index, dtype=None if len(index) else int)]
    np.testing.assert_array_equal(corpus[index].counts.toarray(), COUNTS[rows])
    np.testing.assert_array_equal(corpus[index].tags.toarray(), corpus.tags.toarray()[rows])
    assert corpus[index].ids == [corpus.ids[i] for i in rows]
    assert corpus[index].words == corpus.words


@pytest.mark.parametrize("index", [[4], [-5], [True], [0.5], [[0]], ["a"], None])
def test_wrong_indices_are_errors(corpus: Corpus, index: Any) -> None:
    with pytest.raises(IndexError):
        corpus[index]


def test_contiguous_slices_share_memory(corpus: Corpus) -> None:
    part = corpus[1:3]
    assert np.shares_memory(part.counts.data, corpus.counts.data)
    assert np.shares_memory(part.counts.indices, corpus.counts.indices)
    assert np.shares_memory(part.ids.data, corpus.ids.data)


def test_duplicate_tags_count_once() -> None:
    assert Corpus.from_counts([[1]], [["x", "x", "y"]])[0].tags == ("x", "y")
    assert Corpus.from_counts([[1]], np.array([[2, 1]])).tags.toarray().tolist() == [[1, 1]]


def test_entries_given_twice_are_added_and_zeros_dropped() -> None:
    twice = sp.coo_array(([1, 2, 0], ([0, 0, 0], [1, 1, 0])), shape=(1, 2))
    assert Corpus.from_counts(twice).counts.toarray().tolist() == [[0, 3]]
    assert Corpus.from_counts(twice).counts.nnz == 1
    raw = sp.csr_array((np.array([100, 100], dtype=np.int8), [1, 1], [0, 2]), shape=(1, 2))
    assert Corpus.from_counts(raw).counts.toarray().tolist() == [[0, 200]]
    zero = sp.csr_array((np.array([0, 5, 0]), [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert zero.has_canonical_format
    assert Corpus.from_counts(zero).counts.nnz == 1
    np.testing.assert_array_equal(Corpus.from_counts(zero).counts.toarray(), zero.toarray())


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_array])
@pytest.mark.parametrize("wrong", [-1, 0.5, np.nan, np.inf, -np.inf, 3e9])
def test_wrong_counts_name_the_document(kind: Any, wrong: float) -> None:
    counts = np.array([[0, 0.0], [1, 0], [2, wrong]])
    with pytest.raises(ValueError, match=r"document 2 has the value .* in counts"):
        Corpus.from_counts(kind(counts))


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("wrong", [-1, np.nan, np.inf, -np.inf, 1e39])
def test_wrong_fractional_counts_name_the_document(kind: Any, wrong: float) -> None:
    counts = np.array([[0, 0.5], [1, 0], [2, wrong]])
    with pytest.raises(ValueError, match=r"document 2 has the value .* in counts: they must be numbers from 0 to 214"):
        Corpus.from_counts(kind(counts), fractional=True)


def test_fractional_counts_that_are_too_small_are_dropped() -> None:
    assert Corpus.from_counts([[0.5, 1e-60]], fractional=True).counts.nnz == 1


@pytest.mark.parametrize(("counts", "n_tokens"), [([[0.4999, 0.5]], 1), ([[0.0, 0.0]], 0), ([[2.5, 1.2]], 3)])
def test_only_a_corpus_without_words_has_no_tokens(counts: Any, n_tokens: int) -> None:
    assert Corpus.from_counts(counts, fractional=True).n_tokens == n_tokens


def test_a_sum_past_int32_names_the_document() -> None:
    counts = sp.coo_array(([2**31 - 1, 1], ([1, 1], [0, 0])), shape=(2, 1))
    with pytest.raises(ValueError, match="document 1 has 2147483648"):
        Corpus.from_counts(counts)


@pytest.mark.parametrize("dtype", [float, np.float32, bool, np.uint64, np.int8])
def test_whole_numbers_of_any_type_are_accepted(dtype: Any) -> None:
    assert Corpus.from_counts(np.array([[1, 0]], dtype=dtype)).counts.toarray().tolist() == [[1, 0]]


def test_a_later_change_of_the_input_does_not_reach_the_corpus() -> None:
    counts = sp.csr_array(COUNTS.astype(np.int32))
    corpus = Corpus.from_counts(counts)
    counts.data[:] = 7
    np.testing.assert_array_equal(corpus.counts.toarray(), COUNTS)
    assert counts.data.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tags": [["x"]]}, "2 documents but tags for 1"),
        ({"ids": ["a"]}, "2 documents but 1 ids"),
        ({"words": ["a"]}, "2 columns but 1 words"),
        ({"words": ["a", "a"]}, "'a' more than once"),
        ({"words": ["a", "\ud800"]}, "lone surrogate"),
        ({"tags": np.eye(2), "tag_names": ["x"]}, "2 columns but 1 tag_names"),
        ({"tags": [["x"], ["z"]], "tag_names": ["x", "y"]}, "document 1 has the tag 'z'"),
        ({"tags": [["x"], [""]]}, "document 1 has an empty tag"),
        ({"tags": np.array([[0.5], [1]])}, "document 0 has the value 0.5 in tags"),
        ({"counts": [1, 2]}, "two dimensions"),
    ],
)
def test_parts_that_do_not_fit_are_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Corpus.from_counts(**{"counts": np.ones((2, 2)), **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tags": ["x", "y"]}, "tags of document 0 are 'x': expected a list"),
        ({"tags": [[1], []]}, "document 0 has the tag 1, a int"),
        ({"words": "ab"}, "one string"),
        ({"words": ["a", 1]}, "in words, name 1 is 1"),
        ({"counts": [["a", "b"]] * 2}, "whole numbers"),
        ({"counts": np.ones((2, 2), dtype=complex)}, "whole numbers"),
    ],
)
def test_wrong_types_are_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Corpus.from_counts(**{"counts": np.ones((2, 2)), **arguments})


def test_tag_names_given_keep_their_order_and_unused_ones() -> None:
    corpus = Corpus.from_counts([[1]], [["b"]], tag_names=["z", "b", "a"])
    assert corpus.tag_names == ("z", "b", "a")
    assert corpus.tags.toarray().tolist() == [[0, 1, 0]]


def test_a_corpus_may_have_no_documents_or_no_words() -> None:
    assert len(Corpus.from_counts(np.zeros((0, 3)))) == 0
    assert len(Corpus.from_counts(np.zeros((3, 0)))[1:]) == 2
    assert "documents  0" in str(Corpus.from_counts(np.zeros((0, 0))).describe())


def test_ids_may_repeat_and_are_counted() -> None:
    corpus = Corpus.from_counts(np.ones((3, 1)), ids=["a", "b", "a"])
    assert corpus.ids == ["a", "b", "a"]
    assert corpus.describe().n_repeated_ids == 1


def test_describe_summarises_the_corpus(corpus: Corpus) -> None:
    about = corpus.describe()
    assert (about.n_untagged, about.n_empty, about.lengths.maximum, about.lengths.median) == (2, 1, 3, 3)
    assert about.kinds == {"author": 1, "": 1, "year": 1}
    assert about.most_used_tags[0] == ("year:1843", 2)
    assert about.most_used_words[0] == ("note", 4)
    text = str(about)
    for part in ("4 (2 untagged, 1 empty)", "3 different, 9 in all", "year:1843 (2)", "note (4)", "1 no kind"):
        assert part in text


def test_a_corpus_can_be_pickled(corpus: Corpus) -> None:
    again = pickle.loads(pickle.dumps(corpus[1:]))
    assert again.fingerprint() == corpus[1:].fingerprint()
    assert not again.counts.data.flags.writeable


def test_the_fingerprint_depends_on_the_content_only(corpus: Corpus) -> None:
    same = Corpus.from_counts(sp.coo_array(COUNTS), TAGS, words=corpus.words, ids=list(corpus.ids))
    assert same.fingerprint() == corpus.fingerprint()
    assert corpus[:].fingerprint() == corpus[[0, 1, 2, 3]].fingerprint() == corpus.fingerprint()
    others = [
        corpus[[1, 0, 2, 3]],
        corpus[:3],
        Corpus.from_counts(COUNTS, TAGS, words=corpus.words),
        Corpus.from_counts(COUNTS, TAGS, ids=list(corpus.ids)),
        Corpus.from_counts(COUNTS, words=corpus.words, ids=list(corpus.ids)),
        Corpus.from_counts(COUNTS + 1, TAGS, words=corpus.words, ids=list(corpus.ids)),
    ]
    assert len({corpus.fingerprint(), *(other.fingerprint() for other in others)}) == 7


def test_align_moves_columns_and_reports_unknown_words_and_tags(corpus: Corpus) -> None:
    aligned = corpus.align(["number", "other", "engine"], ["year:1843", "author:Bob"])
    np.testing.assert_array_equal(aligned.corpus.counts.toarray(), [[1, 0, 2], [0, 0, 0], [0, 0, 0], [1, 0, 1]])
    assert aligned.corpus.tags.toarray().tolist() == [[1, 0], [0, 0], [0, 0], [1, 0]]
    assert aligned.unknown_tokens == 4
    assert aligned.unknown_tags == ("author:Ada", "draft")
    assert aligned.corpus.ids == corpus.ids


def test_align_to_the_same_vocabulary_copies_nothing(corpus: Corpus) -> None:
    aligned = corpus.align(list(corpus.words), corpus.tag_names)
    assert aligned.corpus.counts is corpus.counts
    assert (aligned.unknown_tokens, aligned.unknown_tags) == (0, ())


def test_align_reports_only_tags_that_documents_have(corpus: Corpus) -> None:
    assert corpus[1:3].align(corpus.words, []).unknown_tags == ()


@given(arrays(np.int32, st.tuples(st.integers(0, 6), st.integers(1, 6)), elements=st.integers(0, 2)), st.data())
def test_align_equals_indexing_columns(counts: Any, data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, counts.shape[1] - 1), unique=True))
    corpus = Corpus.from_counts(counts)
    aligned = corpus.align([corpus.words[j] for j in order], [])
    np.testing.assert_array_equal(aligned.corpus.counts.toarray(), counts[:, order])
    assert aligned.unknown_tokens == counts.sum() - counts[:, order].sum()
    assert (np.diff(aligned.corpus.counts.indptr) == (counts[:, order] > 0).sum(axis=1)).all()
