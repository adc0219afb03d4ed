"""What a person sees while a model is fitted."""

from typing import Any

import pytest

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._progress import Bar


def test_each_phase_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told, begin = [], Bar.begin

    def noted(bar: Bar, what: str, *numbers: Any) -> None:
        told.append(what)
        begin(bar, what, *numbers)

    monkeypatch.setattr(Bar, "begin", noted)
    TWDA(2, max_iter=2, progress=True, random_state=0).fit(make_tagged_corpus(20, 2, 6, 30, random_state=0).corpus)
    assert told == ["starting", "fitting", "learning to predict tags"]
