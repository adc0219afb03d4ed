"""Ragged rows over flat arrays."""

import numpy as np
import pytest

from tagtopic._core.arrays import SMALL, offsets_of, row_blocks, take_rows


def test_row_blocks_cover_all_rows_and_divide_none() -> None:
    offsets = np.array([0, 3, 3, 20, 21, 22, 23, 23])
    blocks = list(row_blocks(offsets, 4))
    assert [row for start, stop in blocks for row in range(start, stop)] == list(range(7))
    assert all(stop - start == 1 or offsets[stop] - offsets[start] <= 4 for start, stop in blocks)
    assert list(row_blocks(np.array([0]), 4)) == []


@pytest.mark.parametrize("n_rows", [100, 20_000])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float64])
def test_rows_are_taken_in_any_order_by_numpy_and_by_the_kernel(n_rows: int, dtype: type[np.generic]) -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(0, 10, n_rows)
    offsets = offsets_of(lengths)
    values = random.integers(0, 100, offsets[-1]).astype(dtype)
    rows = random.integers(0, n_rows, n_rows)
    new_offsets, new_values = take_rows(offsets, values, rows)
    assert (len(new_values) > SMALL) == (n_rows > 100)
    expected = [values[offsets[row] : offsets[row + 1]] for row in rows]
    np.testing.assert_array_equal(new_values, np.concatenate(expected))
    assert np.diff(new_offsets).tolist() == lengths[rows].tolist()
