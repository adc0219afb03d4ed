"""The paper's prediction of tags (its section 7.3): every tag ranked by p(d | tag) over the topics.

The topics are those of "a test document given one author": of the tag and, in TWDA, of the latent tag beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import read_only
from tagtopic._core.parallel import cut_rows
from tagtopic._core.threads import ThreadPool
from tagtopic.inference.likelihood import tag_log_likelihoods
from tagtopic.inference.types import Parameters

CHUNK = 4


def predict_by_likelihood(
    parameters: Parameters, counts: Any, allowed: Any, tag_names: tuple[str, ...], n: int, n_jobs: int | None
) -> list[list[tuple[str, float]]]:
    """For each document its n likeliest tags, with p(tag | d) if it has exactly one tag and all are as common."""
    chosen = np.flatnonzero(allowed)
    mixes = np.ascontiguousarray(parameters.mixes_of_one_tag()[chosen])
    starts, words = read_only(counts.indptr, np.int64), read_only(counts.indices, np.int32)
    amounts, psi = read_only(counts.data, np.float32), np.ascontiguousarray(parameters.psi)

    def rank(part: tuple[int, int]) -> list[list[tuple[str, float]]]:
        scores = np.empty((part[1] - part[0], len(chosen)))
        tag_log_likelihoods(starts, words, amounts, psi, mixes, *part, scores)
        return [_best(row, chosen, tag_names, n) for row in scores]

    with ThreadPool(n_jobs) as workers:
        parts = workers.map(rank, cut_rows(counts.shape[0], CHUNK))
    return [ranked for part in parts for ranked in part]


def _best(scores: Any, chosen: Any, tag_names: tuple[str, ...], n: int) -> list[tuple[str, float]]:
    order = np.argsort(-scores, kind="stable")[:n]
    weights = np.exp(scores - scores.max(initial=-np.inf))
    return [(tag_names[chosen[i]], float(weights[i] / weights.sum())) for i in order]
