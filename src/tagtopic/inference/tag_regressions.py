"""One logistic regression for each of some tags, all learnt together by stochastic gradient descent.

A document x (a row of weighted words) moves every tag's weights w_j and intercept b_j by its error:

    r_j = 1 / (1 + exp(-(w_j . x + b_j))) - [the document has tag j]
    w_j <- w_j - step (r_j x + decay w_j) on the document's words        b_j <- b_j - 0.1 step r_j

Tags do not see each other, so blocks of them are learnt one by one or at once with the same result.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic.compiled import compiled_reordering
from tagtopic.inference.arrays import Floats, Int32s, Int64s

INTERCEPT_PACE = 0.1


@compiled_reordering
def learn_from_each(
    order: Int64s,
    starts: Int64s,
    words: Int32s,
    values: Floats,
    tag_starts: Int64s,
    tags: Int32s,
    step: float,
    decay: float,
    weights: Floats,
    intercepts: Floats,
) -> None:
    """One step for each document in ``order``; ``weights`` (words, tags) are changed in place."""
    n_tags = intercepts.shape[0]
    one = weights.dtype.type(1)
    pace, keep = weights.dtype.type(step), weights.dtype.type(1 - step * decay)
    intercept_pace = weights.dtype.type(INTERCEPT_PACE * step)
    errors = np.empty(n_tags, weights.dtype)
    for d in order:
        errors[:] = intercepts
        for p in range(starts[d], starts[d + 1]):
            row, value = weights[words[p]], values[p]
            for j in range(n_tags):
                errors[j] += value * row[j]
        for j in range(n_tags):
            errors[j] = one / (one + math.exp(-errors[j]))
        for p in range(tag_starts[d], tag_starts[d + 1]):
            errors[tags[p]] -= one
        for j in range(n_tags):
            intercepts[j] -= intercept_pace * errors[j]
        for p in range(starts[d], starts[d + 1]):
            row, value = weights[words[p]], values[p] * pace
            for j in range(n_tags):
                row[j] = keep * row[j] - value * errors[j]
