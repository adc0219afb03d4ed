"""Figure 6: recall of a document's tags (in the paper, authors) among the first n, predicted from its words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.evaluation.ranking import TagRanks, rank_lists, rank_scores
from tagtopic.experiments.data import Subject
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.models import arguments_of, fitted, make, topic_scores
from tagtopic.experiments.plots import legend_below, panels, style
from tagtopic.experiments.tables import Table, by_topics, different, mean, numbered, pivot, where

TOPICS, QUICK_TOPICS = (100, 200), (20,)
TOPIC_MODELS = ("TWDA", "DMR", "ATM", "CorrLDA")
CENTROID, ALIKE = "tf-idf centroid", "predict_tags"
"""What today's person would use: a centroid for each tag, and what our models do unless asked for the paper's score."""

RANKS = (1, 5, 10, 20, 50, 100, 200)
LISTED = 200


def cells(subject: Subject, plan: Plan) -> list[Settings]:
    """Topic models by topics by folds, and the two that have no topics."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    found = []
    for fold in plan.fold_numbers(FOLDS):
        found += [_cell(name, None, fold, {}) for name in plan.chosen((CENTROID, ALIKE))]
        found += [
            _cell(name, k, fold, arguments_of(name, k, quick=plan.quick))
            for name in plan.chosen(TOPIC_MODELS)
            for k in topics
        ]
    return found


def _cell(name: str, topics: int | None, fold: int, arguments: dict[str, Any]) -> Settings:
    return {
        "experiment": "tags", "model": name, "topics": topics, "fold": fold, "folds": FOLDS, "arguments": arguments
    }  # fmt: skip


def measure(subject: Subject, settings: Settings, jobs: int | None) -> list[Row]:
    """Recall at some ranks, and the mean reciprocal rank; tags that no training document has count as missed."""
    train, test = subject.fold(settings["fold"], settings["folds"])
    found = _ranks(train, test, settings, jobs)
    reciprocal = found.reciprocal()
    return [{"rank": n, "recall": found.recall(n), "reciprocal_rank": reciprocal} for n in RANKS]


def _ranks(train: Subject, test: Subject, settings: Settings, jobs: int | None) -> TagRanks:
    if settings["model"] == ALIKE:
        return _ranks_by_documents(train, test, jobs)
    if settings["model"] == CENTROID:
        from tagtopic.baselines import TfidfCentroid

        return rank_scores(TfidfCentroid().fit(train.corpus).tag_score_batches(test.corpus), test.corpus.tags)
    model = fitted(make(settings["model"], settings["arguments"], jobs), train.corpus)
    return rank_scores(topic_scores(model, test.corpus), test.corpus.tags)


def _ranks_by_documents(train: Subject, test: Subject, jobs: int | None) -> TagRanks:
    """What ``predict_tags`` of any fitted model gives: it asks documents, not topics, so none need be fitted."""
    from tagtopic.tagging.predictor import TagPredictor

    predictor = TagPredictor.fit(train.corpus, n_jobs=jobs)
    if predictor is None:
        raise ValueError("no document has a tag: there is nothing to predict")
    lists = predictor.predict(test.corpus.counts, LISTED, n_jobs=jobs)
    tags, names = test.corpus.tags, np.array(test.corpus.tag_names, dtype=object)
    truth = [names[tags.indices[tags.indptr[i] : tags.indptr[i + 1]]].tolist() for i in range(len(test.corpus))]
    return rank_lists([[tag for tag, _ in ranked] for ranked in lists], truth)


def tables(rows: list[Row]) -> list[Table]:
    """Recall by rank, one table for each number of topics; the mean reciprocal rank."""
    found = [
        pivot(part, title=f"{numbered(k)}: share of tags among the first n", line="model", column="rank",
              value="recall", digits=3, head=lambda n: f"n = {n}")
        for k, part in by_topics(rows).items()
    ]  # fmt: skip
    first = [row for part in by_topics(rows).values() for row in part if row["rank"] == RANKS[0]]
    title = "Mean reciprocal rank of the first right tag"
    return [
        *found,
        pivot(first, title=title, line="model", column="topics", value="reciprocal_rank", digits=3, head=numbered),
    ]


def draw(rows: list[Row], figure: Any) -> None:
    """Recall by rank; a panel for each number of topics."""
    parts = by_topics(rows)
    for axis, part in zip(panels(figure, [numbered(k) for k in parts]), parts.values(), strict=True):
        for name in different(part, "model"):
            own = where(part, model=name)
            ranks = sorted(different(own, "rank"))
            dotted = {"linestyle": ":"} if name in (CENTROID, ALIKE) else {}
            axis.plot(ranks, [mean(where(own, rank=n), "recall") for n in ranks], **style(name) | dotted)
        axis.set_xscale("log")
        axis.set_xticks(RANKS, [str(n) for n in RANKS])
        axis.minorticks_off()
        axis.set_xlabel("rank n")
        axis.set_ylabel("recall of tags among the first n")
        legend_below(axis)


EXPERIMENT = Experiment(
    "tags", "Tags predicted from words", (*TOPIC_MODELS, CENTROID, ALIKE), cells, measure, tables, draw
)
