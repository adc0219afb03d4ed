"""The sums of a large model, by ranges of words and tags.

Each partition adds up its own blocks and cuts the sum into ranges of rows; each range is added up on one executor, in
partition order, and only the whole comes to the driver, a part at a time. What the driver holds does not grow with the
number of partitions, a partition has no more rows than words and tags occur in it, and the bits depend on nothing but
the partitions.

How tasks run in a partition: what they find or miss in scratch, and how it is told to the driver.

The E-step on executors: the local engine's own, over blocks in scratch.
"""

from __future__ import annotations

import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import IO, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, owners_of
from tagtopic._core.threads import ThreadPool
from tagtopic.engines.base import Statistics
from tagtopic.engines.distributed.scratch import FRESH, MissingError, Parcel, Rooms, Scratch, ScratchBlock, scratch_root
from tagtopic.engines.local import LocalSession
from tagtopic.engines.posterior import fill_posterior
from tagtopic.inference.types import Documents, Parameters, State

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

Value = TypeVar("Value")
Content = TypeVar("Content", covariant=True)


class Shared(Protocol[Content]):
    """A value that is sent once to each executor."""

    @property
    def value(self) -> Content:
        """The value."""
        ...


class Cluster(Protocol):
    """The executors that hold the blocks of a corpus, and how to run tasks over them."""

    slots: list[Slot]

    def run(self, task: Task, step: int, slots: Iterable[int] | None = None) -> list[Any]:
        """Return the task's results over all partitions, or some, in their order.

        ``step`` is the number of the posteriors that the driver has: what executors miss is sent as of that step.
        """
        ...

    def shuffle(self, cut: Task, add: Addition, step: int, *, n_out: int, n_jobs: int, repair: Task) -> Iterator[Any]:
        """Yield ``add(key, values)`` for the (key, value) pairs of all partitions, values in partition order.

        Results are fetched by ``n_jobs`` jobs, so that only a part of them is under way at a time. ``repair`` is run
        when something was missing: it must leave everywhere what ``cut`` needs. Results may then come a second time.
        """
        ...

    def send(self, numbers: Iterable[int], step: int, *, documents: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Send posteriors, and the documents of some blocks; return the numbers of words and tags of those."""
        ...

    def share(self, value: Value) -> AbstractContextManager[Shared[Value]]:
        """Send a value to all executors, to be used in a ``with`` block."""
        ...


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

    parcels: Mapping[int, Shared[Parcel]]
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


class BlockSums(NamedTuple):
    """A block's statistics: the rows of psi and theta for the words and tags that occur in it, and its objective."""

    words: Int32s
    psi: Floats
    tags: Int32s
    theta: Floats
    objective: Floats


@dataclass(frozen=True)
class EStep:
    """The E-step of a block: from its state after ``before`` to its state after ``after``.

    Nothing that ``before`` left is touched, so the step can be made again, here or elsewhere, from the same state.
    """

    parameters: Shared[Parameters]
    inference: str
    before: int
    after: int
    sweeps: int
    tolerance: float
    each_rho: bool = True

    def make(self, number: int, scratch: Scratch, workers: ThreadPool) -> tuple[BlockSums, State]:
        """Make the step; the block and its state must be in scratch."""
        scratch.forget_before(number, self.before)
        stored = scratch.block(number)
        own = parameters_of(self.parameters.value, stored)
        fresh = self.before == FRESH
        state = first_state(stored, own, each_rho=self.each_rho) if fresh else scratch.state(number, self.before)
        session = LocalSession(self.inference, workers, [stored.block], state)
        sums = Statistics.empty_like(own)
        session.e_step(own, sums, sweeps=self.sweeps, tolerance=self.tolerance)
        scratch.keep_state(number, self.after, state)
        return BlockSums(stored.words, sums.psi, stored.tags, sums.theta, np.array(sums.objective)), state


@dataclass(frozen=True)
class StepAndBring:
    """For small models: yields (block, its sums, its state)."""

    step: EStep

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, BlockSums, State]]:
        """Step the blocks of a partition, with as many threads as the task has cores."""
        scratch.require(slot.numbers, self.step.before)
        with ThreadPool(task_cores()) as workers:
            for number in slot.numbers:
                yield number, *self.step.make(number, scratch, workers)


