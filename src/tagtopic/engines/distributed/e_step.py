"""The E-step over blocks in scratch, and statistics that are added where they are computed.

The E-step of a block is the local engine's own. Statistics of a small model are collected block by block and added on
the driver, those of a larger one partition by partition. Of a large model each partition stores its statistics in
ranges of rows; each range is added on one executor, in partition order, and only the sum is sent to the driver. The
driver's memory then does not grow with the number of partitions, a partition has only the rows of its own words and
tags, and the bits of the result depend on the partitions alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import IO, Any, NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, owners_of
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.distributed.scratch import INITIAL, BlockData, Scratch, StoredBlock, scratch_root
from tagtopic.engines.distributed.tasks import Partition, Shared, exhaust
from tagtopic.engines.local import LocalSession
from tagtopic.engines.posterior import empty_posterior, fill_posterior
from tagtopic.inference.types import Documents, Parameters, Statistics, VariationalPosterior

_compiled: set[object] = set()
"""What this process has compiled."""


class BlockStatistics(NamedTuple):
    """The statistics of a block: rows of psi and theta for the words and tags that occur in it, and the objective."""

    words: Int32s
    psi: Floats
    tags: Int32s
    theta: Floats
    objective: Floats


class PartitionStatistics(NamedTuple):
    """The statistics of a partition: rows for the words and tags that occur in it, and its blocks' objectives."""

    words: Int32s
    psi: Floats
    tags: Int32s
    theta: Floats
    objectives: Float64s


def one_thread() -> int:
    """Return 1, the number of threads of a task whose cluster does not state another."""
    return 1


@dataclass(frozen=True)
class EStep:
    """The E-step of blocks, from their posteriors after step ``before`` to those after ``after``.

    The posteriors of ``before`` are kept, so that the step can be repeated, here or elsewhere, with the same result.

    Attributes
    ----------
    parameters : Shared of Parameters
        The current parameters.
    inference : str
        The inference method.
    before, after : int
        The numbers of the steps.
    sweeps, tolerance
        As in ``Session.e_step``.
    each_rho : bool
        Whether each document has topics of its own for the latent tag.
    threads : callable
        Returns, within a task, the number of its threads.
    """

    parameters: Shared[Parameters]
    inference: str
    before: int
    after: int
    sweeps: int
    tolerance: float
    each_rho: bool = True
    threads: Callable[[], int] = one_thread

    def of_block(self, number: int, scratch: Scratch, pool: ThreadPool) -> tuple[BlockStatistics, VariationalPosterior]:
        """Compute the step of one block, which must be in scratch, and store its posteriors."""
        scratch.drop_posteriors_before(number, self.before)
        stored = scratch.block(number)
        own = block_parameters(self.parameters.value, stored)
        if self.before == INITIAL:
            posterior = _initial_posterior(stored, own, each_rho=self.each_rho)
        else:
            posterior = scratch.posterior(number, self.before)
        statistics = Statistics.empty_like(own)
        session = LocalSession(self.inference, pool, [stored.block], posterior)
        session.e_step(own, statistics, sweeps=self.sweeps, tolerance=self.tolerance)
        scratch.store_posterior(number, self.after, posterior)
        found = BlockStatistics(
            stored.words, statistics.psi, stored.tags, statistics.theta, np.array(statistics.objective)
        )
        return found, posterior

    def of_partition(
        self, partition: Partition, scratch: Scratch
    ) -> tuple[PartitionStatistics, list[VariationalPosterior]]:
        """Compute the step of all blocks of a partition; return their statistics, added in block order."""
        words, tags = scratch.columns(partition.blocks)
        like = self.parameters.value
        n_topics, dtype = like.psi.shape[1], like.psi.dtype
        psi, theta = np.zeros((len(words), n_topics), dtype), np.zeros((len(tags), n_topics), dtype)
        objectives, posteriors = [], []
        with ThreadPool(self.threads()) as pool:
            for number in partition.blocks:
                found, posterior = self.of_block(number, scratch, pool)
                psi[np.searchsorted(words, found.words)] += found.psi
                theta[np.searchsorted(tags, found.tags)] += found.theta
                objectives.append(float(found.objective))
                posteriors.append(posterior)
        return PartitionStatistics(words, psi, tags, theta, np.array(objectives)), posteriors


