"""Tasks over the partitions of a cluster, and what the driver needs of the cluster.

A task runs where its partition's blocks are in scratch. If an executor was lost, it runs on another one and reports the
blocks that it misses; the driver then sends those, and the task is run again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from tagtopic.engines.distributed.scratch import BlockData, MissingBlocksError, Scratch, ScratchNames

COMPLETE = -1
"""In place of a value in a shuffle: the partition has sent all of its pairs."""

Value = TypeVar("Value")
Content = TypeVar("Content", covariant=True)


@dataclass(frozen=True)
class Partition:
    """Blocks that are processed by one task.

    Attributes
    ----------
    index : int
        Its position among all partitions.
    blocks : tuple of int
        The numbers of its blocks.
    """

    index: int
    blocks: tuple[int, ...]


Task = Callable[[Partition, Scratch], Iterator[Any]]
"""Yields results of a partition, or raises MissingBlocksError."""

Reduction = Callable[[int, list[Any]], Any]
"""Returns one result for a key and its values, which are in partition order."""


class Shared(Protocol[Content]):
    """A value that is sent once to each executor."""

    @property
    def value(self) -> Content:
        """The value."""
        ...


class Cluster(Protocol):
    """The executors that hold the blocks of a corpus; an engine implements it for its cluster."""

    partitions: list[Partition]

    @property
    def task_threads(self) -> Callable[[], int]:
        """A function that returns, within a task, the number of its threads."""
        ...

    def run(self, task: Task, step: int, partitions: Iterable[int] | None = None) -> list[Any]:
        """Run a task over all partitions, or some.

        Parameters
        ----------
        task : Task
            What to run.
        step : int
            The number of the posteriors that the driver has: executors are sent these if they miss any.
        partitions : iterable of int or None, default=None
            The partitions to run it over; None is all.

        Returns
        -------
        list
            The results, in the order of the partitions.
        """
        ...

    def shuffle(
        self, task: Task, reduction: Reduction, step: int, *, n_out: int, n_jobs: int, repair: Task
    ) -> Iterator[Any]:
        """Group the (key, value) pairs of all partitions by key, and reduce each group.

        Parameters
        ----------
        task : Task
            Yields the pairs of a partition.
        reduction : Reduction
            Computes a result from a key and its values.
        step : int
            The number of the posteriors that the driver has.
        n_out : int
            The number of groups of keys that are reduced at once.
        n_jobs : int
            The number of jobs that fetch results, so that only a part of them is in transit at a time.
        repair : Task
            Run when blocks were missing: it must restore everywhere what ``task`` needs.

        Yields
        ------
        object
            The results; after a repair some come a second time.
        """
        ...

    def send(self, numbers: Iterable[int], step: int, *, documents: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Send posteriors of blocks, and the documents of some.

        Parameters
        ----------
        numbers : iterable of int
            The blocks whose posteriors are sent.
        step : int
            The number of the posteriors.
        documents : iterable of int
            The blocks whose documents are sent too.

        Returns
        -------
        dict
            The numbers of different words and tags of the blocks whose documents were sent.
        """
        ...

    def share(self, value: Value) -> AbstractContextManager[Shared[Value]]:
        """Send a value to all executors, for the duration of a ``with`` block."""
        ...


class MissingBlocks(NamedTuple):
    """The blocks of which a partition misses something, and those whose documents it misses."""

    numbers: list[int]
    without_documents: list[int]


def exhaust(values: Iterable[Any]) -> None:
    """Consume all input of a task: Spark ends a Python worker that leaves some, and the next one imports all again."""
    deque(values, maxlen=0)


@dataclass(frozen=True)
class RunTask:
    """Runs a task over partitions; yields (partition, what is missing or None, result)."""

    task: Task
    names: ScratchNames

    def __call__(self, partitions: Iterable[Partition]) -> Iterator[tuple[int, MissingBlocks | None, Any]]:
        """Run it."""
        scratch = self.names.open()
        for partition in partitions:
            try:
                for result in self.task(partition, scratch):
                    yield partition.index, None, result
            except MissingBlocksError as error:
                yield partition.index, MissingBlocks(error.numbers, error.without_documents), None


@dataclass(frozen=True)
class StoreReceived:
    """Stores what was sent to a partition; yields (block, (words, tags)) of blocks whose documents were sent."""

    received: Mapping[int, Shared[BlockData]]
    step: int
    names: ScratchNames

    def __call__(self, partitions: Iterable[Partition]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Store it."""
        scratch = self.names.open()
        numbers = (number for partition in partitions for number in partition.blocks if number in self.received)
        for number in numbers:
            data = self.received[number].value
            if data.posterior is not None:
                scratch.store_posterior(number, self.step, data.posterior)
            if data.documents is not None:
                yield number, scratch.store_block(number, data)


@dataclass(frozen=True)
class RemoveScratch:
    """Removes a session's scratch."""

    names: ScratchNames

    def __call__(self, partitions: Iterable[Partition]) -> Iterator[Any]:
        """Remove it."""
        exhaust(partitions)
        self.names.open().remove()
        return iter(())


@dataclass(frozen=True)
class MapTask:
    """The first half of a shuffle: yields (key, (partition, value)), and last (out, (partition, COMPLETE)) to each out.

    A partition that misses something sends no COMPLETE, so that its part is not taken for the whole.
    """

    task: Task
    names: ScratchNames
    n_out: int

    def __call__(self, partitions: Iterable[Partition]) -> Iterator[tuple[int, tuple[int, Any]]]:
        """Run the task, and mark its end."""
        scratch = self.names.open()
        for partition in partitions:
            try:
                for key, value in self.task(partition, scratch):
                    yield key, (partition.index, value)
            except MissingBlocksError:
                continue
            for out in range(self.n_out):
                yield out, (partition.index, COMPLETE)


@dataclass(frozen=True)
class ReduceTask:
    """The second half of a shuffle: yields one result for each key, or None if a partition is not complete."""

    reduction: Reduction
    n_partitions: int

    def __call__(self, pairs: Iterable[tuple[int, tuple[int, Any]]]) -> Iterator[Any]:
        """Group the pairs and reduce them."""
        values: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        complete: set[int] = set()
        for key, (partition, value) in pairs:
            if isinstance(value, int) and value == COMPLETE:
                complete.add(partition)
            else:
                values[key][partition] = value
        if len(complete) < self.n_partitions:
            yield None
            return
        for key in sorted(values):
            yield self.reduction(key, [values[key][partition] for partition in sorted(values[key])])
