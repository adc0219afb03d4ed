"""Numbers of threads."""

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tagtopic import Corpus
from tagtopic._core.blas import one_blas_thread
from tagtopic._core.threads import effective_n_jobs, imap


def blas_threads() -> list[int]:
    np.ones((4, 4)) @ np.ones((4, 4))
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_number_of_threads_follows_scikit_learn() -> None:
    cores = effective_n_jobs(None)
    assert effective_n_jobs(-1) == cores
    assert effective_n_jobs(3) == 3
    assert effective_n_jobs(-cores - 5) == 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        effective_n_jobs(0)


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


def test_a_corpus_takes_the_same_numbers() -> None:
    assert len(Corpus.from_texts(["steam engine"], n_jobs=-1)) == 1
    with pytest.raises(ValueError, match="n_jobs is 0"):
        Corpus.from_texts(["steam engine"], n_jobs=0)


def test_linear_algebra_has_one_thread_until_the_last_is_done() -> None:
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(blas_threads()) == {1}
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before
