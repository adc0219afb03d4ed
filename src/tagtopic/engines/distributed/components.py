"""The update of pi by connected components of documents and tags: the paper's Solution III and Appendix C.

Two documents that share a tag are in one component. No tag of a component occurs in another, so each component's part
of pi can be estimated by itself, on the executor where the weights of its documents are brought together.
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
from tagtopic.engines.distributed.tasks import Partition, Shared
from tagtopic.engines.distributed.weight_updates import (
    EvidenceReader,
    Mask,
    TagEvidence,
    WeightProblem,
    merge_evidence,
    prior_without_evidence,
)
from tagtopic.inference.priors.tag_weights import MAX_PI, MIN_PI, HyperPrior, WeightEvidence
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.engines.distributed.session import DistributedSession


MAX_ROUNDS, TOLERANCE = 30, 1e-7
"""Alternations between the components and the latent tag's prior."""

TagPairs = tuple[Int32s, Int32s]
"""Pairs of tags that are in one component."""


@dataclass(frozen=True)
class ComponentReport:
    """The connected components of a corpus, and how evenly they divide among the parts of a cluster.

    Attributes
    ----------
    n_components : int
        The number of components.
    documents, tags : tuple of int
        The numbers of documents and tags of each, the largest component first.
    largest_share : float
        The share of the tagged documents that are in the largest one.
    n_bins : int
        The number of parts of the cluster.
    imbalance : float
        The work of the fullest part over the mean: 1 is ideal, ``n_bins`` means that one does all.
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


def tag_components(pairs: Sequence[TagPairs], n_tags: int) -> Int32s:
    """Return the component of each tag, numbered from 0, given pairs of tags from all partitions."""
    first = np.concatenate([np.empty(0, np.int32), *(pair[0] for pair in pairs)])
    second = np.concatenate([np.empty(0, np.int32), *(pair[1] for pair in pairs)])
    graph = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(n_tags, n_tags))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)


def tag_pairs(starts: Int64s, tags: Int32s) -> TagPairs:
    """Return pairs of tags that connect the components of some documents, no more pairs than tags.

    Each component is a star: every tag is paired with the first one.
    """
    names, places = np.unique(tags[starts[0] : starts[-1]], return_inverse=True)
    offsets = np.asarray(starts - starts[0])
    follows = np.ones(len(places), np.bool_)
    follows[offsets[:-1][np.diff(offsets) > 0]] = False
    second = np.flatnonzero(follows)
    own = tag_components([(places[second - 1].astype(np.int32), places[second].astype(np.int32))], len(names))
    _, centre = np.unique(own, return_index=True)
    return names, names[centre[own]]


def assign_bins(work: NDArray[Any], n_bins: int) -> Int32s:
    """Assign components to bins: the largest first, each to the bin with the least work."""
    bins = np.zeros(len(work), np.int32)
    filled = np.zeros(n_bins)
    for component in np.argsort(-work, kind="stable"):
        bins[component] = np.argmin(filled)
        filled[bins[component]] += work[component]
    return bins


def component_report(tags: Any, n_bins: int) -> ComponentReport:
    """Describe the components of a corpus.

    Parameters
    ----------
    tags : csr_array of shape (documents, tags)
        The tags of the documents.
    n_bins : int
        The number of parts of the cluster.

    Returns
    -------
    ComponentReport
    """
    labels = tag_components([tag_pairs(tags.indptr, tags.indices)], tags.shape[1])
    used = np.unique(labels[np.unique(tags.indices)])
    tagged = np.flatnonzero(np.diff(tags.indptr))
    documents = np.bincount(labels[tags.indices[tags.indptr[tagged]]], minlength=labels.max(initial=-1) + 1)[used]
    n_tags = np.bincount(labels[np.unique(tags.indices)], minlength=labels.max(initial=-1) + 1)[used]
    work = np.bincount(labels[tags.indices], minlength=labels.max(initial=-1) + 1)[used]
    order = np.argsort(-documents, kind="stable")
    loads = np.bincount(assign_bins(work, n_bins), weights=work, minlength=n_bins)
    return ComponentReport(
        n_components=len(used),
        documents=tuple(documents[order].tolist()),
        tags=tuple(n_tags[order].tolist()),
        largest_share=float(documents.max(initial=0) / max(len(tagged), 1)),
        n_bins=n_bins,
        imbalance=float(loads.max() / loads.mean()) if work.sum() else 1.0,
    )


class BinSolution(NamedTuple):
    """Pi of a bin's tags, and its documents' terms in the equation of the latent tag's prior."""

    bin: int
    tags: Int32s
    pi: Float64s
    latent_sums: Float64s


@dataclass(frozen=True)
class CollectTagPairs:
    """Yields pairs of tags that connect the components of each block."""

    step: int

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[TagPairs]:
        """Yield the pairs of each block."""
        scratch.require(partition.blocks, self.step)
        for number in partition.blocks:
            stored = scratch.block(number)
            first, second = tag_pairs(stored.block.documents.tag_starts, stored.block.documents.tags)
            yield stored.tags[first], stored.tags[second]


