"""Limit NumPy's linear algebra to one thread where its bits must not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


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
