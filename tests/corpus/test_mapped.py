"""Going through a memory-mapped matrix: the same sums, and the pages are given back."""

from pathlib import Path

import numpy as np
import pytest

from tagtopic._core import memmap
from tagtopic.corpus import Corpus, matrices
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(200, 4, 12, 100, random_state=5).corpus


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
    memmap.release(array[: 1 << 19])
    assert 1000 < resident_pages(array) < 7000  # large pages are given back whole
    memmap.release(array)
    assert resident_pages(array) < 100
    assert array[-1] == (1 << 20) - 1


def test_what_was_written_to_a_map_survives_its_release(tmp_path: Path) -> None:
    array = np.memmap(tmp_path / "a", np.float32, "w+", shape=(5000, 3)).view(np.ndarray)
    array[:] = 7.0
    memmap.release(array[100:4000])
    assert np.all(array == 7.0)


def test_arrays_in_memory_are_left_alone() -> None:
    memmap.release(np.ones(5), np.empty(0))


@pytest.mark.parametrize("wrong", [-1, 2, 2_000_000_000])
def test_a_column_that_is_not_there_is_refused(wrong: int) -> None:
    counts = matrices.csr(np.array([0, 2]), np.array([1, wrong], np.int32), np.ones(2, np.int32), 2)
    for function in (matrices.column_sums, matrices.column_sizes):
        with pytest.raises(ValueError, match=f"column {wrong} of a matrix with 2 columns"):
            function(counts)


def test_an_array_knows_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(9))
    array = np.load(tmp_path / "a.npy", mmap_mode="r").view(np.ndarray)
    assert memmap.file_of(array) == memmap.file_of(array[2:5][1:]) == tmp_path / "a.npy"
    assert memmap.file_of(array.copy()) is None


@pytest.mark.parametrize("entries", [1, 70, 1 << 21])
def test_sums_by_part_are_the_sums_of_the_whole(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "BLOCK_ENTRIES", entries)
    counts = CORPUS.counts
    np.testing.assert_array_equal(matrices.column_sums(counts), counts.sum(axis=0))
    np.testing.assert_array_equal(matrices.column_sizes(counts), (counts.toarray() > 0).sum(axis=0))
    np.testing.assert_array_equal(CORPUS.lengths(), counts.sum(axis=1))
    with_gaps = Corpus.from_counts([[0, 0], [1, 2], [0, 0], [3, 0]])
    assert with_gaps.lengths().tolist() == [0, 3, 0, 3]
