"""Updates of pi, the prior of the tag weights, with documents on executors: the paper's Solutions I and II and ours.

They differ in what is sent: every document's weights to the driver ("driver"), a pi from each partition ("average"), or
one sum over documents for each pass of the fixed point ("gradient"). ``components`` has Solution III.

References
----------
Solutions I to III are those of the paper that the models are from (see ``docs/model.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int32s, offsets_of
from tagtopic.engines.distributed.scratch import Scratch
from tagtopic.engines.distributed.tasks import Partition, Shared
from tagtopic.engines.posterior import block_evidence
from tagtopic.inference.priors.tag_weights import HyperPrior, WeightEvidence, fixed_point_pass, update_weight_prior
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.engines.distributed.session import DistributedSession

AVERAGES = ("weighted", "plain")
"""The means of the partitions' pi to choose from."""

KEPT_SUMS = 5
"""Values of pi whose sums are kept: the solver returns only to its last few."""

Mask = NDArray[np.bool_]


class WeightUpdate(Protocol):
    """Computes pi from the documents of a session."""

    def __call__(
        self, session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Mask
    ) -> Float64s:
        """Return pi; parameters and result as in ``Session.update_weight_prior``."""
        ...


class TagEvidence(NamedTuple):
    """Evidence whose tag i is column ``tags[i]`` of the corpus, ascending; the latent tag, if any, is the last."""

    tags: Int32s
    evidence: WeightEvidence


@dataclass(frozen=True)
class EvidenceReader:
    """Reads the evidence of blocks after ``step``; ``size`` is the length of ``all_pi``."""

    step: int
    latent: bool
    size: int

    def of_block(self, number: int, scratch: Scratch) -> TagEvidence:
        """Return the evidence of a block, which must be in scratch."""
        stored = scratch.block(number)
        evidence = block_evidence(stored.block, scratch.posterior(number, self.step), latent=self.latent)
        tags = np.append(stored.tags, np.int32(self.size - 1)) if self.latent else np.asarray(stored.tags)
        return TagEvidence(tags, evidence)

    def of_partition(self, partition: Partition, scratch: Scratch) -> TagEvidence:
        """Return the evidence of all blocks of a partition, which has some."""
        scratch.require(partition.blocks, self.step)
        return merge_evidence([self.of_block(number, scratch) for number in partition.blocks])


def merge_evidence(parts: list[TagEvidence]) -> TagEvidence:
    """Return the evidence of several sets of documents together."""
    columns = np.unique(np.concatenate([part.tags for part in parts]))
    log_weights, documents = np.zeros(len(columns)), np.zeros(len(columns))
    tags, sizes = [], []
    for part in parts:
        place = np.searchsorted(columns, part.tags).astype(np.int32)
        log_weights[place] += part.evidence.log_weights
        documents[place] += part.evidence.documents
        tags.append(place[part.evidence.tags])
        sizes.append(np.diff(part.evidence.starts))
    starts = offsets_of(np.concatenate(sizes))
    return TagEvidence(columns, WeightEvidence(starts, np.concatenate(tags), log_weights, documents))


def prior_without_evidence(pi: Float64s, hyper: HyperPrior, learnt: Mask) -> Float64s:
    """Return pi for tags of no document: the centre of the hyper-prior, or the current value."""
    none = np.zeros(len(pi))
    nothing = WeightEvidence(np.zeros(1, np.int64), np.empty(0, np.int32), none, none)
    return fixed_point_pass(pi, nothing, hyper, learnt)


@dataclass(frozen=True)
class WeightProblem:
    """The current pi, its hyper-prior, and the elements that may change: what an executor needs to solve for pi."""

    pi: Float64s
    hyper: HyperPrior
    learnt: Mask

    def solve(self, found: TagEvidence) -> Float64s:
        """Return pi of the tags of the evidence, from that evidence alone."""
        tags = found.tags
        hyper, learnt = self.hyper.select(tags, len(self.pi)), self.learnt[tags]
        return update_weight_prior(self.pi[tags], found.evidence, hyper, learnt=learnt)


def driver_update(session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Mask) -> Float64s:
    """Solve for pi on the driver, from all documents' weights, which it has after the E-step (Solution I)."""
    return update_weight_prior(parameters.all_pi, session.weight_evidence(parameters), hyper, learnt=learnt)


class PartitionPrior(NamedTuple):
    """The tags of a partition, their pi, and the number of its documents with each."""

    tags: Int32s
    pi: Float64s
    documents: Float64s


@dataclass(frozen=True)
class SolvePartition:
    """Yields the pi of a partition."""

    problem: Shared[WeightProblem]
    reader: EvidenceReader

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[PartitionPrior]:
        """Solve; a partition without documents yields nothing, and does not count."""
        if not partition.blocks:
            return
        found = self.reader.of_partition(partition, scratch)
        yield PartitionPrior(found.tags, self.problem.value.solve(found), found.evidence.documents)


