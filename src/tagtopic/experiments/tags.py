"""Figure 6: recall at n of a document's tags (authors in the paper), predicted from its words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.evaluation import TagRanks, rank_lists, rank_scores
from tagtopic.experiments.dataset import Dataset
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import build_model, fit_model, model_arguments, tag_score_batches
from tagtopic.experiments.results import (
    Row,
    Table,
    by_topics,
    distinct,
    legend_below,
    mean,
    panels,
    pivot,
    style,
    topics_title,
    where,
)

TOPICS, QUICK_TOPICS = (100, 200), (20,)
WITH_LATENT = "TWDA with latent tag"
"""TWDA, by the topics that it expects of a document with one tag: those of the tag and of its latent tag."""

TOPIC_MODELS = ("TWDA", WITH_LATENT, "TWDA (paper)", "DMR", "ATM", "CorrLDA")
CENTROID, PREDICT_TAGS = "tf-idf centroid", "predict_tags"
"""The predictors without topics: a centroid per tag, and the default of ``predict_tags``."""

CUTOFFS = (1, 5, 10, 20, 50, 100, 200)
MAX_RANK = 200


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return a cell for each topic model, number of topics and fold, and for the two predictors without topics."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    found = []
    for fold in plan.fold_numbers(FOLDS):
        found += [_cell(name, None, fold, {}) for name in plan.chosen((CENTROID, PREDICT_TAGS))]
        found += [
            _cell(name, k, fold, model_arguments(_fitted(name), k, quick=plan.quick))
            for name in plan.chosen(TOPIC_MODELS)
            for k in topics
        ]
    return found


def _cell(name: str, topics: int | None, fold: int, arguments: dict[str, Any]) -> Settings:
    return {
        "experiment": "tags", "model": name, "topics": topics, "fold": fold, "folds": FOLDS, "arguments": arguments
    }  # fmt: skip


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure recall at n and the mean reciprocal rank; tags that no training document has count as missed."""
    train, test = dataset.fold(settings["fold"], settings["folds"])
    found = _ranks(train, test, settings, jobs)
    reciprocal = found.reciprocal()
    return [{"rank": n, "recall": found.recall(n), "reciprocal_rank": reciprocal} for n in CUTOFFS]


def _fitted(name: str) -> str:
    return "TWDA" if name == WITH_LATENT else name


def _ranks(train: Dataset, test: Dataset, settings: Settings, jobs: int | None) -> TagRanks:
    if settings["model"] == PREDICT_TAGS:
        return _ranks_of_predictor(train, test, jobs)
    if settings["model"] == CENTROID:
        from tagtopic.baselines import TfidfCentroid

        return rank_scores(TfidfCentroid().fit(train.corpus).tag_score_batches(test.corpus), test.corpus.tags)
    name = settings["model"]
    model = fit_model(build_model(_fitted(name), settings["arguments"], jobs), train.corpus)
    return rank_scores(tag_score_batches(model, test.corpus, with_latent=name == WITH_LATENT), test.corpus.tags)


def _ranks_of_predictor(train: Dataset, test: Dataset, jobs: int | None) -> TagRanks:
    """Rank tags as ``predict_tags`` of any model does by default: from training documents, without topics."""
    from tagtopic.tagging import TagPredictor

    predictor = TagPredictor(n_jobs=jobs).fit(train.corpus)
    lists = predictor.predict_counts(test.corpus.counts, MAX_RANK, n_jobs=jobs)
    tags, names = test.corpus.tags, np.array(test.corpus.tag_names, dtype=object)
    truth = [names[tags.indices[tags.indptr[i] : tags.indptr[i + 1]]].tolist() for i in range(len(test.corpus))]
    return rank_lists([[tag for tag, _ in ranked] for ranked in lists], truth)


def tables(rows: list[Row]) -> list[Table]:
    """Make a table of recall at n per number of topics, and one of the mean reciprocal rank."""
    found = [
        pivot(part, title=f"{topics_title(k)}: recall of tags at n", line="model", column="rank",
              value="recall", digits=3, head=lambda n: f"n = {n}")
        for k, part in by_topics(rows).items()
    ]  # fmt: skip
    first = [row for part in by_topics(rows).values() for row in part if row["rank"] == CUTOFFS[0]]
    title = "Mean reciprocal rank of the first correct tag"
    return [
        *found,
        pivot(first, title=title, line="model", column="topics", value="reciprocal_rank", digits=3, head=topics_title),
    ]


def draw(rows: list[Row], figure: Any) -> None:
    """Draw recall by rank, in a panel for each number of topics."""
    parts = by_topics(rows)
    for axis, part in zip(panels(figure, [topics_title(k) for k in parts]), parts.values(), strict=True):
        for name in distinct(part, "model"):
            own = where(part, model=name)
            ranks = sorted(distinct(own, "rank"))
            line_style = {"linestyle": ":"} if name in (CENTROID, PREDICT_TAGS) else {}
            axis.plot(ranks, [mean(where(own, rank=n), "recall") for n in ranks], **style(name) | line_style)
        axis.set_xscale("log")
        axis.set_xticks(CUTOFFS, [str(n) for n in CUTOFFS])
        axis.minorticks_off()
        axis.set_xlabel("rank n")
        axis.set_ylabel("recall of tags at n")
        legend_below(axis)


EXPERIMENT = Experiment(
    "tags", "Tags predicted from words", (*TOPIC_MODELS, CENTROID, PREDICT_TAGS), cells, measure, tables, draw
)
