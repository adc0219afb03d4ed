import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic._core.parallel import cut_evenly, cut_rows
from tagtopic._core.threads import ThreadPool


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 60))
def test_cuts_cover_every_row_once_in_order(sizes: list[int], weight: int) -> None:
    starts = np.append(7, 7 + np.cumsum(sizes)).astype(np.int64)
    ranges = cut_evenly(starts, weight)
    assert [row for first, last in ranges for row in range(first, last)] == list(range(len(sizes)))
    assert all(first < last for first, last in ranges)
    largest = max(sizes, default=0)
    assert all(starts[last] - starts[first] <= weight + largest for first, last in ranges)


def test_cut_rows_covers_every_row() -> None:
    assert cut_rows(5, 2) == [(0, 2), (2, 4), (4, 5)]
    assert cut_rows(0, 2) == []


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_the_order_of_the_items(n_jobs: int) -> None:
    with ThreadPool(n_jobs) as workers:
        assert workers.map(lambda x: x * x, range(20)) == [x * x for x in range(20)]


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    with ThreadPool(2) as workers, pytest.raises(ZeroDivisionError):
        workers.map(lambda x: 1 // x, [1, 0, 2])
