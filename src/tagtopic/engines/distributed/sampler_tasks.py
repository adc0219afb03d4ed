"""Gibbs sampling on executors: the tasks of a round.

In a round, the documents that belong to it are sampled on all executors against the counts at its start. An executor
has the documents of each block and round in scratch, in columns that are numbered within its partition, and their
assignments after the last round in which they were sampled. It is sent the counts of all words and tags, sparse,
takes those of its own, and returns how they change, with the new assignments.

A value for each partition would be more bytes, not fewer: of all values that a Spark job refers to, every executor
fetches every one, and a word is in many partitions.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of, owners_of, read_only, take_rows
from tagtopic._core.parallel import ThreadPool
from tagtopic.engines.distributed.e_step import compile_once, one_thread
from tagtopic.engines.distributed.scratch import INITIAL, BlockData, Scratch
from tagtopic.engines.distributed.sparse_counts import LARGE, PartitionColumns, SparseCounts, SparseRows
from tagtopic.engines.distributed.tasks import Partition, Shared, exhaust
from tagtopic.engines.sampler import InterleavedRounds, zero_counts
from tagtopic.inference.full_conditionals import draw_assignments, sample_documents
from tagtopic.inference.gibbs import (
    Assignments,
    SamplerPriors,
    TopicCounts,
    count_assignments,
    replace_assignments,
)
from tagtopic.inference.own_words import OwnWordCandidates, own_word_entries
from tagtopic.inference.types import Documents, OwnWordEntries, Parameters, VariationalPosterior
from tagtopic.inference.word_topics import no_word_topics


@dataclass(frozen=True)
class SamplerSetup:
    """What does not change during a fit; sent once to each executor.

    Parameters
    ----------
    n_topics : int
        The number of topics.
    rounds : InterleavedRounds
        The division of the corpus.
    firsts : dict
        The position of each block's first document in the corpus.
    tag_type : str
        The type of the tags' positions.
    candidates : OwnWordCandidates or None
        The words that tags may have as their own.
    """

    n_topics: int
    rounds: InterleavedRounds
    firsts: Mapping[int, int]
    tag_type: str
    candidates: OwnWordCandidates | None

    def pack(self, tokens: Assignments) -> Assignments:
        """Return assignments as they are sent and stored: topics take one byte if there are at most 255."""
        return tokens._replace(topics=tokens.topics.astype(np.uint8 if self.n_topics <= 255 else np.uint16, copy=False))

    def unpack(self, tokens: Assignments) -> Assignments:
        """Return assignments as kernels take them: a copy."""
        return Assignments(tokens.topics.astype(np.uint16), tokens.tags.astype(self.tag_type))


def partition_columns(words: Int32s, tags: Int32s, candidates: OwnWordCandidates | None) -> PartitionColumns:
    """Return the columns of a partition: its words and tags, ascending, and its pairs of own words."""
    if candidates is None or not len(words):
        return PartitionColumns(words, tags, np.empty(0, np.int64))
    has_tag = np.zeros(len(candidates.tokens), np.bool_)
    has_tag[tags] = True
    of_tags = np.flatnonzero(np.repeat(has_tag, np.diff(candidates.starts)))
    wanted = candidates.words[of_tags]
    places = np.minimum(np.searchsorted(words, wanted), len(words) - 1)
    return PartitionColumns(words, tags, of_tags[words[places] == wanted])


class RoundDocuments(NamedTuple):
    """The documents of a block that belong to a round, in columns of the partition.

    Attributes
    ----------
    documents : Documents
        The documents.
    own : OwnWordEntries
        Their own words.
    token_starts : ndarray
        The first token of each.
    ranges : list of tuple
        Consecutive documents ``first:last``, and the number in the corpus minus the position here.
    """

    documents: Documents
    own: OwnWordEntries
    token_starts: Int64s
    ranges: list[tuple[int, int, int]]


class PartitionDocuments:
    """The documents of a partition by block and round, kept in scratch."""

    def __init__(self, setup: SamplerSetup, partition: Partition, scratch: Scratch) -> None:
        self.setup = setup
        self.partition = partition
        self.scratch = scratch

    @cached_property
    def columns(self) -> PartitionColumns:
        """The partition's columns, computed once on each executor."""
        name = f"columns-{self.partition.index}"
        stored = self.scratch.arrays(name)
        if stored is None:
            found = partition_columns(*self.scratch.columns(self.partition.blocks), self.setup.candidates)
            self.scratch.store_arrays(name, found._asdict())
            return found
        return PartitionColumns(**stored)

    @cached_property
    def candidates(self) -> OwnWordCandidates | None:
        """The own words of the partition's tags, in its columns."""
        given = self.setup.candidates
        if given is None:
            return None
        words, tags, pairs = self.columns
        starts = offsets_of(np.bincount(self.pair_tags, minlength=len(tags)))
        return replace(given, starts=starts, words=np.searchsorted(words, given.words[pairs]).astype(np.int32))

    @cached_property
    def pair_tags(self) -> Int64s:
        """The tag of each pair, in the columns of the partition."""
        given = self.setup.candidates
        if given is None:
            return np.empty(0, np.int64)
        owners = np.searchsorted(given.starts, self.columns.pairs, side="right") - 1
        return np.searchsorted(self.columns.tags, owners)

    @property
    def own_columns(self) -> PartitionColumns:
        """All columns, as they are numbered within the partition."""
        words, tags = (np.arange(len(columns), dtype=np.int32) for columns in self.columns[:2])
        return PartitionColumns(words, tags, np.arange(len(self.columns.pairs)))

    def zero_counts(self) -> TopicCounts:
        """Allocate counts of the partition's columns."""
        words, tags, pairs = self.columns
        return zero_counts(len(words), len(tags), self.setup.n_topics, len(pairs))

    def priors(self, priors: SamplerPriors) -> SamplerPriors:
        """Return the priors of the partition's columns."""
        words, tags, pairs = self.columns
        return priors._replace(
            pi=priors.pi[tags], beta=priors.beta[words], own_tokens=priors.own_tokens[tags],
            own_words=priors.own_words[pairs if len(priors.own_words) else slice(0)],
            own_totals=priors.own_totals[tags],
        )  # fmt: skip

    def of_round(self, number: int, round_: int, pool: ThreadPool) -> RoundDocuments:
        """Return the documents of a block and round; they are selected once on each executor."""
        first = self.setup.firsts[number]
        n_documents = self.scratch.n_documents(number)
        ranges = self.setup.rounds.ranges(round_, first, first + n_documents)
        name = f"round-{number}-{round_}"
        stored = self.scratch.arrays(name)
        if stored is None:
            self.scratch.store_arrays(name, self._select(number, ranges, pool))
            stored = self.scratch.arrays(name) or {}
        documents = Documents(*(read_only(stored[field]) for field in Documents._fields))
        own = OwnWordEntries(*(stored[f"own.{field}"] for field in OwnWordEntries._fields))
        lengths = offsets_of(np.array([last - start for start, last in ranges], np.int64)).tolist()
        places = [
            (place, end, start - place) for (start, _), place, end in zip(ranges, lengths, lengths[1:], strict=False)
        ]
        return RoundDocuments(documents, own, stored["token_starts"], places)

    def _select(self, number: int, ranges: list[tuple[int, int]], pool: ThreadPool) -> dict[str, Any]:
        stored, first = self.scratch.block(number), self.setup.firsts[number]
        whole = stored.block.documents
        rows = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(start - first, end - first) for start, end in ranges)]
        )
        word_columns = np.searchsorted(self.columns.words, stored.words).astype(np.int32)
        tag_columns = np.searchsorted(self.columns.tags, stored.tags).astype(np.int32)
        word_starts, words = take_rows(whole.word_starts, whole.words, rows)
        _, counts = take_rows(whole.word_starts, whole.counts, rows)
        tag_starts, tags = take_rows(whole.tag_starts, whole.tags, rows)
        documents = Documents(
            *(read_only(values) for values in (word_starts, word_columns[words], counts, tag_starts, tag_columns[tags]))
        )
        own = own_word_entries(documents, self.candidates, pool)
        token_starts = offsets_of(counts)[word_starts]
        return documents._asdict() | {f"own.{name}": values for name, values in own._asdict().items()} | {
            "token_starts": token_starts
        }  # fmt: skip


