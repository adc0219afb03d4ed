"""The training index: weights of words, dense rows of frequent words, and the samples it is built from."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic import TWDA, Corpus
from tagtopic.tagging import training_index as names
from tagtopic.tagging.training_index import (
    SATURATION,
    build_index,
    common_tags,
    document_vectors,
    frequent_words,
    inverse_document_frequencies,
    name_shares,
    name_words,
    quantise_rows,
    queries_from_counts,
    subsample_words,
)

RNG = np.random.default_rng(0)
SHARES = np.linspace(0.02, 0.9, 30)
COUNTS = sp.csr_array((RNG.poisson(1.5, (100, 30)) * (RNG.random((100, 30)) < SHARES)).astype(np.int32))


def test_quantised_rows_are_at_most_half_a_step_off() -> None:
    weights = sp.csr_array(RNG.random((7, 50)) * (RNG.random((7, 50)) < 0.5), dtype=np.float32)
    weights = sp.csr_array(sp.vstack([weights, sp.csr_array((1, 50), dtype=np.float32)]))
    rows, scales = quantise_rows(weights)
    assert rows.max(axis=1).tolist() == [65535] * 7 + [0]
    largest = weights.toarray().max(axis=1, keepdims=True)
    assert np.all(np.abs(rows * scales[:, None] - weights.toarray()) <= 0.51 * largest / 65535)


def test_dense_rows_are_limited_to_the_most_frequent_words() -> None:
    counts = np.array([3, 90, 70, 80, 90, 7])
    assert frequent_words(counts, 100, 0.07).tolist() == [1, 2, 3, 4]
    assert frequent_words(counts, 100, 0.07, max_entries=399).tolist() == [1, 3, 4]


def test_stored_sums_are_limited_to_the_most_common_tags() -> None:
    counts = np.array([3, 9, 7, 8, 9])
    assert common_tags(counts, 10, 7).tolist() == [1, 2, 3, 4]
    assert common_tags(counts, 10, 7, max_entries=39).tolist() == [1, 3, 4]


def test_weights_have_the_bits_of_the_formula() -> None:
    counts, idf = (
        sp.csr_array(sp.vstack([COUNTS, sp.csr_array((1, 30), dtype=np.int32)])),
        inverse_document_frequencies(COUNTS) / 50,
    )
    counts.data[0] = 3_000
    data = counts.data.astype(np.float32)
    data = data * (1 + SATURATION) / (data + SATURATION) * idf[counts.indices]
    owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    lengths = np.sqrt(np.bincount(owner, weights=data.astype(np.float64) ** 2, minlength=counts.shape[0]))
    expected = (data / lengths[owner]).astype(np.float32)
    np.testing.assert_array_equal(document_vectors(counts, idf).data, expected)
    some = queries_from_counts(counts, 20, 101, idf)
    assert some.starts[0] == 0
    np.testing.assert_array_equal(some.weights, expected[counts.indptr[20] :])
    np.testing.assert_array_equal(some.words, counts.indices[counts.indptr[20] :])


def test_documents_of_another_vocabulary_are_refused() -> None:
    with pytest.raises(ValueError, match="are of 30 words, the tag predictor's of 29"):
        document_vectors(COUNTS, inverse_document_frequencies(COUNTS)[:29])


def test_subsampled_documents_have_a_few_of_their_words() -> None:
    counts = Corpus.from_counts(np.random.default_rng(0).poisson(2, (50, 30))).counts
    few = subsample_words(counts, 5, np.random.default_rng(1))
    lengths = np.diff(few.indptr)
    assert set(lengths) == {1, 2, 3, 4}
    assert ((few != 0).multiply(few != counts)).nnz == 0
    assert few.toarray()[few.toarray() > 0] == pytest.approx(counts.toarray()[few.toarray() > 0])


def test_the_name_is_the_part_after_the_kind() -> None:
    assert name_words("keyword:Serial-Killer (real)") == {"serial", "killer", "real"}
    assert name_words("python") == {"python"}
    assert name_words("debtag:works-with::audio_file") == {"works", "with", "audio", "file"}


def test_words_have_shares_of_a_name_by_idf() -> None:
    idf = np.array([1.0, 3.0, 2.0], np.float32)
    tags = ["k:serial killer", "k:killer whale", "k:end of killer", "k:nobody"]
    table = name_shares(tags, ["serial", "killer", "end"], idf).toarray()
    np.testing.assert_allclose(table[:, 0], [0.25, 0.75, 0])
    np.testing.assert_allclose(table[:, 1], [0, 0.5, 0])  # the unknown whale counts like the rarest word
    np.testing.assert_allclose(table[:, 2], [0, 0.6, 0.4])  # "of" is a function word
    assert not table[:, 3].any()
    assert name_shares([], ["serial"], idf[:1]).shape == (1, 0)


def test_a_rare_tag_is_predicted_by_its_name() -> None:
    random = np.random.default_rng(0)
    things = ["vampire", "robot", "pirate", "ghost", "wizard", "dragon", "zombie", "spy"]
    filler = [f"word{i}" for i in range(60)]
    rows = [random.choice(things) for _ in range(400)]
    texts = [" ".join([*random.choice(filler, 12), thing]) for thing in rows]
    tags = [[f"keyword:{thing}"] if random.random() < 0.9 else [] for thing in rows]
    model = TWDA(4, max_iter=5, random_state=0, progress=False).fit(Corpus.from_texts(texts, tags))
    found = model.predict_tags([f"word1 word2 {thing}" for thing in things], 1)
    assert [tags[0][0] for tags in found] == [f"keyword:{thing}" for thing in things]


def test_shares_do_not_depend_on_the_order_of_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(40)]
    idf = (10.0 ** np.random.default_rng(0).uniform(-3, 3, 40)).astype(np.float32)
    found = []
    for order in (words, words[::-1], words[5:] + words[:5]):
        monkeypatch.setattr(names, "name_words", lambda _, order=order: list(order))
        found.append(names.name_shares(["a name"], words, idf).toarray())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_numpy_and_kernels_index_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    idf = inverse_document_frequencies(COUNTS)
    tags = sp.csr_array((RNG.random((100, 5)) < 0.3).astype(np.int8))
    kinds, no_names = np.zeros(5, np.int64), sp.csr_array((30, 5), dtype=np.float32)
    vectors = document_vectors(COUNTS, idf)
    index = build_index(vectors, tags, kinds, no_names, 1)
    monkeypatch.setattr(names, "SMALL", 0)
    by_kernel = document_vectors(COUNTS, idf)
    np.testing.assert_array_equal(vectors.data, by_kernel.data)
    expected = build_index(vectors, tags, kinds, no_names, 1)
    np.testing.assert_allclose(index.squared_norms, expected.squared_norms, rtol=1e-6)
    np.testing.assert_allclose(index.squared_norms, ((tags.T @ vectors).toarray() ** 2).sum(axis=1), rtol=1e-5)
