"""Gibbs sampling over documents on executors.

The driver has the counts, and the assignments of all tokens; executors have copies of their blocks' assignments. A
sweep has one or more rounds. In each, executors are sent the sparse counts of all words and tags, sample the documents
of the round against those of their own, and return sparse differences of the counts and the new assignments. Counts
are integers, so that the order in which differences are added does not matter, and random numbers depend on seed,
sweep and document only: the bits are those of a sampler on one machine with the same rounds, whichever executor
computes what, and how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tagtopic._core.arrays import Int32s, Int64s, offsets_of
from tagtopic._core.memmap import TemporaryArrays
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.base import Sampler
from tagtopic.engines.distributed.sampler_tasks import (
    CollectSizes,
    CountRound,
    DrawRound,
    InitialParameters,
    PartitionSizes,
    RoundCounts,
    RoundResult,
    RoundTask,
    SampleRound,
    SamplerSetup,
    partition_columns,
)
from tagtopic.engines.distributed.scratch import INITIAL, BlockData
from tagtopic.engines.distributed.session import BlockSource
from tagtopic.engines.distributed.sparse_counts import PartitionColumns, SparseCounts
from tagtopic.engines.distributed.tasks import Cluster, Shared
from tagtopic.engines.posterior import Extent, block_posterior
from tagtopic.engines.sampler import InterleavedRounds, document_counts, empty_assignments, zero_counts
from tagtopic.inference.gibbs import Assignments, SamplerPriors
from tagtopic.inference.own_words import OwnWordCandidates
from tagtopic.inference.types import Parameters, VariationalPosterior

Value = TypeVar("Value")

ROUNDS = 1
"""Rounds per sweep on a cluster. Counts are exchanged in each (docs/decisions/sampling-on-spark.md)."""


class AssignmentStore:
    """The driver's assignments of all tokens, and for each round the number of the step that they result from.

    Parameters
    ----------
    extents : dict
        The position of each block's documents.
    rounds : InterleavedRounds
        The division of the corpus.

    Attributes
    ----------
    steps : list of int
        By round, the number of the last step that updated its documents.
    current : int
        The round whose assignments executors are sent if they miss any.
    """

    def __init__(self, extents: dict[int, Extent], rounds: InterleavedRounds) -> None:
        self.extents = extents
        self.rounds = rounds
        self.steps = [INITIAL] * len(rounds)
        self.current = 0
        self.tokens = Assignments(np.empty(0, np.uint16), np.empty(0, np.uint8))
        self.token_starts = np.zeros(1, np.int64)
        self._newest = 0

    def allocate(self, lengths: Int32s, most_tags: int, arrays: TemporaryArrays) -> None:
        """Allocate the assignments of documents of these numbers of tokens."""
        self.token_starts = offsets_of(lengths)
        self.tokens = empty_assignments(int(self.token_starts[-1]), most_tags, arrays)

    def next_step(self) -> int:
        """Return a step number that was never used: tasks of a failed step may still be writing its files."""
        self._newest += 1
        return self._newest

    def ranges(self, number: int) -> list[tuple[int, int]]:
        """Return the documents of a block that belong to the current round."""
        extent = self.extents[number]
        return self.rounds.ranges(self.current, extent.first, extent.last)

    def of_block(self, number: int) -> Assignments | None:
        """Return a block's assignments in the current round; None if executors draw them."""
        if self.steps[self.current] == INITIAL:
            return None
        parts = [(self.token_starts[first], self.token_starts[last]) for first, last in self.ranges(number)]
        return Assignments(
            *(np.concatenate([values[:0], *(values[start:end] for start, end in parts)]) for values in self.tokens)
        )

    def replace(self, number: int, tokens: Assignments) -> None:
        """Replace a block's assignments in the current round."""
        place = 0
        for first, last in self.ranges(number):
            start, end = self.token_starts[first], self.token_starts[last]
            for mine, new in zip(self.tokens, tokens, strict=True):
                mine[start:end] = new[place : place + end - start]
            place += int(end - start)

    def block_data_source(self, blocks: BlockSource) -> Callable[[int, bool], BlockData]:
        """Return a function that returns what is sent of a block, with or without its documents."""

        def block_data(number: int, with_documents: bool) -> BlockData:
            return blocks.block_data(number, with_documents)._replace(posterior=self.of_block(number))

        return block_data


