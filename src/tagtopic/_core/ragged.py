"""Rows of different lengths over one flat array: row i is `values[offsets[i]:offsets[i + 1]]`.

The same shape serves the columns and counts of a CSR matrix and the bytes of packed strings.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.jit import compiled

T = TypeVar("T", bound=np.generic)
Offsets = NDArray[np.int64]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where each row starts, and at the end where the last one stops."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def owners_of(offsets: NDArray[Any]) -> NDArray[np.int64]:
    """The row of each entry, for rows that start at these places."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def take_range(offsets: Offsets, values: NDArray[T], start: int, stop: int) -> tuple[Offsets, NDArray[T]]:
    """Rows start to stop; the values are a view, so a memory map is neither read nor copied."""
    first, last = int(offsets[start]), int(offsets[stop])
    return offsets[start : stop + 1] - first, values[first:last]


def take(offsets: Offsets, values: NDArray[T], rows: NDArray[np.int64]) -> tuple[Offsets, NDArray[T]]:
    """Any rows in any order, copied once and with no index array as long as the values."""
    new_offsets = offsets_of(offsets[rows + 1] - offsets[rows])
    new_values = np.empty(int(new_offsets[-1]), dtype=values.dtype)
    _copy_rows(offsets, values, rows, new_offsets, new_values)
    return new_offsets, new_values


@compiled
def _copy_rows(offsets: Any, values: Any, rows: Any, new_offsets: Any, new_values: Any) -> None:
    for i in range(rows.size):
        start = offsets[rows[i]]
        target = new_offsets[i]
        for j in range(new_offsets[i + 1] - target):
            new_values[target + j] = values[start + j]
