"""Threads for kernels: work is cut where the data says, never where the number of threads says.

How many threads work, ours and those of NumPy's linear algebra.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from tagtopic._core.arrays import Int64s


def count_of_threads(n_jobs: int | None) -> int:
    """scikit-learn's convention, but for None, which here means all cores: results do not depend on the number."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: give a number of threads, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class _Limit:
    """The limit on BLAS, which is the whole process's: the first who asks sets it, the last who leaves lifts it."""

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


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS work with one thread: it sums in another order with other numbers of threads, and bits would differ."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """A pool of threads, started when first needed and ended with the ``with`` block."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = count_of_threads(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads; what was queued and not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[function(item) for item in items]``; results come in the order of the items."""
        work: Sequence[Item] = list(items)
        if self.n_threads == 1 or len(work) < 2:
            return [function(item) for item in work]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tagtopic")
        return list(self._pool.map(function, work))


def cut_evenly(starts: Int64s | np.ndarray[Any, Any], weight: int) -> list[tuple[int, int]]:
    """Ranges of rows with about ``weight`` entries each (a single row may have more)."""
    n_rows = len(starts) - 1
    if n_rows <= 0:
        return []
    entries = int(starts[-1] - starts[0])
    n_parts = max(1, -(-entries // weight))
    targets = starts[0] + np.arange(1, n_parts) * (entries / n_parts)
    cuts = np.unique(np.concatenate(([0], np.searchsorted(starts, targets, side="left"), [n_rows])))
    return list(pairwise(cuts.tolist()))


def cut_rows(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Ranges of ``size`` rows."""
    return [(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


CHUNK_ROWS = 1 << 11
"""Rows of psi that a thread takes at a time."""
