"""Figure 5: perplexity on held-out documents by number of topics, against the models that the paper compares with."""

from __future__ import annotations

import warnings
from typing import Any

from tagtopic.evaluation.perplexity import perplexity
from tagtopic.experiments.data import Subject, commonest_tags
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.models import CONTESTANTS, arguments_of, fitted, make
from tagtopic.experiments.plots import legend_below, panels, style
from tagtopic.experiments.tables import Table, different, mean, pivot, spread, where

TOPICS, QUICK_TOPICS = (20, 50, 100, 200), (10, 20)
LABEL_TAGS, QUICK_LABEL_TAGS = 1020, 100
"""So many tags are left in part (c): each has its own topics in PLDA, and TWTM and TWDA get as many."""

WORDS = ("TWTM", "TWDA", "LDA", "LDA (ours)", "CTM")
TAGS = ("TWTM", "TWDA", "DMR", "ATM", "CorrLDA", "LDA with tags", "CTM with tags", "PLDA", "Labeled LDA")
PER_TAG = ("PLDA", "PLDA, 2 topics a tag", "TWTM", "TWDA")
MODELS = tuple(dict.fromkeys(WORDS + TAGS + PER_TAG))
MEASURES = {"completion": "half of each document's words given", "fitted": "the paper's: scored on the words fitted"}


def cells(subject: Subject, plan: Plan) -> list[Settings]:
    """Models by topics by folds; TWTM and TWDA of (a) and (b) are the same cells."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    n_tags = min(QUICK_LABEL_TAGS if plan.quick else LABEL_TAGS, subject.corpus.n_tags)
    folds = plan.fold_numbers(FOLDS)
    found = [
        _cell(name, k, None, fold, plan)
        for fold in folds
        for name in plan.chosen(list(dict.fromkeys(WORDS + TAGS)))
        for k in (topics if CONTESTANTS[name].has_topics else (None,))
    ]
    # the last ones are by far the longest
    return found + [
        _cell(name, k, n_tags, fold, plan)
        for fold in folds
        for name in plan.chosen(PER_TAG)
        for k in _totals(name, n_tags)
    ]


def _totals(name: str, n_tags: int) -> list[int]:
    """How many topics a model of part (c) has in all: PLDA one or two a tag and one more, the others both numbers."""
    totals = [n_tags + 1, 2 * n_tags + 1]
    if CONTESTANTS[name].has_topics:
        return totals
    return [totals[CONTESTANTS[name].always.get("topics_per_tag", 1) - 1]]


def _cell(name: str, topics: int | None, tags: int | None, fold: int, plan: Plan) -> Settings:
    return {
        "experiment": "perplexity", "part": "ab" if tags is None else "c", "model": name, "topics": topics,
        "tags": tags, "fold": fold, "folds": FOLDS, "arguments": arguments_of(name, topics, quick=plan.quick),
    }  # fmt: skip


def measure(subject: Subject, settings: Settings, jobs: int | None) -> list[Row]:
    """Both perplexities of one fit on one fold."""
    if settings["tags"] is not None:
        subject = commonest_tags(subject, settings["tags"])
    train, test = subject.fold(settings["fold"], settings["folds"])
    model = fitted(make(settings["model"], settings["arguments"], jobs), train.corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that are in the test part only
        values = {method: perplexity(model, test.corpus, method=method).value for method in MEASURES}
    return [values]


def tables(rows: list[Row]) -> list[Table]:
    """One table for each part and each way to measure."""
    found = []
    for method, meaning in MEASURES.items():
        for letter, part in _parts(rows).items():
            if part:
                title = f"({letter}) {PARTS[letter]}: perplexity, {meaning}"
                found.append(pivot(_flat(part), title=title, line="model", column="topics", value=method, head=_head))
    return found


PARTS = {"a": "words only for LDA and CTM", "b": "tags as words for LDA and CTM", "c": "topics of tags"}


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    usual = where(rows, part="ab")
    return {
        "a": [row for row in usual if row["model"] in WORDS],
        "b": [row for row in usual if row["model"] in TAGS],
        "c": where(rows, part="c"),
    }


def _flat(rows: list[Row]) -> list[Row]:
    """A model without a number of topics stands at all numbers."""
    numbers = different(rows, "topics")
    return [
        row | {"topics": k} for row in rows for k in ([row["topics"]] if row["topics"] is not None else numbers or [0])
    ]


def _head(topics: int) -> str:
    return f"K = {topics}"


def draw(rows: list[Row], figure: Any) -> None:
    """The three panels of the figure, by document completion."""
    parts = {letter: part for letter, part in _parts(rows).items() if part}
    for axis, part in zip(panels(figure, [PARTS[letter] for letter in parts]), parts.values(), strict=True):
        for name in different(part, "model"):
            own = where(part, model=name)
            at = sorted(different(own, "topics"))
            if not at:
                axis.axhline(mean(own, "completion"), **style(name) | {"marker": None, "linestyle": ":"})
                continue
            points = [where(own, topics=k) for k in at]
            values = [mean(point, "completion") for point in points]
            axis.errorbar(at, values, [spread(point, "completion") for point in points], capsize=2, **style(name))
        axis.set_xticks(sorted(different(part, "topics")))
        axis.set_xlabel("number of topics")
        axis.set_ylabel("perplexity (lower is better)")
        legend_below(axis)


EXPERIMENT = Experiment("perplexity", "Perplexity by number of topics", MODELS, cells, measure, tables, draw)
