"""Means of pi over partitions, and evidence that is merged from parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.engines.distributed.weight_updates import (
    PartitionPrior,
    TagEvidence,
    WeightProblem,
    merge_evidence,
    plain_mean,
    prior_without_evidence,
    weighted_mean,
)
from tagtopic.inference.priors.tag_weights import HyperPrior, WeightEvidence, update_weight_prior

TAGS = np.array([0, 2], np.int32)


def part(tags: Any, pi: list[float], documents: list[float]) -> PartitionPrior:
    return PartitionPrior(tags, np.array(pi), np.array(documents))


def test_the_weighted_mean_is_geometric_with_documents_as_weights() -> None:
    base = np.array([7.0, 8.0, 9.0])
    found = [part(TAGS, [1.0, 2.0], [3.0, 0.0]), part(TAGS, [16.0, 5.0], [1.0, 2.0])]
    np.testing.assert_allclose(weighted_mean(base, found), [2.0, 8.0, 5.0])


def test_the_plain_mean_weights_every_partition_equally() -> None:
    base = np.array([7.0, 8.0, 9.0])
    found = [part(TAGS, [1.0, 2.0], [3.0, 1.0]), part(TAGS[:1], [3.0], [1.0])]
    np.testing.assert_allclose(plain_mean(base, found), [2.0, 8.0, 5.5])


def test_a_tag_without_documents_takes_the_centre_or_stays() -> None:
    pi, learnt = np.array([3.0, 3.0]), np.array([True, False])
    np.testing.assert_allclose(prior_without_evidence(pi, HyperPrior(5.0, 1.5), learnt), [1.5, 3.0])
    np.testing.assert_allclose(prior_without_evidence(pi, HyperPrior(0.0, 1.5), learnt), [3.0, 3.0])


def test_merged_evidence_gives_the_pi_of_the_whole() -> None:
    random = np.random.default_rng(0)
    starts, tags = np.array([0, 2, 4, 6]), np.array([0, 1, 1, 2, 0, 2], np.int32)
    logs = -random.gamma(1.0, size=6)
    whole = WeightEvidence(
        starts, tags, np.bincount(tags, logs).astype(np.float64), np.bincount(tags, minlength=3).astype(np.float64)
    )
    first = TagEvidence(np.array([4, 6], np.int32), evidence([0, 2], [0, 1], logs[:2]))
    rest = TagEvidence(np.array([4, 6, 9], np.int32), evidence([0, 2, 4], [1, 2, 0, 2], logs[2:]))
    together = merge_evidence([first, rest])
    np.testing.assert_array_equal(together.tags, [4, 6, 9])
    found = WeightProblem(np.ones(10), HyperPrior(), np.ones(10, np.bool_)).solve(together)
    np.testing.assert_allclose(found, update_weight_prior(np.ones(3), whole, HyperPrior()), rtol=1e-12)


def evidence(starts: list[int], tags: list[int], logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> WeightEvidence:
    size = max(tags) + 1
    documents = np.bincount(tags, minlength=size).astype(np.float64)
    return WeightEvidence(
        np.array(starts), np.array(tags, np.int32), np.bincount(tags, logs, size).astype(np.float64), documents
    )
