"""The progress bar of a fit."""

from typing import Any

import pytest

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._batch import ExpectationMaximisation, History, ProgressBar, resident_bytes, status_line


def test_every_phase_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    phases, start_phase = [], ProgressBar.start_phase

    def recorded(bar: ProgressBar, name: str, *numbers: Any) -> None:
        phases.append(name)
        start_phase(bar, name, *numbers)

    monkeypatch.setattr(ProgressBar, "start_phase", recorded)
    corpus = make_tagged_corpus(20, 2, 6, 30, random_state=0).corpus
    model = TWDA(2, max_iter=2, progress=True, random_state=0).fit(corpus)
    fitting = ["starting", "fitting", "averaging over the documents of tags"]
    assert phases == fitting
    model.predict_tags(corpus[:1])
    model.predict_tags(corpus[:1])
    assert phases == [*fitting, "learning to predict tags"]


def test_the_status_has_bound_perplexity_speed_and_memory() -> None:
    fit = ExpectationMaximisation.__new__(ExpectationMaximisation)
    fit.n_documents = 500
    fit.history = History(bound=[-200.0, -100.0], perplexity=[50.0, 60.0], seconds=[1.0, 3.0])
    status = status_line(fit)
    assert status.startswith("bound -100 held-out perplexity 60.0 (best 50.0, 1 ago) 250 documents/s")
    assert (resident_bytes() is None) == ("MB" not in status)
