"""Arrays that may be larger than memory: memory maps, arrays that grow into a file, temporary arrays in files.

Every page of a memory map that was read counts as memory of this process until it is released.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tagtopic._core.files import TemporaryFolder

SPILL_AT = 128 << 20
"""Bytes of a temporary array from which on it is kept in a file."""


def release(*arrays: NDArray[Any]) -> None:
    """Release the pages of memory-mapped arrays or slices; they are read again when next needed.

    Nothing is lost: what was written stays in the file. Arrays in memory are unaffected.
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
    """Return the file that an array is mapped from; None if it is in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return None if base.filename is None else Path(base.filename)
        base = base.base
    return None


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write a ``.npy`` file; unlike ``np.save``, raise if the disk is full when the last bytes are written."""
    rows = np.asarray(array, order="C")
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(rows))
        file.write(rows.data)


class GrowingArray:
    """A one-dimensional array that is appended to, in memory while it is small and in a ``.npy`` file beyond that.

    Parameters
    ----------
    path : Path
        The file, written if it is needed; a valid ``.npy`` file after ``finish``.
    dtype : dtype
        Type of the values.
    spill_at : int, default=64 MiB
        Bytes from which on values are written to the file; 0: from the first one.
    """

    def __init__(self, path: Path, dtype: Any, *, spill_at: int = 64 << 20) -> None:
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

    def __enter__(self) -> GrowingArray:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, values: NDArray[Any]) -> None:
        """Append values, which must not change afterwards."""
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
        """Return the array: from memory, or the file mapped read-only."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.empty(0, dtype=self._dtype)
        self._finish_file(self._file)
        array: NDArray[Any] = np.load(self._path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        return array

    def finish_for_reading(self) -> NDArray[Any] | ArrayFile:
        """Return the array for reading slice by slice: from memory, or from the file without mapping it."""
        if self._file is None:
            return self.finish()
        start = self._finish_file(self._file)
        return ArrayFile(self._path, self._dtype, start, self._length)

    def _finish_file(self, file: BinaryIO) -> int:
        file.seek(0)
        self._write_header(file)
        start = file.tell()
        file.close()
        return start

    def _open(self) -> None:
        self._file = self._path.open("wb")
        self._write_header(self._file)
        for part in self._parts:
            self._file.write(part.data)
        self._parts.clear()

    def _write_header(self, file: BinaryIO) -> None:
        """Write the header, as many bytes for any length: NumPy pads it for arrays that grow."""
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self._length,)}
        npy.write_array_header_1_0(file, header)


@dataclass(frozen=True)
class ArrayFile:
    """A one-dimensional array in a file, whose slices are read when they are indexed."""

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


class TemporaryArrays:
    """Allocates arrays, the large ones in files of a temporary folder that ``close`` removes.

    Parameters
    ----------
    folder : path, default=None
        Where the temporary folder is made; None: where the system keeps temporary files.
    at : int, default=128 MiB
        Bytes from which on an array is kept in a file.
    """

    def __init__(self, folder: str | Path | None = None, *, at: int = SPILL_AT) -> None:
        self._parent = folder
        self._at = at
        self._folder: TemporaryFolder | None = None
        self._n_files = 0

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised array, like ``np.empty``."""
        if int(np.prod(shape)) * np.dtype(dtype).itemsize <= self._at:
            return np.empty(shape, dtype)
        if self._folder is None:
            self._folder = TemporaryFolder(self._parent)
        self._n_files += 1
        file = self._folder.path / f"{self._n_files}"
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape).view(np.ndarray)

    def close(self) -> None:
        """Remove the files; arrays in them stay readable until they are deleted."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None
