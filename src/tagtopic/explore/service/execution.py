"""Running the work of requests: limits, a bounded thread pool for views, and batches for inference.

Concurrent inference requests are batched: building a corpus and starting the kernels costs the same for one document
as for fifty. Requests that arrive during a batch form the next one. Documents are inferred independently, so a
document's result has the same bits in any batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from tagtopic._core.display import COMPILING_NOTICE

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """Limits on requests.

    Parameters
    ----------
    body_bytes : int, default=4_000_000
        Largest body of a request.
    all_body_bytes : int, default=128_000_000
        Bytes of the bodies of all requests at a time.
    documents : int, default=256
        Most documents in a request.
    characters : int, default=100_000
        Longest text.
    tags : int, default=200
        Most tags of a document.
    tag_characters : int, default=20_000
        Longest name of a tag.
    seconds : float, default=30.0
        Longest time a request may take; compiling of kernels, which happens once, does not count.
    queued_requests : int, default=256
        Most requests that wait at the same time.
    header_seconds : float, default=10.0
        Longest time in which the header of a request has to arrive.
    body_seconds : float, default=30.0
        Longest time in which the body of a request has to arrive.
    connections : int, default=512
        Connections from which requests are answered with status 503; twice as many are accepted.
    """

    body_bytes: int = 4_000_000
    all_body_bytes: int = 128_000_000
    documents: int = 256
    characters: int = 100_000
    tags: int = 200
    tag_characters: int = 20_000
    seconds: float = 30.0
    queued_requests: int = 256
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    connections: int = 512


class RequestTimeoutError(Exception):
    """A request took longer than `Limits.seconds`."""


class QueueFullError(Exception):
    """More than `Limits.queued_requests` are waiting."""


class BoundedExecutor:
    """Runs functions in a bounded number of threads, for a bounded time, off the event loop."""

    def __init__(self, limits: Limits, n_threads: int = 4) -> None:
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="tagtopic-view")
        self._limits = limits
        self._n_waiting = 0

    async def run(self, function: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
        """Return the function's result, or raise `RequestTimeoutError`; its thread runs on to the end in any case."""
        if self._n_waiting >= self._limits.queued_requests:
            raise QueueFullError
        self._n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *arguments, **named))
        try:
            return await _result_within(future, self._limits.seconds)
        except RequestTimeoutError:
            future.add_done_callback(_retrieve_exception)
            raise
        finally:
            self._n_waiting -= 1

    def close(self) -> None:
        """End the threads once their current work is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _result_within(future: asyncio.Future[Result], seconds: float) -> Result:
    """Return the result of a future, or raise `RequestTimeoutError` and let the future continue.

    The time in which this process compiles kernels does not count: it is needed once, by whichever request is first.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds - COMPILING_NOTICE.seconds
    while not future.done():
        remaining = deadline + COMPILING_NOTICE.seconds - loop.time()
        if remaining <= 0:
            raise RequestTimeoutError
        await asyncio.wait({future}, timeout=remaining)
    return future.result()


def _retrieve_exception(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned future, which asyncio would log otherwise."""
    if not future.cancelled():
        future.exception()


@dataclass
class _Request(Generic[Item, Result]):
    items: Sequence[Item]
    future: asyncio.Future[list[Result]]


class Batcher(Generic[Item, Result]):
    """Calls a function with the items of all waiting requests together, in one thread."""

    def __init__(
        self, function: Callable[[list[Item]], list[Result]], limits: Limits, max_batch_size: int = 512
    ) -> None:
        self._function = function
        self._limits = limits
        self._max_batch_size = max_batch_size
        self._queue: list[_Request[Item, Result]] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="tagtopic-batch")
        self._worker: asyncio.Task[None] | None = None

    async def run(self, items: Sequence[Item]) -> list[Result]:
        """Return the results of these items, in their order."""
        if len(self._queue) >= self._limits.queued_requests:
            raise QueueFullError
        request: _Request[Item, Result] = _Request(items, asyncio.get_running_loop().create_future())
        self._queue.append(request)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            return await _result_within(request.future, self._limits.seconds)
        finally:
            request.future.cancel()  # if nobody waits for it any more

    def close(self) -> None:
        """End the thread once its current batch is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            batch = self._next_batch()
            items = [item for request in batch for item in request.items]
            try:
                results = await loop.run_in_executor(self._pool, self._function, items)
            except Exception as error:  # whatever it is, every waiting request must get it
                for request in batch:
                    _resolve(request.future, error)
                continue
            start = 0
            for request in batch:
                _resolve(request.future, results[start : start + len(request.items)])
                start += len(request.items)

    def _next_batch(self) -> list[_Request[Item, Result]]:
        """Take the first requests from the queue, as many as fit in a batch; drop those that have timed out."""
        self._queue = [request for request in self._queue if not request.future.done()]
        size = n_requests = 0
        while n_requests < len(self._queue) and (
            n_requests == 0 or size + len(self._queue[n_requests].items) <= self._max_batch_size
        ):
            size += len(self._queue[n_requests].items)
            n_requests += 1
        batch, self._queue = self._queue[:n_requests], self._queue[n_requests:]
        return batch


def _resolve(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
