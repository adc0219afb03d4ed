"""The paper's score of a tag for a document (its section 7.3): p(d | tag) = prod_w (sum_k theta_jk psi_kw)^c_w."""

from __future__ import annotations

import math

import numpy as np

from tagtopic.compiled import compiled_reordering
from tagtopic.inference.arrays import Floats, Int32s, Int64s

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
