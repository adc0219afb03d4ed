"""Jobs on Spark executors over blocks that are in their scratch.

Partitions are a small cached RDD of block numbers: Spark runs a task where its partition is cached, which is where the
blocks' files are. When an executor is lost, its partitions move, and their tasks find nothing in the new scratch, or
only documents that were read again: they report the missing blocks, the driver sends those, and the partitions are run
again. All other failures are handled by Spark, which runs a failed task again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tagtopic.engines.distributed.scratch import BlockData, ScratchNames
from tagtopic.engines.distributed.tasks import (
    MapTask,
    Partition,
    ReduceTask,
    Reduction,
    RemoveScratch,
    RunTask,
    StoreReceived,
    Task,
)
from tagtopic.engines.spark.context import (
    broadcast,
    check_executors,
    executors_of,
    job_errors,
    remove_shuffle,
    wait_for_executors,
)

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext

ATTEMPTS = 20
"""How often missing blocks are sent before the cluster is considered unstable."""

PLACING_SECONDS = 0.2
"""How long a task holds its core while partitions are placed, so that each core takes its share of them."""

Prepare = Callable[[Iterable[Partition]], None]
"""Runs in each worker process before any task."""

Value = TypeVar("Value")


def task_threads() -> int:
    """Return the number of cores that Spark gave to this task (``spark.task.cpus``)."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else context.cpus()


class Placement(Protocol):
    """Partitions, and their placement on executors."""

    partitions: list[Partition]

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Partition]:
        """Place the partitions on executors."""
        ...

    def remove(self, rdd: RDD[Partition]) -> None:
        """Remove the placement."""
        ...

    def uses_new_executors(self) -> bool:
        """Return whether partitions are placed anew when executors are added."""
        ...


class SpreadPlacement:
    """Blocks of the driver's, spread evenly over the executors: any executor can be sent any block."""

    def __init__(self, n_blocks: int, n_partitions: int) -> None:
        bounds = np.linspace(0, n_blocks, min(n_blocks, n_partitions) + 1).astype(int).tolist()
        self.partitions = [
            Partition(index, tuple(range(first, last))) for index, (first, last) in enumerate(pairwise(bounds))
        ]

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Partition]:
        """Spread the partitions over the executors."""
        partitions: RDD[Partition] = context.parallelize(self.partitions, len(self.partitions))
        # workers of different executors become ready at different times; partitions are fairly divided only after that
        placed = partitions.map(_hold_core).cache()
        with job_errors():
            partitions.foreachPartition(prepare)
            placed.count()
        return placed

    def remove(self, rdd: RDD[Partition]) -> None:
        """Remove the placement."""
        rdd.unpersist()

    def uses_new_executors(self) -> bool:
        """Return True: new executors take their share."""
        return True


class SourcePlacement:
    """Blocks that executors have read from a source: a partition is where it was read."""

    def __init__(self, rdd: RDD[Partition], partitions: list[Partition]) -> None:
        self.rdd = rdd
        self.partitions = partitions

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Partition]:
        """Return the partitions, which are placed already."""
        with job_errors():
            self.rdd.foreachPartition(prepare)
        return self.rdd

    def remove(self, rdd: RDD[Partition]) -> None:
        """Do nothing: the corpus removes the partitions, not a session."""

    def uses_new_executors(self) -> bool:
        """Return False: to move a partition is to read its part of the source again, so only lost ones are."""
        return False


def _hold_core(partition: Partition) -> Partition:
    """Pass a partition on, slowly enough that no core takes more than its share."""
    time.sleep(PLACING_SECONDS)
    return partition


