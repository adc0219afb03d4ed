"""Arrays whose length is not known yet: in memory while small, in a `.npy` file beyond that."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

SPILL_AT = 64 << 20  # bytes kept in memory before an array goes to its file


class GrowingArray:
    """A one-dimensional array that is appended to, then taken as a whole.

    With `spill_at=0` everything goes to the file at once; the file is a proper `.npy` file after `finish`.
    """

    def __init__(self, path: Path, dtype: Any, *, spill_at: int = SPILL_AT) -> None:
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

    def finish_for_reading(self) -> "NDArray[Any] | ValuesInFile":
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

    def __enter__(self) -> "GrowingArray":
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
