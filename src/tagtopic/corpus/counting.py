"""From a stream of numbered words to rows of a count matrix, joining pairs of words on the way."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.compiled import compiled
from tagtopic.corpus.names import finish_hash

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
