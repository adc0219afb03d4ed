"""The sufficient statistics of a block of documents, and the M-step of psi and theta.

Statistics are summed one word or one tag at a time, over the block's documents in their order: each row is written by
one thread only, so the result does not depend on the number of threads. The M-step replaces the sums by the modes under
Dir(beta + 1) and Dir(alpha + 1), in place:

    psi_wk = (S_wk + beta_w) / sum_w (S_wk + beta_w),      theta_jk = (S_jk + alpha_k) / sum_k (S_jk + alpha_k)

Maximum likelihood is beta = 0 or alpha = 0; a floor then keeps every probability above zero, so that log theta is
finite and every word has a positive probability in some topic.

Online learning (stochastic variational inference) keeps running statistics with a step size per word and per tag. The
statistics of a mini-batch for word w, scaled from its n_w tokens in the batch to all N_w, are a noisy estimate of those
of a whole E-step. The running statistics move towards it by a step size of their own, rate_w; words that the batch
lacks do not move. In natural parameters this is the stochastic natural-gradient step (Hoffman et al. 2013), taken row
by row: with one step size for all rows, a rare word would fade between the batches that contain it and return N / n
fold.

References
----------
M. D. Hoffman, D. M. Blei, C. Wang and J. Paisley, "Stochastic variational inference", JMLR 14, 2013.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.intrinsics import AHEAD, prefetch_row
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic._core.parallel import CHUNK_ROWS, Parallel, cut_rows
from tagtopic.inference.methods import InferenceMethod
from tagtopic.inference.types import CountTotals, Parameters, Priors, Statistics

FLOOR = 1e-10
"""The least probability where there is no prior."""

TERMS_IN_SINGLE = 64
"""After this many terms a sum in single precision is added to one in double precision."""

DIGIT_BITS = 11
DIGIT_MASK = (1 << DIGIT_BITS) - 1
"""The digits that columns are sorted by: a table of 2,048 counts stays in the first-level cache."""

FACTORS_PER_LOG = 8
"""This many single-precision values multiply in double precision without underflow."""


class ColumnIndex(NamedTuple):
    """The entries of a block of a CSR matrix, sorted by column.

    Column ``columns[i]`` has the entries ``starts[i]:starts[i + 1]`` of ``rows``; entry p of the CSR order is entry
    ``slots[p]`` of this one. Only columns that occur are listed.
    """

    columns: Int32s
    starts: Int64s
    rows: Int32s
    slots: Int32s


@compiled
def index_columns(starts: Int64s, indices: Int32s, n_columns: int) -> ColumnIndex:
    """Transpose the block of a CSR matrix whose row r has the (absolute) entries ``starts[r]:starts[r + 1]``.

    A stable radix sort by column: unlike a counting sort it needs no array as long as the vocabulary, which would not
    fit in the cache.
    """
    base, end = starts[0], starts[-1]
    n_entries = end - base
    keys, order = np.empty(n_entries, np.int32), np.empty(n_entries, np.int32)
    other_keys, other_order = np.empty(n_entries, np.int32), np.empty(n_entries, np.int32)
    for p in range(n_entries):
        keys[p], order[p] = indices[base + p], p
    shift = 0
    while (n_columns - 1) >> shift > 0:
        heads = np.zeros((1 << DIGIT_BITS) + 1, np.int64)
        for p in range(n_entries):
            heads[((keys[p] >> shift) & DIGIT_MASK) + 1] += 1
        for digit in range(1 << DIGIT_BITS):
            heads[digit + 1] += heads[digit]
        for p in range(n_entries):
            digit = (keys[p] >> shift) & DIGIT_MASK
            other_keys[heads[digit]] = keys[p]
            other_order[heads[digit]] = order[p]
            heads[digit] += 1
        keys, other_keys = other_keys, keys
        order, other_order = other_order, order
        shift += DIGIT_BITS
    n_present = 0
    for p in range(n_entries):
        if p == 0 or keys[p] != keys[p - 1]:
            n_present += 1
    columns, column_starts = np.empty(n_present, np.int32), np.empty(n_present + 1, np.int64)
    n_present = 0
    for p in range(n_entries):
        if p == 0 or keys[p] != keys[p - 1]:
            columns[n_present], column_starts[n_present] = keys[p], p
            n_present += 1
    column_starts[n_present] = n_entries
    owner, slots = other_order, other_keys
    for row in range(starts.shape[0] - 1):
        for p in range(starts[row], starts[row + 1]):
            owner[p - base] = row
    rows = keys
    for slot in range(n_entries):
        rows[slot] = owner[order[slot]]
        slots[order[slot]] = slot
    return ColumnIndex(columns, column_starts, rows, slots)


@compiled
def add_row(sums: Floats, row: int, values: Floats) -> None:
    """Add ``values`` to ``sums[row]``. A separate function, so that no product is fused into the addition."""
    for k in range(values.shape[0]):
        sums[row, k] += values[k]


@compiled_reordering
def add_scaled_rows(
    index: ColumnIndex, first: int, last: int, values: Floats, vectors: Floats, factors: Floats, sums: Floats
) -> None:
    """Add ``factors[c] * (values @ vectors[rows])`` to ``sums[c]``, for the columns c = ``index.columns[first:last]``.

    ``values`` and ``rows`` are those of the column's entries, in the order of the index. ``factors`` without rows count
    as 1. Each term is rounded to the type of ``sums`` before it is added, so that the sum of a block has the same bits
    when it is computed elsewhere and added later.

    With ``values`` = c / s, ``vectors`` = e and ``factors`` = psi this is S_psi; with a, M and theta it is S_theta
    (under "paper" a, N and no factors).
    """
    n_topics = vectors.shape[1]
    single = np.empty(n_topics, vectors.dtype)
    total = np.empty(n_topics, np.float64)
    part = np.empty(n_topics, sums.dtype)
    scaled = factors.shape[0] > 0
    for i in range(first, last):
        if i + AHEAD < last:
            prefetch_row(sums, index.columns[i + AHEAD])
            if scaled:
                prefetch_row(factors, index.columns[i + AHEAD])
        for k in range(n_topics):
            total[k] = 0
        p = index.starts[i]
        end = index.starts[i + 1]
        while p < end:
            stop = min(end, p + TERMS_IN_SINGLE)
            for k in range(n_topics):
                single[k] = 0
            while p + 1 < stop:
                v0, v1 = values[p], values[p + 1]
                d0, d1 = index.rows[p], index.rows[p + 1]
                for k in range(n_topics):
                    single[k] += v0 * vectors[d0, k] + v1 * vectors[d1, k]
                p += 2
            if p < stop:
                v0, d0 = values[p], index.rows[p]
                for k in range(n_topics):
                    single[k] += v0 * vectors[d0, k]
                p += 1
            for k in range(n_topics):
                total[k] += single[k]
        column = index.columns[i]
        for k in range(n_topics):
            part[k] = factors[column, k] * total[k] if scaled else total[k]
        add_row(sums, column, part)


@compiled_reordering
def column_totals(matrix: Floats, first: int, last: int) -> Float64s:
    """Return ``matrix[first:last].sum(axis=0)`` in double precision."""
    totals = np.zeros(matrix.shape[1])
    for row in range(first, last):
        for k in range(matrix.shape[1]):
            totals[k] += matrix[row, k]
    return totals


@compiled_reordering
def normalise_columns(sums: Floats, first: int, last: int, prior: Float64s, totals: Float64s, floor: float) -> None:
    """Replace rows first:last by ``maximum((sums + prior[:, None]) / totals, floor)``: psi from its statistics."""
    for row in range(first, last):
        for k in range(sums.shape[1]):
            sums[row, k] = max((sums[row, k] + prior[row]) / totals[k], floor)


@compiled
def normalise_rows(sums: Floats, prior: Float64s, floor: float) -> None:
    """Replace ``sums`` by ``maximum((sums + prior) / (sums + prior).sum(axis=1), floor)``: theta from its statistics.

    A tag without any counts gets the uniform distribution.
    """
    n_topics = sums.shape[1]
    prior_total = 0.0
    for k in range(n_topics):
        prior_total += prior[k]
    for row in range(sums.shape[0]):
        total = prior_total
        for k in range(n_topics):
            total += sums[row, k]
        for k in range(n_topics):
            share = (sums[row, k] + prior[k]) / total if total > 0 else 1.0 / n_topics
            sums[row, k] = max(share, floor)


@compiled
def weighted_log_sum(matrix: Floats, first: int, last: int, row_weights: Float64s) -> float:
    """Return ``(row_weights[:, None] * log(matrix))[first:last].sum()``, with one logarithm for eight values."""
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
            if taken == FACTORS_PER_LOG:
                logs += math.log(product)
                product = 1.0
                taken = 0
        value += weight * (logs + math.log(product))
    return value


class MStep(NamedTuple):
    """The result of an M-step.

    Attributes
    ----------
    psi, theta : ndarray
        The maximised parameters.
    topic_sizes : ndarray of shape (topics,)
        Expected words of each topic, without the prior.
    tag_sizes : ndarray of shape (tags,)
        Expected words of each tag, without the prior.
    """

    psi: Floats
    theta: Floats
    topic_sizes: Float64s
    tag_sizes: Float64s

    def totals(self, priors: Priors) -> CountTotals:
        """Return the totals that psi and theta were normalised by."""
        return CountTotals(self.topic_sizes + priors.beta.sum(), self.tag_sizes + priors.alpha.sum(), priors.beta)


def m_step(statistics: Statistics, priors: Priors, method: InferenceMethod, parallel: Parallel) -> MStep:
    """Maximise the objective over psi and theta.

    Parameters
    ----------
    statistics : Statistics
        The result of an E-step; its arrays are overwritten with psi and theta.
    priors : Priors
        Prior counts of psi and theta.
    method : InferenceMethod
        Geometric methods take the logarithm of theta, which then gets a floor.
    parallel : Parallel
        Computes ranges of rows.

    Returns
    -------
    MStep
    """
    psi, theta = statistics.psi, statistics.theta
    chunks = cut_rows(len(psi), CHUNK_ROWS)
    topic_sizes = np.sum(parallel.map(lambda rows: column_totals(psi, *rows), chunks), axis=0)
    word_floor = FLOOR if priors.beta.min() == 0 else 0.0
    totals = topic_sizes + priors.beta.sum()
    totals[totals == 0] = 1.0  # a topic without words under maximum likelihood: only the floor is left
    parallel.map(lambda rows: normalise_columns(psi, *rows, priors.beta, totals, word_floor), chunks)
    tag_sizes = theta.sum(axis=1, dtype=np.float64)
    normalise_rows(theta, priors.alpha, theta_floor(priors, method))
    return MStep(psi, theta, topic_sizes, tag_sizes)


def theta_floor(priors: Priors, method: InferenceMethod) -> float:
    """Return the least probability in theta: above zero where its logarithm is taken, or where there is no prior."""
    return FLOOR if method.is_geometric or priors.alpha.min() == 0 else 0.0


def log_prior(parameters: Parameters, priors: Priors, method: InferenceMethod, parallel: Parallel) -> float:
    """Return sum alpha log theta + sum beta log psi, the priors' part of a penalised objective; otherwise 0."""
    if not method.is_penalised:
        return 0.0
    psi, theta = parameters.psi, parameters.theta
    parts = parallel.map(lambda rows: weighted_log_sum(psi, *rows, priors.beta), cut_rows(len(psi), CHUNK_ROWS))
    if len(theta) and priors.alpha.any():
        logs = np.log(np.maximum(theta, 1e-38)).sum(axis=0, dtype=np.float64)
        parts.append(float(priors.alpha @ logs))
    return float(np.sum(parts))


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
