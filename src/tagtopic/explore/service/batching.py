"""Requests that come at the same time are inferred together.

Building a corpus and starting the kernels costs the same for one document as for fifty. While one batch is being
inferred, what comes in the meantime waits and becomes the next batch. Documents do not touch each other in inference,
so a document's answer has the same bits in any batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tagtopic.explore.service.limits import Limits, TooBusyError, TooLongError

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class _Waiting(Generic[Item, Result]):
    items: Sequence[Item]
    future: asyncio.Future[list[Result]]


class Batcher(Generic[Item, Result]):
    """Calls ``function`` with the items of all requests that wait, in a thread of its own."""

    def __init__(self, function: Callable[[list[Item]], list[Result]], limits: Limits, most: int = 512) -> None:
        self._function = function
        self._limits = limits
        self._most = most
        self._queue: list[_Waiting[Item, Result]] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="tagtopic-batch")
        self._worker: asyncio.Task[None] | None = None

    async def run(self, items: Sequence[Item]) -> list[Result]:
        """The results of these items, in their order."""
        if len(self._queue) >= self._limits.waiting:
            raise TooBusyError
        request: _Waiting[Item, Result] = _Waiting(items, asyncio.get_running_loop().create_future())
        self._queue.append(request)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            return await asyncio.wait_for(request.future, self._limits.seconds)
        except TimeoutError:
            raise TooLongError from None

    def close(self) -> None:
        """End the thread when what it does is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            batch = self._take()
            items = [item for request in batch for item in request.items]
            try:
                results = await loop.run_in_executor(self._pool, self._function, items)
            except Exception as error:  # whatever it is, those who wait must hear of it
                for request in batch:
                    _answer(request.future, error)
                continue
            done = 0
            for request in batch:
                _answer(request.future, results[done : done + len(request.items)])
                done += len(request.items)

    def _take(self) -> list[_Waiting[Item, Result]]:
        """The first requests, as many as make a batch; those whose time is over are dropped."""
        self._queue = [request for request in self._queue if not request.future.done()]
        size = number = 0
        while number < len(self._queue) and (number == 0 or size + len(self._queue[number].items) <= self._most):
            size += len(self._queue[number].items)
            number += 1
        taken, self._queue = self._queue[:number], self._queue[number:]
        return taken


def _answer(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
