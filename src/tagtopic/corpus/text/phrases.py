"""Phrases of two words: pairs counted, chosen by normalised pointwise mutual information, joined when counting words.

A pair of word numbers is one 64-bit key, the first number in its upper half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import SMALL, offsets_of, owners_of
from tagtopic._core.hashing import EMPTY, fill_slots, find_slot, n_slots_for, splitmix64, splitmix64_array
from tagtopic._core.jit import compiled
from tagtopic.corpus.text.rules import TextRules

if TYPE_CHECKING:
    from tagtopic.corpus.vocabulary import Frequencies

# Distinct pairs counted at a time; beyond it the rarest are dropped, as in lossy counting, so memory stays bounded
MAX_PAIRS = 1 << 23

PairTable = tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]
"""Slots, keys and columns of a hash table from pairs of words to columns."""

NO_PAIRS: PairTable = (np.full(1, EMPTY, dtype=np.int32), np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32))


class PairCounts:
    """How often each pair of words follows each other, counted over blocks of documents.

    Parameters
    ----------
    allowed : ndarray of bool
        Which words may be part of a pair.
    max_pairs : int, default=MAX_PAIRS
        Distinct pairs to keep; when there are more, the rarest are dropped (lossy counting).
    """

    def __init__(self, allowed: NDArray[np.bool_], *, max_pairs: int = MAX_PAIRS) -> None:
        self._allowed = allowed
        self._max_pairs = max_pairs
        self._drop_below = 1
        self._n = 0
        self._allocate(1 << 12)

    def _allocate(self, n_slots: int) -> None:
        """Make the entries for this number of slots, half of which may be used."""
        self._keys = np.zeros(n_slots // 2, dtype=np.uint64)
        self._counts = np.zeros(n_slots // 2, dtype=np.int64)
        self._slots = np.full(n_slots, EMPTY, dtype=np.int32)

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
        """Count the pairs of further documents."""
        document, position = 0, 0
        while document < len(offsets) - 1:
            self._n, document, position = _count_pairs(
                offsets, ids, self._allowed, self._slots, self._keys, self._counts, self._n, document, position
            )
            if document < len(offsets) - 1:  # the table is full
                self._grow()

    def _grow(self) -> None:
        keys, counts = self.items()
        while len(keys) > self._max_pairs // 2:
            keep = counts > self._drop_below
            keys, counts = keys[keep], counts[keep]
            self._drop_below += 1
        self._n = n = len(keys)
        self._allocate(n_slots_for(max(n, 1024)))
        self._keys[:n], self._counts[:n] = keys, counts
        self._slots = fill_slots(splitmix64_array(keys), n, len(self._slots))

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the pairs, as sorted keys, and their counts."""
        order = np.argsort(self._keys[: self._n])
        return self._keys[order], self._counts[order]


@compiled
def _count_pairs(
    offsets: Any, ids: Any, allowed: Any, slots: Any, keys: Any, counts: Any, n: int, document: int, position: int
) -> Any:
    """Count on from (document, position) until all is counted or the table is full."""
    for d in range(document, offsets.size - 1):
        start = max(position, offsets[d])
        for i in range(start, offsets[d + 1] - 1):
            if ids[i] < 0 or ids[i + 1] < 0 or not allowed[ids[i]] or not allowed[ids[i + 1]]:
                continue
            if n >= keys.size:
                return n, d, i
            key = (np.uint64(ids[i]) << np.uint64(32)) | np.uint64(ids[i + 1])
            slot = find_slot(slots, keys, key, splitmix64(key) & np.uint64(slots.size - 1))
            if slots[slot] < 0:
                slots[slot] = n
                keys[n] = key
                n += 1
            counts[slots[slot]] += 1
    return n, offsets.size - 1, 0


