from pathlib import Path

import numpy as np
import pytest

from tagtopic._core.arrays import row_blocks
from tagtopic._core.memmap import GrowingArray


@pytest.mark.parametrize("spill_at", [0, 1, 40, 10**6])
def test_the_same_values_from_memory_and_file(tmp_path: Path, spill_at: int) -> None:
    parts = [np.arange(n, dtype=np.int32) for n in (5, 0, 7, 3)]
    whole = np.concatenate(parts)
    for finish in (GrowingArray.finish, GrowingArray.finish_for_reading):
        with GrowingArray(tmp_path / "a.npy", np.int32, spill_at=spill_at) as array:
            for part in parts:
                array.append(part)
            assert len(array) == 15
            result = finish(array)
        np.testing.assert_array_equal(result[:], whole)
        np.testing.assert_array_equal(result[3:9], whole[3:9])
        assert len(result[9:3]) == 0
        assert (tmp_path / "a.npy").exists() == (spill_at < 60)
    if spill_at < 60:
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), whole)


def test_blocks_cover_all_rows_and_cut_none() -> None:
    offsets = np.array([0, 3, 3, 20, 21, 22, 23, 23])
    blocks = list(row_blocks(offsets, 4))
    assert [row for start, stop in blocks for row in range(start, stop)] == list(range(7))
    assert all(stop - start == 1 or offsets[stop] - offsets[start] <= 4 for start, stop in blocks)
    assert list(row_blocks(np.array([0]), 4)) == []
