"""Sufficient statistics and M-step against the NumPy line that each kernel replaces."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tagtopic.inference.m_step import (
    add_scaled_rows,
    column_totals,
    estimate_topics,
    index_columns,
    natural_gradient_step,
    normalise_columns,
    normalise_rows,
    weighted_log_sum,
)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 20), st.booleans())
def test_scaled_row_sums_are_a_sparse_product(seed: int, n_rows: int, n_columns: int, scaled: bool) -> None:
    random = np.random.default_rng(seed)
    matrix = sp.random_array((n_rows, n_columns), density=0.4, format="csr", random_state=random)
    vectors, factors = random.random((n_rows, 5)), random.random((n_columns, 5))
    index = index_columns(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), n_columns)
    values = np.empty(matrix.nnz)
    values[index.slots] = matrix.data
    sums = np.ones((n_columns, 5))
    add_scaled_rows(index, 0, len(index.columns), values, vectors, factors if scaled else factors[:0], sums)
    expected = matrix.T @ vectors
    np.testing.assert_allclose(sums, 1 + (factors * expected if scaled else expected), rtol=1e-12)


def test_index_of_a_block_is_relative_to_its_first_entry() -> None:
    starts, indices = np.array([3, 5, 6]), np.array([9, 9, 9, 0, 2, 2], np.int32)
    index = index_columns(starts, indices, 4)
    assert index.columns.tolist() == [0, 2]
    assert index.starts.tolist() == [0, 1, 3]
    assert index.rows.tolist() == [0, 0, 1]


def test_normalisation_gives_modes_with_floors() -> None:
    random = np.random.default_rng(0)
    sums, beta, alpha = random.random((7, 3)), random.random(7), random.random(3)
    expected = (sums + beta[:, None]) / (sums + beta[:, None]).sum(axis=0)
    psi = sums.copy()
    normalise_columns(psi, 0, 7, beta, column_totals(sums, 0, 7) + beta.sum(), 0.0)
    np.testing.assert_allclose(psi, expected, rtol=1e-12)
    theta = sums.copy()
    normalise_rows(theta, alpha, 0.0)
    np.testing.assert_allclose(theta, (sums + alpha) / (sums + alpha).sum(axis=1, keepdims=True), rtol=1e-12)
    empty = np.zeros((2, 3))
    empty[1, 0] = 2.0
    normalise_rows(empty, np.zeros(3), 1e-10)
    np.testing.assert_allclose(empty, [[1 / 3, 1 / 3, 1 / 3], [1, 1e-10, 1e-10]])


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_weighted_log_sum(seed: int, n_topics: int) -> None:
    random = np.random.default_rng(seed)
    matrix = 10.0 ** random.uniform(-37, 0, (6, n_topics))
    weights = random.choice([0.0, 0.5, 1.0, 2.0], 6)
    expected = (weights[1:5, None] * np.log(matrix[1:5])).sum()
    np.testing.assert_allclose(weighted_log_sum(matrix, 1, 5, weights), expected, rtol=1e-12, atol=1e-12)


def test_a_blocks_sum_has_the_same_bits_when_computed_elsewhere_and_added() -> None:
    random = np.random.default_rng(0)
    matrix = sp.random_array((80, 40), density=0.4, format="csr", random_state=random)
    index = index_columns(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), 40)
    for dtype in ("float32", "float64"):
        values, vectors, factors, before = (
            random.random(shape).astype(dtype) for shape in (matrix.nnz, (80, 10), (40, 10), (40, 10))
        )
        here, elsewhere = before.copy(), np.zeros((40, 10), dtype)
        for sums in (here, elsewhere):
            add_scaled_rows(index, 0, len(index.columns), values, vectors, factors, sums)
        np.testing.assert_array_equal(here, before + elsewhere)


@pytest.mark.parametrize("n_columns", [1, 2, 50, 2048, 2049, 5_000_000])
def test_index_of_columns_is_a_stable_sort(n_columns: int) -> None:
    random = np.random.default_rng(0)
    matrix = sp.random_array(
        (90, n_columns), density=min(1.0, 3000 / (90 * n_columns)), random_state=random, format="csr"
    )
    starts, indices = matrix.indptr.astype(np.int64)[3:80], matrix.indices.astype(np.int32)
    found = index_columns(starts, indices, n_columns)
    own = indices[starts[0] : starts[-1]]
    order = np.argsort(own, kind="stable")
    np.testing.assert_array_equal(found.rows, np.repeat(np.arange(76), np.diff(starts))[order])
    np.testing.assert_array_equal(found.slots[order], np.arange(len(order)))
    columns, sizes = np.unique(own, return_counts=True)
    np.testing.assert_array_equal(found.columns, columns)
    np.testing.assert_array_equal(np.diff(found.starts), sizes)


def test_index_of_an_empty_block_has_no_columns() -> None:
    found = index_columns(np.zeros(4, np.int64), np.empty(0, np.int32), 10)
    assert len(found.columns) == 0
    assert found.starts.tolist() == [0]


def test_topics_are_estimated_for_selected_words() -> None:
    random = np.random.default_rng(0)
    statistics, prior, totals = random.random((6, 3)), random.random(6), np.array([2.0, 3.0, 50.0])
    words, psi = np.array([5, 0, 3, 1], np.int32), np.zeros((4, 3))
    estimate_topics(statistics, words, 1, 3, prior, totals, 0.02, psi)
    expected = np.zeros((4, 3))
    expected[1:3] = np.maximum((statistics[words[1:3]] + prior[words[1:3], None]) / totals, 0.02)
    assert (expected[1:3] == 0.02).any()
    np.testing.assert_allclose(psi, expected, rtol=1e-12)


def test_rows_move_by_their_own_step_sizes() -> None:
    random = np.random.default_rng(1)
    statistics, new = random.random((6, 3)), random.random((4, 3))
    rows, rates, scales = (
        np.array([5, 0, 3, 1], np.int32),
        np.array([0.1, 0.5, 0.9, 0.3]),
        np.array([2.0, 3.0, 5.0, 7.0]),
    )
    expected = statistics.copy()
    for i in (1, 2):
        expected[rows[i]] = (1 - rates[i]) * statistics[rows[i]] + rates[i] * scales[i] * new[i]
    increase = (expected - statistics).sum(axis=0)
    np.testing.assert_allclose(natural_gradient_step(statistics, rows, 1, 3, rates, scales, new), increase, rtol=1e-9)
    np.testing.assert_allclose(statistics, expected, rtol=1e-12)
