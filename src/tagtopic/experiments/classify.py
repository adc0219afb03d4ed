"""Figure 7 and Table 1: labels (genres in the paper) predicted by support vector machines on different features."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic.baselines.tfidf import TfidfSVM
from tagtopic.evaluation import rank_scores
from tagtopic.experiments.dataset import Dataset
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import build_model, fit_model, model_arguments
from tagtopic.experiments.results import (
    Row,
    Table,
    by_topics,
    distinct,
    legend_below,
    mean,
    panels,
    pivot,
    standard_deviation,
    topics_title,
    where,
)

TOPICS, QUICK_TOPICS = (30,), (10,)
CUTOFFS = (1, 3, 5)
MEASURES = {"precision": "precision at n", "recall": "recall at n", "f1": "F1 at n"}


@dataclass(frozen=True)
class Features:
    """The features of a machine: tf-idf of words, tags among the words, and the topic mixes of a model."""

    tfidf: bool = True
    tags: bool = False
    topics: str | None = None


FEATURES = {
    "tf-idf": Features(),
    "LDA + tf-idf": Features(topics="LDA"),
    "TWDA": Features(tfidf=False, topics="TWDA"),
    "TWDA + tf-idf": Features(topics="TWDA"),
    "TWDA (paper)": Features(tfidf=False, topics="TWDA (paper)"),
    "TWDA (paper) + tf-idf": Features(topics="TWDA (paper)"),
    "DMR": Features(tfidf=False, topics="DMR"),
    "DMR + tf-idf": Features(topics="DMR"),
    "tf-idf with tags": Features(tags=True),
    "TWDA + tf-idf with tags": Features(tags=True, topics="TWDA"),
}
KERNELS = ("rbf", "linear")


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return a cell for each fold, kernel and feature set, with a topic model for each number of topics."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    return [
        {
            "experiment": "classify", "model": name, "kernel": kernel, "topic_model": features.topics,
            "topics": k, "fold": fold, "folds": FOLDS,
            "arguments": model_arguments(features.topics, k, quick=plan.quick) if features.topics else {},
        }
        for fold in plan.fold_numbers(FOLDS)
        for kernel in (KERNELS[1:] if plan.quick else KERNELS[::-1])
        for name, features in FEATURES.items()
        if name in plan.chosen(list(FEATURES))
        for k in (topics if features.topics else (None,))
    ]  # fmt: skip


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure precision, recall and F1 of the first 1, 3 and 5 labels."""
    features = FEATURES[settings["model"]]
    train, test = dataset.fold(settings["fold"], settings["folds"])
    if train.labels is None or test.labels is None:
        raise ValueError("there are no labels to tell")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
        topics = (
            fit_model(build_model(features.topics, settings["arguments"], jobs), train.corpus)
            if features.topics
            else None
        )
        machine = TfidfSVM(
            settings["kernel"], topics=topics, tfidf=features.tfidf, tags_as_words=features.tags, n_jobs=jobs
        )
        machine.fit(train.corpus, labels=train.labels)
        found = rank_scores(machine.tag_score_batches(test.corpus), test.labels.tags)
    return [{"at": n, "precision": found.precision(n), "recall": found.recall(n), "f1": found.f1(n)} for n in CUTOFFS]


def tables(rows: list[Row]) -> list[Table]:
    """Make one table per kernel, number of topics and measure."""
    return [
        pivot(part, title=f"{title}: {meaning}", line="model", column="at", value=value, digits=3, head="@{}".format)
        for title, part in _parts(rows).items()
        for value, meaning in MEASURES.items()
    ]


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    """Group rows by kernel and number of topics, under a title each, with features in the order of ``FEATURES``."""
    order = list(FEATURES)
    return {
        f"SVM ({kernel}), {topics_title(k)}": sorted(part, key=lambda row: order.index(row["model"]))
        for kernel in sorted(distinct(rows, "kernel"), reverse=True)
        for k, part in by_topics(where(rows, kernel=kernel)).items()
    }


def draw(rows: list[Row], figure: Any) -> None:
    """Draw precision at 1, 3 and 5 as bars by features, in a panel for each kernel and number of topics."""
    parts = _parts(rows)
    colours = [
        "#9e9e9e", "#1f77b4", "#e07a1f", "#c1272d", "#f4c095", "#e59a9d", "#b39ddb", "#6a3d9a", "#8bc34a", "#33691e",
    ]  # fmt: skip
    for axis, part in zip(panels(figure, list(parts), width=4.6), parts.values(), strict=True):
        names = distinct(part, "model")
        width = 0.8 / max(len(names), 1)
        for i, name in enumerate(names):
            points = [where(part, model=name, at=n) for n in CUTOFFS]
            axis.bar(
                np.arange(len(CUTOFFS)) + (i - (len(names) - 1) / 2) * width,
                [mean(point, "precision") for point in points],
                width, yerr=[standard_deviation(point, "precision") for point in points], label=name,
                color=colours[list(FEATURES).index(name)], error_kw={"linewidth": 0.8},
            )  # fmt: skip
        axis.set_xticks(range(len(CUTOFFS)), [f"@{n}" for n in CUTOFFS])
        axis.grid(axis="x", visible=False)
        axis.set_ylabel("precision at n")
        legend_below(axis)


EXPERIMENT = Experiment(
    "classify", "Labels predicted from features", tuple(FEATURES), cells, measure, tables, draw, True
)
