"""The largest k of many numbers, against sorting."""

import numpy as np
import pytest

from tagtopic.tagging.top_k import kth_largest, largest_positions, lower_bound_of_kth

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 7, 39, 40, 41])
def test_the_kth_largest_is_found_and_is_zero_where_there_are_fewer(n: int) -> None:
    for values in (RNG.random(40), RNG.integers(0, 5, 40), np.arange(40), np.arange(40)[::-1], np.zeros(40)):
        given = values.astype(np.float32)
        expected = np.sort(given)[-n] if n <= len(given) else 0.0
        assert kth_largest(given, n) == expected


@pytest.mark.parametrize("n", [1, 3, 50, 299, 300, 400])
@pytest.mark.parametrize("size", [1, 64, 300, 1000, 4099])
def test_the_largest_positions_are_those_of_sorting(n: int, size: int) -> None:
    sparse = RNG.random(size) * (RNG.random(size) < 0.2)
    for values in (RNG.random(size), sparse, np.arange(size), np.arange(size)[::-1], np.zeros(size)):
        given = values.astype(np.float32)
        places = np.empty(size, np.int32)
        found = places[: largest_positions(given, n, places)]
        order = np.argsort(-given, kind="stable")[:n]
        assert found.tolist() == sorted(order[given[order] > 0].tolist())


def test_ties_with_the_kth_largest_are_included() -> None:
    given = np.array([0.5, 0.25, 0.5, 0.75, 0.5, 0.0], np.float32)
    places = np.empty(6, np.int32)
    assert places[: largest_positions(given, 2, places)].tolist() == [0, 2, 3, 4]


def test_the_lower_bound_is_close() -> None:
    values = RNG.random(20_000).astype(np.float32).view(np.int32)
    for n in (1, 10, 100):
        bound = lower_bound_of_kth(values, n)
        assert n <= np.count_nonzero(values >= bound) <= 2 * n
