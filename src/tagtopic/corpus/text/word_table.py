"""All different words of a corpus, numbered in the order in which they first came."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.jit import compiled
from tagtopic._core.strings import Names

MAX_WORDS = 2**31 - 2


class WordTable:
    """A growing hash table from words (as UTF-8 bytes) to numbers, kept in flat arrays.

    A word costs its bytes and about 40 more, a fraction of what a Python dictionary would take, so
    the tens of millions of different words of a large file fit.
    """

    def __init__(self) -> None:
        self._n = 0
        self._bytes = np.empty(1 << 12, dtype=np.uint8)
        self._offsets = np.zeros((1 << 8) + 1, dtype=np.int64)
        self._hashes = np.empty(1 << 8, dtype=np.uint64)
        self._slots = np.full(1 << 10, -1, dtype=np.int32)

    def __len__(self) -> int:
        return self._n

    @property
    def names(self) -> Names:
        """The words by number; a view, good until words are added."""
        return Names(self._offsets[: self._n + 1], self._bytes[: self._offsets[self._n]])

    def add(self, words: Names, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The number of each of these words, new numbers for new words."""
        self._make_room(len(words), int(words.offsets[-1] - words.offsets[0]))
        numbers = np.empty(len(words), dtype=np.int32)
        self._n = _add(
            self._slots, self._hashes, self._offsets, self._bytes, self._n, words.offsets, words.data, hashes, numbers
        )
        return numbers

    def find(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The number of each of these words, -1 for those that are not here; `Names` are quickest."""
        wanted = Names.of(words)
        numbers = np.empty(len(wanted), dtype=np.int32)
        arrays = (self._slots, self._hashes, self._offsets, self._bytes)
        _find_all(*arrays, wanted.offsets, wanted.data, wanted.hashes(), numbers)
        return numbers

    def _make_room(self, n_words: int, n_bytes: int) -> None:
        if self._n + n_words > MAX_WORDS:
            raise ValueError(f"there are more than {MAX_WORDS:,} different words: the text is not made of words")
        self._bytes = _grown(self._bytes, int(self._offsets[self._n]) + n_bytes)
        self._offsets = _grown(self._offsets, self._n + n_words + 1)
        self._hashes = _grown(self._hashes, self._n + n_words)
        if 2 * (self._n + n_words) > len(self._slots):
            size = 1 << (4 * (self._n + n_words) - 1).bit_length()
            self._slots = slots_for(self._hashes, self._n, size)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    if size <= len(array):
        return array
    larger = np.empty(max(size, len(array) * 3 // 2), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def slot_of(slots: Any, hashes: Any, offsets: Any, data: Any, h: Any, text: Any, start: int, stop: int) -> Any:
    """The slot of the word text[start:stop] (which is not passed as a slice: that costs more than the search)."""
    mask = slots.size - 1
    slot = np.int64(h & np.uint64(mask))
    while slots[slot] >= 0:
        other = slots[slot]
        if hashes[other] == h and offsets[other + 1] - offsets[other] == stop - start:
            shift = offsets[other] - start
            i = start
            while i < stop and data[shift + i] == text[i]:
                i += 1
            if i == stop:
                return slot
        slot = (slot + 1) & mask
    return slot


@compiled
def slots_for(hashes: Any, n: int, size: int) -> Any:
    """A slot table of this size (a power of 2) for the first n words."""
    slots = np.full(size, -1, dtype=np.int32)
    for word in range(n):
        slot = np.int64(hashes[word] & np.uint64(size - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = word
    return slots


@compiled
def _add(
    slots: Any,
    hashes: Any,
    offsets: Any,
    data: Any,
    n: int,
    new_offsets: Any,
    new_data: Any,
    new_hashes: Any,
    numbers: Any,
) -> int:
    for i in range(numbers.size):
        start, stop = new_offsets[i], new_offsets[i + 1]
        slot = slot_of(slots, hashes, offsets, data, new_hashes[i], new_data, start, stop)
        if slots[slot] < 0:
            slots[slot] = n
            hashes[n] = new_hashes[i]
            offsets[n + 1] = offsets[n] + stop - start
            for at in range(start, stop):  # one slice into another takes seconds to compile
                data[offsets[n] + at - start] = new_data[at]
            n += 1
        numbers[i] = slots[slot]
    return n


@compiled
def _find_all(
    slots: Any, hashes: Any, offsets: Any, data: Any, new_offsets: Any, new_data: Any, new_hashes: Any, numbers: Any
) -> None:
    for i in range(numbers.size):
        start, stop = new_offsets[i], new_offsets[i + 1]
        numbers[i] = slots[slot_of(slots, hashes, offsets, data, new_hashes[i], new_data, start, stop)]
