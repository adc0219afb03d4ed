"""One-vs-rest linear classifiers of tags, alone and as features of the tag predictor."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from tagtopic.corpus import Corpus
from tagtopic.tagging import TagPredictor
from tagtopic.tagging.regressions import COST, TagRegressions, nearest_neighbours

N_WORDS = 40
N_TAGS = 11


def tags_of_one_word(n: int, n_tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Return documents of random words; those with word j have tag j. The last tag is on four documents."""
    random = np.random.default_rng(seed)
    words = random.random((n, N_WORDS)) < 0.2
    tags = words[:, :n_tags].copy()
    tags[:, -1] = np.cumsum(tags[:, -1]) * tags[:, -1] % 1000 <= 4
    tags[:, -1] &= words[:, n_tags - 1]
    return sp.csr_array(words, dtype=np.float32) * np.float32(0.5), sp.csr_array(tags, dtype=np.int8)


def tags_of_two_words(n: int, n_tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Return documents that have tag j if they have word j and not word 20 + j."""
    words = np.random.default_rng(seed).random((n, N_WORDS)) < 0.4
    tags = words[:, :n_tags] & ~words[:, 20 : 20 + n_tags]
    return sp.csr_array(words, dtype=np.float32) * np.float32(0.25), sp.csr_array(tags, dtype=np.int8)


def cyclic_neighbours(n: int) -> Any:
    """The next three documents of each, in place of its nearest ones."""
    return ((np.arange(n)[:, None] + np.arange(1, 4)) % n).astype(np.int32)


def fitted(n_jobs: int | None = 1, **limits: int) -> TagRegressions:
    vectors, tags = tags_of_one_word(1500, N_TAGS)
    random = np.random.default_rng(0)
    return TagRegressions.fit(vectors, tags, np.arange(1500), cyclic_neighbours(1500), random, n_jobs, **limits)


def test_a_classifier_equals_liblinear_on_the_same_documents() -> None:
    random = np.random.default_rng(0)
    words = sp.csr_array(random.random((60, N_WORDS)) * (random.random((60, N_WORDS)) < 0.3), dtype=np.float32)
    labels = (words.toarray() @ random.normal(size=N_WORDS) > 0.3).astype(np.int8)
    everybody = np.tile(np.arange(60, dtype=np.int32), (60, 1))
    rows = np.arange(60)
    found = TagRegressions.fit(
        words, sp.csr_array(labels[:, None]), rows, everybody, random, 1, max_sweeps=300, tolerance=0.02
    )
    expected = LinearSVC(C=COST, loss="squared_hinge", intercept_scaling=1.0, tol=1e-6).fit(words, labels)
    margins = words @ found.weights.toarray()[:, 0] + found.intercepts[0]
    assert margins == pytest.approx(expected.decision_function(words), abs=0.1)


def test_few_tags_learn_from_all_documents() -> None:
    random = np.random.default_rng(0)
    n = 3000
    words = sp.csr_array(random.random((n, N_WORDS)) * (random.random((n, N_WORDS)) < 0.3), dtype=np.float32)
    labels = (words.toarray() @ random.normal(size=N_WORDS) > 1.5).astype(np.int8)
    nobody = np.full((n, 1), -1, np.int32)
    expected = LinearSVC(C=COST, loss="squared_hinge", intercept_scaling=1.0, tol=1e-6).fit(words, labels)

    def error(**limits: int) -> float:
        tags = sp.csr_array(labels[:, None])
        found = TagRegressions.fit(words, tags, np.arange(n), nobody, np.random.default_rng(0), 1, **limits)
        margins = words @ found.weights.toarray()[:, 0] + found.intercepts[0]
        return float(np.abs(margins - expected.decision_function(words)).mean())

    assert error() < 0.2 < error(min_random=0)


def test_tags_learn_their_word_and_the_rarest_tags_have_no_classifier() -> None:
    found = fitted()
    assert found.number_of_tag.tolist() == [*range(10), -1]
    assert np.argmax(found.weights.toarray(), axis=0).tolist() == list(range(10))
    vectors, tags = tags_of_one_word(300, N_TAGS, seed=1)
    margins = vectors @ found.weights.toarray() + found.intercepts
    assert np.mean((margins > 0) == (tags.toarray()[:, :10] > 0)) > 0.99


def test_documents_that_are_held_out_have_no_influence() -> None:
    vectors, tags = tags_of_one_word(400, N_TAGS)
    rows, neighbours = np.arange(0, 400, 2), cyclic_neighbours(400)
    other = tags.toarray()
    other[1::2] = 1 - other[1::2]
    one, two = (
        TagRegressions.fit(vectors, sp.csr_array(given), rows, neighbours, np.random.default_rng(0), 1)
        for given in (tags, other)
    )
    np.testing.assert_array_equal(one.weights.toarray(), two.weights.toarray())


def test_the_result_does_not_depend_on_threads_and_chunks() -> None:
    one = fitted()
    other = fitted(n_jobs=3, chunk_entries=500)
    np.testing.assert_array_equal(one.intercepts, other.intercepts)
    np.testing.assert_array_equal(one.weights.toarray(), other.weights.toarray())


def test_a_tag_keeps_its_largest_weights() -> None:
    whole = fitted().weights.toarray()
    few = fitted(max_words=3).weights.toarray()
    for column in range(10):
        kept = np.flatnonzero(few[:, column])
        assert set(kept) == set(np.argsort(-np.abs(whole[:, column]))[:3])
        np.testing.assert_array_equal(few[kept, column], whole[kept, column])


def test_arrays_are_restored_with_more_words_and_tags_and_damage_is_an_error() -> None:
    found = fitted()
    arrays = found.to_arrays()
    again = TagRegressions.from_arrays(arrays, N_WORDS + 2, 13)
    assert again.number_of_tag.tolist() == [*range(10), -1, -1, -1]
    np.testing.assert_array_equal(again.weights.toarray()[:N_WORDS], found.weights.toarray())
    assert not again.weights.toarray()[N_WORDS:].any()
    for name, value in {
        "regression_numbers": arrays["regression_numbers"] + 1,
        "regression_tags": arrays["regression_tags"] + 5,
        "regression_starts": arrays["regression_starts"][::-1],
        "regression_intercepts": arrays["regression_intercepts"][1:],
    }.items():
        with pytest.raises(ValueError, match="do not fit together"):
            TagRegressions.from_arrays({**arrays, name: value}, N_WORDS, N_TAGS)


def test_classifiers_improve_the_predictor_where_neighbours_are_weak_evidence() -> None:
    vectors, tags = tags_of_two_words(900, 10)
    words, names = [f"w{i}" for i in range(N_WORDS)], [f"t{j}" for j in range(10)]
    corpus = Corpus.from_counts((vectors > 0).astype(np.int32), tags, words=words, tag_names=names)
    having = TagPredictor(n_examples=100).fit(corpus)
    arrays = having.to_arrays()
    none = TagRegressions.none(N_WORDS, 10).to_arrays()
    asked, own = tags_of_two_words(200, 10, seed=1)
    counts = sp.csr_array((asked > 0).astype(np.int32))

    def precision(predictor: TagPredictor) -> float:
        truth = own.toarray()
        return float(np.mean([truth[i, int(row[0][0][1:])] for i, row in enumerate(predictor.predict(counts, n=1))]))

    assert precision(having) > 0.9
    assert precision(having) > precision(TagPredictor.from_arrays({**arrays, **none}, names)) + 0.03
    assert TagPredictor.from_arrays(arrays, names) == having


def test_nearest_neighbours_leave_the_document_itself_out() -> None:
    texts = ["a red ship", "a red ship at sea", "a green tree", "a green tree in a wood"] * 2
    corpus = Corpus.from_texts(texts, [["x"]] * 8)
    predictor = TagPredictor().fit(corpus)
    index = predictor.index_
    postings = (index.posting_weights, index.posting_documents, index.posting_starts)
    vectors = sp.csr_array(sp.csc_array(postings, shape=(8, predictor.n_features_in_)))
    found = nearest_neighbours(index, vectors, 1, n=1)
    assert found[:, 0].tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
