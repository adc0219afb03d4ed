"""How kernels are compiled: without the GIL, cached between processes, and only when first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with strict arithmetic."""
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def compiled_reordering(function: Function) -> Function:
    """Compile so that sums may be reordered and fused, which lets them use the vector units.

    NaN and infinity keep their meaning, and on one kind of CPU the bits are always the same.
    """
    options = {"reassoc", "contract", "nsz"}
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=options)(function))