def associated_pairs(
    keys: NDArray[np.uint64], counts: NDArray[np.int64], frequencies: Frequencies, rules: TextRules
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first and second words of the pairs that are frequent enough and whose NPMI reaches ``rules.bigrams``.

    Normalised pointwise mutual information is log(p(ab) / (p(a) p(b))) / -log p(ab): 1 for words that only occur
    together, 0 for independent ones.

    References
    ----------
    Bouma, G. (2009). Normalized (pointwise) mutual information in collocation extraction. GSCL.
    """
    assert rules.bigrams is not None
    often = counts >= rules.bigram_min_count
    keys, counts = keys[often], counts[often]
    first, second = (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    total, occurrences = max(1.0, float(frequencies.n_occurrences)), frequencies.occurrences
    joint = counts / total
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(joint * total / occurrences[first] * total / occurrences[second]) / -np.log(joint)
    strong = np.nan_to_num(npmi, nan=1.0) >= rules.bigrams  # a text of one pair alone: 0 / 0
    return first[strong], second[strong]


def pair_table(first: NDArray[Any], second: NDArray[Any], columns: NDArray[np.int32]) -> PairTable:
    """Return a hash table from distinct pairs of words to columns."""
    if len(first) == 0:
        return NO_PAIRS
    keys = (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)
    slots = fill_slots(splitmix64_array(keys), len(keys), n_slots_for(len(keys)))
    return slots, keys, columns.astype(np.int32)


def count_rows(
    offsets: NDArray[np.int64], ids: NDArray[np.int32], column: NDArray[np.int32], pairs: PairTable = NO_PAIRS
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return CSR offsets, columns (sorted, unique) and counts of documents given as word numbers.

    Parameters
    ----------
    offsets, ids : ndarray
        Document d has the words ``ids[offsets[d]:offsets[d + 1]]``; a negative number is a gap.
    column : ndarray of int32
        The column of each word; -1: none.
    pairs : PairTable
        From left to right, two words in sequence that are a pair here are counted as the pair and not as themselves.
    """
    n_columns = max(column.max(initial=-1), pairs[2].max(initial=-1)) + 1
    if len(ids) <= SMALL and not len(pairs[1]):
        return _count_few(offsets, ids, column, int(n_columns))
    new_offsets = np.zeros(len(offsets), dtype=np.int64)
    columns, counts = np.empty(len(ids), dtype=np.int32), np.empty(len(ids), dtype=np.int32)
    tally = np.zeros(n_columns, dtype=np.int32)
    used = _count_rows(offsets, ids, column, *pairs, tally, new_offsets, columns, counts)
    return new_offsets, columns[:used].copy(), counts[:used].copy()


def _count_few(
    offsets: NDArray[np.int64], ids: NDArray[np.int32], column: NDArray[np.int32], n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Do as ``count_rows`` without pairs, by NumPy."""
    columns = np.append(column, np.int32(-1))[ids]  # a gap, -1, is the last
    used = columns >= 0
    keys, counts = np.unique(owners_of(offsets)[used] * n_columns + columns[used], return_counts=True)
    rows = np.bincount(keys // max(n_columns, 1), minlength=len(offsets) - 1)
    return offsets_of(rows), (keys % max(n_columns, 1)).astype(np.int32), counts.astype(np.int32)


@compiled
def _count_rows(
    offsets: Any, ids: Any, column: Any, pair_slots: Any, pair_keys: Any, pair_columns: Any, tally: Any,
    new_offsets: Any, columns: Any, counts: Any,
) -> int:  # fmt: skip
    """Fill the CSR arrays and return the number of entries; ``tally`` is zero for all columns before and after."""
    n = offsets.size - 1
    joins = pair_keys.size > 0
    used = 0
    for d in range(n):
        start = used
        i = offsets[d]
        while i < offsets[d + 1]:
            word = ids[i]
            i += 1
            if word < 0:
                continue
            target = np.int32(-1)
            if joins and i < offsets[d + 1] and ids[i] >= 0:
                target = _find_pair(pair_slots, pair_keys, pair_columns, word, ids[i])
            if target >= 0:
                i += 1
            else:
                target = column[word]
            if target >= 0:
                if tally[target] == 0:
                    columns[used] = target
                    used += 1
                tally[target] += 1
        sort_range(columns, start, used)  # distinct words of one document: few
        for j in range(start, used):
            counts[j] = tally[columns[j]]
            tally[columns[j]] = 0
        new_offsets[d + 1] = used
    return used


@compiled
def sort_range(values: Any, start: int, stop: int) -> None:
    """Sort ``values[start:stop]`` in place, by Shell's method: a second less to compile than ``sort``.

    Gaps are those of Sedgewick (1986), 9 (4^k - 2^k) + 1 and 4^k - 3 2^k + 1, for ranges of any length.
    """
    size, power = stop - start, 1
    while 9 * (4 * power * power - 2 * power) + 1 < size:
        power *= 2
    while power >= 1:
        for which in range(2):
            gap = 9 * (power * power - power) + 1 if which else 16 * power * power - 12 * power + 1
            for i in range(start + gap, stop):
                value = values[i]
                j = i
                while j >= start + gap and values[j - gap] > value:
                    values[j] = values[j - gap]
                    j -= gap
                values[j] = value
        power //= 2


@compiled
def _find_pair(slots: Any, keys: Any, columns: Any, first: Any, second: Any) -> Any:
    """Return the column of a pair of words, or -1."""
    key = (np.uint64(first) << np.uint64(32)) | np.uint64(second)
    slot = find_slot(slots, keys, key, splitmix64(key) & np.uint64(slots.size - 1))
    return columns[slots[slot]] if slots[slot] >= 0 else np.int32(-1)
