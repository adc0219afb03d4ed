"""The largest of many numbers, without sorting them all. (np.partition takes six seconds to compile.)"""

from __future__ import annotations

import numpy as np

from tagtopic.inference.arrays import Floats, Int32s
from tagtopic.inference.compiled import compiled

STRIDE = 64
"""Numbers looked at together: few are among the largest, and these are compared in a few instructions."""

PARTS = 4
"""The largest number of each of so many parts for each number asked for says how large those are at least."""


@compiled
def threshold(values: Floats | Int32s, n: int) -> float:
    """The n-th largest of the values, or 0 if there are not as many."""
    if n >= values.shape[0]:
        return 0.0
    largest = heap_of(values, n)
    for i in range(n, values.shape[0]):
        if values[i] > largest[0]:
            largest[0] = values[i]
            sink(largest, 0)
    return float(largest[0])


@compiled
def largest_above_zero(values: Floats, n: int, places: Int32s) -> int:
    """Where the n largest of some float32s above 0 stand (more if some are equal); returns how many. None is negative.

    ``places`` has room for all of them.
    """
    bits = values.view(np.int32)  # their order is that of the values, and is compared several at a time
    n_found = places_at_least(bits, max(nth_largest_at_least(bits, n), 1), places)
    found = places[:n_found]
    least = max(threshold(bits[found], n), 1)
    n_kept = 0
    for place in found:
        if bits[place] >= least:
            places[n_kept] = place
            n_kept += 1
    return n_kept


@compiled
def nth_largest_at_least(values: Int32s, n: int) -> int:
    """A number that n of the values reach, or 0 if there are not as many: of the largest of each part, the n-th."""
    size = max(values.shape[0] // (PARTS * n), 1)
    largest = np.empty(-(-values.shape[0] // size), values.dtype)
    for p in range(largest.shape[0]):
        part = values[p * size : (p + 1) * size]
        most = part[0]
        for i in range(part.shape[0]):
            most = max(most, part[i])
        largest[p] = most
    return int(threshold(largest, n))


@compiled
def places_at_least(values: Int32s, least: int, places: Int32s) -> int:
    """Where the values that reach ``least`` stand, in their order; returns how many."""
    n_places = 0
    for start in range(0, values.shape[0], STRIDE):
        part = values[start : start + STRIDE]
        n_reach = 0
        for i in range(part.shape[0]):
            n_reach += part[i] >= least
        if n_reach:
            for i in range(part.shape[0]):
                if part[i] >= least:
                    places[n_places] = start + i
                    n_places += 1
    return n_places


@compiled
def heap_of(values: Floats | Int32s, n: int) -> Floats | Int32s:
    """The first n values as a heap: the least of them comes first."""
    heap = values[:n].copy()
    for node in range(n // 2 - 1, -1, -1):
        sink(heap, node)
    return heap


@compiled
def sink(heap: Floats | Int32s, node: int) -> None:
    """Let a value go down until none below it is less."""
    value, child = heap[node], 2 * node + 1
    while child < heap.shape[0]:
        if child + 1 < heap.shape[0] and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[node] = heap[child]
        node, child = child, 2 * child + 1
    heap[node] = value