class PartSums(NamedTuple):
    """A partition's statistics: the rows of the words and tags that occur in it, and its blocks' objectives."""

    words: Int32s
    psi: Floats
    tags: Int32s
    theta: Floats
    objectives: Float64s


def add_up(step: EStep, slot: Slot, scratch: Scratch) -> tuple[PartSums, list[State]]:
    """Step the blocks of a partition; their sums, added in block order, and their states."""
    words, tags = scratch.columns(slot.numbers)
    like = step.parameters.value
    n_topics, dtype = like.psi.shape[1], like.psi.dtype
    psi, theta = np.zeros((len(words), n_topics), dtype), np.zeros((len(tags), n_topics), dtype)
    objectives, states = [], []
    with ThreadPool(task_cores()) as workers:
        for number in slot.numbers:
            sums, state = step.make(number, scratch, workers)
            psi[np.searchsorted(words, sums.words)] += sums.psi
            theta[np.searchsorted(tags, sums.tags)] += sums.theta
            objectives.append(float(sums.objective))
            states.append(state)
    return PartSums(words, psi, tags, theta, np.array(objectives)), states


@dataclass(frozen=True)
class AddUpAndBring:
    """For models in between: yields (a partition's blocks, their sums added up, their states)."""

    step: EStep

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[tuple[int, ...], PartSums, list[State]]]:
        """Step the blocks of a partition."""
        scratch.require(slot.numbers, self.step.before)
        yield slot.numbers, *add_up(self.step, slot, scratch)


@dataclass(frozen=True)
class StepAndStay:
    """For large models: the sums of a partition stay in scratch, to be fetched in ranges of rows.

    Yields (block, its objective, its state if asked for). A partition whose sums are there is not stepped again.
    """

    step: EStep
    bring_states: bool = False

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, float, State | None]]:
        """Step the blocks of a partition."""
        objectives = self.sums(slot, scratch).objectives
        for number, objective in zip(slot.numbers, objectives.tolist(), strict=True):
            yield number, objective, scratch.state(number, self.step.after) if self.bring_states else None

    def sums(self, slot: Slot, scratch: Scratch) -> PartSums:
        """The sums of a partition, added in block order."""
        stored = scratch.sums(slot.index, self.step.after)
        if stored is not None and scratch.has_states(slot.numbers, self.step.after):
            return PartSums(**stored)
        scratch.require(slot.numbers, self.step.before)
        scratch.forget_sums(slot.index, self.step.after)
        sums, _ = add_up(self.step, slot, scratch)
        scratch.keep_sums(slot.index, self.step.after, sums._asdict())
        return sums


def first_state(stored: ScratchBlock, own: Parameters, *, each_rho: bool) -> State:
    """Where the block's documents stand before the first step, by its own parameters."""
    documents = stored.block.documents
    dtype, n_documents = own.psi.dtype, stored.block.n_documents
    state = State(
        np.empty(len(documents.tags), dtype),
        np.empty(n_documents, dtype),
        np.empty((n_documents if each_rho else 1, len(own.mu)), dtype),
    )
    owner = owners_of(documents.word_starts)
    lengths = np.bincount(owner, weights=documents.counts, minlength=n_documents)
    fill_posterior(state, documents.tag_starts, documents.tags, lengths, own, each_rho=each_rho)
    return state


def parameters_of(parameters: Parameters, stored: ScratchBlock) -> Parameters:
    """The parameters of a block's own words and tags."""
    behind = parameters.behind
    return replace(
        parameters,
        psi=parameters.psi[stored.words],
        theta=parameters.theta[stored.tags],
        pi=parameters.pi[stored.tags],
        behind=behind and replace(behind, tags=behind.tags[stored.tags], word_prior=behind.word_prior[stored.words]),
    )