def _initial_posterior(stored: StoredBlock, parameters: Parameters, *, each_rho: bool) -> VariationalPosterior:
    """The initial posteriors of a block's documents, under the parameters of its own words and tags."""
    documents, n_documents = stored.block.documents, stored.block.n_documents
    posterior = empty_posterior(len(documents.tags), n_documents, parameters, each_rho=each_rho)
    owner = owners_of(documents.word_starts)
    lengths = np.bincount(owner, weights=documents.counts, minlength=n_documents)
    fill_posterior(posterior, documents.tag_starts, documents.tags, lengths, parameters, each_rho=each_rho)
    return posterior


def block_parameters(parameters: Parameters, stored: StoredBlock) -> Parameters:
    """Return the parameters of a block's own words and tags."""
    totals = parameters.totals
    return replace(
        parameters,
        psi=parameters.psi[stored.words],
        theta=parameters.theta[stored.tags],
        pi=parameters.pi[stored.tags],
        totals=totals and replace(totals, tags=totals.tags[stored.tags], word_prior=totals.word_prior[stored.words]),
    )


@dataclass(frozen=True)
class CollectBlocks:
    """Yields (block, its statistics, its posteriors): for small models."""

    step: EStep

    def __call__(
        self, partition: Partition, scratch: Scratch
    ) -> Iterator[tuple[int, BlockStatistics, VariationalPosterior]]:
        """Compute the E-step of a partition's blocks."""
        scratch.require(partition.blocks, self.step.before)
        with ThreadPool(self.step.threads()) as pool:
            for number in partition.blocks:
                yield number, *self.step.of_block(number, scratch, pool)


@dataclass(frozen=True)
class CollectPartition:
    """Yields (the blocks of a partition, their statistics in all, their posteriors): for larger models."""

    step: EStep

    def __call__(
        self, partition: Partition, scratch: Scratch
    ) -> Iterator[tuple[tuple[int, ...], PartitionStatistics, list[VariationalPosterior]]]:
        """Compute the E-step of a partition's blocks."""
        scratch.require(partition.blocks, self.step.before)
        yield partition.blocks, *self.step.of_partition(partition, scratch)


@dataclass(frozen=True)
class StorePartition:
    """Stores the statistics of a partition in scratch, to be collected in ranges of rows: for large models.

    Yields (block, its objective, its posteriors or None). Statistics that are stored already are not computed again.
    """

    step: EStep
    with_posteriors: bool = False

    def __call__(
        self, partition: Partition, scratch: Scratch
    ) -> Iterator[tuple[int, float, VariationalPosterior | None]]:
        """Compute the E-step of a partition's blocks."""
        objectives = self.statistics(partition, scratch).objectives
        for number, objective in zip(partition.blocks, objectives.tolist(), strict=True):
            yield number, objective, scratch.posterior(number, self.step.after) if self.with_posteriors else None

    def statistics(self, partition: Partition, scratch: Scratch) -> PartitionStatistics:
        """Return the stored statistics of a partition, or compute and store them."""
        stored = scratch.statistics(partition.index, self.step.after)
        if stored is not None and scratch.has_posteriors(partition.blocks, self.step.after):
            return PartitionStatistics(**stored)
        scratch.require(partition.blocks, self.step.before)
        scratch.drop_statistics_before(partition.index, self.step.after)
        found, _ = self.step.of_partition(partition, scratch)
        scratch.store_statistics(partition.index, self.step.after, found._asdict())
        return found


class RangeRows(NamedTuple):
    """Some rows of a range, numbered within it."""

    numbers: Int32s
    values: Floats


