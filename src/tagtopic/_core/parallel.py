"""Parallel work over rows: ranges to divide it into, the interface of what runs it, and a limit on BLAS threads.

Ranges depend on the data alone, not on the number of threads, so that results do not depend on it either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from tagtopic._core.arrays import Int64s

Item = TypeVar("Item")
Result = TypeVar("Result")

CHUNK_ROWS = 1 << 11
"""Rows of psi in a unit of parallel work."""


class Parallel(Protocol):
    """Anything that maps a function over items in parallel: a thread pool, an engine, a session."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``, in the order of the items."""
        ...


def cut_evenly(starts: Int64s | np.ndarray[Any, Any], weight: int) -> list[tuple[int, int]]:
    """Return ranges of rows with about ``weight`` entries each (a single row may have more)."""
    n_rows = len(starts) - 1
    if n_rows <= 0:
        return []
    entries = int(starts[-1] - starts[0])
    n_parts = max(1, -(-entries // weight))
    targets = starts[0] + np.arange(1, n_parts) * (entries / n_parts)
    cuts = np.unique(np.concatenate(([0], np.searchsorted(starts, targets, side="left"), [n_rows])))
    return list(pairwise(cuts.tolist()))


def cut_rows(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of ``size`` rows."""
    return [(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


class _BlasLimit:
    """The limit on BLAS threads of the process: set by the first user, lifted by the last."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limits: Any = None

    def enter(self) -> None:
        from threadpoolctl import threadpool_limits

        with self.lock:
            if not self.users:
                self.limits = threadpool_limits(1)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.limits.restore_original_limits()


_LIMIT = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: with other numbers it sums in another order, and bits would differ."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