def task_cores() -> int:
    """The cores that Spark gave to this task (``spark.task.cpus``)."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else context.cpus()


class Rows(NamedTuple):
    """Some rows of a range, numbered within it."""

    numbers: Int32s
    values: Floats


@dataclass(frozen=True)
class Ranges:
    """Rows of psi, then rows of theta, cut into ranges of ``height`` rows that are numbered on and on."""

    n_words: int
    n_tags: int
    n_topics: int
    dtype: str
    height: int

    @classmethod
    def of(cls, sums: Statistics, range_bytes: int) -> Ranges:
        """Ranges of about ``range_bytes`` bytes."""
        (n_words, n_topics), n_tags = sums.psi.shape, len(sums.theta)
        height = max(1, range_bytes // (n_topics * sums.psi.itemsize))
        return cls(n_words, n_tags, n_topics, sums.psi.dtype.name, height)

    @property
    def word_ranges(self) -> int:
        """How many ranges psi has: the first of theta has this number."""
        return -(-self.n_words // self.height)

    @property
    def n_ranges(self) -> int:
        """How many ranges there are."""
        return self.word_ranges + -(-self.n_tags // self.height)

    def view(self, sums: Statistics, key: int) -> Floats:
        """The rows of a range."""
        array, number = (sums.psi, key) if key < self.word_ranges else (sums.theta, key - self.word_ranges)
        return array[number * self.height : (number + 1) * self.height]

    def cut(self, numbers: Int32s, values: Floats, *, first: int, n_rows: int) -> Iterator[tuple[int, Rows]]:
        """(range, rows) of some rows of an array, ascending, whose ranges are numbered from ``first``."""
        bounds = np.searchsorted(numbers, np.arange(0, n_rows + self.height, self.height))
        for place, (start, stop) in enumerate(pairwise(bounds.tolist())):
            yield first + place, Rows(numbers[start:stop] - np.int32(place * self.height), values[start:stop])

    def empty(self) -> Statistics:
        """Sums of nothing."""
        psi, theta = ((n, self.n_topics) for n in (self.n_words, self.n_tags))
        return Statistics(np.zeros(psi, self.dtype), np.zeros(theta, self.dtype), 0.0)


@dataclass(frozen=True)
class CutSums:
    """Yields (range, rows) of a partition's sums."""

    stay: StepAndStay
    ranges: Ranges

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, Rows]]:
        """Add up the blocks, then cut."""
        sums, ranges = self.stay.sums(slot, scratch), self.ranges
        yield from ranges.cut(sums.words, sums.psi, first=0, n_rows=ranges.n_words)
        yield from ranges.cut(sums.tags, sums.theta, first=ranges.word_ranges, n_rows=ranges.n_tags)


@dataclass(frozen=True)
class AddRows:
    """Makes (range, its whole rows) of the partitions' rows."""

    ranges: Ranges

    def __call__(self, key: int, parts: list[Rows]) -> tuple[int, Floats]:
        """Add, in the order of the partitions."""
        total = np.zeros((self.ranges.height, self.ranges.n_topics), self.ranges.dtype)
        for part in parts:
            total[part.numbers] += part.values
        return key, total


_ready: set[CompileKernels] = set()


@dataclass(frozen=True)
class CompileKernels:
    """Compiles what an E-step needs, or loads it from the cache, before the first block comes."""

    inference: str
    dtype: str
    count_dtype: str

    def __call__(self, slots: Iterable[Slot]) -> None:
        """Run an E-step on two words, one process of the executor at a time: the first compiles for all."""
        use_up(slots)
        if self in _ready:
            return
        with (scratch_root() / "tagtopic-kernels.lock").open("w") as lock:
            take_alone(lock)
            self._try_out()
        _ready.add(self)

    def _try_out(self) -> None:
        scratch = Scratch(f"kernels-{uuid.uuid4().hex}")
        try:
            scratch.keep_block(0, self._parcel())
            block = scratch.block(0).block
        finally:
            scratch.remove()
        parameters = Parameters(self._full(2, 2), self._full(1, 2), np.ones(1), 1.0, np.ones(2), latent=True)
        sums = Statistics(self._full(2, 2), self._full(1, 2), 0.0)
        LocalSession(self.inference, ThreadPool(1), [block], self._state()).e_step(parameters, sums, sweeps=2)

    def _parcel(self) -> Parcel:
        starts, two = np.array([0, 2]), np.array([0, 1], np.int32)
        documents = Documents(starts, two, np.ones(2, self.count_dtype), np.array([0, 1]), np.zeros(1, np.int32))
        return Parcel(documents, 2, 1, None)

    def _state(self) -> State:
        return State(self._full(1), self._full(1), self._full(1, 2))

    def _full(self, *shape: int) -> Any:
        return np.full(shape, 0.5, self.dtype)


def take_alone(lock: IO[str]) -> None:
    """Wait until no other process has this file; it is let go when the file is closed."""
    try:
        import fcntl
    except ImportError:  # not on this system: processes compile side by side, and the last one's cache stays
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
