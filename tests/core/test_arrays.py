"""Ragged rows over flat arrays."""

import numpy as np

from tagtopic._core.arrays import row_blocks


def test_row_blocks_cover_all_rows_and_divide_none() -> None:
    offsets = np.array([0, 3, 3, 20, 21, 22, 23, 23])
    blocks = list(row_blocks(offsets, 4))
    assert [row for start, stop in blocks for row in range(start, stop)] == list(range(7))
    assert all(stop - start == 1 or offsets[stop] - offsets[start] <= 4 for start, stop in blocks)
    assert list(row_blocks(np.array([0]), 4)) == []
