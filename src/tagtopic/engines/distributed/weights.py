"""How pi is learnt when documents are spread over executors: the paper's three solutions and ours.

What travels differs: every document's weights to the driver ("driver"), a pi from each partition ("average"), every
document's weights to the executor that has its component ("components"), or one sum a pass ("gradient").

What documents on executors say of pi, in a form that travels and adds up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int32s, offsets_of
from tagtopic.engines.distributed.scratch import Scratch
from tagtopic.engines.distributed.tasks import Shared, Slot
from tagtopic.engines.weight_evidence import block_evidence
from tagtopic.inference.priors.tag_weights import HyperPrior, WeightEvidence, fixed_point_pass, update_weight_prior
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.engines.distributed.session import DistributedSession


class NamedEvidence(NamedTuple):
    """Evidence whose tag i is number ``names[i]`` of the corpus, ascending; the latent tag, if any, is the last."""

    names: Int32s
    evidence: WeightEvidence


@dataclass(frozen=True)
class Whose:
    """Which documents: as they stood after ``step``; ``size`` is the length of ``all_pi``."""

    step: int
    latent: bool
    size: int

    def of_block(self, number: int, scratch: Scratch) -> NamedEvidence:
        """The evidence of a block, which must be in scratch."""
        stored = scratch.block(number)
        evidence = block_evidence(stored.block, scratch.state(number, self.step), latent=self.latent)
        names = np.append(stored.tags, np.int32(self.size - 1)) if self.latent else np.asarray(stored.tags)
        return NamedEvidence(names, evidence)


def merged(parts: list[NamedEvidence]) -> NamedEvidence:
    """The evidence of several sets of documents together."""
    names = np.unique(np.concatenate([part.names for part in parts]))
    log_weights, documents = np.zeros(len(names)), np.zeros(len(names))
    tags, sizes = [], []
    for part in parts:
        place = np.searchsorted(names, part.names).astype(np.int32)
        log_weights[place] += part.evidence.log_weights
        documents[place] += part.evidence.documents
        tags.append(place[part.evidence.tags])
        sizes.append(np.diff(part.evidence.starts))
    starts = offsets_of(np.concatenate(sizes))
    return NamedEvidence(names, WeightEvidence(starts, np.concatenate(tags), log_weights, documents))


AVERAGES = ("weighted", "plain")

Learnt = NDArray[np.bool_]


class WeightUpdate(Protocol):
    """Learns pi, in the form of ``all_pi``."""

    def __call__(
        self, session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Learnt
    ) -> Float64s:
        """Pi from the documents of the run as they stand."""
        ...


def weight_update_of(name: str, average: str) -> WeightUpdate:
    """The update of this name."""
    from tagtopic.engines.distributed.components import ComponentUpdate

    updates: dict[str, WeightUpdate] = {
        "driver": driver_update,
        "average": AverageUpdate(plain=average == "plain"),
        "components": ComponentUpdate(),
        "gradient": gradient_update,
    }
    return updates[name]


def driver_update(session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
    """Solution I: the driver solves for pi from all documents' weights, which came with the E-step."""
    return update_weight_prior(parameters.all_pi, session.weight_evidence(parameters), hyper, learnt=learnt)


def without_evidence(pi: Float64s, hyper: HyperPrior, learnt: Learnt) -> Float64s:
    """Pi where no document says anything: the hyper-prior's centre, or where it stood."""
    none = np.zeros(len(pi))
    nothing = WeightEvidence(np.zeros(1, np.int64), np.empty(0, np.int32), none, none)
    return fixed_point_pass(pi, nothing, hyper, learnt)


@dataclass(frozen=True)
class Problem:
    """What a solver on an executor is given."""

    pi: Float64s
    hyper: HyperPrior
    learnt: Learnt

    def solve(self, found: NamedEvidence) -> Float64s:
        """Pi of the tags that the evidence names, from that evidence alone."""
        names = found.names
        hyper, learnt = self.hyper.of(names, len(self.pi)), self.learnt[names]
        return update_weight_prior(self.pi[names], found.evidence, hyper, learnt=learnt)


@dataclass(frozen=True)
class SolveInPartition:
    """Yields (tags, pi, documents that have the tag) of a partition."""

    problem: Shared[Problem]
    whose: Whose

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[Int32s, Float64s, Float64s]]:
        """Solve; a partition without documents has nothing to say, and does not count."""
        if not slot.numbers:
            return
        scratch.require(slot.numbers, self.whose.step)
        found = merged([self.whose.of_block(number, scratch) for number in slot.numbers])
        yield found.names, self.problem.value.solve(found), found.evidence.documents


