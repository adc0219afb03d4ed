"""Solution III: pi by connected components, each solved where all of its documents' weights come together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

from tagtopic.corpus.ragged import offsets_of
from tagtopic.engines.spark.components import Links, into_bins, links_of, tag_components
from tagtopic.engines.spark.evidence import NamedEvidence, Whose, merged
from tagtopic.engines.spark.scratch import Scratch
from tagtopic.engines.spark.weights import Learnt, Problem, without_evidence
from tagtopic.engines.spark.wrapping import Slot
from tagtopic.inference.arrays import Float64s, Int32s
from tagtopic.inference.parameters import Parameters
from tagtopic.inference.weight_prior import LARGEST, SMALLEST, HyperPrior, WeightEvidence

if TYPE_CHECKING:
    from pyspark import Broadcast

    from tagtopic.engines.spark.run import SparkRun

ROUNDS, TOLERANCE = 30, 1e-7
"""Alternations between the components and the latent tag's prior."""


class BinSolution(NamedTuple):
    """Pi of a bin's tags, and what its documents add to the equation of the latent tag's prior."""

    bin: int
    names: Int32s
    pi: Float64s
    latent_sums: Float64s


@dataclass(frozen=True)
class BringLinks:
    """Yields the pairs of tags that the documents of a block bind together."""

    step: int

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[Links]:
        """Each block's components, as pairs."""
        scratch.require(slot.numbers, self.step)
        for number in slot.numbers:
            stored = scratch.block(number)
            first, second = links_of(stored.block.documents.tag_starts, stored.block.documents.tags)
            yield stored.tags[first], stored.tags[second]


@dataclass(frozen=True)
class CutByBin:
    """Yields (bin, the evidence of its documents) of a partition."""

    bins: Broadcast[Int32s]
    whose: Whose

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, NamedEvidence]]:
        """Cut; of a partition without documents nothing travels."""
        if not slot.numbers:
            return
        scratch.require(slot.numbers, self.whose.step)
        found = merged([self.whose.of_block(number, scratch) for number in slot.numbers])
        names, evidence = found
        tag_bins = self.bins.value[names]  # the latent tag is in no bin
        document_bins = tag_bins[evidence.tags[evidence.starts[:-1]]]
        for place, bin_ in enumerate(np.unique(document_bins)):
            part = _of_documents(evidence, document_bins == bin_)
            mine = tag_bins == bin_
            if self.whose.latent:
                mine[-1] = place == 0  # the latent tag's sums travel once
            log_weights, documents = (np.where(mine, sums, 0.0) for sums in (evidence.log_weights, evidence.documents))
            yield int(bin_), NamedEvidence(names, replace(part, log_weights=log_weights, documents=documents))


@dataclass(frozen=True)
class SolveBin:
    """Makes a bin's pi of all its documents' evidence."""

    problem: Broadcast[Problem]
    latent: bool

    def __call__(self, key: int, parts: list[NamedEvidence]) -> BinSolution:
        """Solve; the latent tag's prior is taken as given."""
        found = merged(parts)
        problem = self.problem.value
        pi = problem.solve(found)
        evidence = found.evidence
        sums = np.zeros(4)
        if self.latent and len(evidence.starts) > 1:
            totals = np.add.reduceat(pi[evidence.tags], evidence.starts[:-1])
            sums = np.array([digamma(totals).sum(), polygamma(1, totals).sum(), evidence.log_weights[-1],
                             evidence.documents[-1]])  # fmt: skip
        own = evidence.documents > 0
        if self.latent:
            own[-1] = False
        return BinSolution(key, found.names[own], pi[own], sums)


@dataclass(frozen=True)
class Require:
    """Yields nothing; asks for blocks and states."""

    step: int

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[None]:
        """Ask."""
        scratch.require(slot.numbers, self.step)
        return iter(())


class ComponentUpdate:
    """Each component is solved by itself. The latent tag of TWDA would join them all: its prior is held while the
    components are solved, and moved by a Newton step on its own equation in between.
    """

    def __init__(self) -> None:
        self._bins: Int32s | None = None

    def __call__(self, run: SparkRun, parameters: Parameters, hyper: HyperPrior, learnt: Learnt) -> Float64s:
        """Pi, exactly."""
        start = parameters.all_pi
        base = without_evidence(start, hyper, learnt)
        alternate = parameters.latent and bool(learnt[-1])
        learnt = learnt.copy()
        if parameters.latent:
            base[-1], learnt[-1] = start[-1], False
        pi = base.copy()
        for _ in range(ROUNDS if alternate else 1):
            latent_prior = pi[-1]
            problem = Problem(np.append(start[:-1], latent_prior) if parameters.latent else start, hyper, learnt)
            pi, latent_sums = self._solve(run, problem, parameters.latent, base)
            if not alternate:
                break
            pi[-1] = newton_step(latent_prior, latent_sums, hyper.of(np.array([len(pi) - 1], np.int32), len(pi)))
            if abs(pi[-1] - latent_prior) <= TOLERANCE * latent_prior:
                break
        return pi

    def _solve(self, run: SparkRun, problem: Problem, latent: bool, base: Float64s) -> tuple[Float64s, Float64s]:
        if self._bins is None:
            self._bins = self._find_bins(run, len(problem.pi), latent)
        context = run.cluster.context
        shared, bins = context.broadcast(problem), context.broadcast(self._bins)
        cut = CutByBin(bins, Whose(run.step, latent, len(problem.pi)))
        pi = base.copy()
        if latent:
            pi[-1] = problem.pi[-1]
        found: dict[int, BinSolution] = {}
        try:
            n_bins = len(run.cluster.slots)
            for solution in run.cluster.shuffle(
                cut, SolveBin(shared, latent), run.step, n_out=n_bins, n_jobs=1, repair=Require(run.step)
            ):
                found[solution.bin] = solution  # a bin may come twice, with the same solution
        finally:
            shared.destroy()
            bins.destroy()
        latent_sums = np.zeros(4)
        for solution in found.values():
            pi[solution.names] = solution.pi
            latent_sums += solution.latent_sums
        return pi, latent_sums

    def _find_bins(self, run: SparkRun, size: int, latent: bool) -> Int32s:
        """The part of the cluster that solves for each tag: whole components, evenly spread."""
        links = run.cluster.run(BringLinks(run.step), run.step)
        n_tags = size - int(latent)
        components = tag_components(links, n_tags)
        work = np.bincount(components, weights=run.tag_frequencies(n_tags))
        bins = into_bins(work, len(run.cluster.slots))[components]
        return np.append(bins, np.int32(-1)) if latent else bins


def newton_step(prior: float, sums: Float64s, hyper: HyperPrior) -> float:
    """One step, on the logarithm, towards the root of the latent tag's equation: the gradient of L[pi] in it."""
    shared, slope, log_weight, documents = sums
    strength, centre = np.ravel(hyper.strength)[0], np.ravel(hyper.centre)[0]
    weight = documents + strength
    gradient = shared + log_weight + strength * digamma(centre) - weight * digamma(prior)
    curvature = slope - weight * polygamma(1, prior)
    step = np.clip(-gradient / (prior * curvature), -1.0, 1.0)
    return float(np.clip(prior * np.exp(step), SMALLEST, LARGEST))


def _of_documents(evidence: WeightEvidence, kept: Learnt) -> WeightEvidence:
    """The tag sets of some documents; the sums are left as they are."""
    sizes = np.diff(evidence.starts)
    starts = offsets_of(sizes[kept])
    return replace(evidence, starts=starts, tags=evidence.tags[np.repeat(kept, sizes)])
