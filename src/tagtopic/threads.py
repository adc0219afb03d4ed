"""How many threads work, ours and those of NumPy's linear algebra."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


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
