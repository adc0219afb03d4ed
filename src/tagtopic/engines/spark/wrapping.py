"""How tasks run in a partition: what they find or miss in scratch, and how it is told to the driver."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tagtopic.engines.spark.scratch import MissingError, Parcel, Rooms, Scratch

if TYPE_CHECKING:
    from pyspark import Broadcast

DONE = -1
"""In place of a key's value: the partition's cut is whole."""


def use_up(values: Iterable[Any]) -> None:
    """Take all that a task is given: Spark ends a Python worker that left something, and the next imports all anew."""
    deque(values, maxlen=0)


@dataclass(frozen=True)
class Slot:
    """One partition: its place among all, and the numbers of its blocks."""

    index: int
    numbers: tuple[int, ...]


Task = Callable[[Slot, Scratch], Iterator[Any]]
"""Yields results of a partition, or raises MissingError."""

Addition = Callable[[int, list[Any]], Any]
"""Makes one result of a key and its values, which come in partition order."""


class Absent(NamedTuple):
    """The blocks that a partition misses, and those of them whose documents it misses too."""

    numbers: list[int]
    blocks: list[int]


@dataclass(frozen=True)
class Reporting:
    """Runs a task over a partition; yields (partition, what is missing or None, result)."""

    task: Task
    rooms: Rooms

    def __call__(self, slots: Iterable[Slot]) -> Iterator[tuple[int, Absent | None, Any]]:
        """Run, and report."""
        scratch = self.rooms.open()
        for slot in slots:
            try:
                for result in self.task(slot, scratch):
                    yield slot.index, None, result
            except MissingError as error:
                yield slot.index, Absent(error.numbers, error.blocks), None


@dataclass(frozen=True)
class Receiving:
    """Stores what was sent to a partition; yields (block, (words, tags)) of blocks whose documents came."""

    parcels: dict[int, Broadcast[Parcel]]
    step: int
    rooms: Rooms

    def __call__(self, slots: Iterable[Slot]) -> Iterator[tuple[int, tuple[int, int]]]:
        """Store, and tell the sizes."""
        scratch = self.rooms.open()
        for number in (number for slot in slots for number in slot.numbers if number in self.parcels):
            parcel = self.parcels[number].value
            if parcel.state is not None:
                scratch.keep_state(number, self.step, parcel.state)
            if parcel.documents is not None:
                yield number, scratch.keep_block(number, parcel)


@dataclass(frozen=True)
class Removing:
    """Removes a run's scratch."""

    rooms: Rooms

    def __call__(self, slots: Iterable[Slot]) -> Iterator[Any]:
        """Remove it."""
        use_up(slots)
        self.rooms.open().remove()
        return iter(())


@dataclass(frozen=True)
class Cutting:
    """The first half of a shuffle: yields (key, (partition, value)), and to each place (place, (partition, DONE)).

    A partition that misses something never says that it is done, so nobody takes its part for the whole.
    """

    task: Task
    rooms: Rooms
    n_out: int

    def __call__(self, slots: Iterable[Slot]) -> Iterator[tuple[int, tuple[int, Any]]]:
        """Cut."""
        scratch = self.rooms.open()
        for slot in slots:
            try:
                for key, value in self.task(slot, scratch):
                    yield key, (slot.index, value)
            except MissingError:
                continue
            for place in range(self.n_out):
                yield place, (slot.index, DONE)


@dataclass(frozen=True)
class Adding:
    """The second half: one result a key; or None, if any partition has not said that it is done."""

    add: Addition
    n_slots: int

    def __call__(self, pairs: Iterable[tuple[int, tuple[int, Any]]]) -> Iterator[Any]:
        """Add."""
        values: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        done: set[int] = set()
        for key, (slot, value) in pairs:
            if isinstance(value, int) and value == DONE:
                done.add(slot)
            else:
                values[key][slot] = value
        if len(done) < self.n_slots:
            yield None
            return
        for key in sorted(values):
            yield self.add(key, [values[key][slot] for slot in sorted(values[key])])
