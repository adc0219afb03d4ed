"""How pi is learnt when documents are spread over executors: the paper's three solutions and ours.

What travels differs: every document's weights to the driver ("driver"), a pi from each partition ("average"), every
document's weights to the executor that has its component ("components"), or one sum a pass ("gradient").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic.engines.spark.evidence import NamedEvidence, Whose, merged
from tagtopic.engines.spark.scratch import Scratch
from tagtopic.engines.spark.wrapping import Slot
from tagtopic.inference.arrays import Float64s, Int32s
from tagtopic.inference.parameters import Parameters
from tagtopic.inference.weight_prior import (
    TOLERANCE,
    HyperPrior,
    WeightEvidence,
    solve_weight_prior,
    sum_prior_digammas,
    update_weight_prior,
)

if TYPE_CHECKING:
    from pyspark import Broadcast

    from tagtopic.engines.spark.run import SparkRun

WEIGHT_UPDATES = ("driver", "average", "components", "gradient")
AVERAGES = ("weighted", "plain")

Learnt = NDArray[np.bool_]


class WeightUpdate(Protocol):
    """Learns pi, in the form of ``all_pi``."""

    def __call__(self, run: SparkRun, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
        """Pi from the documents of the run as they stand."""


def weight_update_of(name: str, average: str) -> WeightUpdate:
    """The update of this name."""
    from tagtopic.engines.spark.component_weights import ComponentUpdate

    updates: dict[str, WeightUpdate] = {
        "driver": driver_update,
        "average": AverageUpdate(plain=average == "plain"),
        "components": ComponentUpdate(),
        "gradient": gradient_update,
    }
    return updates[name]


def driver_update(run: SparkRun, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
    """Solution I: the driver solves for pi from all documents' weights, which came with the E-step."""
    return run.learn_weights_here(parameters, hyper, learnt)


def without_evidence(pi: Float64s, hyper: HyperPrior, learnt: Learnt) -> Float64s:
    """Pi where no document says anything: the hyper-prior's centre, or where it stood."""
    none = np.zeros(len(pi))
    nothing = WeightEvidence(np.zeros(1, np.int64), np.empty(0, np.int32), none, none)
    return update_weight_prior(pi, nothing, hyper, learnt=learnt, passes=1)


@dataclass(frozen=True)
class Problem:
    """What a solver on an executor is given."""

    pi: Float64s
    hyper: HyperPrior
    learnt: Learnt

    def solve(self, found: NamedEvidence, tolerance: float = TOLERANCE) -> Float64s:
        """Pi of the tags that the evidence names, from that evidence alone."""
        names = found.names
        hyper, learnt = self.hyper.of(names, len(self.pi)), self.learnt[names]
        return update_weight_prior(self.pi[names], found.evidence, hyper, learnt=learnt, tolerance=tolerance)


@dataclass(frozen=True)
class SolveInPartition:
    """Yields (tags, pi, documents that have the tag) of a partition."""

    problem: Broadcast[Problem]
    whose: Whose

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[Int32s, Float64s, Float64s]]:
        """Solve."""
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

    def __call__(self, run: SparkRun, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
        """Pi, averaged."""
        pi = parameters.all_pi
        problem = run.cluster.context.broadcast(Problem(pi, hyper, learnt))
        try:
            whose = Whose(run.step, parameters.latent, len(pi))
            found = run.cluster.run(SolveInPartition(problem, whose), run.step)
        finally:
            problem.destroy()
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


@dataclass(frozen=True)
class PriorDigammas:
    """Yields (tags, sums) of each block: by tag, the sum over its documents of Psi(sum pi_d).

    ``begin`` asks for what does not change from pass to pass too: the log weights and the numbers of documents.
    """

    pi: Broadcast[Float64s]
    whose: Whose
    begin: bool

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[Int32s, Any]]:
        """Sum up each block."""
        scratch.require(slot.numbers, self.whose.step)
        for number in slot.numbers:
            names, evidence = self.whose.of_block(number, scratch)
            sums = sum_prior_digammas(evidence.starts, evidence.tags, self.pi.value[names])
            yield names, np.array([sums, evidence.log_weights, evidence.documents] if self.begin else [sums])


def gradient_update(run: SparkRun, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
    """Ours: the fixed point's sums are sums over documents, so each pass needs one number a tag and moves nothing."""
    pi = parameters.all_pi
    whose = Whose(run.step, parameters.latent, len(pi))

    def sums_at(at: Float64s, *, begin: bool) -> Float64s:
        shared = run.cluster.context.broadcast(at)
        try:
            found = run.cluster.run(PriorDigammas(shared, whose, begin), run.step)
        finally:
            shared.destroy()
        totals = np.zeros((3 if begin else 1, len(at)))
        for names, sums in found:
            totals[:, names] += sums
        return totals

    first, log_weights, documents = sums_at(pi, begin=True)

    def prior_digammas(at: Float64s) -> Float64s:
        return first if at is pi else np.asarray(sums_at(at, begin=False)[0])

    return solve_weight_prior(pi, prior_digammas, log_weights, documents, hyper, learnt=learnt)