@dataclass(frozen=True)
class AverageUpdate:
    """Solves for pi in each partition, and averages (Solution II; not exact).

    The paper takes the plain mean, in which a partition where a tag is rare or absent counts as much as any other. Ours
    is the geometric mean (pi varies on a logarithmic scale), weighted by the documents that have the tag.
    """

    plain: bool

    def __call__(
        self, session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Mask
    ) -> Float64s:
        """Return the mean of the partitions' pi."""
        pi, step = parameters.all_pi, session.store.step
        with session.cluster.share(WeightProblem(pi, hyper, learnt)) as problem:
            task = SolvePartition(problem, EvidenceReader(step, parameters.latent, len(pi)))
            found = session.cluster.run(task, step)
        base = prior_without_evidence(pi, hyper, learnt)
        return plain_mean(base, found) if self.plain else weighted_mean(base, found)


def plain_mean(base: Float64s, found: list[PartitionPrior]) -> Float64s:
    """Return the mean over all partitions; ``base`` is used for those without the tag."""
    total = np.zeros(len(base))
    for part in found:
        solved = base.copy()
        solved[part.tags] = part.pi
        total += solved
    return total / len(found)


def weighted_mean(base: Float64s, found: list[PartitionPrior]) -> Float64s:
    """Return the geometric mean, weighted by documents; ``base`` for tags without any."""
    logs, weights = np.zeros(len(base)), np.zeros(len(base))
    for part in found:
        logs[part.tags] += part.documents * np.log(part.pi)
        weights[part.tags] += part.documents
    seen = weights > 0
    pi = base.copy()
    pi[seen] = np.exp(logs[seen] / weights[seen])
    return pi


class SumsAtPrior(NamedTuple):
    """A block's sums over documents at a pi, for the tags that occur in it; see ``Evidence``."""

    tags: Int32s
    digammas: Float64s
    log_gammas: float


class LogWeightSums(NamedTuple):
    """A block's sums over documents that do not depend on pi, for the tags that occur in it."""

    tags: Int32s
    log_weights: Float64s
    documents: Float64s


@dataclass(frozen=True)
class SumAtPrior:
    """Yields the sums of each block at a pi."""

    pi: Shared[Float64s]
    reader: EvidenceReader

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[SumsAtPrior]:
        """Sum over each block's documents."""
        scratch.require(partition.blocks, self.reader.step)
        for number in partition.blocks:
            tags, evidence = self.reader.of_block(number, scratch)
            pi = self.pi.value[tags]
            yield SumsAtPrior(tags, evidence.prior_digammas(pi), evidence.prior_log_gammas(pi))


@dataclass(frozen=True)
class SumLogWeights:
    """Yields the sums of each block that do not depend on pi."""

    reader: EvidenceReader

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[LogWeightSums]:
        """Sum over each block's documents."""
        scratch.require(partition.blocks, self.reader.step)
        for number in partition.blocks:
            tags, evidence = self.reader.of_block(number, scratch)
            yield LogWeightSums(tags, evidence.log_weights, evidence.documents)


class DistributedEvidence:
    """The evidence of documents on executors; see ``Evidence``. One job computes all sums at one pi."""

    def __init__(self, session: DistributedSession, reader: EvidenceReader) -> None:
        self.session = session
        self.reader = reader
        self.log_weights, self.documents = np.zeros((2, reader.size))
        for part in session.cluster.run(SumLogWeights(reader), reader.step):
            self.log_weights[part.tags] += part.log_weights
            self.documents[part.tags] += part.documents
        self._known: list[tuple[Float64s, Float64s, float]] = []

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""
        return self._at(pi)[0]

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over documents of lgamma(sum pi_d)."""
        return self._at(pi)[1]

    def _at(self, pi: Float64s) -> tuple[Float64s, float]:
        for known, digammas, log_gammas in self._known:
            if known is pi:
                return digammas, log_gammas
        with self.session.cluster.share(pi) as shared:
            parts = self.session.cluster.run(SumAtPrior(shared, self.reader), self.reader.step)
        digammas, log_gammas = np.zeros(len(pi)), 0.0
        for part in parts:
            digammas[part.tags] += part.digammas
            log_gammas += part.log_gammas
        self._known = [*self._known[1 - KEPT_SUMS :], (pi, digammas, log_gammas)]
        return digammas, log_gammas


def gradient_update(session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Mask) -> Float64s:
    """Solve for pi on the driver from sums over documents: each pass collects one number for each tag (ours)."""
    pi = parameters.all_pi
    reader = EvidenceReader(session.store.step, parameters.latent, len(pi))
    return update_weight_prior(pi, DistributedEvidence(session, reader), hyper, learnt=learnt)
