"""Log probabilities of documents: given their topic mixes, and given a single tag."""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.jit import compiled_reordering

MIN_PROBABILITY = 1e-30
"""The least probability of a word given a tag: one impossible word lowers a tag's rank but does not exclude it."""


@compiled_reordering
def log_probabilities(starts: Int64s, words: Int32s, counts: Floats, mixes: Floats, psi: Floats) -> Float64s:
    """Return ``counts_d @ log(psi[words_d] @ mixes[d])`` for each document d."""
    values = np.zeros(starts.shape[0] - 1)
    for d in range(starts.shape[0] - 1):
        for p in range(starts[d], starts[d + 1]):
            total = 0.0
            for k in range(psi.shape[1]):
                total += mixes[d, k] * psi[words[p], k]
            values[d] += counts[p] * np.log(max(float(total), 1e-300))
    return values


@compiled_reordering
def tag_log_likelihoods(
    starts: Int64s, words: Int32s, counts: Floats, psi: Floats, theta: Floats, first: int, last: int, out: Floats
) -> None:
    """Set ``out[d - first] = counts_d @ log(psi[words_d] @ theta.T)`` for documents ``first:last``.

    The paper's score of a tag for a document (section 7.3): log p(d | tag j) = sum_w c_w log sum_k theta_jk psi_kw.
    """
    n_topics = psi.shape[1]
    for d in range(first, last):
        for j in range(theta.shape[0]):
            total = 0.0
            product = 1.0
            for p in range(starts[d], starts[d + 1]):
                probability = theta[j, 0] * psi[words[p], 0]
                for k in range(1, n_topics):
                    probability += theta[j, k] * psi[words[p], k]
                value = max(float(probability), MIN_PROBABILITY)
                if counts[p] != 1:
                    total += counts[p] * math.log(value)
                    continue
                product *= value  # one logarithm for several words
                if product < 1e-250:
                    total += math.log(product)
                    product = 1.0
            out[d - first, j] = total + math.log(product)
