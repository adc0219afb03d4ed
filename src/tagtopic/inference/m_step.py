"""The M-step of psi and theta: modes under Dir(beta + 1) and Dir(alpha + 1), in place of the sums they are made from.

Maximum likelihood is beta = 0 or alpha = 0; a floor then keeps every probability above zero, so that the paper's
log theta is finite and no word's probability vanishes in every topic.

The M-step's sums over a block of documents, one word or one tag at a time.

Each row of the sums is made by one thread, over the block's documents in their order, so no two threads ever write
the same place and the bits do not depend on how many there are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.intrinsics import AHEAD, prefetch_row
from tagtopic._core.jit import compiled, compiled_reordering

RUN = 64
"""Single-precision sums are carried over into double precision every so many terms."""

DIGIT = 11
DIGIT_MASK = (1 << DIGIT) - 1
"""Columns are sorted by so many bits at a time: a table of 2,048 stays in the first cache."""


class ColumnIndex(NamedTuple):
    """The entries of a block of a CSR matrix by column.

    Column ``columns[i]`` has the entries ``starts[i]:starts[i + 1]`` of ``rows``; entry p of the CSR order stands at
    ``slots[p]`` in this one. Only columns that occur are listed.
    """

    columns: Int32s
    starts: Int64s
    rows: Int32s
    slots: Int32s


@compiled
def index_columns(starts: Int64s, indices: Int32s, n_columns: int) -> ColumnIndex:
    """Transpose the block of a CSR matrix whose row r has the (absolute) entries ``starts[r]:starts[r + 1]``.

    Entries are sorted by column, stably, by their digits: unlike counting by column this takes no array as long as
    the vocabulary, which would not stay in the cache.
    """
    base, end = starts[0], starts[-1]
    n_entries = end - base
    keys, order = indices[base:end].copy(), np.arange(n_entries, dtype=np.int32)
    other_keys, other_order = np.empty_like(keys), np.empty_like(order)
    shift = 0
    while (n_columns - 1) >> shift > 0:
        heads = np.zeros((1 << DIGIT) + 1, np.int64)
        for p in range(n_entries):
            heads[((keys[p] >> shift) & DIGIT_MASK) + 1] += 1
        for digit in range(1 << DIGIT):
            heads[digit + 1] += heads[digit]
        for p in range(n_entries):
            digit = (keys[p] >> shift) & DIGIT_MASK
            other_keys[heads[digit]] = keys[p]
            other_order[heads[digit]] = order[p]
            heads[digit] += 1
        keys, other_keys = other_keys, keys
        order, other_order = other_order, order
        shift += DIGIT
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
    """``sums[row] += values``, and nothing else: a product would be fused into it where sums may be reordered."""
    for k in range(values.shape[0]):
        sums[row, k] += values[k]


@compiled_reordering
def add_scaled_rows(
    index: ColumnIndex, first: int, last: int, values: Floats, vectors: Floats, factors: Floats, sums: Floats
) -> None:
    """For columns number first:last, ``sums[c] += factors[c] * sum_p values[p] vectors[rows[p]]``.

    ``values`` are in the index's own order. ``factors`` may have no rows: then they count as 1. What is added is first
    rounded to the type of ``sums``, so that a block's part has the same bits when it is made elsewhere and added later.
    """
    n_topics = vectors.shape[1]
    run = np.empty(n_topics, vectors.dtype)
    total = np.empty(n_topics, np.float64)
    part = np.empty(n_topics, sums.dtype)
    scaled = factors.shape[0] > 0
    for i in range(first, last):
        if i + AHEAD < last:
            prefetch_row(sums, index.columns[i + AHEAD])
            if scaled:
                prefetch_row(factors, index.columns[i + AHEAD])
        total[:] = 0
        p = index.starts[i]
        end = index.starts[i + 1]
        while p < end:
            stop = min(end, p + RUN)
            run[:] = 0
            while p + 1 < stop:
                v0, v1 = values[p], values[p + 1]
                d0, d1 = index.rows[p], index.rows[p + 1]
                for k in range(n_topics):
                    run[k] += v0 * vectors[d0, k] + v1 * vectors[d1, k]
                p += 2
            if p < stop:
                v0, d0 = values[p], index.rows[p]
                for k in range(n_topics):
                    run[k] += v0 * vectors[d0, k]
                p += 1
            for k in range(n_topics):
                total[k] += run[k]
        column = index.columns[i]
        for k in range(n_topics):
            part[k] = factors[column, k] * total[k] if scaled else total[k]
        add_row(sums, column, part)


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
