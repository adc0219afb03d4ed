"""Products of a new document with those remembered, against the same in plain NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.tagging import training_index as memory_module
from tagtopic.tagging.predictor import queries_of, weighted_queries
from tagtopic.tagging.similarity import compare
from tagtopic.tagging.training_index import (
    SATURATION,
    Memory,
    build_memory,
    frequent_words,
    in_steps,
    weighted_rows,
    word_scores,
)

RNG = np.random.default_rng(0)
SHARES = np.linspace(0.02, 0.9, 30)
COUNTS = sp.csr_array((RNG.poisson(1.5, (100, 30)) * (RNG.random((100, 30)) < SHARES)).astype(np.int32))
TAGS = sp.csr_array((RNG.random((100, 12)) < 0.25).astype(np.int8))


def remember(vectors: Any, frequent: float, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """With half of the tags common, and words in more than a share of the documents frequent."""
    monkeypatch.setattr(memory_module, "COMMON", int(np.median(TAGS.sum(axis=0))))
    monkeypatch.setattr(memory_module, "FREQUENT", frequent)
    names = sp.csr_array((30, 12), dtype=np.float32)
    return build_memory(vectors, TAGS, np.zeros(12, np.int32), names, n_jobs=1)


@pytest.mark.parametrize(("frequent", "n_rows"), [(0.0, 30), (0.3, None), (1.0, 0)])
def test_products_are_the_same_whatever_words_are_frequent(
    frequent: float, n_rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = weighted_rows(COUNTS, word_scores(COUNTS))
    memory = remember(vectors, frequent, monkeypatch)
    assert 0 < len(memory.frequent_scales) < 30 if n_rows is None else len(memory.frequent_scales) == n_rows
    rows = np.array([-1, 0, 17])
    queries = queries_of(vectors[[5, 0, 17]], rows)
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray()
    common = np.flatnonzero(memory.common >= 0)
    assert 0 < len(common) < 12
    likeness, sums = np.full(100, np.nan, np.float32), np.full(len(common), np.nan, np.float32)
    for query, row in enumerate(rows):
        mean = compare(memory, queries, query, likeness, sums)
        expected = dense @ dense[[5, 0, 17][query]]
        if row >= 0:
            expected[row] = 0
        np.testing.assert_allclose(likeness, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(sums, (tags.T @ expected)[common], rtol=1e-4)
        assert mean == pytest.approx(expected.mean(), rel=1e-4)


def test_a_document_without_words_is_like_none(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = remember(weighted_rows(COUNTS, word_scores(COUNTS)), 0.3, monkeypatch)
    empty = weighted_queries(sp.csr_array((1, 30), dtype=np.int32), 0, 1, word_scores(COUNTS))
    likeness, sums = np.ones(100, np.float32), np.ones(memory.common.max() + 1, np.float32)
    assert compare(memory, empty, 0, likeness, sums) == 0
    assert not likeness.any()
    assert not sums.any()


def test_rows_in_steps_are_at_most_half_a_step_off() -> None:
    weights = sp.csr_array(RNG.random((7, 50)) * (RNG.random((7, 50)) < 0.5), dtype=np.float32)
    weights = sp.csr_array(sp.vstack([weights, sp.csr_array((1, 50), dtype=np.float32)]))
    rows, scales = in_steps(weights)
    assert rows.max(axis=1).tolist() == [65535] * 7 + [0]
    largest = weights.toarray().max(axis=1, keepdims=True)
    assert np.all(np.abs(rows * scales[:, None] - weights.toarray()) <= 0.51 * largest / 65535)


def test_of_many_frequent_words_the_most_frequent_have_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    with_word = np.array([3, 90, 70, 80, 90, 7])
    monkeypatch.setattr(memory_module, "FREQUENT", 0.07)
    assert frequent_words(with_word, 100).tolist() == [1, 2, 3, 4]
    monkeypatch.setattr(memory_module, "MOST_IN_ROWS", 399)
    assert frequent_words(with_word, 100).tolist() == [1, 3, 4]


def test_weights_have_the_bits_of_their_twin() -> None:
    counts, scores = sp.csr_array(sp.vstack([COUNTS, sp.csr_array((1, 30), dtype=np.int32)])), word_scores(COUNTS) / 50
    counts.data[0] = 3_000
    data = counts.data.astype(np.float32)
    data = data * (1 + SATURATION) / (data + SATURATION) * scores[counts.indices]
    owner = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    lengths = np.sqrt(np.bincount(owner, weights=data.astype(np.float64) ** 2, minlength=counts.shape[0]))
    expected = (data / lengths[owner]).astype(np.float32)
    np.testing.assert_array_equal(weighted_rows(counts, scores).data, expected)
    some = weighted_queries(counts, 20, 101, scores)
    assert some.starts[0] == 0
    np.testing.assert_array_equal(some.weights, expected[counts.indptr[20] :])
    np.testing.assert_array_equal(some.words, counts.indices[counts.indptr[20] :])


def test_documents_of_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="are of 30 words, the tag predictor's of 29"):
        weighted_rows(COUNTS, word_scores(COUNTS)[:29])
