"""Figure 5: perplexity of held-out documents by number of topics, of TWTM, TWDA and the baselines."""

from __future__ import annotations

import warnings
from typing import Any

from tagtopic.evaluation import perplexity
from tagtopic.experiments.dataset import Dataset, with_commonest_tags
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import MODEL_SPECS, build_model, fit_model, model_arguments
from tagtopic.experiments.results import (
    Row,
    Table,
    distinct,
    legend_below,
    mean,
    panels,
    pivot,
    standard_deviation,
    style,
    where,
)

TOPICS, QUICK_TOPICS = (20, 50, 100, 200), (10, 20)
LABEL_TAGS, QUICK_LABEL_TAGS = 1020, 100
"""Number of tags in part (c), where each tag has its own topics in PLDA, and TWTM and TWDA get as many topics."""

PROPOSED = ("TWTM", "TWDA", "TWTM (paper)", "TWDA (paper)")
WORD_MODELS = (*PROPOSED, "LDA", "LDA (ours)", "CTM")
TAG_MODELS = (*PROPOSED, "DMR", "ATM", "CorrLDA", "LDA with tags", "CTM with tags", "PLDA", "Labeled LDA")
PER_TAG_MODELS = ("PLDA", "PLDA, 2 topics a tag", *PROPOSED)
MODELS = tuple(dict.fromkeys(WORD_MODELS + TAG_MODELS + PER_TAG_MODELS))
MEASURES = {"completion": "document completion", "fitted": "the paper's: on the words that were fitted"}


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return a cell for each model, number of topics and fold; parts (a) and (b) share those of TWTM and TWDA."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    n_tags = min(QUICK_LABEL_TAGS if plan.quick else LABEL_TAGS, dataset.corpus.n_tags)
    folds = plan.fold_numbers(FOLDS)
    found = [
        _cell(name, k, None, fold, plan)
        for fold in folds
        for name in plan.chosen(list(dict.fromkeys(WORD_MODELS + TAG_MODELS)))
        for k in (topics if MODEL_SPECS[name].has_topics else (None,))
    ]
    # the cells of part (c) take by far the longest: last
    return found + [
        _cell(name, k, n_tags, fold, plan)
        for fold in folds
        for name in plan.chosen(PER_TAG_MODELS)
        for k in _total_topics(name, n_tags)
    ]


def _total_topics(name: str, n_tags: int) -> list[int]:
    """Return the total numbers of topics in part (c): of PLDA one or two per tag plus one, of other models both."""
    totals = [n_tags + 1, 2 * n_tags + 1]
    if MODEL_SPECS[name].has_topics:
        return totals
    return [totals[MODEL_SPECS[name].common.get("topics_per_tag", 1) - 1]]


def _cell(name: str, topics: int | None, tags: int | None, fold: int, plan: Plan) -> Settings:
    return {
        "experiment": "perplexity", "part": "ab" if tags is None else "c", "model": name, "topics": topics,
        "tags": tags, "fold": fold, "folds": FOLDS, "arguments": model_arguments(name, topics, quick=plan.quick),
    }  # fmt: skip


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure both perplexities of one fit on one fold."""
    if settings["tags"] is not None:
        dataset = with_commonest_tags(dataset, settings["tags"])
    train, test = dataset.fold(settings["fold"], settings["folds"])
    model = fit_model(build_model(settings["model"], settings["arguments"], jobs), train.corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
        values = {method: perplexity(model, test.corpus, method=method).value for method in MEASURES}
    return [values]


def tables(rows: list[Row]) -> list[Table]:
    """Make one table per part and measure."""
    found = []
    for method, meaning in MEASURES.items():
        for letter, part in _parts(rows).items():
            if part:
                title = f"({letter}) {PARTS[letter]}: perplexity, {meaning}"
                found.append(
                    pivot(_at_all_topics(part), title=title, line="model", column="topics", value=method, head=_head)
                )
    return found


PARTS = {"a": "words only for LDA and CTM", "b": "tags as words for LDA and CTM", "c": "topics of tags"}


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    usual = where(rows, part="ab")
    return {
        "a": [row for row in usual if row["model"] in WORD_MODELS],
        "b": [row for row in usual if row["model"] in TAG_MODELS],
        "c": where(rows, part="c"),
    }


def _at_all_topics(rows: list[Row]) -> list[Row]:
    """Repeat a model without a number of topics at all numbers."""
    numbers = distinct(rows, "topics")
    return [
        row | {"topics": k} for row in rows for k in ([row["topics"]] if row["topics"] is not None else numbers or [0])
    ]


def _head(topics: int) -> str:
    return f"K = {topics}"


def draw(rows: list[Row], figure: Any) -> None:
    """Draw the three panels of the figure, by document completion."""
    parts = {letter: part for letter, part in _parts(rows).items() if part}
    for axis, part in zip(panels(figure, [PARTS[letter] for letter in parts]), parts.values(), strict=True):
        for name in distinct(part, "model"):
            own = where(part, model=name)
            at = sorted(distinct(own, "topics"))
            if not at:
                axis.axhline(mean(own, "completion"), **style(name) | {"marker": None, "linestyle": ":"})
                continue
            points = [where(own, topics=k) for k in at]
            values = [mean(point, "completion") for point in points]
            axis.errorbar(
                at, values, [standard_deviation(point, "completion") for point in points], capsize=2, **style(name)
            )
        axis.set_xticks(sorted(distinct(part, "topics")))
        axis.set_xlabel("number of topics")
        axis.set_ylabel("perplexity (lower is better)")
        legend_below(axis)


EXPERIMENT = Experiment("perplexity", "Perplexity by number of topics", MODELS, cells, measure, tables, draw)