class BlockAssignments(NamedTuple):
    """The assignments of a block's documents after a round, and the log probabilities of their tokens."""

    number: int
    tokens: Assignments
    log_probabilities: Float64s


class RoundResult(NamedTuple):
    """How the counts of a partition change in a round, and the assignments of its blocks."""

    partition: int
    differences: SparseCounts
    blocks: list[BlockAssignments]


Update = Callable[[int, RoundDocuments, Assignments, TopicCounts, ThreadPool], Float64s]
"""Updates the assignments of a block's documents, adds the changes to counts, and returns log probabilities."""


@dataclass(frozen=True)
class RoundTask(ABC):
    """Updates the assignments of a round's documents, from those after step ``before`` to those after ``after``.

    The assignments of ``before`` are kept, so that the round can be repeated, here or elsewhere, with the same result.
    """

    setup: Shared[SamplerSetup]
    round_: int
    before: int
    after: int
    threads: Callable[[], int] = one_thread

    @abstractmethod
    def update(self, mine: PartitionDocuments) -> Update:
        """Return the update of a partition's blocks."""

    def before_of(self, number: int, found: RoundDocuments, mine: PartitionDocuments) -> Assignments:
        """Return the assignments of a block before the round, which may be changed."""
        return mine.setup.unpack(Assignments(**mine.scratch.state(number, self.before)))

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[RoundResult]:
        """Update the blocks of a partition, one after the other."""
        if not partition.blocks:
            return
        scratch.require(partition.blocks, self.before)
        mine = PartitionDocuments(self.setup.value, partition, scratch)
        changes, update = mine.zero_counts(), self.update(mine)
        blocks = []
        with ThreadPool(self.threads()) as pool:
            for number in partition.blocks:
                scratch.drop_posteriors_before(number, self.before)
                found = mine.of_round(number, self.round_, pool)
                tokens = self.before_of(number, found, mine)
                log_probabilities = update(number, found, tokens, changes, pool)
                packed = mine.setup.pack(tokens)
                if self.after != self.before:
                    scratch.store_posterior(number, self.after, packed)
                    blocks.append(BlockAssignments(number, packed, log_probabilities))
        yield RoundResult(partition.index, SparseCounts.of(changes, mine.own_columns), blocks)


