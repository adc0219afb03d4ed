"""Pairs of words that belong together, by normalised pointwise mutual information."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.compiled import compiled
from tagtopic.corpus.names import finish_hash
from tagtopic.corpus.rules import TextRules
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
