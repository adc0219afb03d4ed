"""Stochastic variational inference: running sufficient statistics with a step size per word and per tag.

The statistics of a mini-batch for word w, scaled from its n_w tokens in the batch to all N_w, are a noisy estimate of
those of a whole E-step. The running statistics move towards it by a step size of their own, rate_w; words that the
batch lacks do not move. In natural parameters this is the stochastic natural-gradient step (Hoffman et al. 2013), taken
row by row: with one step size for all rows, a rare word would fade between the batches that contain it and return
N / n fold.

References
----------
M. D. Hoffman, D. M. Blei, C. Wang and J. Paisley, "Stochastic variational inference", JMLR 14, 2013.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.jit import compiled, compiled_reordering


@compiled_reordering
def estimate_topics(
    statistics: Floats,
    words: Int32s,
    first: int,
    last: int,
    prior: Float64s,
    totals: Float64s,
    floor: float,
    psi: Floats,
) -> None:
    """Set ``psi[i] = maximum((statistics[words[i]] + prior[words[i]]) / totals, floor)`` for i in first:last."""
    for i in range(first, last):
        word = words[i]
        for k in range(statistics.shape[1]):
            psi[i, k] = max((statistics[word, k] + prior[word]) / totals[k], floor)


@compiled
def natural_gradient_step(
    statistics: Floats, rows: Int32s, first: int, last: int, rates: Float64s, scales: Float64s, batch: Floats
) -> Float64s:
    """Move rows of the running statistics towards those of a mini-batch.

    ``statistics[rows[i]] = (1 - rates[i]) * statistics[rows[i]] + rates[i] * scales[i] * batch[i]``, i in first:last.
    Returns the increase of each column's sum.
    """
    increase = np.zeros(statistics.shape[1])
    for i in range(first, last):
        row = rows[i]
        keep, gain = 1.0 - rates[i], rates[i] * scales[i]
        for k in range(statistics.shape[1]):
            before = statistics[row, k]
            statistics[row, k] = keep * before + gain * batch[i, k]
            increase[k] += statistics[row, k] - before
    return increase
