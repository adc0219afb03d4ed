"""The largest of many numbers, without sorting them. (np.partition takes six seconds to compile.)

The numbers are float32s, none of them negative: the order of their bits is theirs, and bits are compared and counted
several at a time.
"""

from __future__ import annotations

import numpy as np

from tagtopic.compiled import compiled
from tagtopic.inference.arrays import Floats, Int32s

STRIDE = 64
"""Numbers looked at together: few are among the largest, and these are compared in a few instructions."""

PARTS = 4
"""The largest number of each of so many parts for each number asked for says how large those are at least."""


@compiled
def threshold(values: Floats, n: int) -> float:
    """The n-th largest of the values, or 0 if there are not as many."""
    least = np.array([nth_largest(values.view(np.int32), n)], np.int32)
    return float(least.view(np.float32)[0])


@compiled
def largest_above_zero(values: Floats, n: int, places: Int32s) -> int:
    """Where the n largest of some values above 0 stand (more if some are equal); returns how many.

    ``places`` has room for all of them.
    """
    bits = values.view(np.int32)
    n_found = places_at_least(bits, max(nth_largest_at_least(bits, n), 1), places)
    least = nth_largest(bits[places[:n_found]], n)
    n_kept = 0
    for place in places[:n_found]:
        if bits[place] >= least:
            places[n_kept] = place
            n_kept += 1
    return n_kept


@compiled
def nth_largest(values: Int32s, n: int) -> int:
    """The n-th largest of the values, none of them negative, by halving; or 0 if there are not as many."""
    if n > values.shape[0]:
        return 0
    low, high = 0, int(values.max()) + 1  # n values reach low, fewer reach high
    while high - low > 1:
        middle = (low + high) // 2
        n_reach = 0
        for i in range(values.shape[0]):
            n_reach += values[i] >= middle
        if n_reach >= n:
            low = middle
        else:
            high = middle
    return low


@compiled
def nth_largest_at_least(values: Int32s, n: int) -> int:
    """A number that n of the values reach, or 0 if there are not as many: of the largest of each part, the n-th.

    Part i is the values i, i + n_parts, i + 2 n_parts and so on.
    """
    n_parts = min(PARTS * n, values.shape[0])
    largest = values[:n_parts].copy()
    for start in range(n_parts, values.shape[0], n_parts):
        some = values[start : start + n_parts]
        for i in range(some.shape[0]):
            largest[i] = max(largest[i], some[i])
    return nth_largest(largest, n)


@compiled
def places_at_least(values: Int32s, least: int, places: Int32s) -> int:
    """Where the values that reach ``least`` stand, in their order; returns how many."""
    n_places = 0
    for start in range(0, values.shape[0], STRIDE):
        part = values[start : start + STRIDE]
        most = part[0]
        for i in range(part.shape[0]):
            most = max(most, part[i])
        if most >= least:
            for i in range(part.shape[0]):
                if part[i] >= least:
                    places[n_places] = start + i
                    n_places += 1
    return n_places
