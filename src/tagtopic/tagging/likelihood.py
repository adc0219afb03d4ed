"""The paper's score of a tag, log p(d | tag), and the prediction of tags by it (section 7.3).

p(d | tag) = prod_w (sum_k m_k psi_kw)^c_w, where m are the topics of "a test document given one author": those of the
tag and, in TWDA, of the latent tag beside it, mixed by their weight priors. If tags have words of their own, these are
added to the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, read_only
from tagtopic._core.jit import compiled_reordering
from tagtopic._core.parallel import ThreadPool, cut_rows
from tagtopic.inference.own_words import find_pair
from tagtopic.inference.types import Parameters

MIN_PROBABILITY = 1e-30
"""The least probability of a word given a tag: one impossible word lowers a tag's rank but does not exclude it."""

BATCH_TAGS = 256
"""Bounds the memory of ``tag_log_likelihood_matrix``: this many tags times the words that occur."""

CHUNK = 4
"""Documents per task."""

NO_PAIRS = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
"""No tag has words of its own."""


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
    own_words = parameters.expected_own_words()
    own = NO_PAIRS if own_words is None else (own_words.starts, own_words.words, own_words.omega)
    numbers = chosen.astype(np.int64)

    def rank(part: tuple[int, int]) -> list[list[tuple[str, float]]]:
        scores = np.empty((part[1] - part[0], len(chosen)))
        tag_log_likelihoods(starts, words, amounts, psi, mixes, numbers, own, *part, scores)
        return [_best(row, chosen, tag_names, n) for row in scores]

    with ThreadPool(n_jobs) as pool:
        parts = pool.map(rank, cut_rows(counts.shape[0], CHUNK))
    return [ranked for part in parts for ranked in part]


def _best(scores: Any, chosen: Any, tag_names: tuple[str, ...], n: int) -> list[tuple[str, float]]:
    order = np.argsort(-scores, kind="stable")[:n]
    weights = np.exp(scores - scores.max(initial=-np.inf))
    return [(tag_names[chosen[i]], float(weights[i] / weights.sum())) for i in order]


@compiled_reordering
def tag_log_likelihoods(
    starts: Int64s,
    words: Int32s,
    counts: Floats,
    psi: Floats,
    theta: Floats,
    tags: Int64s,
    own_words: tuple[Int64s, Int32s, Floats],
    first: int,
    last: int,
    out: Floats,
) -> None:
    """Set ``out[d - first] = counts_d @ log(psi[words_d] @ theta.T + omega)`` for documents ``first:last``.

    The paper's score of a tag for a document (section 7.3): log p(d | tag j) = sum_w c_w log sum_k theta_jk psi_kw.
    ``tags`` are the numbers of the rows of theta; ``own_words`` has the starts, words and omega of ``OwnWords``, which
    may be empty.
    """
    own_starts, words_of_tags, omega = own_words
    n_topics = psi.shape[1]
    for d in range(first, last):
        for j in range(theta.shape[0]):
            total = 0.0
            product = 1.0
            for p in range(starts[d], starts[d + 1]):
                probability = theta[j, 0] * psi[words[p], 0]
                for k in range(1, n_topics):
                    probability += theta[j, k] * psi[words[p], k]
                if own_starts.shape[0] > 0:
                    pair = find_pair(own_starts, words_of_tags, tags[j], words[p])
                    if pair >= 0:
                        probability += omega[pair]
                value = max(float(probability), MIN_PROBABILITY)
                if counts[p] != 1:
                    total += counts[p] * math.log(value)
                    continue
                product *= value  # one logarithm for several words
                if product < 1e-250:
                    total += math.log(product)
                    product = 1.0
            out[d - first, j] = total + math.log(product)


def tag_log_likelihood_matrix(counts: Any, tag_topics: Floats, topic_words: Floats, own_words: Any = None) -> Float64s:
    """Compute log p(d | tag) = sum_i log sum_z p(z | tag) p(w_i | z), the paper's score, for all documents and tags.

    ``tag_log_likelihoods`` computes the same document by document; for many documents at a time it is cheaper to
    evaluate each word under each tag once. ``counts`` is CSR, ``topic_words`` (words, topics), ``own_words`` None or a
    CSR array (tags, words) of what the tags' own words add to p(w | tag).
    """
    occurring = np.unique(counts.indices)
    occurring_counts = counts[:, occurring].astype(np.float64)
    words = np.asarray(topic_words[occurring], np.float64)
    scores = np.empty((counts.shape[0], len(tag_topics)))
    for first in range(0, len(tag_topics), BATCH_TAGS):
        tags = slice(first, first + BATCH_TAGS)
        probabilities = words @ np.asarray(tag_topics[tags], np.float64).T
        if own_words is not None:
            probabilities += own_words[tags][:, occurring].T.toarray()
        scores[:, tags] = occurring_counts @ np.log(np.maximum(probabilities, MIN_PROBABILITY))
    return scores
