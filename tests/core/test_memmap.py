"""Memory maps release their pages, and arrays grow into files."""

from pathlib import Path

import numpy as np
import pytest

from tagtopic._core.memmap import GrowingArray, TemporaryArrays, file_of, release


def resident_pages(array: np.ndarray) -> int:
    """Kilobytes of the array's map that are in this process's memory (Linux)."""
    address = array.__array_interface__["data"][0]
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        first, _, rest = line.partition("-")
        last = rest.split(" ")[0]
        if ":" not in first and int(first, 16) <= address < int(last, 16):
            return int(next(more for more in lines if more.startswith("Rss:")).split()[1])
    return 0


def test_released_pages_are_not_in_memory_and_can_be_read_again(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1 << 20))
    array = np.load(tmp_path / "a.npy", mmap_mode="r").view(np.ndarray)
    assert array.sum() == (1 << 20) * ((1 << 20) - 1) // 2
    assert resident_pages(array) > 8000
    release(array[: 1 << 19])
    assert 1000 < resident_pages(array) < 7000  # large pages are given back whole
    release(array)
    assert resident_pages(array) < 100
    assert array[-1] == (1 << 20) - 1


def test_written_values_survive_the_release_of_a_map(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "a", np.float32, "w+", shape=(5000, 3)).view(np.ndarray)
    array[:] = 7.0
    release(array[100:4000])
    assert np.all(array == 7.0)


def test_arrays_in_memory_are_unchanged_by_a_release() -> None:
    array = np.arange(5)
    release(array, np.empty(0))
    assert array.tolist() == [0, 1, 2, 3, 4]


def test_the_file_of_an_array_is_found_through_views(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(9))
    array = np.load(tmp_path / "a.npy", mmap_mode="r").view(np.ndarray)
    assert file_of(array) == file_of(array[2:5][1:]) == tmp_path / "a.npy"
    assert file_of(array.copy()) is None


@pytest.mark.parametrize("spill_at", [0, 1, 40, 10**6])
def test_a_growing_array_has_the_same_values_from_memory_and_file(tmp_path: Path, spill_at: int) -> None:
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


def test_large_temporary_arrays_are_in_files_until_they_are_closed(tmp_path: Path) -> None:
    arrays = TemporaryArrays(tmp_path, at=100)
    small, large = arrays.empty(12, np.float64), arrays.empty((5, 3), np.float64)
    assert file_of(small) is None
    file = file_of(large)
    assert file is not None
    assert tmp_path in file.parents
    large[:] = 7.0
    arrays.close()
    assert not file.exists()
    assert np.all(large == 7.0)