@dataclass(frozen=True)
class AverageUpdate:
    """Solution II: each partition solves for its own pi, and the driver takes a mean of them.

    The paper takes the plain mean, in which a partition where a tag is rare or absent counts as much as any. Ours is
    geometric (pi lives on a logarithmic scale) and weighted by the documents that have the tag.
    """

    plain: bool

    def __call__(
        self, session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Learnt
    ) -> Float64s:
        """Pi, averaged."""
        pi = parameters.all_pi
        step = session.store.step
        with session.cluster.share(Problem(pi, hyper, learnt)) as problem:
            found = session.cluster.run(SolveInPartition(problem, Whose(step, parameters.latent, len(pi))), step)
        base = without_evidence(pi, hyper, learnt)
        return plain_mean(base, found) if self.plain else weighted_mean(base, found)


def plain_mean(base: Float64s, found: list[tuple[Int32s, Float64s, Float64s]]) -> Float64s:
    """The mean over all partitions; ``base`` stands for those without the tag."""
    total = np.zeros(len(base))
    for names, values, _ in found:
        solved = base.copy()
        solved[names] = values
        total += solved
    return total / len(found)


def weighted_mean(base: Float64s, found: list[tuple[Int32s, Float64s, Float64s]]) -> Float64s:
    """The geometric mean, weighted by documents; ``base`` where there are none."""
    logs, weights = np.zeros(len(base)), np.zeros(len(base))
    for names, values, documents in found:
        logs[names] += documents * np.log(values)
        weights[names] += documents
    seen = weights > 0
    pi = base.copy()
    pi[seen] = np.exp(logs[seen] / weights[seen])
    return pi


class PriorSums(NamedTuple):
    """A block's sums over documents at a pi, by the tags that occur in it; see ``Evidence``."""

    names: Int32s
    digammas: Float64s
    log_gammas: float


class FixedSums(NamedTuple):
    """A block's sums over documents that do not depend on pi."""

    names: Int32s
    log_weights: Float64s
    documents: Float64s


@dataclass(frozen=True)
class SumAtPrior:
    """Yields the sums of each block at a pi."""

    pi: Shared[Float64s]
    whose: Whose

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[PriorSums]:
        """Sum up each block."""
        scratch.require(slot.numbers, self.whose.step)
        for number in slot.numbers:
            names, evidence = self.whose.of_block(number, scratch)
            pi = self.pi.value[names]
            yield PriorSums(names, evidence.prior_digammas(pi), evidence.prior_log_gammas(pi))


@dataclass(frozen=True)
class SumFixed:
    """Yields the sums of each block that do not depend on pi."""

    whose: Whose

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[FixedSums]:
        """Sum up each block."""
        scratch.require(slot.numbers, self.whose.step)
        for number in slot.numbers:
            names, evidence = self.whose.of_block(number, scratch)
            yield FixedSums(names, evidence.log_weights, evidence.documents)


class RemoteEvidence:
    """The evidence of documents on executors. One job answers all that is asked at one pi."""

    def __init__(self, session: DistributedSession, whose: Whose) -> None:
        self.session = session
        self.whose = whose
        self.log_weights, self.documents = np.zeros((2, whose.size))
        for part in session.cluster.run(SumFixed(whose), whose.step):
            self.log_weights[part.names] += part.log_weights
            self.documents[part.names] += part.documents
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
            parts = self.session.cluster.run(SumAtPrior(shared, self.whose), self.whose.step)
        digammas, log_gammas = np.zeros(len(pi)), 0.0
        for part in parts:
            digammas[part.names] += part.digammas
            log_gammas += part.log_gammas
        # the solver comes back to no more than its last few
        self._known = [*self._known[-4:], (pi, digammas, log_gammas)]
        return digammas, log_gammas


def gradient_update(session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
    """Ours: what the fixed point asks of documents are sums, so each pass brings one number a tag and moves nothing."""
    pi = parameters.all_pi
    evidence = RemoteEvidence(session, Whose(session.store.step, parameters.latent, len(pi)))
    return update_weight_prior(pi, evidence, hyper, learnt=learnt)
