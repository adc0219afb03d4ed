"""The two sparse matrices of a corpus: canonical, read-only, and possibly memory-mapped.

Both are `scipy.sparse.csr_array` with int32 columns, sorted and unique in each row, int32 row offsets and
read-only arrays. Past two thousand million entries the offsets are int64: scipy's own constructor would then
make the columns int64 too, copying a memory map to do it, so `csr` puts the arrays in place itself.

Sums go through a matrix block by block and release the pages of each block, so that a matrix in files never has to be
in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic._core import arrays
from tagtopic._core.arrays import SMALL, offsets_of, row_blocks
from tagtopic._core.jit import compiled
from tagtopic._core.memmap import file_of, release

INT32_MAX = 2**31 - 1

BLOCK_ENTRIES = 1 << 21
"""Entries of a matrix that are read before their pages are released."""


def csr(offsets: NDArray[Any], columns: NDArray[np.int32], data: NDArray[Any], n_columns: int) -> Any:
    """Return a canonical, read-only `csr_array` over these arrays, which are not copied."""
    if offsets[-1] <= INT32_MAX:
        offsets = offsets.astype(np.int32, copy=False)  # of one type with the columns, as scipy's operations want it
    matrix = sp.csr_array((len(offsets) - 1, n_columns), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data.view(), columns.view(), offsets.view()
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    matrix.has_canonical_format = True
    return matrix


def take_row_range(matrix: Any, start: int, stop: int) -> Any:
    """Return rows start to stop of a matrix made by `csr`, sharing its columns and data."""
    offsets, columns = arrays.take_row_range(matrix.indptr, matrix.indices, start, stop)
    _, data = arrays.take_row_range(matrix.indptr, matrix.data, start, stop)
    return csr(offsets, columns, data, matrix.shape[1])


def take_rows(matrix: Any, rows: NDArray[np.int64]) -> Any:
    """Return any rows of a matrix made by `csr`, in this order."""
    offsets, columns = arrays.take_rows(matrix.indptr, matrix.indices, rows)
    _, data = arrays.take_rows(matrix.indptr, matrix.data, rows)
    return csr(offsets, columns, data, matrix.shape[1])


def move_columns(matrix: Any, target: NDArray[np.int32], n_columns: int) -> Any:
    """Return the matrix with column j moved to target[j], or dropped where that is negative; targets are distinct."""
    columns = target[matrix.indices] if matrix.nnz else matrix.indices
    keep = columns >= 0
    offsets = offsets_of(keep)[matrix.indptr]
    columns, data = columns[keep], matrix.data[keep]
    if (np.diff(target[target >= 0]) < 0).any():
        moved = sp.csr_array((data, columns, offsets), shape=(len(offsets) - 1, n_columns))
        moved.sort_indices()
        columns, data = moved.indices.astype(np.int32, copy=False), moved.data
    return csr(offsets, columns, data, n_columns)


def keep_columns(matrix: Any, kept: NDArray[np.bool_]) -> Any:
    """Return a matrix of the same shape with the entries of these columns only."""
    return move_columns(matrix, np.where(kept, np.arange(len(kept)), -1).astype(np.int32), len(kept))


def replace_data(matrix: Any, data: Any) -> Any:
    """Return the matrix with other values in its entries, less those that are zero."""
    kept = data > 0
    offsets = offsets_of(kept)[matrix.indptr]
    return csr(offsets, matrix.indices[kept], data[kept], matrix.shape[1])


def row_sums(matrix: Any, *, block_entries: int = BLOCK_ENTRIES) -> NDArray[Any]:
    """Return the sum of each row, as int64 unless the matrix has floats."""
    dtype = np.float64 if matrix.data.dtype.kind == "f" else np.int64
    sums = np.zeros(matrix.shape[0], dtype=dtype)
    for first, last, _, values in _blocks(matrix, block_entries):
        starts = matrix.indptr[first : last + 1] - matrix.indptr[first]
        filled = np.flatnonzero(np.diff(starts))  # reduceat has no sum of nothing
        if len(filled):
            sums[first:last][filled] = np.add.reduceat(values, starts[filled], dtype=dtype)
    return sums


def column_sums(matrix: Any, *, block_entries: int = BLOCK_ENTRIES) -> NDArray[np.float64]:
    """Return the sum of each column: ``np.bincount(indices, weights=data)`` without its copies."""
    sums = np.zeros(matrix.shape[1])
    for _, _, columns, values in _blocks(matrix, block_entries):
        if len(columns) <= SMALL:
            _require_columns(columns, len(sums), "a matrix")
            sums += np.bincount(columns, values, len(sums))
        elif not _add_to_columns(columns, values, sums):
            raise _wrong_column(columns, len(sums), "a matrix")
    return sums


def column_counts(matrix: Any, *, block_entries: int = BLOCK_ENTRIES) -> NDArray[np.int64]:
    """Return the number of entries in each column."""
    counts = np.zeros(matrix.shape[1], np.int64)
    for _, _, columns, _ in _blocks(matrix, block_entries, with_data=False):
        if len(columns) <= SMALL:
            _require_columns(columns, len(counts), "a matrix")
            counts += np.bincount(columns, minlength=len(counts))
        elif not _count_columns(columns, counts):
            raise _wrong_column(columns, len(counts), "a matrix")
    return counts


def check_canonical(matrix: Any, what: str, *, block_entries: int = BLOCK_ENTRIES) -> None:
    """Raise unless a matrix has the form that kernels assume, which do not check it: one pass, block by block.

    Row offsets fit the arrays, columns exist and are sorted and unique in each row, values are finite and not negative.
    """
    starts, (n_rows, n_columns) = matrix.indptr, matrix.shape
    if (
        len(starts) != n_rows + 1
        or starts[0] != 0
        or starts[-1] != len(matrix.indices)
        or len(matrix.indices) != len(matrix.data)
        or not is_nondecreasing(starts)
    ):
        raise _not_canonical(matrix, what, "its row offsets do not fit its columns and values")
    for first, last, columns, values in _blocks(matrix, block_entries):
        offsets = starts[first : last + 1].astype(np.int64) - int(starts[first])
        fault, row = _first_fault(offsets, columns, n_columns)
        if fault == WRONG_COLUMN:
            raise _wrong_column(columns, n_columns, what)
        if fault == UNSORTED:
            raise _not_canonical(matrix, what, f"the columns of row {first + row} are not sorted, or not unique")
        wrong = np.flatnonzero(~((values >= 0) & (values < np.inf)))  # NaN compares false
        if len(wrong):
            row = int(np.searchsorted(offsets, wrong[0], side="right")) - 1
            found = f"row {first + row} has the value {values[wrong[0]]}, which is not a number from 0 on"
            raise _not_canonical(matrix, what, found)


def is_sorted(offsets: NDArray[Any], columns: NDArray[Any]) -> bool:
    """Whether the columns of every row are sorted and unique."""
    return _rows_increase(offsets, columns) if len(columns) <= SMALL else bool(_is_sorted(offsets, columns))


def is_nondecreasing(offsets: NDArray[Any], *, block_entries: int = BLOCK_ENTRIES) -> bool:
    """Whether no offset is less than the one before it."""
    for start in range(0, len(offsets) - 1, block_entries):
        block = offsets[start : start + block_entries + 1]
        if (block[1:] < block[:-1]).any():
            return False
        release(block)
    return True


def damaged_corpus(path: Path, what: str) -> ValueError:
    """Return the error for a saved corpus whose files do not fit together."""
    return ValueError(f"the corpus at {path} is damaged: {what}. Make it again from its source")


def _blocks(matrix: Any, block_entries: int, *, with_data: bool = True) -> Iterator[tuple[int, int, Any, Any]]:
    """Yield (first row, last row, columns, values) block by block; the pages of each block are released after it."""
    starts = matrix.indptr
    for first, last in row_blocks(starts, block_entries):
        entries = slice(int(starts[first]), int(starts[last]))
        columns, values = matrix.indices[entries], matrix.data[entries]
        yield first, last, columns, values
        release(columns, values) if with_data else release(columns)


def _require_columns(columns: NDArray[Any], n_columns: int, what: str) -> None:
    if len(columns) and (columns.min() < 0 or columns.max() >= n_columns):
        raise _wrong_column(columns, n_columns, what)


def _rows_increase(offsets: NDArray[Any], columns: NDArray[Any]) -> bool:
    """Whether the columns of every row are sorted and unique, by NumPy."""
    starts = offsets[(offsets > 0) & (offsets < len(columns))]
    increases = columns[1:] > columns[:-1]
    increases[starts - 1] = True
    return bool(increases[: max(int(offsets[-1]) - 1, 0)].all())


def _first_fault(offsets: NDArray[np.int64], columns: NDArray[Any], n_columns: int) -> tuple[int, int]:
    """Return the kind and the row of the first column that is at fault, or zeros."""
    if len(columns) <= SMALL and _rows_increase(offsets, columns):
        filled = offsets[:-1] < offsets[1:]
        in_range = (columns[offsets[:-1][filled]] >= 0) & (columns[offsets[1:][filled] - 1] < n_columns)
        if in_range.all():
            return 0, 0
    fault, row = _find_fault(offsets, columns, n_columns)
    return int(fault), int(row)


def _wrong_column(columns: NDArray[Any], n_columns: int, what: str) -> ValueError:
    wrong = columns[(columns < 0) | (columns >= n_columns)][0]
    file = file_of(columns)
    if file is None:
        return ValueError(f"an entry is in column {wrong} of {what} with {n_columns} columns")
    return damaged_corpus(file.parent, f"{file.name} has an entry in column {wrong}, and there are {n_columns}")


def _not_canonical(matrix: Any, what: str, fault: str) -> ValueError:
    file = file_of(matrix.data)
    if file is None:
        return ValueError(f"{what}: {fault}; Corpus.from_counts makes a corpus from any matrix")
    return damaged_corpus(file.parent, f"in {what}, {fault}")


WRONG_COLUMN, UNSORTED = 1, 2


@compiled
def _find_fault(offsets: Any, columns: Any, n_columns: int) -> Any:
    """Return the kind and the row of the first column that is at fault, or zeros."""
    for row in range(offsets.size - 1):
        before = -1
        for i in range(offsets[row], offsets[row + 1]):
            column = columns[i]
            if not 0 <= column < n_columns:
                return WRONG_COLUMN, row
            if column <= before:
                return UNSORTED, row
            before = column
    return 0, 0


@compiled
def _is_sorted(offsets: Any, columns: Any) -> bool:
    for row in range(offsets.size - 1):
        for i in range(offsets[row] + 1, offsets[row + 1]):
            if columns[i] <= columns[i - 1]:
                return False
    return True


@compiled
def _add_to_columns(columns: Any, values: Any, sums: Any) -> bool:
    """Do ``np.add.at(sums, columns, values)`` up to the first column that does not exist; whether all exist."""
    for i in range(columns.size):
        if not 0 <= columns[i] < sums.size:
            return False
        sums[columns[i]] += values[i]
    return True


@compiled
def _count_columns(columns: Any, counts: Any) -> bool:
    """Do ``np.add.at(counts, columns, 1)`` up to the first column that does not exist; whether all exist."""
    for i in range(columns.size):
        if not 0 <= columns[i] < counts.size:
            return False
        counts[columns[i]] += 1
    return True
