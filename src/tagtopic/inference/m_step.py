"""The M-step of psi and theta: modes under Dir(beta + 1) and Dir(alpha + 1), in place of the sums they are made from.

Maximum likelihood is beta = 0 or alpha = 0; a floor then keeps every probability above zero, so that the paper's
log theta is finite and no word's probability vanishes in every topic.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic.compiled import compiled, compiled_reordering
from tagtopic.inference.arrays import Float64s, Floats

FLOOR = 1e-10
"""The least probability where there is no prior."""

LOGS_AT_ONCE = 8
"""So many single-precision values multiply in double precision without underflow."""


@compiled_reordering
def column_totals(matrix: Floats, first: int, last: int) -> Float64s:
    """``matrix[first:last].sum(axis=0)`` in double precision."""
    totals = np.zeros(matrix.shape[1])
    for row in range(first, last):
        for k in range(matrix.shape[1]):
            totals[k] += matrix[row, k]
    return totals


@compiled_reordering
def normalise_columns(sums: Floats, first: int, last: int, prior: Float64s, totals: Float64s, floor: float) -> None:
    """psi_wk = (S_wk + beta_w) / totals_k for the words first:last, at least ``floor``; in place."""
    for row in range(first, last):
        for k in range(sums.shape[1]):
            sums[row, k] = max((sums[row, k] + prior[row]) / totals[k], floor)


@compiled
def normalise_rows(sums: Floats, prior: Float64s, floor: float) -> None:
    """theta_lk = (S_lk + alpha_k) / total_l, at least ``floor``; a tag without any words is flat; in place."""
    n_topics = sums.shape[1]
    prior_total = prior.sum()
    for row in range(sums.shape[0]):
        total = prior_total
        for k in range(n_topics):
            total += sums[row, k]
        for k in range(n_topics):
            share = (sums[row, k] + prior[k]) / total if total > 0 else 1.0 / n_topics
            sums[row, k] = max(share, floor)


@compiled
def weighted_log_sum(matrix: Floats, first: int, last: int, row_weights: Float64s) -> float:
    """``(row_weights[:, None] * log(matrix)).sum()`` over rows first:last, with one logarithm for eight values."""
    value = 0.0
    n_columns = matrix.shape[1]
    for row in range(first, last):
        weight = row_weights[row]
        if weight == 0.0:
            continue
        logs = 0.0
        product = 1.0
        taken = 0
        for k in range(n_columns):
            product *= max(float(matrix[row, k]), 1e-38)
            taken += 1
            if taken == LOGS_AT_ONCE:
                logs += math.log(product)
                product = 1.0
                taken = 0
        value += weight * (logs + math.log(product))
    return value