class SparkExecutors:
    """The Spark executors that hold blocks; see ``distributed.tasks.Cluster``.

    Parameters
    ----------
    context : SparkContext
        The Spark context.
    placement : Placement
        The partitions.
    names : ScratchNames
        The names of the scratch folders.
    block_data : callable
        Returns what is sent of a block, by its number, with or without its documents.
    prepare : callable
        Runs in each worker process before any task.
    wave_bytes : int
        Blocks are sent in groups of about this size.

    Attributes
    ----------
    sent : int
        The number of blocks that have been sent.
    """

    task_threads = staticmethod(task_threads)

    def __init__(
        self,
        context: SparkContext,
        placement: Placement,
        names: ScratchNames,
        *,
        block_data: Callable[[int, bool], BlockData],
        prepare: Prepare,
        wave_bytes: int,
    ) -> None:
        self.context = context
        self.names = names
        self.sent = 0
        self.partitions = placement.partitions
        self._placement = placement
        self._block_data = block_data
        self._prepare = prepare
        self._wave_bytes = wave_bytes
        self._executors = wait_for_executors(context)
        check_executors(context)
        self.rdd = placement.place(context, prepare)

    def close(self) -> None:
        """Remove the session's files from the executors, and the RDD."""
        with suppress(Exception):  # if the cluster is gone there is nothing to remove: scratch goes with the executors
            self._job(RemoveScratch(self.names), self._all())
            self._placement.remove(self.rdd)

    def run(self, task: Task, step: int, partitions: Iterable[int] | None = None) -> list[Any]:
        """Run a task over all partitions, or some; see ``Cluster.run``."""
        self._place_anew_if_grown()
        pending = set(self._all() if partitions is None else partitions)
        results: dict[int, list[Any]] = {}
        for _ in range(ATTEMPTS):
            missing: list[int] = []
            documents: list[int] = []
            found: dict[int, list[Any]] = {index: [] for index in pending}
            for index, absent, result in self._job(RunTask(task, self.names), sorted(pending)):
                if absent is None:
                    found[index].append(result)
                else:
                    missing += absent.numbers
                    documents += absent.without_documents
                    del found[index]
            results |= found
            pending -= found.keys()
            if not pending:
                return [result for index in sorted(results) for result in results[index]]
            self.send(missing, step, documents=documents)
        raise _unstable()

    def shuffle(
        self, task: Task, reduction: Reduction, step: int, *, n_out: int, n_jobs: int, repair: Task
    ) -> Iterator[Any]:
        """Group the pairs of all partitions by key, and reduce each group; see ``Cluster.shuffle``."""
        self._place_anew_if_grown()
        for _ in range(ATTEMPTS):
            pairs: RDD[tuple[int, Any]] = self.rdd.mapPartitions(MapTask(task, self.names, n_out))
            shuffled = pairs.partitionBy(n_out, int)
            reduced = shuffled.mapPartitions(ReduceTask(reduction, len(self.partitions)))
            results: list[Any] = []
            try:
                for outs in np.array_split(np.arange(n_out), n_jobs):
                    with job_errors():
                        results = self.context.runJob(reduced, list, outs.tolist())
                    if any(result is None for result in results):
                        break
                    yield from results
                else:
                    return
            finally:
                remove_shuffle(shuffled)
            self.run(repair, step)
        raise _unstable()

    def send(self, numbers: Iterable[int], step: int, *, documents: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Send posteriors of blocks, and the documents of some; see ``Cluster.send``."""
        sizes: dict[int, tuple[int, int]] = {}
        for wave in self._waves(sorted(set(numbers)), set(documents)):
            blocks = {number: broadcast(self.context, data) for number, data in wave.items()}
            partitions = [part.index for part in self.partitions if any(number in blocks for number in part.blocks)]
            try:
                sizes |= dict(self._job(StoreReceived(blocks, step, self.names), partitions))
            finally:
                for shared in blocks.values():
                    shared.destroy()
            self.sent += len(wave)
        return sizes

    @contextmanager
    def share(self, value: Value) -> Iterator[Broadcast[Value]]:
        """Send a value to all executors, for the duration of a ``with`` block."""
        shared = broadcast(self.context, value)
        try:
            yield shared
        finally:
            shared.destroy()

    def _all(self) -> range:
        return range(len(self.partitions))

    def _waves(self, numbers: list[int], documents: set[int]) -> Iterator[dict[int, BlockData]]:
        wave: dict[int, BlockData] = {}
        size = 0
        for number in numbers:
            wave[number] = self._block_data(number, number in documents)
            size += wave[number].nbytes
            if size >= self._wave_bytes:
                yield wave
                wave, size = {}, 0
        if wave:
            yield wave

    def _job(self, task: Callable[[Iterable[Partition]], Iterable[Any]], partitions: Iterable[int]) -> list[Any]:
        with job_errors():
            return self.context.runJob(self.rdd, task, list(partitions))

    def _place_anew_if_grown(self) -> None:
        """Let executors that were added since the last placement have their share."""
        if self._placement.uses_new_executors() and executors_of(self.context) - self._executors:
            self._placement.remove(self.rdd)
            self._executors = wait_for_executors(self.context)
            self.rdd = self._placement.place(self.context, self._prepare)


def _unstable() -> RuntimeError:
    return RuntimeError(
        f"executors were lost {ATTEMPTS} times while one step was made: the cluster is not stable enough to go on"
    )
