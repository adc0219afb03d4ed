"""Jobs over blocks of documents that live in the executors' scratch.

When an executor is lost its partitions move, and their tasks find nothing in the new scratch, or only documents that
were read again: they say which blocks they miss, the driver sends those, and the partitions are run again. Everything
else about failures is Spark's own: a task that dies is run again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tagtopic.engines.distributed.scratch import Parcel, Rooms
from tagtopic.engines.distributed.tasks import Adding, Addition, Cutting, Receiving, Removing, Reporting, Slot, Task
from tagtopic.engines.spark.context import check_executors, executors_of, wait_for_executors

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

ATTEMPTS = 20
"""How often blocks are sent anew before we believe that executors are lost faster than they can be filled."""

Value = TypeVar("Value")


class SparkExecutors:
    """The executors that hold blocks, and how to run tasks over them.

    ``parcel`` makes what is sent of a block, with or without its documents; ``rooms`` are the names of its scratch.
    """

    def __init__(
        self,
        context: SparkContext,
        placement: Placement,
        rooms: Rooms,
        *,
        parcel: Callable[[int, bool], Parcel],
        prepare: Prepare,
        wave_bytes: int,
    ) -> None:
        self.context = context
        self.rooms = rooms
        self.sent = 0
        self.slots = placement.slots
        self._placement = placement
        self._parcel = parcel
        self._prepare = prepare
        self._wave_bytes = wave_bytes
        self._executors = wait_for_executors(context)
        check_executors(context)
        self.rdd = placement.place(context, prepare)

    def close(self) -> None:
        """Remove the run's files from the executors that have them, and the RDD."""
        # if the cluster is gone there is nothing to remove: scratch goes with the executors
        with suppress(Exception):
            self._job(Removing(self.rooms), self._all())
            self._placement.remove(self.rdd)

    def run(self, task: Task, step: int, slots: Iterable[int] | None = None) -> list[Any]:
        """The task's results over all partitions, or some, in their order.

        ``step`` is the one whose states are the driver's: what executors miss is sent as of then.
        """
        self._place_anew_if_grown()
        pending = set(self._all() if slots is None else slots)
        results: dict[int, list[Any]] = {}
        for _ in range(ATTEMPTS):
            missing: list[int] = []
            blocks: list[int] = []
            found: dict[int, list[Any]] = {index: [] for index in pending}
            for index, absent, result in self._job(Reporting(task, self.rooms), sorted(pending)):
                if absent is None:
                    found[index].append(result)
                else:
                    missing += absent.numbers
                    blocks += absent.blocks
                    del found[index]
            results |= found
            pending -= found.keys()
            if not pending:
                return [result for index in sorted(results) for result in results[index]]
            self.send(missing, step, documents=blocks)
        raise _unstable()

    def shuffle(self, cut: Task, add: Addition, step: int, *, n_out: int, n_jobs: int, repair: Task) -> Iterator[Any]:
        """``cut`` yields (key, value) of each partition; ``add`` makes results of a key's values in partition order.

        Results are fetched by ``n_jobs`` jobs, so that only a part of them is under way at a time. ``repair`` is run
        when something was missing: it must leave everywhere what ``cut`` needs. Results may then come a second time.
        """
        self._place_anew_if_grown()
        for _ in range(ATTEMPTS):
            pairs: RDD[tuple[int, Any]] = self.rdd.mapPartitions(Cutting(cut, self.rooms, n_out))
            shuffled = pairs.partitionBy(n_out, int)
            added = shuffled.mapPartitions(Adding(add, len(self.slots)))
            results: list[Any] = []
            try:
                for outs in np.array_split(np.arange(n_out), n_jobs):
                    results = self.context.runJob(added, list, outs.tolist())
                    if any(result is None for result in results):
                        break
                    yield from results
                else:
                    return
            finally:
                # else the files stay until Java, which has no need of memory, collects its garbage
                shuffled.cleanShuffleDependencies()
            self.run(repair, step)
        raise _unstable()

    def send(self, numbers: Iterable[int], step: int, *, documents: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Put states into scratch, and the documents of some blocks; returns how many words and tags those have."""
        sizes: dict[int, tuple[int, int]] = {}
        for wave in self._waves(sorted(set(numbers)), set(documents)):
            parcels = {number: self.context.broadcast(parcel) for number, parcel in wave.items()}
            slots = [slot.index for slot in self.slots if any(number in parcels for number in slot.numbers)]
            try:
                sizes |= dict(self._job(Receiving(parcels, step, self.rooms), slots))
            finally:
                for parcel in parcels.values():
                    parcel.destroy()
            self.sent += len(wave)
        return sizes

    @contextmanager
    def share(self, value: Value) -> Iterator[Broadcast[Value]]:
        """Send a value to all executors, to be used in a ``with`` block."""
        shared = self.context.broadcast(value)
        try:
            yield shared
        finally:
            shared.destroy()

    def _all(self) -> range:
        return range(len(self.slots))

    def _waves(self, numbers: list[int], documents: set[int]) -> Iterator[dict[int, Parcel]]:
        wave: dict[int, Parcel] = {}
        size = 0
        for number in numbers:
            wave[number] = self._parcel(number, number in documents)
            size += wave[number].nbytes
            if size >= self._wave_bytes:
                yield wave
                wave, size = {}, 0
        if wave:
            yield wave

    def _job(self, task: Callable[[Iterable[Slot]], Iterable[Any]], slots: Iterable[int]) -> list[Any]:
        return self.context.runJob(self.rdd, task, list(slots))

    def _place_anew_if_grown(self) -> None:
        """Let executors that came since the last placing have their share."""
        if self._placement.wants_new_executors() and executors_of(self.context) - self._executors:
            self._placement.remove(self.rdd)
            self._executors = wait_for_executors(self.context)
            self.rdd = self._placement.place(self.context, self._prepare)


def _unstable() -> RuntimeError:
    return RuntimeError(
        f"executors were lost {ATTEMPTS} times while one step was made: the cluster is not stable enough to go on"
    )


PLACING_SECONDS = 0.2
"""How long a task stays when partitions are placed, so that each core takes its share of them."""

Prepare = Callable[[Iterable[Slot]], None]
"""Runs in each worker process before anything is asked of it."""


class Placement(Protocol):
    """Partitions, and how they come to executors."""

    slots: list[Slot]

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Slot]:
        """Put the partitions on executors."""
        ...

    def remove(self, rdd: RDD[Slot]) -> None:
        """Forget where they are."""
        ...

    def wants_new_executors(self) -> bool:
        """Whether partitions should be placed anew when executors came."""
        ...


class SpreadPlacement:
    """Blocks that the driver has, spread evenly: any executor can be sent any."""

    def __init__(self, n_blocks: int, partitions: int) -> None:
        n_slots = min(n_blocks, partitions)
        cuts = np.linspace(0, n_blocks, n_slots + 1).astype(int).tolist()
        self.slots = [Slot(index, tuple(range(first, last))) for index, (first, last) in enumerate(pairwise(cuts))]

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Slot]:
        """Spread the partitions over the executors."""
        slots: RDD[Slot] = context.parallelize(self.slots, len(self.slots))
        # workers of different executors become ready at different times; only then is the race for partitions fair
        slots.foreachPartition(prepare)
        placed = slots.map(_hold_core).cache()
        placed.count()
        return placed

    def remove(self, rdd: RDD[Slot]) -> None:
        """Forget where they are."""
        rdd.unpersist()

    def wants_new_executors(self) -> bool:
        """New executors get a share."""
        return True


class SourcePlacement:
    """Blocks that executors made of a source: a partition is where it was made, or is made anew (see ``corpus.py``)."""

    def __init__(self, rdd: RDD[Slot], slots: list[Slot]) -> None:
        self.rdd = rdd
        self.slots = slots

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Slot]:
        """They are placed."""
        self.rdd.foreachPartition(prepare)
        return self.rdd

    def remove(self, rdd: RDD[Slot]) -> None:
        """The corpus lets go of them, not a run."""

    def wants_new_executors(self) -> bool:
        """To move a partition is to read its part of the source again: only those that got lost are."""
        return False


def _hold_core(slot: Slot) -> Slot:
    """Pass a partition on, slowly enough that no core takes more than its share."""
    time.sleep(PLACING_SECONDS)
    return slot
