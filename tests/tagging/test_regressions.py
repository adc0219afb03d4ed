"""One-vs-rest regressions of common tags, alone and as features of the tag predictor."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.corpus import Corpus
from tagtopic.tagging import TagPredictor
from tagtopic.tagging.regressions import EPOCHS, INTERCEPT_STEP, TagRegressions, sgd_epoch

N_WORDS = 40


def tags_of_one_word(n: int, n_tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Return documents of random words; those with word j have tag j. The last tag is rare."""
    random = np.random.default_rng(seed)
    words = random.random((n, N_WORDS)) < 0.2
    tags = words[:, :n_tags].copy()
    tags[20:, -1] = False
    return sp.csr_array(words, dtype=np.float32) * np.float32(0.5), sp.csr_array(tags, dtype=np.int8)


def tags_of_two_words(n: int, n_tags: int, seed: int = 0) -> tuple[Any, Any]:
    """Return documents that have tag j if they have word j and not word 20 + j."""
    words = np.random.default_rng(seed).random((n, N_WORDS)) < 0.4
    tags = words[:, :n_tags] & ~words[:, 20 : 20 + n_tags]
    return sp.csr_array(words, dtype=np.float32) * np.float32(0.25), sp.csr_array(tags, dtype=np.int8)


def fitted(n_jobs: int | None = 1, **limits: int) -> TagRegressions:
    return TagRegressions.fit(*tags_of_one_word(1500, 11), np.arange(1500), np.random.default_rng(0), n_jobs, **limits)


def documents(random: np.random.Generator, n: int, n_words: int, n_tags: int) -> tuple[Any, Any]:
    words = sp.csr_array(random.random((n, n_words)) * (random.random((n, n_words)) < 0.3), dtype=np.float32)
    return words, sp.csr_array(random.random((n, n_tags)) < 0.3, dtype=np.int8)


def test_an_epoch_equals_the_twin() -> None:
    random = np.random.default_rng(0)
    vectors, tags = documents(random, 12, 20, 5)
    order, step, decay = random.permutation(12), 0.7, 0.01
    weights, intercepts = random.normal(size=(20, 5)), random.normal(size=5)
    expected, expected_intercepts = weights.copy(), intercepts.copy()
    for d in order:
        x, y = vectors.toarray()[d].astype(float), tags.toarray()[d]
        error = 1 / (1 + np.exp(-(x @ expected + expected_intercepts))) - y
        touched = x > 0
        expected[touched] -= step * (np.outer(x, error) + decay * expected)[touched]
        expected_intercepts -= INTERCEPT_STEP * step * error
    parts = (
        vectors.indptr.astype(np.int64), vectors.indices.astype(np.int32), vectors.data,
        tags.indptr.astype(np.int64), tags.indices.astype(np.int32),
    )  # fmt: skip
    found, found_intercepts = weights.astype(np.float32), intercepts.astype(np.float32)
    sgd_epoch(order, *parts, step, decay, found, found_intercepts)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert found_intercepts == pytest.approx(expected_intercepts, rel=1e-4, abs=1e-5)


def test_common_tags_learn_their_word_and_rare_tags_have_no_regression() -> None:
    found = fitted()
    assert found.number_of_tag.tolist() == [*range(10), -1]
    assert np.argmax(found.weights.toarray(), axis=0).tolist() == list(range(10))
    vectors, tags = tags_of_one_word(300, 11, seed=1)
    log_odds = vectors @ found.weights.toarray() + found.intercepts
    assert np.mean((log_odds > 0) == (tags.toarray()[:, :10] > 0)) > 0.99


def test_only_the_given_rows_are_used() -> None:
    vectors, tags = tags_of_one_word(1500, 11)
    rows, random = np.arange(0, 1500, 2), np.random.default_rng
    some, alone = (
        TagRegressions.fit(*given, random(0), 1)
        for given in ((vectors, tags, rows), (vectors[rows], tags[rows], np.arange(len(rows))))
    )
    np.testing.assert_array_equal(some.weights.toarray(), alone.weights.toarray())


def test_the_result_does_not_depend_on_threads_and_blocks() -> None:
    one = fitted()
    other = fitted(n_jobs=3, block_tags=8)
    np.testing.assert_array_equal(one.intercepts, other.intercepts)
    np.testing.assert_array_equal(one.weights.toarray(), other.weights.toarray())


def test_a_tag_keeps_its_largest_weights() -> None:
    whole = fitted().weights.toarray()
    few = fitted(max_words=3).weights.toarray()
    for column in range(10):
        kept = np.flatnonzero(few[:, column])
        assert set(kept) == set(np.argsort(-np.abs(whole[:, column]))[:3])
        np.testing.assert_array_equal(few[kept, column], whole[kept, column])


def test_the_numbers_of_documents_and_tags_are_limited() -> None:
    vectors, _ = tags_of_one_word(1500, 11)
    limited = fitted(max_entries=vectors.nnz // 2, max_updates=4 * EPOCHS * vectors.nnz // 2)
    assert len(limited.intercepts) == 4


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
            TagRegressions.from_arrays({**arrays, name: value}, N_WORDS, 11)


def test_regressions_improve_the_predictor_where_neighbours_are_weak_evidence() -> None:
    vectors, tags = tags_of_two_words(900, 10)
    words, names = [f"w{i}" for i in range(N_WORDS)], [f"t{j}" for j in range(10)]
    corpus = Corpus.from_counts((vectors > 0).astype(np.int32), tags, words=words, tag_names=names)
    without = TagPredictor(n_examples=100).fit(corpus)
    having = TagPredictor(n_examples=100, min_regression_documents=500).fit(corpus)
    asked, own = tags_of_two_words(200, 10, seed=1)
    counts = sp.csr_array((asked > 0).astype(np.int32))

    def cross_entropy(predictor: TagPredictor) -> float:
        truth = own.toarray()
        pairs = [(p, truth[i, int(tag[1:])]) for i, row in enumerate(predictor.predict(counts)) for tag, p in row]
        return float(-np.mean([np.log2(p if right else 1 - p) for p, right in pairs]))

    assert cross_entropy(having) < 0.7 * cross_entropy(without)
    assert TagPredictor.from_arrays(having.to_arrays(), names) == having