@dataclass(frozen=True)
class RowRanges:
    """The rows of psi, followed by those of theta, in ranges of ``height`` rows, numbered consecutively."""

    n_words: int
    n_tags: int
    n_topics: int
    dtype: str
    height: int

    @classmethod
    def of(cls, statistics: Statistics, range_bytes: int) -> RowRanges:
        """Divide statistics into ranges of about ``range_bytes`` bytes."""
        (n_words, n_topics), n_tags = statistics.psi.shape, len(statistics.theta)
        height = max(1, range_bytes // (n_topics * statistics.psi.itemsize))
        return cls(n_words, n_tags, n_topics, statistics.psi.dtype.name, height)

    @property
    def word_ranges(self) -> int:
        """The number of ranges of psi, which is the number of the first range of theta."""
        return -(-self.n_words // self.height)

    @property
    def n_ranges(self) -> int:
        """The number of ranges."""
        return self.word_ranges + -(-self.n_tags // self.height)

    def view(self, statistics: Statistics, key: int) -> Floats:
        """Return a view of the rows of a range."""
        if key < self.word_ranges:
            array, number = statistics.psi, key
        else:
            array, number = statistics.theta, key - self.word_ranges
        return array[number * self.height : (number + 1) * self.height]

    def split(self, numbers: Int32s, values: Floats, *, first: int, n_rows: int) -> Iterator[tuple[int, RangeRows]]:
        """Yield (range, rows) of some rows of an array, ascending, whose ranges are numbered from ``first``."""
        bounds = np.searchsorted(numbers, np.arange(0, n_rows + self.height, self.height))
        for place, (start, stop) in enumerate(pairwise(bounds.tolist())):
            yield first + place, RangeRows(numbers[start:stop] - np.int32(place * self.height), values[start:stop])


@dataclass(frozen=True)
class SplitStatistics:
    """Yields (range, rows) of a partition's statistics."""

    store: StorePartition
    ranges: RowRanges

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[tuple[int, RangeRows]]:
        """Read or compute the statistics, and split them."""
        found, ranges = self.store.statistics(partition, scratch), self.ranges
        yield from ranges.split(found.words, found.psi, first=0, n_rows=ranges.n_words)
        yield from ranges.split(found.tags, found.theta, first=ranges.word_ranges, n_rows=ranges.n_tags)


@dataclass(frozen=True)
class AddRanges:
    """Adds the partitions' rows of a range; returns (range, all of its rows)."""

    ranges: RowRanges

    def __call__(self, key: int, parts: list[RangeRows]) -> tuple[int, Floats]:
        """Add them, in the order of the partitions."""
        total = np.zeros((self.ranges.height, self.ranges.n_topics), self.ranges.dtype)
        for part in parts:
            total[part.numbers] += part.values
        return key, total


@dataclass(frozen=True)
class CompileKernels:
    """Compiles the kernels of an E-step, or loads them from the cache, before the first block is sent.

    Kernels are compiled once on each executor, whatever the number of its Python processes. They are cached beside the
    package if its folder is writable, otherwise in scratch.
    """

    inference: str
    dtype: str
    count_dtype: str

    def __call__(self, partitions: Iterable[Partition]) -> None:
        """Run an E-step on two words, in one process of the executor at a time: the first compiles for all."""
        exhaust(partitions)
        compile_once(self, self._run_example)

    def _run_example(self) -> None:
        scratch = Scratch(f"kernels-{uuid.uuid4().hex}")
        try:
            scratch.store_block(0, self._data())
            block = scratch.block(0).block
        finally:
            scratch.remove()
        parameters = Parameters(self._full(2, 2), self._full(1, 2), np.ones(1), 1.0, np.ones(2), latent=True)
        statistics = Statistics(self._full(2, 2), self._full(1, 2))
        posterior = VariationalPosterior(self._full(1), self._full(1), self._full(1, 2))
        LocalSession(self.inference, ThreadPool(1), [block], posterior).e_step(parameters, statistics, sweeps=2)

    def _data(self) -> BlockData:
        starts, two = np.array([0, 2]), np.array([0, 1], np.int32)
        documents = Documents(starts, two, np.ones(2, self.count_dtype), np.array([0, 1]), np.zeros(1, np.int32))
        return BlockData(documents, 2, 1, None)

    def _full(self, *shape: int) -> Any:
        return np.full(shape, 0.5, self.dtype)


def compile_once(key: object, run_example: Callable[[], None]) -> None:
    """Run an example of what ``key`` stands for, once in this process and in one process of the executor at a time."""
    if key in _compiled:
        return
    with (scratch_root() / "tagtopic-kernels.lock").open("w") as lock:
        _lock_file(lock)
        run_example()
    _compiled.add(key)


def _lock_file(lock: IO[str]) -> None:
    """Wait until no other process has locked this file; the lock ends when the file is closed."""
    try:
        import fcntl
    except ImportError:  # not on this system: processes compile at the same time, and the last one's cache is kept
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
