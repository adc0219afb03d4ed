"""Threads for kernels: work is cut where the data says, never where the number of threads says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from tagtopic.inference.arrays import Int64s
from tagtopic.threads import count_of_threads

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
