"""Arrays without reference counts, and sums by the vector units."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s
from tagtopic._core.intrinsics import borrow, total_of
from tagtopic._core.jit import compiled

ALLOCATIONS: Any = import_module("numba.core.runtime._nrt_python")
"""Numba's count of what it allocates and frees."""


@compiled
def doubled(values: Float64s) -> Float64s:
    """Each element twice, by a slice of a borrowed array; the owner is returned."""
    borrowed = borrow(values)[1:]
    for i in range(borrowed.shape[0]):
        borrowed[i] *= 2
    return values


@compiled
def sum_of_rooms(n: int) -> float:
    """Sum 0 + ... + n - 1, each taken from room that was borrowed from the function above it."""
    total = 0.0
    for i in range(n):
        room = np.full(1000, float(i))
        total += last_of(room)
    return total


@compiled
def last_of(room: Float64s) -> float:
    """The last element."""
    borrowed = borrow(room)[500:]
    return float(borrowed[-1])


def test_what_is_written_to_a_borrowed_array_is_in_its_owner() -> None:
    values = np.arange(4.0)
    assert doubled(values).tolist() == [0, 2, 4, 6]
    assert values.tolist() == [0, 2, 4, 6]


@pytest.fixture
def counting() -> Iterator[None]:
    ALLOCATIONS.memsys_enable_stats()
    yield
    ALLOCATIONS.memsys_disable_stats()


@pytest.mark.skipif(not hasattr(sum_of_rooms, "py_func"), reason="plain Python frees as it likes")
@pytest.mark.usefixtures("counting")
def test_room_is_there_while_its_owner_waits_and_goes_with_it() -> None:
    assert sum_of_rooms(200) == 199 * 100
    taken, freed = ALLOCATIONS.memsys_get_stats_alloc(), ALLOCATIONS.memsys_get_stats_free()
    assert sum_of_rooms(200) == 199 * 100
    assert ALLOCATIONS.memsys_get_stats_alloc() - taken == 200
    assert ALLOCATIONS.memsys_get_stats_free() - freed == 200


def test_in_plain_python_nothing_happens() -> None:
    values = np.arange(3.0)
    assert borrow(values) is values


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_total_is_the_sum(n: int) -> None:
    values = np.random.default_rng(n).random(n)
    assert total_of(values) == pytest.approx(values.sum(), rel=1e-12)
