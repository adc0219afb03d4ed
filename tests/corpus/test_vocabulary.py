"""Counts of words: NumPy counts the words of a few documents, kernels those of many."""

import numpy as np
import pytest

from tagtopic._core.arrays import SMALL, offsets_of
from tagtopic.corpus.text.phrases import count_rows
from tagtopic.corpus.vocabulary import Frequencies


def documents(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and word numbers; -1 is a gap, and some documents are empty."""
    random = np.random.default_rng(0)
    offsets = offsets_of(random.integers(0, 20, n))
    return offsets, random.integers(-1, 40, offsets[-1]).astype(np.int32)


@pytest.mark.parametrize("n", [1, 50, 10_000])
def test_words_are_counted_by_document(n: int) -> None:
    offsets, ids = documents(n)
    assert (len(ids) > SMALL) == (n == 10_000)
    column = np.random.default_rng(1).permutation(np.arange(-10, 30)).clip(-1).astype(np.int32)
    starts, columns, counts = count_rows(offsets, ids, column)
    expected = np.zeros((n, 30), int)
    for d in range(n):
        for word in ids[offsets[d] : offsets[d + 1]]:
            if word >= 0 and column[word] >= 0:
                expected[d, column[word]] += 1
    rows, present = np.nonzero(expected)
    assert starts.tolist() == offsets_of(np.bincount(rows, minlength=n)).tolist()
    assert columns.tolist() == present.tolist()
    assert counts.tolist() == expected[rows, present].tolist()
    assert columns.dtype == counts.dtype == np.int32


def test_frequencies_do_not_depend_on_how_many_documents_are_added_at_a_time() -> None:
    offsets, ids = documents(10_000)
    together, apart = Frequencies(), Frequencies()
    together.add(offsets, ids, 40)
    for first in range(0, 10_000, 1_000):
        part = offsets[first : first + 1_001]
        apart.add(part - part[0], ids[part[0] : part[-1]], 40)
    np.testing.assert_array_equal(together.documents, apart.documents)
    np.testing.assert_array_equal(together.occurrences, apart.occurrences)
    np.testing.assert_array_equal(together.occurrences, np.bincount(ids[ids >= 0]))
    assert together.n_occurrences == apart.n_occurrences == together.occurrences.sum()
