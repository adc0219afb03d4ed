"""Types of arrays, and read-only views of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


Float64s = NDArray[np.float64]


Int32s = NDArray[np.int32]


Int64s = NDArray[np.int64]


UInt16s = NDArray[np.uint16]


def read_only(array: NDArray[Any], dtype: type[np.generic] | None = None) -> NDArray[Any]:
    """A plain read-only view, rows contiguous: Numba compiles anew for memory maps, other orders, writeable arrays."""
    view = np.asarray(array, dtype, order="C").view(np.ndarray)
    if view.flags.writeable:
        view = view.view()
        view.flags.writeable = False
    return view
