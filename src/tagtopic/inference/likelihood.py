"""The paper's score of a tag for a document (its section 7.3): p(d | tag) = prod_w (sum_k theta_jk psi_kw)^c_w.

How probable words are, given the topic mixes of their documents.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.jit import compiled_reordering


@compiled_reordering
def log_probabilities(starts: Int64s, words: Int32s, counts: Floats, mixes: Floats, psi: Floats) -> Float64s:
    """By document, ``sum_w c_w log(mix . psi_w)``."""
    values = np.zeros(starts.shape[0] - 1)
    for d in range(starts.shape[0] - 1):
        for p in range(starts[d], starts[d + 1]):
            total = 0.0
            for k in range(psi.shape[1]):
                total += mixes[d, k] * psi[words[p], k]
            values[d] += counts[p] * np.log(max(float(total), 1e-300))
    return values


LEAST = 1e-30
"""The least probability that a word is taken to have: a tag that rules it out is far behind, not out of the count."""


@compiled_reordering
def tag_log_likelihoods(
    starts: Int64s, words: Int32s, counts: Floats, psi: Floats, theta: Floats, first: int, last: int, out: Floats
) -> None:
    """``out[d - first] = counts_d @ log(psi[words_d] @ theta.T)`` for documents ``first:last``."""
    n_topics = psi.shape[1]
    for d in range(first, last):
        for j in range(theta.shape[0]):
            total = 0.0
            product = 1.0
            for p in range(starts[d], starts[d + 1]):
                probability = theta[j, 0] * psi[words[p], 0]
                for k in range(1, n_topics):
                    probability += theta[j, k] * psi[words[p], k]
                value = max(float(probability), LEAST)
                if counts[p] != 1:
                    total += counts[p] * math.log(value)
                    continue
                product *= value  # one logarithm for several words
                if product < 1e-250:
                    total += math.log(product)
                    product = 1.0
            out[d - first, j] = total + math.log(product)


def log_likelihoods_reference(counts: Floats, psi: Floats, theta: Floats) -> Floats:
    """The same for a dense table of counts: the readable twin."""
    return np.asarray(counts @ np.log(np.maximum(psi @ theta.T, LEAST)))
