"""Counts, and differences of counts, in few bytes: what the driver and the executors exchange in a sweep.

Most cells of the counts of words and tags by topic are zero, and most others are small. A cell takes 2 bytes with up to
256 topics, and 4 more if its count is beyond 127.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int32s, Int64s
from tagtopic._core.jit import compiled
from tagtopic.inference.gibbs import TopicCounts

LARGE = -128
"""In place of a value that does not fit into a signed byte."""


class SparseRows(NamedTuple):
    """The non-zero cells of some rows of a matrix of integers.

    Attributes
    ----------
    sizes : ndarray of shape (rows,)
        The number of cells of each row.
    columns : ndarray of shape (cells,)
        Their columns.
    values : ndarray of int8, of shape (cells,)
        Their values; ``LARGE`` stands for the next value of ``large``.
    large : ndarray of int32
        Values that do not fit.
    """

    sizes: NDArray[Any]
    columns: NDArray[Any]
    values: NDArray[np.int8]
    large: Int32s

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(array.nbytes for array in self)


def sparse_rows(matrix: Int32s, rows: Int32s) -> SparseRows:
    """Return the non-zero cells of some rows of a matrix.

    Examples
    --------
    >>> found = sparse_rows(np.array([[0, 3], [500, 0], [0, 0]], np.int32), np.array([1, 2], np.int32))
    >>> found.sizes.tolist(), found.columns.tolist(), found.values.tolist(), found.large.tolist()
    ([1, 0], [0], [-128], [500])
    """
    n_columns = matrix.shape[1]
    sizes = np.empty(len(rows), np.uint16 if n_columns < 1 << 16 else np.uint32)
    n_cells, n_large = _count_cells(matrix, rows, sizes)
    columns = np.empty(n_cells, np.uint8 if n_columns <= 1 << 8 else np.uint16)
    found = SparseRows(sizes, columns, np.empty(n_cells, np.int8), np.empty(n_large, np.int32))
    _write_cells(matrix, rows, found)
    return found


@compiled
def _count_cells(matrix: Int32s, rows: Int32s, sizes: Any) -> tuple[int, int]:
    n_cells = n_large = 0
    for i in range(rows.shape[0]):
        n = 0
        for k in range(matrix.shape[1]):
            value = matrix[rows[i], k]
            if value != 0:
                n += 1
                n_large += value > 127 or value < -127
        sizes[i] = n
        n_cells += n
    return n_cells, n_large


@compiled
def _write_cells(matrix: Int32s, rows: Int32s, out: SparseRows) -> None:
    cell = large = 0
    for i in range(rows.shape[0]):
        if not out.sizes[i]:
            continue
        for k in range(matrix.shape[1]):
            value = matrix[rows[i], k]
            if value != 0:
                out.columns[cell] = k
                if value > 127 or value < -127:
                    out.values[cell] = LARGE
                    out.large[large] = value
                    large += 1
                else:
                    out.values[cell] = value
                cell += 1


@compiled
def add_rows(sparse: SparseRows, rows: Int32s, matrix: Int32s, row_totals: Int64s, column_totals: Int64s) -> None:
    """Add the cells to ``rows`` of a matrix, and to the totals of these rows and of the columns."""
    cell = large = 0
    for i in range(sparse.sizes.shape[0]):
        row = rows[i]
        for _ in range(sparse.sizes[i]):
            k = sparse.columns[cell]
            value = np.int32(sparse.values[cell])
            if value == LARGE:
                value = sparse.large[large]
                large += 1
            cell += 1
            matrix[row, k] += value
            row_totals[row] += value
            column_totals[k] += value


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers in the smallest signed type that holds all of them."""
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for dtype in (np.int8, np.int16, np.int32):
        limits = np.iinfo(dtype)
        if limits.min <= least and most <= limits.max:
            return values.astype(dtype)
    return values


class PartitionColumns(NamedTuple):
    """The words and tags that occur in a partition, and the pairs of own words of which it has both tag and word."""

    words: Int32s
    tags: Int32s
    pairs: Int64s


class SparseCounts(NamedTuple):
    """The counts of a partition's words, tags and pairs, or differences of them."""

    words: SparseRows
    tags: SparseRows
    own_words: NDArray[Any]

    @classmethod
    def of(cls, counts: TopicCounts, columns: PartitionColumns) -> SparseCounts:
        """Return the counts of a partition."""
        return cls(
            sparse_rows(counts.word_topics, columns.words),
            sparse_rows(counts.tag_topics, columns.tags),
            narrow(counts.own_words[columns.pairs]),
        )

    def add_to(self, counts: TopicCounts, columns: PartitionColumns, pair_tags: NDArray[Any]) -> None:
        """Add to all counts; ``pair_tags`` has the tag of each pair, in the rows of ``counts``."""
        add_rows(
            self.words, columns.words, counts.word_topics, np.zeros(len(counts.word_topics), np.int64), counts.topics
        )
        add_rows(self.tags, columns.tags, counts.tag_topics, counts.tags, np.zeros(len(counts.topics), np.int64))
        if len(self.own_words):
            counts.own_words[columns.pairs] += self.own_words
            own = np.bincount(pair_tags, weights=self.own_words, minlength=len(counts.tags)).astype(np.int64)
            counts.tags_own[:] += own
            counts.tags[:] += own

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return self.words.nbytes + self.tags.nbytes + self.own_words.nbytes
