"""The effects of tags on topics in DMR, learnt from how many words of each document have each topic.

The prior of a document's topics is alpha_dk = exp(intercept_k + sum of its tags' effects); the counts then are
Dirichlet-multinomial, and the effects have a normal prior. Counts are whole, so that
lnGamma(alpha + n) - lnGamma(alpha) is a sum of n logarithms and no special function is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagtopic.compiled import compiled
from tagtopic.inference.arrays import Float64s, Int32s

LARGEST = 20.0
"""Of the logarithm of a prior: beyond it nothing changes any more."""

INTERCEPT_SIGMA = 3.0
"""The intercept is nearly free."""

MEMORY = 5
"""Steps that L-BFGS remembers; with thousands of tags each is large."""


@compiled
def evidence(logs: Float64s, counts: Int32s, gradient: Float64s) -> float:
    """Log p(counts | alpha = exp(logs)), the same for all orders of words; fills its gradient in ``logs``."""
    value = 0.0
    n_topics = logs.shape[1]
    alpha = np.empty(n_topics)
    for d in range(logs.shape[0]):
        total, length = 0.0, 0
        for k in range(n_topics):
            alpha[k] = math.exp(min(logs[d, k], LARGEST))
            total += alpha[k]
            length += counts[d, k]
        slope = 0.0
        for i in range(length):
            value -= math.log(total + i)
            slope -= 1.0 / (total + i)
        for k in range(n_topics):
            own = slope
            for i in range(counts[d, k]):
                value += math.log(alpha[k] + i)
                own += 1.0 / (alpha[k] + i)
            gradient[d, k] = alpha[k] * own
    return value


def learn_effects(
    tags: Any, counts: Int32s, intercept: Float64s, effects: Float64s, *, centre: float, sigma: float, steps: int
) -> tuple[Float64s, Float64s]:
    """The intercept (topics) and effects (tags, topics) of most posterior density, from those given, by L-BFGS.

    ``tags`` is (documents, tags) CSR. Effects are normal around 0 with deviation ``sigma``, the intercept around
    ``centre``.
    """
    from scipy.optimize import minimize

    matrix = tags.astype(np.float64)
    turned = matrix.T.tocsr()
    n_topics = counts.shape[1]
    gradient = np.empty(counts.shape)

    def loss(point: Float64s) -> tuple[float, Float64s]:
        table = point.reshape(-1, n_topics)
        logs = table[0] + matrix @ table[1:]
        value = evidence(logs, counts, gradient)
        away = table / sigma**2
        away[0] = (table[0] - centre) / INTERCEPT_SIGMA**2
        value -= 0.5 * float((away[1:] * table[1:]).sum() + (away[0] * (table[0] - centre)).sum())
        slopes = np.vstack([gradient.sum(axis=0, keepdims=True), turned @ gradient]) - away
        return -value, -slopes.ravel()

    start = np.vstack([intercept[None, :], effects]).ravel()
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": MEMORY})
    table = found.x.reshape(-1, n_topics)
    return table[0], table[1:]