class RoundCounts(NamedTuple):
    """The counts at the start of a round: of all columns of the corpus, and the tokens of all topics."""

    columns: SparseCounts
    topics: Int64s

    def of_partition(self, columns: PartitionColumns) -> SparseCounts:
        """Return the counts of a partition's columns."""
        words, tags, own_words = self.columns
        return SparseCounts(_some_rows(words, columns.words), _some_rows(tags, columns.tags), own_words[columns.pairs])


def _some_rows(sparse: SparseRows, rows: Int32s) -> SparseRows:
    """Return some rows of a sparse matrix."""
    wanted, starts = rows.astype(np.int64), offsets_of(sparse.sizes)
    large_starts = offsets_of(sparse.values == LARGE)[starts]
    _, columns = take_rows(starts, sparse.columns, wanted)
    _, values = take_rows(starts, sparse.values, wanted)
    _, large = take_rows(large_starts, sparse.large, wanted)
    return SparseRows(sparse.sizes[rows], columns, values, large)


@dataclass(frozen=True)
class SampleRound(RoundTask):
    """Draws the assignments of a round's documents anew."""

    counts: Shared[RoundCounts] | None = None
    priors: Shared[SamplerPriors] | None = None
    seed: int = 0
    sweep: int = 0

    def update(self, mine: PartitionDocuments) -> Update:
        """Return the update by sampling."""
        assert self.counts is not None
        assert self.priors is not None
        counts, sent = mine.zero_counts(), self.counts.value
        sent.of_partition(mine.columns).add_to(counts, mine.own_columns, mine.pair_tags)
        counts.topics[:] = sent.topics
        priors = mine.priors(self.priors.value)

        def sample(
            number: int, found: RoundDocuments, tokens: Assignments, changes: TopicCounts, pool: ThreadPool
        ) -> Float64s:
            documents, own, starts, ranges = found
            log_probabilities = np.zeros(len(starts) - 1)
            after = Assignments(*map(np.empty_like, tokens))

            def draw(part: tuple[int, int, int]) -> None:
                first, last, first_number = part
                rest = Assignments(*(values[starts[first] :] for values in after))
                sample_documents(
                    documents, own, first, last, starts, counts, no_word_topics(), False, priors, tokens, rest,
                    self.seed, self.sweep, log_probabilities, first_number,
                )  # fmt: skip

            pool.map(draw, ranges)
            replace_assignments(documents, own, 0, len(starts) - 1, starts, changes, tokens, after)
            return log_probabilities

        return sample


