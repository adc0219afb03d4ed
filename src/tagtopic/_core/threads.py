"""A pool of threads for kernels, and how many threads ``n_jobs`` means."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar


def effective_n_jobs(n_jobs: int | None) -> int:
    """scikit-learn's convention, but for None, which here means all cores: results do not depend on the number."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: give a number of threads, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


Item = TypeVar("Item")
Result = TypeVar("Result")


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
