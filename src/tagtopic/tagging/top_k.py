"""The largest k of many numbers, without sorting them (np.partition takes six seconds to compile).

The numbers are float32 and not negative. The order of their bits, read as int32, is then their own order, and bits are
compared and counted several at a time by the vector units.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Floats, Int32s
from tagtopic._core.jit import compiled

STRIDE = 64
"""Values compared at once: few are among the largest, so most strides are skipped after one comparison."""

STRATA = 4
"""Strata for each value asked for: the k-th largest of their maxima is a close lower bound of the k-th largest."""


@compiled
def kth_largest(values: Floats, k: int) -> float:
    """Return the k-th largest value, or 0 if there are fewer than k."""
    bits = np.array([_kth_largest_bits(values.view(np.int32), k)], np.int32)
    return float(bits.view(np.float32)[0])


@compiled
def largest_positions(values: Floats, k: int, positions: Int32s) -> int:
    """Write the positions of the k largest positive values, ascending, and return their number.

    Values equal to the k-th largest are all included. ``positions`` has room for every value.
    """
    bits = values.view(np.int32)
    n_found = _positions_at_least(bits, max(lower_bound_of_kth(bits, k), 1), positions)
    least = _kth_largest_bits(bits[positions[:n_found]], k)
    n_kept = 0
    for position in positions[:n_found]:
        if bits[position] >= least:
            positions[n_kept] = position
            n_kept += 1
    return n_kept


@compiled
def _kth_largest_bits(values: Int32s, k: int) -> int:
    """Return the k-th largest of non-negative values by bisection, or 0 if there are fewer than k."""
    if k > values.shape[0]:
        return 0
    low, high = 0, int(values.max()) + 1  # at least k values are >= low, fewer are >= high
    while high - low > 1:
        middle = (low + high) // 2
        n_reach = 0
        for i in range(values.shape[0]):
            n_reach += values[i] >= middle
        if n_reach >= k:
            low = middle
        else:
            high = middle
    return low


@compiled
def lower_bound_of_kth(values: Int32s, k: int) -> int:
    """Return a number that at least k values reach, or 0: the k-th largest maximum of interleaved strata.

    Stratum i has the values i, i + n_strata, i + 2 n_strata, ….
    """
    n_strata = min(STRATA * k, values.shape[0])
    largest = values[:n_strata].copy()
    for start in range(n_strata, values.shape[0], n_strata):
        part = values[start : start + n_strata]
        for i in range(part.shape[0]):
            largest[i] = max(largest[i], part[i])
    return _kth_largest_bits(largest, k)


@compiled
def _positions_at_least(values: Int32s, least: int, positions: Int32s) -> int:
    """Write the positions of the values that are at least ``least``, ascending, and return their number."""
    n_positions = 0
    for start in range(0, values.shape[0], STRIDE):
        part = values[start : start + STRIDE]
        most = part[0]
        for i in range(part.shape[0]):
            most = max(most, part[i])
        if most >= least:
            for i in range(part.shape[0]):
                if part[i] >= least:
                    positions[n_positions] = start + i
                    n_positions += 1
    return n_positions
