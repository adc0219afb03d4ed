"""Limits on time and waiting requests, and batches of inference requests."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from tagtopic._core.display import COMPILING_NOTICE
from tagtopic.explore.service import Limits
from tagtopic.explore.service.execution import Batcher, BoundedExecutor, QueueFullError, RequestTimeoutError

Result = TypeVar("Result")


def run_coroutine(ask: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine in another thread: browser tests may leave a running event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(ask())).result()


def test_concurrent_requests_are_batched() -> None:
    sizes: list[int] = []

    def double(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return [2 * item for item in items]

    async def ask() -> list[list[int]]:
        batcher = Batcher(double, Limits(), max_batch_size=6)
        return await asyncio.gather(*(batcher.run([i, i]) for i in range(10)))

    assert run_coroutine(ask) == [[2 * i, 2 * i] for i in range(10)]
    assert sum(sizes) == 20
    assert max(sizes) <= 6
    assert len(sizes) < 10


def test_an_error_in_a_batch_reaches_every_request() -> None:
    def fail(items: list[int]) -> list[int]:
        raise ValueError("no")

    async def ask() -> list[BaseException | list[int]]:
        batcher = Batcher(fail, Limits())
        return await asyncio.gather(*(batcher.run([i]) for i in range(3)), return_exceptions=True)

    assert [str(error) for error in run_coroutine(ask)] == ["no"] * 3


def test_time_and_queue_length_are_bounded() -> None:
    def slow(items: list[int]) -> list[int]:
        time.sleep(0.3)
        return items

    async def ask() -> None:
        limits = Limits(seconds=0.05, queued_requests=1)
        batcher, executor = Batcher(slow, limits), BoundedExecutor(limits)
        with pytest.raises(RequestTimeoutError):
            await batcher.run([1])
        with pytest.raises(RequestTimeoutError):
            await executor.run(slow, [1])
        waiting = asyncio.create_task(executor.run(slow, [1]))
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError):
            await executor.run(slow, [1])
        with pytest.raises(RequestTimeoutError):
            await waiting

    run_coroutine(ask)


@pytest.mark.parametrize("make", [BoundedExecutor, lambda limits: Batcher(lambda items: items[0](), limits)])
def test_compiling_does_not_count_as_time_of_a_request(make: Callable[[Limits], Any]) -> None:
    def compile_kernels() -> list[str]:
        with COMPILING_NOTICE.measure():
            time.sleep(0.5)
        return ["compiled"]

    async def ask() -> Any:
        worker = make(Limits(seconds=0.1))
        return await worker.run([compile_kernels] if isinstance(worker, Batcher) else compile_kernels)

    assert run_coroutine(ask) == ["compiled"]
