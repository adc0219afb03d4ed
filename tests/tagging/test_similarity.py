"""Similarities of a document to all training documents, against NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.tagging.similarity import compute_similarities, kth_largest, largest_positions, lower_bound_of_kth
from tagtopic.tagging.training_index import (
    TrainingIndex,
    build_index,
    document_vectors,
    inverse_document_frequencies,
    queries_from_counts,
    queries_from_vectors,
)

RNG = np.random.default_rng(0)
SHARES = np.linspace(0.02, 0.9, 30)
COUNTS = sp.csr_array((RNG.poisson(1.5, (100, 30)) * (RNG.random((100, 30)) < SHARES)).astype(np.int32))
TAGS = sp.csr_array((RNG.random((100, 12)) < 0.25).astype(np.int8))


def indexed(vectors: Any, frequent: float) -> TrainingIndex:
    """Build an index in which half of the tags are common, and words in more than a share of the documents frequent."""
    names, common = sp.csr_array((30, 12), dtype=np.float32), int(np.median(TAGS.sum(axis=0)))
    kinds = np.zeros(12, np.int32)
    return build_index(vectors, TAGS, kinds, names, n_jobs=1, min_common_tag=common, min_frequent_word=frequent)


@pytest.mark.parametrize(("frequent", "n_rows"), [(0.0, 30), (0.3, None), (1.0, 0)])
def test_similarities_do_not_depend_on_which_words_are_frequent(frequent: float, n_rows: int | None) -> None:
    vectors = document_vectors(COUNTS, inverse_document_frequencies(COUNTS))
    index = indexed(vectors, frequent)
    assert 0 < len(index.dense_scales) < 30 if n_rows is None else len(index.dense_scales) == n_rows
    rows = np.array([-1, 0, 17])
    queries = queries_from_vectors(vectors[[5, 0, 17]], rows)
    dense, tags = vectors.toarray().astype(np.float64), TAGS.toarray()
    common = np.flatnonzero(index.common_numbers >= 0)
    assert 0 < len(common) < 12
    similarity, sums = np.full(100, np.nan, np.float32), np.full(len(common), np.nan, np.float32)
    for query, row in enumerate(rows):
        mean = compute_similarities(index, queries, query, similarity, sums)
        expected = dense @ dense[[5, 0, 17][query]]
        if row >= 0:
            expected[row] = 0
        np.testing.assert_allclose(similarity, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(sums, (tags.T @ expected)[common], rtol=1e-4)
        assert mean == pytest.approx(expected.sum() / (100 - (row >= 0)), rel=1e-4)


def test_a_document_without_words_has_similarity_zero() -> None:
    index = indexed(document_vectors(COUNTS, inverse_document_frequencies(COUNTS)), 0.3)
    empty = queries_from_counts(sp.csr_array((1, 30), dtype=np.int32), 0, 1, inverse_document_frequencies(COUNTS))
    similarity, sums = np.ones(100, np.float32), np.ones(index.common_numbers.max() + 1, np.float32)
    assert compute_similarities(index, empty, 0, similarity, sums) == 0
    assert not similarity.any()
    assert not sums.any()


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 7, 39, 40, 41])
def test_the_kth_largest_is_found_and_is_zero_where_there_are_fewer(n: int) -> None:
    for values in (RNG.random(40), RNG.integers(0, 5, 40), np.arange(40), np.arange(40)[::-1], np.zeros(40)):
        given = values.astype(np.float32)
        expected = np.sort(given)[-n] if n <= len(given) else 0.0
        assert kth_largest(given, len(given), n) == expected


@pytest.mark.parametrize("n", [1, 3, 50, 299, 300, 400])
@pytest.mark.parametrize("size", [1, 64, 300, 1000, 4099])
def test_the_largest_positions_are_those_of_sorting(n: int, size: int) -> None:
    sparse = RNG.random(size) * (RNG.random(size) < 0.2)
    for values in (RNG.random(size), sparse, np.arange(size), np.arange(size)[::-1], np.zeros(size)):
        given = values.astype(np.float32)
        places = np.empty(size, np.int32)
        found = places[: largest_positions(given, n, places, np.empty(size, np.float32))]
        order = np.argsort(-given, kind="stable")[:n]
        assert found.tolist() == sorted(order[given[order] > 0].tolist())


def test_ties_with_the_kth_largest_are_included() -> None:
    given = np.array([0.5, 0.25, 0.5, 0.75, 0.5, 0.0], np.float32)
    places = np.empty(6, np.int32)
    assert places[: largest_positions(given, 2, places, np.empty(6, np.float32))].tolist() == [0, 2, 3, 4]


def test_the_lower_bound_is_close() -> None:
    values = RNG.random(20_000).astype(np.float32)
    for n in (1, 10, 100):
        bound = lower_bound_of_kth(values, n, np.empty_like(values))
        assert n <= np.count_nonzero(values >= bound) <= 2 * n
