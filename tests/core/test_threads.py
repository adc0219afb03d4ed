"""Thread pools and numbers of threads."""

from collections.abc import Iterator

import pytest

from tagtopic import Corpus
from tagtopic._core.threads import ThreadPool, effective_n_jobs, imap


def test_n_jobs_follows_scikit_learn() -> None:
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
