"""The M-step's sums over a block of documents, one word or one tag at a time.

Each row of the sums is made by one thread, over the block's documents in their order, so no two threads ever write
the same place and the bits do not depend on how many there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tagtopic.inference.arrays import Floats, Int32s, Int64s
from tagtopic.inference.compiled import compiled, compiled_reordering

RUN = 64
"""Single-precision sums are carried over into double precision every so many terms."""


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
    """Transpose the block of a CSR matrix whose row r has the (absolute) entries ``starts[r]:starts[r + 1]``."""
    base, end = starts[0], starts[-1]
    heads = np.zeros(n_columns + 1, np.int32)
    for p in range(base, end):
        heads[indices[p] + 1] += 1
    n_present = 0
    for column in range(n_columns):
        if heads[column + 1] > 0:
            n_present += 1
    columns = np.empty(n_present, np.int32)
    column_starts = np.empty(n_present + 1, np.int64)
    column_starts[0] = 0
    present = 0
    for column in range(n_columns):
        if heads[column + 1] > 0:
            columns[present] = column
            column_starts[present + 1] = column_starts[present] + heads[column + 1]
            present += 1
        heads[column + 1] += heads[column]
    rows = np.empty(end - base, np.int32)
    slots = np.empty(end - base, np.int32)
    for row in range(starts.shape[0] - 1):
        for p in range(starts[row], starts[row + 1]):
            slot = heads[indices[p]]
            heads[indices[p]] += 1
            rows[slot] = row
            slots[p - base] = slot
    return ColumnIndex(columns, column_starts, rows, slots)


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
    scaled = factors.shape[0] > 0
    for i in range(first, last):
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
        if scaled:
            for k in range(n_topics):
                sums[column, k] += sums.dtype.type(factors[column, k] * total[k])
        else:
            for k in range(n_topics):
                sums[column, k] += sums.dtype.type(total[k])
