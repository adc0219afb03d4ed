"""The largest of many numbers, against sorting them."""

import numpy as np
import pytest

from tagtopic.tagging.evidence import largest_above_zero, nth_largest_at_least, threshold

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 7, 39, 40, 41])
def test_the_threshold_is_the_nth_largest_and_nothing_where_there_are_fewer(n: int) -> None:
    for values in (RNG.random(40), RNG.integers(0, 5, 40), np.arange(40), np.arange(40)[::-1], np.zeros(40)):
        given = values.astype(np.float32)
        expected = np.sort(given)[-n] if n <= len(given) else 0.0
        assert threshold(given, n) == expected


@pytest.mark.parametrize("n", [1, 3, 50, 299, 300, 400])
@pytest.mark.parametrize("size", [1, 64, 300, 1000, 4099])
def test_the_largest_are_those_that_sorting_finds(n: int, size: int) -> None:
    sparse = RNG.random(size) * (RNG.random(size) < 0.2)
    for values in (RNG.random(size), sparse, np.arange(size), np.arange(size)[::-1], np.zeros(size)):
        given = values.astype(np.float32)
        places = np.empty(size, np.int32)
        found = places[: largest_above_zero(given, n, places)]
        order = np.argsort(-given, kind="stable")[:n]
        assert found.tolist() == sorted(order[given[order] > 0].tolist())


def test_equal_values_are_taken_together() -> None:
    given = np.array([0.5, 0.25, 0.5, 0.75, 0.5, 0.0], np.float32)
    places = np.empty(6, np.int32)
    assert places[: largest_above_zero(given, 2, places)].tolist() == [0, 2, 3, 4]


def test_the_first_guess_is_never_too_high_and_not_far_off() -> None:
    values = RNG.random(20_000).astype(np.float32).view(np.int32)
    for n in (1, 10, 100):
        guess = nth_largest_at_least(values, n)
        assert n <= np.count_nonzero(values >= guess) <= 2 * n
