"""Sums over sparse matrices, block by block."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.arrays import SMALL
from tagtopic.corpus import Corpus, matrices
from tagtopic.datasets import make_tagged_corpus

LARGE = sp.random_array((3_000, 50), density=0.5, format="csr", random_state=0)
"""Of more entries than NumPy sums up: kernels do."""

CORPUS = make_tagged_corpus(200, 4, 12, 100, random_state=5).corpus


@pytest.mark.parametrize("wrong", [-1, 2, 2_000_000_000])
def test_an_entry_outside_the_columns_is_an_error(wrong: int) -> None:
    counts = matrices.csr(np.array([0, 2]), np.array([1, wrong], np.int32), np.ones(2, np.int32), 2)
    for function in (matrices.column_sums, matrices.column_counts):
        with pytest.raises(ValueError, match=f"column {wrong} of a matrix with 2 columns"):
            function(counts)


@pytest.mark.parametrize("block_entries", [1, 70, 1 << 21])
def test_sums_do_not_depend_on_the_size_of_blocks(block_entries: int) -> None:
    counts = CORPUS.counts
    size = {"block_entries": block_entries}
    np.testing.assert_array_equal(matrices.column_sums(counts, **size), counts.sum(axis=0))
    np.testing.assert_array_equal(matrices.column_counts(counts, **size), (counts.toarray() > 0).sum(axis=0))
    np.testing.assert_array_equal(matrices.row_sums(counts, **size), counts.sum(axis=1))
    with_gaps = Corpus.from_counts([[0, 0], [1, 2], [0, 0], [3, 0]])
    assert matrices.row_sums(with_gaps.counts, **size).tolist() == with_gaps.lengths().tolist() == [0, 3, 0, 3]


@pytest.mark.parametrize("block_entries", [1, 2, 3, 10])
def test_offsets_are_compared_across_blocks(block_entries: int) -> None:
    def check(offsets: list[int]) -> bool:
        return matrices.is_nondecreasing(np.array(offsets), block_entries=block_entries)

    assert check([0, 1, 1, 4, 7])
    assert check([0])
    assert not any(check(offsets) for offsets in ([0, 2, 1, 4], [0, 1, 4, 3], [1, 0]))


def test_kernels_sum_and_check_large_matrices_as_numpy_does_small_ones() -> None:
    assert LARGE.nnz > SMALL
    matrices.check_canonical(LARGE, "counts")
    assert matrices.is_sorted(LARGE.indptr, LARGE.indices)
    np.testing.assert_allclose(matrices.column_sums(LARGE), LARGE.sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(matrices.column_counts(LARGE), (LARGE.toarray() > 0).sum(axis=0))


@pytest.mark.parametrize("n_rows", [20, 3_000])
@pytest.mark.parametrize(
    ("row", "columns", "message"),
    [
        (0, [0, 50], "column 50 of counts with 50 columns"),
        (7, [-1, 1], "column -1 of counts"),
        (7, [3, 3], "row 7 are not sorted"),
        (19, [4, 2], "row 19 are not sorted"),
    ],
)
def test_a_fault_is_found_by_numpy_and_by_the_kernel(n_rows: int, row: int, columns: list[int], message: str) -> None:
    counts = LARGE[:n_rows].copy()
    assert (counts.nnz > SMALL) == (n_rows == 3_000)
    start = counts.indptr[row]
    counts.indices[start : start + 2] = columns
    with pytest.raises(ValueError, match=message):
        matrices.check_canonical(counts, "counts")
    if "sorted" in message:
        assert not matrices.is_sorted(counts.indptr, counts.indices)


def test_rows_without_entries_are_sorted() -> None:
    offsets, columns = np.array([0, 0, 2, 2, 3, 3]), np.array([1, 4, 0], np.int32)
    assert matrices.is_sorted(offsets, columns)
    assert matrices.is_sorted(np.zeros(3, np.int64), columns[:0])
    assert not matrices.is_sorted(np.array([0, 0, 3, 3]), columns)
