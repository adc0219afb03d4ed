"""Ranges of rows for parallel work, and the limit on BLAS threads."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from tagtopic import Corpus
from tagtopic._core.parallel import ThreadPool, cut_evenly, cut_rows, effective_n_jobs, imap, one_blas_thread


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


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    """Two threads of BLAS, also where the environment or the machine has one."""
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


@pytest.mark.usefixtures("two_blas_threads")
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


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_in_any_thread() -> None:
    def limited(_: int) -> set[int]:
        with one_blas_thread():
            return set(blas_threads())

    before = blas_threads()
    assert limited(0) == {1}  # this thread is the first to set the limit
    with ThreadPool(4) as pool:
        assert pool.map(limited, range(8)) == [{1}] * 8
    assert limited(0) == {1}
    assert blas_threads() == before


def test_n_jobs_follows_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    cores = effective_n_jobs(None)
    assert effective_n_jobs(-1) == cores
    assert effective_n_jobs(3) == 3
    assert effective_n_jobs(-cores - 5) == 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        effective_n_jobs(0)
    for limit, expected in (("1", 1), (str(cores + 7), cores), ("0", 1), ("many", cores)):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", limit)
        assert effective_n_jobs(None) == expected
        assert effective_n_jobs(3) == 3


def test_a_lazy_map_keeps_the_order_and_stops_when_it_is_closed() -> None:
    assert list(imap(lambda i: i * i, range(100), 4)) == [i * i for i in range(100)]
    taken = []

    def items() -> Iterator[int]:
        for i in range(1000):
            taken.append(i)
            yield i

    results = imap(str, items(), 2)
    assert next(results) == "0"
    results.close()  # type: ignore[attr-defined]
    assert len(taken) < 10


def test_a_corpus_checks_n_jobs() -> None:
    assert len(Corpus.from_texts(["steam engine"], n_jobs=-1)) == 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        Corpus.from_texts(["steam engine"], n_jobs=0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_the_order_of_the_items(n_jobs: int) -> None:
    with ThreadPool(n_jobs) as pool:
        assert pool.map(lambda x: x * x, range(20)) == [x * x for x in range(20)]


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    with ThreadPool(2) as pool, pytest.raises(ZeroDivisionError):
        pool.map(lambda x: 1 // x, [1, 0, 2])