class InitialParameters(NamedTuple):
    """The parameters, and the posteriors of all blocks if there are any."""

    parameters: Parameters
    posteriors: dict[int, VariationalPosterior]

    def of_partition(self, columns: PartitionColumns) -> Parameters:
        """Return the parameters of a partition's columns."""
        words, tags, _ = columns
        whole = self.parameters
        return replace(whole, psi=whole.psi[words], theta=whole.theta[tags], pi=whole.pi[tags])


@dataclass(frozen=True)
class DrawRound(RoundTask):
    """Draws the first assignments of a round's documents under fixed parameters."""

    parameters: Shared[InitialParameters] | None = None
    seed: int = 0

    def before_of(self, number: int, found: RoundDocuments, mine: PartitionDocuments) -> Assignments:
        """Return room for the assignments of a block."""
        n_tokens = int(found.token_starts[-1])
        return Assignments(np.empty(n_tokens, np.uint16), np.empty(n_tokens, mine.setup.tag_type))

    def update(self, mine: PartitionDocuments) -> Update:
        """Return the draw of assignments."""
        assert self.parameters is not None
        posteriors = self.parameters.value.posteriors
        given = self.parameters.value.of_partition(mine.columns)

        def initialise(
            number: int, found: RoundDocuments, tokens: Assignments, changes: TopicCounts, pool: ThreadPool
        ) -> Float64s:
            documents, own, starts, ranges = found
            if posteriors:
                xi, xi_latent, rho = self._of_round(posteriors[number], number, mine)
            else:
                xi = given.pi[documents.tags]
                xi_latent = ((np.diff(documents.tag_starts) == 0) | given.latent) * given.pi_latent
                rho = given.mu[None]

            def draw(part: tuple[int, int, int]) -> None:
                first, last, first_number = part
                draw_assignments(
                    documents, first, last, starts, given.psi, given.theta, xi, xi_latent, rho, given.latent, self.seed,
                    tokens, first_number,
                )  # fmt: skip

            pool.map(draw, ranges)
            count_assignments(documents, own, 0, len(starts) - 1, starts, changes, tokens)
            return np.empty(0)

        return initialise

    def _of_round(self, posterior: VariationalPosterior, number: int, mine: PartitionDocuments) -> VariationalPosterior:
        """The part of a block's posterior that belongs to the documents of the round."""
        block = mine.scratch.block(number).block
        first = mine.setup.firsts[number]
        ranges = mine.setup.rounds.ranges(self.round_, first, first + block.n_documents)
        rows = np.concatenate(
            [np.empty(0, np.int64), *(np.arange(start - first, end - first) for start, end in ranges)]
        )
        _, xi = take_rows(block.documents.tag_starts, posterior.xi, rows)
        rho = posterior.rho[rows] if len(posterior.rho) > 1 else posterior.rho
        return VariationalPosterior(xi, posterior.xi_latent[rows], rho)


