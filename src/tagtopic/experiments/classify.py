"""Figure 7 and Table 1: labels (in the paper, genres) told by support vector machines on different features."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic.baselines.tfidf import TfidfSVM
from tagtopic.evaluation.ranking import rank_scores
from tagtopic.experiments.data import Subject
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.models import arguments_of, fitted, make
from tagtopic.experiments.plots import legend_below, panels
from tagtopic.experiments.tables import Table, by_topics, different, mean, numbered, pivot, spread, where

TOPICS, QUICK_TOPICS = (30,), (10,)
PLACES = (1, 3, 5)
MEASURES = {"precision": "share of right labels among the first n", "recall": "share of its labels", "f1": "F1"}


@dataclass(frozen=True)
class Features:
    """What a machine sees: tf-idf or not, of words alone or with tags, and the mixes of a topic model."""

    tfidf: bool = True
    tags: bool = False
    topics: str | None = None


FEATURES = {
    "tf-idf": Features(),
    "LDA + tf-idf": Features(topics="LDA"),
    "TWDA": Features(tfidf=False, topics="TWDA"),
    "TWDA + tf-idf": Features(topics="TWDA"),
    "DMR": Features(tfidf=False, topics="DMR"),
    "DMR + tf-idf": Features(topics="DMR"),
    "tf-idf with tags": Features(tags=True),
    "TWDA + tf-idf with tags": Features(tags=True, topics="TWDA"),
}
KERNELS = ("rbf", "linear")


def cells(subject: Subject, plan: Plan) -> list[Settings]:
    """Features by kernels by folds, those of a topic model by topics too."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    return [
        {
            "experiment": "classify", "model": name, "kernel": kernel, "topic_model": own.topics,
            "topics": k, "fold": fold, "folds": FOLDS,
            "arguments": arguments_of(own.topics, k, quick=plan.quick) if own.topics else {},
        }
        for fold in plan.fold_numbers(FOLDS)
        for kernel in (KERNELS[1:] if plan.quick else KERNELS[::-1])
        for name, own in FEATURES.items()
        if name in plan.chosen(list(FEATURES))
        for k in (topics if own.topics else (None,))
    ]  # fmt: skip


def measure(subject: Subject, settings: Settings, jobs: int | None) -> list[Row]:
    """How right the first 1, 3 and 5 labels are."""
    own = FEATURES[settings["model"]]
    train, test = subject.fold(settings["fold"], settings["folds"])
    if train.labels is None or test.labels is None:
        raise ValueError("there are no labels to tell")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that are in the test part only
        topics = fitted(make(own.topics, settings["arguments"], jobs), train.corpus) if own.topics else None
        machine = TfidfSVM(settings["kernel"], topics=topics, tfidf=own.tfidf, tags_as_words=own.tags, n_jobs=jobs)
        machine.fit(train.corpus, labels=train.labels)
        found = rank_scores(machine.tag_score_batches(test.corpus), test.labels.tags)
    return [{"at": n, "precision": found.precision(n), "recall": found.recall(n), "f1": found.f1(n)} for n in PLACES]


def tables(rows: list[Row]) -> list[Table]:
    """One table for each kernel, number of topics and measure."""
    return [
        pivot(part, title=f"{title}: {meaning}", line="model", column="at", value=value, digits=3, head="@{}".format)
        for title, part in _parts(rows).items()
        for value, meaning in MEASURES.items()
    ]


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each kernel and number of topics, each under its title, its features in the order of ``FEATURES``."""
    order = list(FEATURES)
    return {
        f"SVM ({kernel}), {numbered(k)}": sorted(part, key=lambda row: order.index(row["model"]))
        for kernel in sorted(different(rows, "kernel"), reverse=True)
        for k, part in by_topics(where(rows, kernel=kernel)).items()
    }


def draw(rows: list[Row], figure: Any) -> None:
    """Bars by features at @1, @3 and @5, a panel for each kernel and number of topics."""
    parts = _parts(rows)
    colours = ["#9e9e9e", "#1f77b4", "#e07a1f", "#c1272d", "#b39ddb", "#6a3d9a", "#8bc34a", "#33691e"]
    for axis, part in zip(panels(figure, list(parts), width=4.6), parts.values(), strict=True):
        names = different(part, "model")
        width = 0.8 / max(len(names), 1)
        for i, name in enumerate(names):
            points = [where(part, model=name, at=n) for n in PLACES]
            axis.bar(
                np.arange(len(PLACES)) + (i - (len(names) - 1) / 2) * width,
                [mean(point, "precision") for point in points],
                width, yerr=[spread(point, "precision") for point in points], label=name,
                color=colours[list(FEATURES).index(name)], error_kw={"linewidth": 0.8},
            )  # fmt: skip
        axis.set_xticks(range(len(PLACES)), [f"@{n}" for n in PLACES])
        axis.grid(axis="x", visible=False)
        axis.set_ylabel("right labels among the first n")
        legend_below(axis)


EXPERIMENT = Experiment("classify", "Labels told from features", tuple(FEATURES), cells, measure, tables, draw, True)
