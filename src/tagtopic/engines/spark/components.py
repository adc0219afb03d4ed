"""Connected components of documents and tags: the paper's Appendix C.

Two documents that share a tag are in one component, and so are all that hang together by a chain of them. No tag of a
component occurs in another, so each component's part of pi can be learnt by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagtopic.inference.arrays import Int32s, Int64s

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