@dataclass(frozen=True)
class CountRound(RoundTask):
    """Counts the assignments of a round's documents, which do not change."""

    def update(self, mine: PartitionDocuments) -> Update:
        """Return the count."""

        def count(
            number: int, found: RoundDocuments, tokens: Assignments, changes: TopicCounts, pool: ThreadPool
        ) -> Float64s:
            n_documents = len(found.token_starts) - 1
            count_assignments(found.documents, found.own, 0, n_documents, found.token_starts, changes, tokens)
            return np.empty(0)

        return count


class PartitionSizes(NamedTuple):
    """The words and tags that occur in a partition, and the tokens of each document of its blocks."""

    partition: int
    words: Int32s
    tags: Int32s
    lengths: dict[int, Int32s]


@dataclass(frozen=True)
class CollectSizes:
    """Yields the sizes of a partition."""

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[PartitionSizes]:
        """Collect them; a partition without documents yields nothing."""
        if not partition.blocks:
            return
        scratch.require(partition.blocks)
        lengths = {}
        for number in partition.blocks:
            documents = scratch.block(number).block.documents
            owner, n_documents = owners_of(documents.word_starts), len(documents.word_starts) - 1
            lengths[number] = np.bincount(owner, weights=documents.counts, minlength=n_documents).astype(np.int32)
        words, tags = scratch.columns(partition.blocks)
        yield PartitionSizes(partition.index, np.asarray(words), np.asarray(tags), lengths)


@dataclass(frozen=True)
class CompileSampler:
    """Compiles the kernels of the sampler, or loads them from the cache, before the first block is sent."""

    n_topics: int
    most_tags: int
    dtype: str = "float32"

    def __call__(self, partitions: Iterable[Partition]) -> None:
        """Sample two words, in one process of the executor at a time: the first compiles for all."""
        exhaust(partitions)
        compile_once((type(self), self.n_topics > 255, self.most_tags > 254, self.dtype), self._run_example)

    def _run_example(self) -> None:
        n_topics, partition = (2 if self.n_topics <= 255 else 257), Partition(0, (0,))
        scratch = Scratch(f"kernels-{uuid.uuid4().hex}")
        starts, two = np.array([0, 2]), np.array([0, 1], np.int32)
        documents = Documents(starts, two, np.ones(2, np.int32), np.array([0, 1]), np.zeros(1, np.int32))
        candidates = OwnWordCandidates(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), np.ones(1))
        tag_type = "uint8" if self.most_tags < 255 else "uint16"
        setup = _Held(SamplerSetup(n_topics, InterleavedRounds(1, 1), {0: 0}, tag_type, candidates))
        psi, theta = (np.full((n, n_topics), 0.5, self.dtype) for n in (2, 1))
        parameters = Parameters(psi, theta, np.ones(1), 1.0, np.ones(n_topics), latent=True)
        pi, mu, alpha, beta, *own = (np.ones(n, np.float32) for n in (1, n_topics, n_topics, 2, 1, 1, 1))
        priors = _Held(SamplerPriors(pi, 1.0, mu, alpha, beta, True, 2.0, *own))
        try:
            scratch.store_block(0, BlockData(documents, 2, 1, None))
            draw = DrawRound(setup, 0, INITIAL, 1, parameters=_Held(InitialParameters(parameters, {})))
            (drawn,) = draw(partition, scratch)
            counts = _Held(RoundCounts(drawn.differences, np.ones(n_topics, np.int64)))
            exhaust(SampleRound(setup, 0, 1, 2, counts=counts, priors=priors)(partition, scratch))
        finally:
            scratch.remove()


class _Held(NamedTuple):
    """A value of this process in place of a shared one."""

    value: Any
