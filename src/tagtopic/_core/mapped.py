"""Where large arrays of a run stand: in memory, or beyond a limit in files of a temporary folder.

Arrays in memory-mapped files: going through them without keeping them in memory.

Every page of a map that was looked at counts as memory of this process until it is given back.

Arrays whose length is not known yet: in memory while small, in a `.npy` file beyond that.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tagtopic._core.jit import compiled

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


GROWING_SPILL_AT = 64 << 20  # bytes kept in memory before an array goes to its file


class GrowingArray:
    """A one-dimensional array that is appended to, then taken as a whole.

    With `spill_at=0` everything goes to the file at once; the file is a proper `.npy` file after `finish`.
    """

    def __init__(self, path: Path, dtype: Any, *, spill_at: int = GROWING_SPILL_AT) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        self._spill_at = spill_at
        self._parts: list[NDArray[Any]] = []
        self._in_memory = 0
        self._length = 0
        self._file: BinaryIO | None = None
        if spill_at == 0:
            self._open()

    def __len__(self) -> int:
        return self._length

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end; they must not change afterwards."""
        values = np.ascontiguousarray(values, dtype=self._dtype)
        self._length += len(values)
        if self._file is None:
            self._parts.append(values)
            self._in_memory += values.nbytes
            if self._in_memory > self._spill_at:
                self._open()
        else:
            self._file.write(values.data)

    def finish(self) -> NDArray[Any]:
        """The whole array: from memory, or the file mapped read-only."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.empty(0, dtype=self._dtype)
        self._finish_file(self._file)
        array: NDArray[Any] = np.load(self._path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        return array

    def finish_for_reading(self) -> NDArray[Any] | ValuesInFile:
        """The whole array for going through it in slices: from memory, or a file from which slices are read.

        Not mapped: every page of a map that was looked at counts as memory of this process.
        """
        if self._file is None:
            return self.finish()
        start = self._finish_file(self._file)
        return ValuesInFile(self._path, self._dtype, start, self._length)

    def _finish_file(self, file: BinaryIO) -> int:
        file.seek(0)
        self._write_header(file)
        start = file.tell()
        file.close()
        return start

    def __enter__(self) -> GrowingArray:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self) -> None:
        self._file = self._path.open("wb")
        self._write_header(self._file)
        for part in self._parts:
            self._file.write(part.data)
        self._parts.clear()

    def _write_header(self, file: BinaryIO) -> None:
        """The same number of bytes for any length: numpy pads the header for arrays that grow."""
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self._length,)}
        npy.write_array_header_1_0(file, header)


@dataclass(frozen=True)
class ValuesInFile:
    """An array in a file; a slice of it is read when asked for."""

    path: Path
    dtype: np.dtype[Any]
    start: int
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, part: slice) -> NDArray[Any]:
        first, last, _ = part.indices(self.length)
        offset = self.start + first * self.dtype.itemsize
        return np.fromfile(self.path, dtype=self.dtype, count=max(last - first, 0), offset=offset)


def write_array(path: Path, array: NDArray[Any]) -> None:
    """As `np.save`, which does not tell when there was no room on the disk for the last bytes."""
    rows = np.asarray(array, order="C")
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(rows))
        file.write(rows.data)


def row_blocks(offsets: NDArray[np.int64], size: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about `size` values each; a row is never cut."""
    start, n = 0, len(offsets) - 1
    while start < n:
        stop = int(np.searchsorted(offsets, offsets[start] + size, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield start, stop
        start = stop


SPILL_AT = 128 << 20
"""Bytes of an array beyond which it goes to a file."""


class Spill:
    """Makes arrays; the files of large ones are gone with ``close``.

    ``folder`` says where they are put; None is the system's place for temporary files.
    """

    def __init__(self, folder: str | Path | None = None, *, at: int = SPILL_AT) -> None:
        self._parent = folder
        self._at = at
        self._folder: TemporaryDirectory[str] | None = None
        self._n_files = 0

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """An array of any content, as plain as ``np.empty``'s."""
        if int(np.prod(shape)) * np.dtype(dtype).itemsize <= self._at:
            return np.empty(shape, dtype)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="tagtopic-", dir=self._parent)
        self._n_files += 1
        file = Path(self._folder.name) / f"{self._n_files}"
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)

    def close(self) -> None:
        """Remove the files; arrays that still stand in them stay readable until they are let go."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
