"""Arrays in memory-mapped files: going through them without keeping them in memory.

Every page of a map that was looked at counts as memory of this process until it is given back.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.compiled import compiled
from tagtopic.corpus.growing import row_blocks

BLOCK_ENTRIES = 1 << 21
"""Entries of a matrix that are looked at before their pages are given back."""


def release(*arrays: NDArray[Any]) -> None:
    """Give back the pages of arrays (or slices) in memory-mapped files; they are read again when next needed.

    Nothing is lost: what was written stays in the file. Arrays in memory are left alone.
    """
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and array.nbytes and hasattr(mmap, "MADV_DONTNEED"):
            offset = array.__array_interface__["data"][0] - np.frombuffer(base, np.uint8).__array_interface__["data"][0]
            start = offset - offset % mmap.PAGESIZE
            base.madvise(mmap.MADV_DONTNEED, start, min(offset + array.nbytes, len(base)) - start)


def file_of(array: NDArray[Any]) -> Path | None:
    """The file that an array is mapped from; None if it is in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return None if base.filename is None else Path(base.filename)
        base = base.base
    return None


def damaged(path: Path, what: str) -> ValueError:
    """The error of a saved corpus whose files do not fit together."""
    return ValueError(f"the corpus at {path} is damaged: {what}. Make it again from its source")


def never_fall(offsets: NDArray[Any]) -> bool:
    """Whether no offset is less than the one before it."""
    for start in range(0, len(offsets) - 1, BLOCK_ENTRIES):
        block = offsets[start : start + BLOCK_ENTRIES + 1]
        if (block[1:] < block[:-1]).any():
            return False
        release(block)
    return True


def check_columns(matrix: Any) -> None:
    """Refuse a matrix in files with a column that it does not have: kernels take columns as they come."""
    if file_of(matrix.indices) is not None:
        column_sizes(matrix)


def parts(matrix: Any, *, with_data: bool = True) -> Iterator[tuple[int, int, Any, Any]]:
    """The matrix's rows part by part: (first row, last row, columns, values); pages are given back after each part."""
    starts = matrix.indptr
    for first, last in row_blocks(starts, BLOCK_ENTRIES):
        entries = slice(int(starts[first]), int(starts[last]))
        columns, values = matrix.indices[entries], matrix.data[entries]
        yield first, last, columns, values
        release(columns, values) if with_data else release(columns)


def row_sums(matrix: Any) -> NDArray[Any]:
    """The sum of each row, whole numbers where the matrix has whole numbers."""
    dtype = np.float64 if matrix.data.dtype.kind == "f" else np.int64
    sums = np.zeros(matrix.shape[0], dtype=dtype)
    for first, last, _, values in parts(matrix):
        starts = matrix.indptr[first : last + 1] - matrix.indptr[first]
        filled = np.flatnonzero(np.diff(starts))  # reduceat has no sum of nothing
        if len(filled):
            sums[first:last][filled] = np.add.reduceat(values, starts[filled], dtype=dtype)
    return sums


def column_sums(matrix: Any) -> NDArray[np.float64]:
    """The sum of each column, ``np.bincount(indices, weights=data)`` without its copies."""
    sums = np.zeros(matrix.shape[1])
    for _, _, columns, values in parts(matrix):
        if not _add_to_columns(columns, values, sums):
            raise _wrong_column(columns, len(sums))
    return sums


def column_sizes(matrix: Any) -> NDArray[np.int64]:
    """The number of entries in each column."""
    sizes = np.zeros(matrix.shape[1], np.int64)
    for _, _, columns, _ in parts(matrix, with_data=False):
        if not _count_columns(columns, sizes):
            raise _wrong_column(columns, len(sizes))
    return sizes


def _wrong_column(columns: NDArray[Any], n_columns: int) -> ValueError:
    wrong = columns[(columns < 0) | (columns >= n_columns)][0]
    file = file_of(columns)
    if file is None:
        return ValueError(f"an entry is in column {wrong} of a matrix with {n_columns} columns")
    return damaged(file.parent, f"{file.name} has an entry in column {wrong}, and there are {n_columns}")


@compiled
def _add_to_columns(columns: Any, values: Any, sums: Any) -> bool:
    """``np.add.at(sums, columns, values)``, and whether all columns are there; it ends at the first that is not."""
    for i in range(columns.size):
        if not 0 <= columns[i] < sums.size:
            return False
        sums[columns[i]] += values[i]
    return True


@compiled
def _count_columns(columns: Any, sizes: Any) -> bool:
    """``np.add.at(sizes, columns, 1)``, and whether all columns are there; it ends at the first that is not."""
    for i in range(columns.size):
        if not 0 <= columns[i] < sizes.size:
            return False
        sizes[columns[i]] += 1
    return True
