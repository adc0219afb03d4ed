"""64-bit hashes and an open-addressing hash table, as kernels over plain arrays.

A table has dense entries, numbered 0, 1, … in the order in which they were added, each with a 64-bit key, and an int32
array of slots, a power of two in number and at most half of them in use: a slot holds the number of an entry, or -1.
The slots of an entry begin at ``hash & (n_slots - 1)``; a slot in use by another entry is followed by the next one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.jit import compiled

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""The increment of splitmix64: output i of a stream is ``splitmix64(seed + i * GOLDEN_GAMMA)``."""

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)

EMPTY = -1
"""The content of a slot that no entry uses."""


def splitmix64_array(h: Any) -> Any:
    """Apply splitmix64's output function to an array of uint64, with NumPy."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


splitmix64 = compiled(splitmix64_array)
"""splitmix64's output function for kernels: every bit of the result depends on every bit of a uint64."""


@compiled
def hash_strings(offsets: Any, data: Any, result: Any) -> None:
    """Write the FNV-1a hash of each string, finished by splitmix64: alone it mixes high bits of short strings badly."""
    for i in range(result.size):
        h = FNV_OFFSET
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[j])) * FNV_PRIME
        result[i] = splitmix64(h)


@compiled
def find_slot(slots: Any, keys: Any, key: Any, start: Any) -> Any:
    """Return the first slot from ``start`` on whose entry has this key, or which is empty."""
    mask = slots.size - 1
    slot = np.int64(start) & mask
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def fill_slots(hashes: Any, n: int, n_slots: int) -> Any:
    """Return a new array of slots for the first n entries, given their hashes."""
    slots = np.full(n_slots, EMPTY, dtype=np.int32)
    mask = n_slots - 1
    for entry in range(n):
        slot = np.int64(hashes[entry] & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = entry
    return slots


def n_slots_for(n: int) -> int:
    """Return the number of slots for n entries: from twice to four times as many, rounded up to a power of two."""
    return 1 << (4 * n - 1).bit_length()
