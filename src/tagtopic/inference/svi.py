"""Running sums for online learning: each word and each tag moves at its own pace.

A mini-batch's sums for word w, scaled from the batch's n_w tokens to all N_w, are a noisy picture of what a whole
E-step would give. The running sums move towards it by a step of their own, rate_w; words that the batch does not have
stay. In natural parameters this is the stochastic natural-gradient step of variational inference (Hoffman et al. 2013),
taken row by row: with one rate for all, a rare word would fade between the batches that have it and come back N / n
fold.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.jit import compiled, compiled_reordering


@compiled_reordering
def take_topics(
    sums: Floats, words: Int32s, first: int, last: int, prior: Float64s, totals: Float64s, floor: float, psi: Floats
) -> None:
    """``psi[i] = (sums[words[i]] + prior[words[i]]) / totals`` for i in first:last, at least ``floor``."""
    for i in range(first, last):
        word = words[i]
        for k in range(sums.shape[1]):
            psi[i, k] = max((sums[word, k] + prior[word]) / totals[k], floor)


@compiled
def blend_rows(
    sums: Floats, rows: Int32s, first: int, last: int, rates: Float64s, gains: Float64s, new: Floats
) -> Float64s:
    """``sums[rows[i]] = (1 - rates[i]) sums[rows[i]] + rates[i] gains[i] new[i]``; returns what each column rose by."""
    rise = np.zeros(sums.shape[1])
    for i in range(first, last):
        row = rows[i]
        stay, gain = 1.0 - rates[i], rates[i] * gains[i]
        for k in range(sums.shape[1]):
            before = sums[row, k]
            sums[row, k] = stay * before + gain * new[i, k]
            rise[k] += sums[row, k] - before
    return rise
