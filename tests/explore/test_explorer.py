"""The explorer's lazily computed values, and years among tags."""

import threading
import time
from pathlib import Path

import pytest

from tagtopic import TWDA, Corpus
from tagtopic.explore import Explorer
from tagtopic.explore.explorer import LazyValue, years_of


def test_lazy_value_is_computed_once_for_all_threads() -> None:
    calls = []

    def compute() -> int:
        calls.append(1)
        time.sleep(0.05)
        return 7

    value = LazyValue(compute)
    before = value.ready
    threads = [threading.Thread(target=value.get) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert value.get() == 7
    for thread in threads:
        thread.join()
    assert (before, value.ready) == (False, True)
    assert calls == [1]


def test_lazy_value_does_not_cache_errors() -> None:
    calls = []

    def compute() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("first")
        return 7

    value = LazyValue(compute)
    with pytest.raises(ValueError, match="first"):
        value.get()
    assert value.get() == 7


def test_years_are_the_tags_of_a_kind_that_are_mostly_years() -> None:
    assert list(years_of(("year:2001", "year:1999", "year:2000", "by:Ada"))) == [1999, 2000, 2001]
    assert years_of(("code:1999", "code:x", "code:y", "by:Ada")) == {}


def test_warming_up_without_the_custom_tokenizer_computes_the_audit(tmp_path: Path) -> None:
    corpus = Corpus.from_texts(["steam engine"] * 6, [["a"], ["b"]] * 3, tokenizer=str.split, min_df=1)
    TWDA(2, max_iter=1, progress=False).fit(corpus).save(tmp_path / "own.tagtopic")
    shown = Explorer(TWDA.load(tmp_path / "own.tagtopic"), corpus)
    assert not shown.reads_texts
    shown.warm().join()
    assert shown.audit_ready
