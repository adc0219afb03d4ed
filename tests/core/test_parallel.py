"""Ranges of rows for parallel work, and the limit on BLAS threads."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from tagtopic._core.parallel import cut_evenly, cut_rows, one_blas_thread


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 60))
def test_ranges_cover_every_row_once_in_order(sizes: list[int], weight: int) -> None:
    starts = np.append(7, 7 + np.cumsum(sizes)).astype(np.int64)
    ranges = cut_evenly(starts, weight)
    assert [row for first, last in ranges for row in range(first, last)] == list(range(len(sizes)))
    assert all(first < last for first, last in ranges)
    largest = max(sizes, default=0)
    assert all(starts[last] - starts[first] <= weight + largest for first, last in ranges)


def test_cut_rows_covers_every_row() -> None:
    assert cut_rows(5, 2) == [(0, 2), (2, 4), (4, 5)]
    assert cut_rows(0, 2) == []


def blas_threads() -> list[int]:
    np.ones((4, 4)) @ np.ones((4, 4))
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_has_one_thread_until_the_last_user_leaves() -> None:
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(blas_threads()) == {1}
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before
