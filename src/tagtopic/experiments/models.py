"""The models that are compared, under the paper's names, and how long each may learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic.corpus import Corpus

SEED = 0
DOCUMENTS_AT_ONCE = 1024


@dataclass(frozen=True)
class Contestant:
    """Where a model lives, and its arguments: always, in full, and when it has to be quick."""

    module: str
    kind: str
    always: dict[str, Any]
    full: dict[str, Any]
    quick: dict[str, Any]
    has_topics: bool = True
    foreign: bool = False


OURS = ("tagtopic.models", {"max_iter": 100}, {"max_iter": 30})
GIBBS = ({"sweeps": 300}, {"sweeps": 50})
LABELS = ({"sweeps": 60, "optimise_every": 20}, {"sweeps": 30})

CONTESTANTS = {
    "TWTM": Contestant(OURS[0], "TWTM", {}, *OURS[1:]),
    "TWDA": Contestant(OURS[0], "TWDA", {}, *OURS[1:]),
    "TWDA (prior learnt)": Contestant(OURS[0], "TWDA", {}, *OURS[1:]),
    "LDA (ours)": Contestant(OURS[0], "LDA", {}, *OURS[1:]),
    "LDA": Contestant("tagtopic.baselines", "LDA", {}, *GIBBS, foreign=True),
    "LDA with tags": Contestant("tagtopic.baselines", "LDA", {"tags_as_words": True}, *GIBBS, foreign=True),
    "CTM": Contestant("tagtopic.baselines", "CTM", {}, {"max_iter": 50}, {"max_iter": 10}),
    "CTM with tags": Contestant(
        "tagtopic.baselines", "CTM", {"tags_as_words": True}, {"max_iter": 50}, {"max_iter": 10}
    ),
    "DMR": Contestant("tagtopic.baselines", "DMR", {"sigma": 0.5}, {"sweeps": 200}, {"sweeps": 50}),
    "ATM": Contestant("tagtopic.baselines", "AuthorTopic", {}, {"sweeps": 100}, {"sweeps": 40}, foreign=True),
    "CorrLDA": Contestant("tagtopic.baselines", "CorrLDA", {"tol": 1e-4}, {"max_iter": 30}, {"max_iter": 20}),
    "PLDA": Contestant("tagtopic.baselines", "PLDA", {}, *LABELS, has_topics=False, foreign=True),
    "PLDA, 2 topics a tag": Contestant(
        "tagtopic.baselines", "PLDA", {"topics_per_tag": 2}, *LABELS, has_topics=False, foreign=True
    ),
    "Labeled LDA": Contestant("tagtopic.baselines", "LabeledLDA", {}, *LABELS, has_topics=False, foreign=True),
}

PATIENCE = 3600.0
"""Seconds that another library's fit may take."""


NOT_OF_THE_RESULT = {"n_jobs", "timeout", "progress", "callbacks", "checkpoint", "checkpoint_every"}


def arguments_of(name: str, topics: int | None, *, quick: bool) -> dict[str, Any]:
    """What a cell writes down of its model: all that its result depends on.

    Defaults are among it, so that a model whose defaults have changed is measured again.
    """
    chosen = CONTESTANTS[name]
    given = chosen.always | (chosen.quick if quick else chosen.full) | {"random_state": SEED}
    if chosen.has_topics:
        given["n_topics"] = topics
    settings = _kind(chosen)(**given).get_params(deep=False)
    return {key: value for key, value in sorted(settings.items()) if key not in NOT_OF_THE_RESULT}


def make(name: str, arguments: dict[str, Any], jobs: int | None) -> Any:
    """The model, not fitted."""
    chosen = CONTESTANTS[name]
    extra: dict[str, Any] = {"n_jobs": jobs}
    if chosen.foreign:
        extra = {"timeout": PATIENCE}  # one thread each: tomotopy is the same from run to run only then
    if chosen.module == "tagtopic.models":
        extra["progress"] = False
    return _kind(chosen)(**arguments, **extra)


def fitted(model: Any, corpus: Corpus, **how: Any) -> Any:
    """The model, fitted to its end: Ctrl-C cuts a fit of ours short, which is then not to be compared with others."""
    model.fit(corpus, **how)
    if getattr(model, "interrupted_", False):
        raise KeyboardInterrupt
    return model


def _kind(chosen: Contestant) -> Any:
    return getattr(import_module(chosen.module), chosen.kind)


def topic_scores(model: Any, corpus: Corpus) -> Iterator[tuple[slice, Float64s]]:
    """How likely each tag makes each document's words, run by run; our models by the paper's p(d | tag)."""
    if hasattr(model, "tag_score_batches"):
        yield from model.tag_score_batches(corpus, DOCUMENTS_AT_ONCE)
        return
    from tagtopic.baselines.base import log_likelihood_of_tags

    known, parameters = model.aligned(corpus), model.parameters_
    mixes = parameters.mixes_of_one_tag()
    for first in range(0, len(known), DOCUMENTS_AT_ONCE):
        run = slice(first, min(first + DOCUMENTS_AT_ONCE, len(known)))
        scores = log_likelihood_of_tags(known[run].counts, mixes, parameters.psi)
        scores[:, np.asarray(model.tag_frequencies_) == 0] = -np.inf
        yield run, scores