class DistributedSampler(Sampler):
    """A sampler whose rounds run where the blocks are.

    Parameters
    ----------
    pool : ThreadPool
        Threads on the driver.
    blocks : BlockSource
        The blocks of the corpus.
    store : AssignmentStore
        The driver's assignments.
    cluster : Cluster
        The executors that hold the blocks.
    sizes : tuple of int
        The numbers of words, tags, topics, and of tags of the document that has most.
    candidates : OwnWordCandidates or None
        The words that tags may have as their own.
    resources : ExitStack
        What ``close`` releases.
    arrays : TemporaryArrays
        Allocates the assignments, in files if they are large.
    """

    def __init__(
        self,
        pool: ThreadPool,
        blocks: BlockSource,
        store: AssignmentStore,
        cluster: Cluster,
        sizes: tuple[int, int, int, int],
        candidates: OwnWordCandidates | None,
        resources: ExitStack,
        arrays: TemporaryArrays,
    ) -> None:
        super().__init__(pool, resources)
        self.blocks = blocks
        self.store = store
        self.cluster = cluster
        n_words, n_tags, n_topics, most_tags = sizes
        self.counts = zero_counts(n_words, n_tags, n_topics, 0 if candidates is None else len(candidates.words))
        self.columns: dict[int, PartitionColumns] = {}
        self._pair_tags: dict[int, Any] = {}
        store.allocate(self._collect_sizes(candidates), most_tags, arrays)
        self.n_documents = len(store.token_starts) - 1
        self.n_tokens = int(store.token_starts[-1])
        self._log_probabilities = np.zeros(self.n_documents)
        self._tags: tuple[Int64s, Int32s] | None = None
        self._setup = SamplerSetup(
            n_topics, store.rounds, {number: block.first for number, block in store.extents.items()},
            store.tokens.tags.dtype.name, None if candidates is None else replace(candidates, prior=np.empty(0)),
        )  # fmt: skip
        self._shared_setup = resources.enter_context(_shared_for_long(cluster, self._setup))
        self._priors: tuple[SamplerPriors, Shared[SamplerPriors]] | None = None
        self._shared_priors = resources.enter_context(ExitStack())

    @property
    def tokens(self) -> Assignments:
        """The assignments of all tokens, in the order of the corpus."""
        return self.store.tokens

    def initialise(self, parameters: Parameters, seed: int, *, posterior: VariationalPosterior | None = None) -> None:
        """Draw the first assignments on executors; see ``Sampler.initialise``."""
        self._clear()

        posteriors: dict[int, VariationalPosterior] = {}
        if posterior is not None:
            posteriors = {number: block_posterior(posterior, block) for number, block in self.store.extents.items()}
        sent = InitialParameters(replace(parameters, totals=None, own_words=None), posteriors)
        with self.cluster.share(sent) as shared:
            for number in range(len(self.store.steps)):
                self.store.steps[number] = INITIAL
                task = DrawRound(*self._step(number), parameters=shared, seed=seed)
                self._run(task)

    def restore(self, tokens: Assignments) -> None:
        """Continue from saved assignments, which executors are sent, and count; see ``Sampler.restore``."""
        for mine, saved in zip(self.tokens, tokens, strict=True):
            mine[:] = saved
        self._clear()
        for number in range(len(self.store.steps)):
            self.store.steps[number] = step = self.store.next_step()
            setup, _, _, _, threads = self._step(number)
            self._run(CountRound(setup, number, step, step, threads))

    def sweep(self, priors: SamplerPriors, seed: int, sweep: int) -> float:
        """Draw all assignments anew, round after round; see ``Sampler.sweep``."""
        for number in range(len(self.store.steps)):
            with self.cluster.share(self._round_counts()) as counts:
                task = SampleRound(
                    *self._step(number), counts=counts, priors=self._share_priors(priors), seed=seed, sweep=sweep
                )
                self._run(task)
        return float(self._log_probabilities.sum())

    def document_counts(self, rows: Int64s, parameters: Parameters) -> VariationalPosterior:
        """Return the counts of some documents; see ``Sampler.document_counts``. Tags are fetched once."""
        if self._tags is None:
            self._tags = self.blocks.tag_entries(lambda task: self.cluster.run(task, INITIAL))
        return document_counts(rows, parameters, *self._tags, self.store.token_starts, self.tokens)

    def _collect_sizes(self, candidates: OwnWordCandidates | None) -> Int32s:
        """Find the columns of each partition; return the tokens of each document."""
        found: list[PartitionSizes] = self.cluster.run(CollectSizes(), INITIAL)
        for part in found:
            columns = partition_columns(part.words, part.tags, candidates)
            self.columns[part.partition] = columns
            self._pair_tags[part.partition] = candidates.tags[columns.pairs] if candidates is not None else None
        lengths = {number: of_block for part in found for number, of_block in part.lengths.items()}
        return np.concatenate([np.empty(0, np.int32), *(lengths[number] for number in self.store.extents)])

    def _clear(self) -> None:
        for values in self.counts:
            values[:] = 0

    def _round_counts(self) -> RoundCounts:
        """The counts of all columns: one value, which executors relay to each other."""
        n_words, n_tags, n_pairs = (len(values) for values in self.counts[::2])
        everything = PartitionColumns(
            np.arange(n_words, dtype=np.int32), np.arange(n_tags, dtype=np.int32), np.arange(n_pairs)
        )
        return RoundCounts(SparseCounts.of(self.counts, everything), self.counts.topics)

    def _step(self, number: int) -> tuple[Any, int, int, int, Callable[[], int]]:
        """What each task of a round needs: the setup, the round, the steps before and after it, threads."""
        before, after = self.store.steps[number], self.store.next_step()
        return self._shared_setup, number, before, after, self.cluster.task_threads

    def _run(self, task: RoundTask) -> None:
        """Run a task on all partitions; only then store the assignments and add the differences."""
        self.store.current = task.round_
        found: list[RoundResult] = self.cluster.run(task, task.before)
        for part in found:
            part.differences.add_to(self.counts, self.columns[part.partition], self._pair_tags[part.partition])
            for number, tokens, log_probabilities in part.blocks:
                self.store.replace(number, tokens)
                self._note(number, log_probabilities)
        self.store.steps[task.round_] = task.after

    def _note(self, number: int, log_probabilities: Any) -> None:
        place = 0
        for first, last in self.store.ranges(number) if len(log_probabilities) else ():
            self._log_probabilities[first:last] = log_probabilities[place : place + last - first]
            place += last - first

    def _share_priors(self, priors: SamplerPriors) -> Shared[SamplerPriors]:
        """Send the priors to all executors if they are not those of the last sweep."""
        if self._priors is None or self._priors[0] is not priors:
            self._shared_priors.close()
            self._priors = priors, self._shared_priors.enter_context(_shared_for_long(self.cluster, priors))
        return self._priors[1]


@contextmanager
def _shared_for_long(cluster: Cluster, value: Value) -> Iterator[Shared[Value]]:
    """Share a value until the fit ends, when the cluster may be gone."""
    stack = ExitStack()
    shared = stack.enter_context(cluster.share(value))
    try:
        yield shared
    finally:
        with suppress(Exception):
            stack.close()
