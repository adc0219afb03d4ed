"""Parallel work: ranges of rows to divide it into, thread pools that run it, and a limit on BLAS threads.

Ranges depend on the data alone, not on the number of threads, so that results do not depend on it either.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from types import TracebackType
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


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads, by scikit-learn's convention, except that None stands for all cores.

    ``LOKY_MAX_CPU_COUNT`` in the environment limits the cores, as for scikit-learn.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("LOKY_MAX_CPU_COUNT", "")
    if limit.isdecimal():
        cores = max(1, min(cores, int(limit)))
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: give a number of threads, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class ThreadPool:
    """A pool of threads, started when first needed and ended with the ``with`` block."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = effective_n_jobs(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads; what is queued and has not begun is cancelled."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Return ``[function(item) for item in items]``, in the order of the items."""
        work: Sequence[Item] = list(items)
        if self.n_threads == 1 or len(work) < 2:
            return [function(item) for item in work]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tagtopic")
        return list(self._pool.map(function, work))


def imap(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Yield ``function(item)`` in the order of the items, which are consumed only a little ahead of the results."""
    if n_threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _BlasLimit:
    """The limit on BLAS threads of the process: set by the first user, lifted by the last."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limits: Any = None

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                _release_openblas()
                self.limits = _find_libraries(len(sys.modules)).limit(limits=1, user_api="blas")
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                _release_openblas()
                self.limits.restore_original_limits()
                _release_openblas()


def _release_openblas() -> None:
    """Let this thread set the limit of OpenBLAS.

    In recent threadpoolctl only the first thread that has set it can; in all others it silently does nothing.
    """
    import threadpoolctl

    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


@lru_cache(maxsize=1)
def _find_libraries(n_modules: int) -> Any:
    """Return the BLAS and OpenMP libraries; they are looked for again, which is slow, when modules were imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_LIMIT = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: with other numbers it sums in another order, and bits would differ.

    The limit of BLAS is the process's, that of OpenMP each thread's own.
    """
    _LIMIT.enter()
    openmp = _find_libraries(len(sys.modules)).limit(limits=1, user_api="openmp")
    try:
        yield
    finally:
        openmp.restore_original_limits()
        _LIMIT.leave()
