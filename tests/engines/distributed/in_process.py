"""A cluster that is this process: what a distributed session needs of executors, without any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from tagtopic.engines.distributed.e_step import one_thread
from tagtopic.engines.distributed.scratch import BlockData, ScratchNames
from tagtopic.engines.distributed.tasks import MapTask, Partition, ReduceTask, RunTask, StoreReceived


class InProcessCluster:
    """Runs tasks over partitions of blocks, one after the other."""

    task_threads = staticmethod(one_thread)

    def __init__(self, n_blocks: int, block_data: Callable[[int, bool], BlockData]) -> None:
        half = n_blocks // 2
        self.partitions = [Partition(0, tuple(range(half))), Partition(1, tuple(range(half, n_blocks)))]
        self.names = ScratchNames("session", "session")
        self.sent = 0
        self._block_data = block_data

    def run(self, task: Any, step: int, partitions: Iterable[int] | None = None) -> list[Any]:
        chosen = range(len(self.partitions)) if partitions is None else partitions
        results: list[Any] = []
        for index in chosen:
            while True:
                found = list(RunTask(task, self.names)([self.partitions[index]]))
                missing = [absent for _, absent, _ in found if absent is not None]
                if not missing:
                    break
                self.send(missing[0].numbers, step, documents=missing[0].without_documents)
            results += [result for _, _, result in found]
        return results

    def shuffle(self, task: Any, reduction: Any, step: int, *, n_out: int, n_jobs: int, repair: Any) -> Iterator[Any]:
        self.run(repair, step)
        pairs = list(MapTask(task, self.names, n_out)(self.partitions))
        for out in range(n_out):
            reduce = ReduceTask(reduction, len(self.partitions))
            yield from reduce(pair for pair in pairs if pair[0] % n_out == out)

    def send(self, numbers: Iterable[int], step: int, *, documents: Iterable[int]) -> dict[int, tuple[int, int]]:
        with_documents = set(documents)
        data = {number: SimpleNamespace(value=self._block_data(number, number in with_documents)) for number in numbers}
        self.sent += len(data)
        return dict(StoreReceived(data, step, self.names)(self.partitions))

    def share(self, value: Any) -> Any:
        return nullcontext(SimpleNamespace(value=value))
