"""Sums over sparse matrices, block by block."""

import numpy as np
import pytest

from tagtopic.corpus import Corpus, matrices
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(200, 4, 12, 100, random_state=5).corpus


@pytest.mark.parametrize("wrong", [-1, 2, 2_000_000_000])
def test_an_entry_outside_the_columns_is_an_error(wrong: int) -> None:
    counts = matrices.csr(np.array([0, 2]), np.array([1, wrong], np.int32), np.ones(2, np.int32), 2)
    for function in (matrices.column_sums, matrices.column_counts):
        with pytest.raises(ValueError, match=f"column {wrong} of a matrix with 2 columns"):
            function(counts)


@pytest.mark.parametrize("block_entries", [1, 70, 1 << 21])
def test_sums_do_not_depend_on_the_size_of_blocks(block_entries: int) -> None:
    counts = CORPUS.counts
    size = {"block_entries": block_entries}
    np.testing.assert_array_equal(matrices.column_sums(counts, **size), counts.sum(axis=0))
    np.testing.assert_array_equal(matrices.column_counts(counts, **size), (counts.toarray() > 0).sum(axis=0))
    np.testing.assert_array_equal(matrices.row_sums(counts, **size), counts.sum(axis=1))
    with_gaps = Corpus.from_counts([[0, 0], [1, 2], [0, 0], [3, 0]])
    assert matrices.row_sums(with_gaps.counts, **size).tolist() == with_gaps.lengths().tolist() == [0, 3, 0, 3]


@pytest.mark.parametrize("block_entries", [1, 2, 3, 10])
def test_offsets_are_compared_across_blocks(block_entries: int) -> None:
    def check(offsets: list[int]) -> bool:
        return matrices.is_nondecreasing(np.array(offsets), block_entries=block_entries)

    assert check([0, 1, 1, 4, 7])
    assert check([0])
    assert not any(check(offsets) for offsets in ([0, 2, 1, 4], [0, 1, 4, 3], [1, 0]))
