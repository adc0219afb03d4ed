"""The paper's prediction of tags (its section 7.3): every tag is ranked by p(d | tag).

p(d | tag) = prod_w (sum_k m_k psi_kw)^c_w, where m are the topics of "a test document given one author": those of the
tag and, in TWDA, of the latent tag beside it, mixed by their weight priors.
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
"""Documents per task."""


def predict_by_likelihood(
    parameters: Parameters, counts: Any, allowed: Any, tag_names: tuple[str, ...], n: int, n_jobs: int | None
) -> list[list[tuple[str, float]]]:
    """Rank the allowed tags of each document by likelihood.

    Parameters
    ----------
    parameters : Parameters
        The model.
    counts : CSR of shape (n_documents, n_words)
        The documents.
    allowed : array of bool
        For each tag, whether it may be predicted.
    tag_names : tuple of str
        The tags.
    n : int
        Tags per document.
    n_jobs : int or None
        Threads.

    Returns
    -------
    list of lists of (str, float)
        For each document its n tags with the highest likelihood, with p(tag | d) under the assumptions that the
        document has exactly one tag and that all tags are equally common.
    """
    chosen = np.flatnonzero(allowed)
    mixes = np.ascontiguousarray(parameters.expected_mix_by_tag()[chosen])
    starts, words = read_only(counts.indptr, np.int64), read_only(counts.indices, np.int32)
    amounts, psi = read_only(counts.data, np.float32), np.ascontiguousarray(parameters.psi)

    def rank(part: tuple[int, int]) -> list[list[tuple[str, float]]]:
        scores = np.empty((part[1] - part[0], len(chosen)))
        tag_log_likelihoods(starts, words, amounts, psi, mixes, *part, scores)
        return [_best(row, chosen, tag_names, n) for row in scores]

    with ThreadPool(n_jobs) as pool:
        parts = pool.map(rank, cut_rows(counts.shape[0], CHUNK))
    return [ranked for part in parts for ranked in part]


def _best(scores: Any, chosen: Any, tag_names: tuple[str, ...], n: int) -> list[tuple[str, float]]:
    order = np.argsort(-scores, kind="stable")[:n]
    weights = np.exp(scores - scores.max(initial=-np.inf))
    return [(tag_names[chosen[i]], float(weights[i] / weights.sum())) for i in order]
