"""From a stream of numbered words to rows of a count matrix, joining pairs of words on the way.

Pairs of words that belong together, by normalised pointwise mutual information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.jit import compiled
from tagtopic._core.strings import finish_hash
from tagtopic.corpus.text.rules import TextRules

if TYPE_CHECKING:
    from tagtopic.corpus.vocabulary import Frequencies

# Distinct pairs counted at a time; beyond it the rarest are forgotten, as in lossy counting, so memory stays bounded
MAX_PAIRS = 1 << 23


class PairCounts:
    """How often each pair of words follows each other, counted over blocks of documents."""

    def __init__(self, allowed: NDArray[np.bool_], *, max_pairs: int = MAX_PAIRS) -> None:
        self._allowed = allowed
        self._max_pairs = max_pairs
        self._forget = 1
        self._keys = np.zeros(1 << 12, dtype=np.uint64)
        self._counts = np.zeros(1 << 12, dtype=np.int64)
        self._n = 0

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
        """Count the pairs of further documents."""
        document, position = 0, 0
        while document < len(offsets) - 1:
            self._n, document, position = _count_pairs(
                offsets, ids, self._allowed, self._keys, self._counts, self._n, document, position
            )
            if document < len(offsets) - 1:  # the table is half full
                self._make_room()

    def _make_room(self) -> None:
        keys, counts = self.items()
        while len(keys) > self._max_pairs // 2:
            keep = counts > self._forget
            keys, counts = keys[keep], counts[keep]
            self._forget += 1
        size = 1 << (4 * max(len(keys), 1024) - 1).bit_length()
        self._keys = np.zeros(size, dtype=np.uint64)
        self._counts = np.zeros(size, dtype=np.int64)
        _refill(self._keys, self._counts, keys, counts)
        self._n = len(keys)

    def items(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The pairs, as keys sorted, and their counts."""
        used = self._counts > 0
        order = np.argsort(self._keys[used])
        return self._keys[used][order], self._counts[used][order]


@compiled
def _count_pairs(
    offsets: Any, ids: Any, allowed: Any, keys: Any, counts: Any, n: int, document: int, position: int
) -> Any:
    """Go on from (document, position) until all is counted or the table is half full."""
    mask = np.uint64(keys.size - 1)
    for d in range(document, offsets.size - 1):
        start = max(position, offsets[d])
        for i in range(start, offsets[d + 1] - 1):
            if ids[i] < 0 or ids[i + 1] < 0 or not allowed[ids[i]] or not allowed[ids[i + 1]]:
                continue
            if n * 2 >= keys.size:
                return n, d, i
            key = (np.uint64(ids[i]) << np.uint64(32)) | np.uint64(ids[i + 1])
            slot = finish_hash(key) & mask
            while counts[slot] > 0 and keys[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            if counts[slot] == 0:
                keys[slot] = key
                n += 1
            counts[slot] += 1
    return n, offsets.size - 1, 0


@compiled
def _refill(keys: Any, counts: Any, old_keys: Any, old_counts: Any) -> None:
    mask = np.uint64(keys.size - 1)
    for i in range(old_keys.size):
        slot = finish_hash(old_keys[i]) & mask
        while counts[slot] > 0:
            slot = (slot + np.uint64(1)) & mask
        keys[slot] = old_keys[i]
        counts[slot] = old_counts[i]


def associated(
    keys: NDArray[np.uint64], counts: NDArray[np.int64], frequencies: Frequencies, rules: TextRules
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and second words of the pairs seen often enough whose association reaches what the rules ask for.

    log(p(ab) / (p(a) p(b))) / -log p(ab), which is 1 for words that only ever occur together, 0 for independent ones.
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


Pairs = tuple[NDArray[np.uint64], NDArray[np.int32]]
NO_PAIRS: Pairs = (np.zeros(1, dtype=np.uint64), np.full(1, -1, dtype=np.int32))


def pair_table(first: NDArray[Any], second: NDArray[Any], columns: NDArray[np.int32]) -> Pairs:
    """A hash table from pairs of words to columns."""
    if len(first) == 0:
        return NO_PAIRS
    size = 1 << (4 * len(first) - 1).bit_length()
    keys = np.zeros(size, dtype=np.uint64)
    values = np.full(size, -1, dtype=np.int32)
    _fill_pairs(keys, values, pair_keys(first, second), columns)
    return keys, values


def pair_keys(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.uint64]:
    """One number for a pair of word numbers."""
    return (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)


def count_rows(
    offsets: NDArray[np.int64], ids: NDArray[np.int32], column: NDArray[np.int32], pairs: Pairs = NO_PAIRS
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """CSR offsets, columns (sorted, unique) and counts of documents given as word numbers.

    `column` says where each word goes (-1: nowhere). From left to right, two words in `pairs` that
    follow each other are counted as the pair and not as themselves.
    """
    new_offsets, columns, counts = _count_rows(offsets, ids, column, *pairs)
    return new_offsets, columns, counts


@compiled
def find_pair(keys: Any, values: Any, first: Any, second: Any) -> Any:
    """The column of a pair of words, or -1."""
    key = (np.uint64(first) << np.uint64(32)) | np.uint64(second)
    mask = np.uint64(keys.size - 1)
    slot = finish_hash(key) & mask
    while values[slot] >= 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return values[slot]


@compiled
def _fill_pairs(keys: Any, values: Any, new_keys: Any, columns: Any) -> None:
    mask = np.uint64(keys.size - 1)
    for i in range(new_keys.size):
        slot = finish_hash(new_keys[i]) & mask
        while values[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        keys[slot] = new_keys[i]
        values[slot] = columns[i]


@compiled
def _count_rows(offsets: Any, ids: Any, column: Any, keys: Any, values: Any) -> Any:
    n = offsets.size - 1
    new_offsets = np.zeros(n + 1, dtype=np.int64)
    columns = np.empty(ids.size, dtype=np.int32)
    counts = np.empty(ids.size, dtype=np.int32)
    n_columns = max(_largest(column), _largest(values)) + 1
    tally = np.zeros(n_columns, dtype=np.int32)  # of the document at hand; sorting its different words is cheap
    joins = keys.size > 1
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
                target = find_pair(keys, values, word, ids[i])
            if target >= 0:
                i += 1
            else:
                target = column[word]
            if target >= 0:
                if tally[target] == 0:
                    columns[used] = target
                    used += 1
                tally[target] += 1
        columns[start:used].sort()
        for j in range(start, used):
            counts[j] = tally[columns[j]]
            tally[columns[j]] = 0
        new_offsets[d + 1] = used
    return new_offsets, columns[:used].copy(), counts[:used].copy()


@compiled
def _largest(values: Any) -> int:
    largest = -1
    for value in values:
        largest = max(largest, value)
    return largest
