"""Solution III: pi by connected components, each solved where all of its documents' weights come together.

Connected components of documents and tags: the paper's Appendix C.

Two documents that share a tag are in one component, and so are all that hang together by a chain of them. No tag of a
component occurs in another, so each component's part of pi can be learnt by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import digamma, polygamma

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of
from tagtopic.engines.distributed.scratch import Scratch
from tagtopic.engines.distributed.tasks import Shared, Slot
from tagtopic.engines.distributed.weights import Learnt, NamedEvidence, Problem, Whose, merged, without_evidence
from tagtopic.inference.priors.tag_weights import LARGEST, SMALLEST, HyperPrior, WeightEvidence
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.engines.distributed.session import DistributedSession


Links = tuple[Int32s, Int32s]
"""Pairs of tags that are in one component."""


@dataclass(frozen=True)
class ComponentReport:
    """How documents and tags fall into components, and what that means for ``n_bins`` parts of a cluster.

    ``imbalance`` is the work of the fullest part over the mean: 1 is ideal, ``n_bins`` means that one does all.
    """

    n_components: int
    documents: tuple[int, ...]
    tags: tuple[int, ...]
    largest_share: float
    n_bins: int
    imbalance: float

    def __str__(self) -> str:
        return (
            f"{self.n_components:,} components; the largest has {self.largest_share:.1%} of the tagged documents "
            f"({self.documents[0]:,} documents, {self.tags[0]:,} tags); "
            f"on {self.n_bins} parts the fullest has {self.imbalance:.2f} times the mean work"
        )


def tag_components(links: Sequence[Links], n_tags: int) -> Int32s:
    """The component of each tag, numbered from 0: scipy's union-find over pairs of tags from anywhere."""
    first = np.concatenate([np.empty(0, np.int32), *(pair[0] for pair in links)])
    second = np.concatenate([np.empty(0, np.int32), *(pair[1] for pair in links)])
    graph = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(n_tags, n_tags))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def links_of(starts: Int64s, tags: Int32s) -> Links:
    """Pairs of tags that say which tags these documents bind together; no more pairs than tags.

    This is what a partition sends: its own components, each as a star.
    """
    names, places = np.unique(tags[starts[0] : starts[-1]], return_inverse=True)
    offsets = np.asarray(starts - starts[0])
    follows = np.ones(len(places), np.bool_)
    follows[offsets[:-1][np.diff(offsets) > 0]] = False
    second = np.flatnonzero(follows)
    own = tag_components([(places[second - 1].astype(np.int32), places[second].astype(np.int32))], len(names))
    _, centre = np.unique(own, return_index=True)
    return names, names[centre[own]]


def into_bins(work: NDArray[Any], n_bins: int) -> Int32s:
    """A bin for each component: the largest first, each to the bin with the least work."""
    bins = np.zeros(len(work), np.int32)
    filled = np.zeros(n_bins)
    for component in np.argsort(-work, kind="stable"):
        bins[component] = np.argmin(filled)
        filled[bins[component]] += work[component]
    return bins


def report_components(tags: Any, n_bins: int) -> ComponentReport:
    """The report of a corpus's ``tags`` (CSR documents x tags)."""
    labels = tag_components([links_of(tags.indptr, tags.indices)], tags.shape[1])
    used = np.unique(labels[np.unique(tags.indices)])
    tagged = np.flatnonzero(np.diff(tags.indptr))
    documents = np.bincount(labels[tags.indices[tags.indptr[tagged]]], minlength=labels.max(initial=-1) + 1)[used]
    n_tags = np.bincount(labels[np.unique(tags.indices)], minlength=labels.max(initial=-1) + 1)[used]
    work = np.bincount(labels[tags.indices], minlength=labels.max(initial=-1) + 1)[used]
    order = np.argsort(-documents, kind="stable")
    loads = np.bincount(into_bins(work, n_bins), weights=work, minlength=n_bins)
    return ComponentReport(
        n_components=len(used),
        documents=tuple(documents[order].tolist()),
        tags=tuple(n_tags[order].tolist()),
        largest_share=float(documents.max(initial=0) / max(len(tagged), 1)),
        n_bins=n_bins,
        imbalance=float(loads.max() / loads.mean()) if work.sum() else 1.0,
    )


def appendix_c(documents: Sequence[Sequence[int]], n_tags: int) -> list[set[int]]:
    """The paper's algorithm as printed, but for the empty cluster that it begins with; slow and plain.

    Documents without tags are in no cluster, as in the paper.
    """
    owners: list[set[int]] = [set() for _ in range(n_tags)]
    for number, tags in enumerate(documents):
        for tag in tags:
            owners[tag].add(number)
    clusters: list[set[int]] = []
    scanned: set[int] = set()
    for tag in range(n_tags):
        if tag in scanned:
            continue
        scanned.add(tag)
        cluster: set[int] = set()
        to_add = set(owners[tag])
        while to_add:
            document = to_add.pop()
            cluster.add(document)
            for other in documents[document]:
                scanned.add(other)
                to_add |= owners[other] - cluster
        clusters.append(cluster)
    return clusters


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

    bins: Shared[Int32s]
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

    problem: Shared[Problem]
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

    def __call__(
        self, session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Learnt
    ) -> Float64s:
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
            pi, latent_sums = self._solve(session, problem, parameters.latent, base)
            if not alternate:
                break
            pi[-1] = newton_step(latent_prior, latent_sums, hyper.of(np.array([len(pi) - 1], np.int32), len(pi)))
            if abs(pi[-1] - latent_prior) <= TOLERANCE * latent_prior:
                break
        return pi

    def _solve(
        self, session: DistributedSession, problem: Problem, latent: bool, base: Float64s
    ) -> tuple[Float64s, Float64s]:
        if self._bins is None:
            self._bins = self._find_bins(session, len(problem.pi), latent)
        pi = base.copy()
        if latent:
            pi[-1] = problem.pi[-1]
        found: dict[int, BinSolution] = {}
        cluster, step = session.cluster, session.store.step
        with cluster.share(problem) as shared, cluster.share(self._bins) as bins:
            cut = CutByBin(bins, Whose(step, latent, len(problem.pi)))
            for solution in cluster.shuffle(
                cut, SolveBin(shared, latent), step, n_out=len(cluster.slots), n_jobs=1, repair=Require(step)
            ):
                found[solution.bin] = solution  # a bin may come twice, with the same solution
        latent_sums = np.zeros(4)
        for solution in found.values():
            pi[solution.names] = solution.pi
            latent_sums += solution.latent_sums
        return pi, latent_sums

    def _find_bins(self, session: DistributedSession, size: int, latent: bool) -> Int32s:
        """The part of the cluster that solves for each tag: whole components, evenly spread."""
        step = session.store.step
        links = session.cluster.run(BringLinks(step), step)
        n_tags = size - int(latent)
        components = tag_components(links, n_tags)
        work = np.bincount(components, weights=session.blocks.tag_frequencies(n_tags))
        bins = into_bins(work, len(session.cluster.slots))[components]
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
