"""Which documents an index means."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def positions(index: ArrayLike, n: int) -> NDArray[np.int64]:
    """The positions chosen among n documents by a list of numbers (negative ones from the end) or a mask."""
    chosen = np.asarray(index)
    if chosen.ndim != 1:
        raise IndexError(f"documents are chosen by a number, a slice, or a list of numbers or a mask, not {index!r}")
    if chosen.dtype.kind == "b":
        if len(chosen) != n:
            raise IndexError(f"a mask of {len(chosen)} values cannot choose among {n} documents")
        return np.flatnonzero(chosen)
    if len(chosen) and chosen.dtype.kind not in "iu":
        raise IndexError(f"documents are chosen by whole numbers or a mask, not by {chosen.dtype}")
    chosen = chosen.astype(np.int64)
    outside = (chosen < -n) | (chosen >= n)
    if outside.any():
        raise IndexError(f"there is no document {chosen[outside][0]}: the corpus has {n} documents")
    return np.where(chosen < 0, chosen + n, chosen)
