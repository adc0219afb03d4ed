"""Array types, read-only views, largest values, and ragged rows.

Ragged rows are rows of different lengths over one flat array: row i is ``values[offsets[i]:offsets[i + 1]]``. The
columns and counts of a CSR matrix have this layout, and so have the bytes of packed strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.jit import compiled

Floats = NDArray[np.floating[Any]]
Float64s = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
UInt16s = NDArray[np.uint16]
Offsets = NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


Name = TypeVar("Name")

SMALL = 1 << 16
"""Values of arrays up to which NumPy computes what a kernel computes beyond: a few milliseconds, which is less than
loading compiled code takes, and far less than compiling it."""


def read_only(array: NDArray[Any], dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """Return a plain, C-contiguous, read-only view: Numba compiles anew for maps, other orders, writeable arrays."""
    view = np.asarray(array, dtype, order="C").view(np.ndarray)
    if view.flags.writeable:
        view = view.view()
        view.flags.writeable = False
    return view


def largest(values: Floats | Float64s, names: Sequence[Name], n: int) -> list[tuple[Name, float]]:
    """The n largest values with their names, largest first; ties by position."""
    if n < len(values):
        # sorting only what can be among the first n: a vocabulary or a list of tags may have 100,000 names
        least = np.partition(values, len(values) - n)[len(values) - n] if n > 0 else np.inf
        kept = np.flatnonzero(values > least)
        kept = np.sort(np.concatenate([kept, np.flatnonzero(values == least)[: n - len(kept)]]))
    else:
        kept = np.arange(len(values))
    order = kept[np.argsort(-values[kept], kind="stable")]
    return [(names[int(i)], float(values[i])) for i in order]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the start of each row, followed by the end of the last one."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def owners_of(offsets: NDArray[Any]) -> NDArray[np.int64]:
    """Return the row of each entry."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def take_row_range(offsets: Offsets, values: NDArray[T], start: int, stop: int) -> tuple[Offsets, NDArray[T]]:
    """Return rows start to stop; the values are a view, so a memory map is neither read nor copied."""
    first, last = int(offsets[start]), int(offsets[stop])
    return offsets[start : stop + 1] - first, values[first:last]


def take_rows(offsets: Offsets, values: NDArray[T], rows: NDArray[np.int64]) -> tuple[Offsets, NDArray[T]]:
    """Return any rows in any order, copied once and, beyond ``SMALL``, without an index array as long as the values."""
    lengths = offsets[rows + 1] - offsets[rows]
    new_offsets = offsets_of(lengths)
    if new_offsets[-1] <= SMALL:
        return new_offsets, values[np.arange(new_offsets[-1]) + np.repeat(offsets[rows] - new_offsets[:-1], lengths)]
    new_values = np.empty(int(new_offsets[-1]), dtype=values.dtype)
    # as unsigned numbers of the same size, whose bits are copied: one kernel for each size
    bits = f"u{values.dtype.itemsize}"
    starts = read_only(offsets, np.int64)
    _copy_rows(starts, read_only(values.view(bits)), read_only(rows, np.int64), new_offsets, new_values.view(bits))
    return new_offsets, new_values


def row_blocks(offsets: NDArray[np.int64], size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of whole rows with about ``size`` values each."""
    start, n = 0, len(offsets) - 1
    while start < n:
        stop = int(np.searchsorted(offsets, offsets[start] + size, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield start, stop
        start = stop


@compiled
def _copy_rows(offsets: Any, values: Any, rows: Any, new_offsets: Any, new_values: Any) -> None:
    for i in range(rows.size):
        start = offsets[rows[i]]
        target = new_offsets[i]
        for j in range(new_offsets[i + 1] - target):
            new_values[target + j] = values[start + j]