@dataclass(frozen=True)
class SplitByBin:
    """Yields (bin, the evidence of its documents) for the bins of a partition."""

    bins: Shared[Int32s]
    reader: EvidenceReader

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[tuple[int, TagEvidence]]:
        """Split; a partition without documents yields nothing."""
        if not partition.blocks:
            return
        tags, evidence = self.reader.of_partition(partition, scratch)
        tag_bins = self.bins.value[tags]  # the latent tag is in no bin
        document_bins = tag_bins[evidence.tags[evidence.starts[:-1]]]
        for place, bin_ in enumerate(np.unique(document_bins)):
            part = _of_documents(evidence, document_bins == bin_)
            mine = tag_bins == bin_
            if self.reader.latent:
                mine[-1] = place == 0  # the latent tag's sums are sent once
            log_weights, documents = (np.where(mine, sums, 0.0) for sums in (evidence.log_weights, evidence.documents))
            yield int(bin_), TagEvidence(tags, replace(part, log_weights=log_weights, documents=documents))


@dataclass(frozen=True)
class SolveBin:
    """Computes the pi of a bin from all its documents' evidence."""

    problem: Shared[WeightProblem]
    latent: bool

    def __call__(self, key: int, parts: list[TagEvidence]) -> BinSolution:
        """Solve, with the latent tag's prior fixed."""
        found = merge_evidence(parts)
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
        return BinSolution(key, found.tags[own], pi[own], sums)


@dataclass(frozen=True)
class RequireBlocks:
    """Yields nothing, but raises if blocks or posteriors are missing."""

    step: int

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[None]:
        """Require them."""
        scratch.require(partition.blocks, self.step)
        return iter(())


class ComponentUpdate:
    """Solves for pi in each connected component (Solution III; exact).

    The latent tag of TWDA would connect all documents: its prior is fixed while the components are solved, and updated
    by a Newton step on its own equation in between.
    """

    def __init__(self) -> None:
        self._bins: Int32s | None = None

    def __call__(
        self, session: DistributedSession, parameters: Parameters, hyper: HyperPrior, learnt: Mask
    ) -> Float64s:
        """Return pi."""
        start = parameters.all_pi
        base = prior_without_evidence(start, hyper, learnt)
        alternate = parameters.latent and bool(learnt[-1])
        learnt = learnt.copy()
        if parameters.latent:
            base[-1], learnt[-1] = start[-1], False
        pi = base.copy()
        for _ in range(MAX_ROUNDS if alternate else 1):
            latent_prior = pi[-1]
            problem = WeightProblem(np.append(start[:-1], latent_prior) if parameters.latent else start, hyper, learnt)
            pi, latent_sums = self._solve(session, problem, parameters.latent, base)
            if not alternate:
                break
            pi[-1] = newton_step(latent_prior, latent_sums, hyper.select(np.array([len(pi) - 1], np.int32), len(pi)))
            if abs(pi[-1] - latent_prior) <= TOLERANCE * latent_prior:
                break
        return pi

    def _solve(
        self, session: DistributedSession, problem: WeightProblem, latent: bool, base: Float64s
    ) -> tuple[Float64s, Float64s]:
        if self._bins is None:
            self._bins = self._find_bins(session, len(problem.pi), latent)
        pi = base.copy()
        if latent:
            pi[-1] = problem.pi[-1]
        found: dict[int, BinSolution] = {}
        cluster, step = session.cluster, session.store.step
        with cluster.share(problem) as shared, cluster.share(self._bins) as bins:
            split = SplitByBin(bins, EvidenceReader(step, latent, len(problem.pi)))
            for solution in cluster.shuffle(
                split,
                SolveBin(shared, latent),
                step,
                n_out=len(cluster.partitions),
                n_jobs=1,
                repair=RequireBlocks(step),
            ):
                found[solution.bin] = solution  # a bin may come twice, with the same solution
        latent_sums = np.zeros(4)
        for solution in found.values():
            pi[solution.tags] = solution.pi
            latent_sums += solution.latent_sums
        return pi, latent_sums

    def _find_bins(self, session: DistributedSession, size: int, latent: bool) -> Int32s:
        """Return the bin of each tag: whole components, evenly divided among the partitions."""
        step = session.store.step
        pairs = session.cluster.run(CollectTagPairs(step), step)
        n_tags = size - int(latent)
        components = tag_components(pairs, n_tags)
        work = np.bincount(components, weights=session.blocks.tag_frequencies(n_tags))
        bins = assign_bins(work, len(session.cluster.partitions))[components]
        return np.append(bins, np.int32(-1)) if latent else bins


def newton_step(prior: float, sums: Float64s, hyper: HyperPrior) -> float:
    """Return the latent tag's prior after a Newton step, on the logarithm, towards the root of its equation."""
    shared, slope, log_weight, documents = sums
    strength, centre = np.ravel(hyper.strength)[0], np.ravel(hyper.centre)[0]
    weight = documents + strength
    gradient = shared + log_weight + strength * digamma(centre) - weight * digamma(prior)
    curvature = slope - weight * polygamma(1, prior)
    step = np.clip(-gradient / (prior * curvature), -1.0, 1.0)
    return float(np.clip(prior * np.exp(step), MIN_PI, MAX_PI))


def _of_documents(evidence: WeightEvidence, kept: Mask) -> WeightEvidence:
    """Return the tag sets of some documents; the sums are unchanged."""
    sizes = np.diff(evidence.starts)
    starts = offsets_of(sizes[kept])
    return replace(evidence, starts=starts, tags=evidence.tags[np.repeat(kept, sizes)])
