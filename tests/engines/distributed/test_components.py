"""Connected components: scipy's, and those merged from partitions, against the paper's Appendix C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic import Corpus
from tagtopic.engines.distributed.components import (
    assign_bins,
    component_report,
    tag_components,
    tag_pairs,
)

N_TAGS = 12
documents = st.lists(st.lists(st.integers(0, N_TAGS - 1), max_size=4, unique=True), min_size=1, max_size=20)


def appendix_c(documents: Sequence[Sequence[int]], n_tags: int) -> list[set[int]]:
    """The paper's algorithm as printed, but for the empty cluster that it begins with.

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


def corpus_of(tags: list[list[int]]) -> Corpus:
    matrix = np.zeros((len(tags), N_TAGS), np.int8)
    for document, given_tags in enumerate(tags):
        matrix[document, given_tags] = 1
    return Corpus.from_counts(np.ones((len(tags), 1), np.int32), matrix)


def clusters_of(labels: list[int], tags: list[list[int]]) -> set[frozenset[int]]:
    """The tagged documents of each component."""
    found: dict[int, set[int]] = {}
    for document, given_tags in enumerate(tags):
        for tag in given_tags:
            found.setdefault(labels[tag], set()).add(document)
    return {frozenset(cluster) for cluster in found.values()}


@given(documents, st.integers(0, 20))
def test_components_are_those_of_appendix_c(tags: list[list[int]], cut: int) -> None:
    corpus = corpus_of(tags)
    parts = [corpus[:cut].tags, corpus[cut:].tags]
    labels = tag_components([tag_pairs(part.indptr, part.indices) for part in parts], N_TAGS)
    expected = {frozenset(cluster) for cluster in appendix_c(tags, N_TAGS) if cluster}
    assert clusters_of(labels.tolist(), tags) == expected


@given(documents)
def test_a_partition_sends_no_more_pairs_than_it_has_tags(tags: list[list[int]]) -> None:
    corpus = corpus_of(tags)
    first, second = tag_pairs(corpus.tags.indptr, corpus.tags.indices)
    assert len(first) == len(second) == len({tag for given_tags in tags for tag in given_tags})


def test_the_paper_s_example() -> None:
    # Figure 9: d1 t1 t2 t3, d2 t3 t4, d3 t5 t6, d4 t6 t7, d5 t4
    tags = [[0, 1, 2], [2, 3], [4, 5], [5, 6], [3]]
    assert appendix_c(tags, 7) == [{0, 1, 4}, {2, 3}]


def test_the_report_tells_sizes_and_imbalance() -> None:
    report = component_report(corpus_of([[0, 1], [1, 2], [2], [3, 4], [], [5]]).tags, n_bins=2)
    assert (report.n_components, report.documents, report.tags) == (3, (3, 1, 1), (3, 2, 1))
    assert report.largest_share == pytest.approx(3 / 5)
    assert report.imbalance == pytest.approx(5 / 4)
    assert "3 components" in str(report)


def test_one_component_leaves_all_the_work_to_one_part() -> None:
    assert component_report(corpus_of([[0, 1], [1, 2]]).tags, n_bins=4).imbalance == pytest.approx(4)


def test_the_largest_components_are_spread_first() -> None:
    work = np.array([1.0, 5, 4, 2])
    loads = np.bincount(assign_bins(work, 2), weights=work)
    assert sorted(loads) == [6, 6]
