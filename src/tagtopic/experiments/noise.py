"""Figure 8 and Table 2: perplexity as noise tags are added to new documents, and the weights of the noise tags."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.tags import with_noise_tags
from tagtopic.evaluation import perplexity
from tagtopic.experiments.dataset import Dataset
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import SEED, build_model, fit_model, model_arguments
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

TOPICS, QUICK_TOPICS = (100, 200), (20,)
LEARNT_PRIOR = "TWDA (prior learnt)"
"""Learns the prior of the tag weights on documents held out of training, to whose tags noise is added.

The paper's TWDA learns its prior from the training documents, without noise: that is "TWDA (paper)".
"""

HELD_OUT, EXPECTED_NOISE = 0.05, 0.5
MODELS = ("TWDA", "TWDA (paper)", LEARNT_PRIOR, "TWTM", "TWTM (paper)", "ATM", "DMR")
NOISE_LEVELS = (0.0, 0.2, 0.4, 0.5, 0.8, 1.0)
EXAMPLES, EXAMPLE_SHARE = 5, 0.5


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return one cell per fit; all noise levels are measured on it."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    return [
        {
            "experiment": "noise", "model": name, "topics": k, "fold": fold, "folds": FOLDS,
            "arguments": model_arguments(name, k, quick=plan.quick),
            **({"held_out": HELD_OUT, "expected": EXPECTED_NOISE} if name == LEARNT_PRIOR else {}),
        }
        for fold in plan.fold_numbers(FOLDS)
        for name in plan.chosen(MODELS)
        for k in topics
    ]  # fmt: skip


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure perplexity and its increase at each noise level, and tag weights if the model has them."""
    train, test = dataset.fold(settings["fold"], settings["folds"])
    model = _fit(train.corpus, settings, jobs)
    known = np.unique(train.corpus.tags.indices)
    rows: list[Row] = []
    examples: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
        for share in NOISE_LEVELS:
            noisy, is_noise = with_noise_tags(test.corpus, share, known=known)
            row: Row = {"noise": share, "perplexity": perplexity(model, noisy).value}
            if hasattr(model, "tag_weights"):
                row |= _weights(model, noisy, is_noise)
                examples += _examples(model, noisy, is_noise) if share == EXAMPLE_SHARE else []
            rows.append(row)
    plain = rows[0]["perplexity"]
    return [row | {"rise": row["perplexity"] / plain - 1} for row in rows] + examples


def _fit(corpus: Corpus, settings: Settings, jobs: int | None) -> Any:
    model = build_model(settings["model"], settings["arguments"], jobs)
    if settings["model"] != LEARNT_PRIOR:
        return fit_model(model, corpus)
    seen, held_out = corpus.split(settings["held_out"], SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that occur in the held-out part only
        return fit_model(model, seen).fit_weight_prior(held_out, noise=settings["expected"])


def _weights(model: Any, corpus: Corpus, is_noise: Any) -> Row:
    """Average ``WEIGHTS`` over documents, with weights scaled to sum to 1 over the known tags of a document."""
    found: list[tuple[float, float, float, float]] = []
    for _, shares, noise in _shares(model, corpus, is_noise):
        if noise.any() and not noise.all():
            found.append((shares[~noise].mean(), shares[noise].mean(), shares[noise].sum(), noise.mean()))
    return dict(zip(WEIGHTS, np.mean(found, axis=0).tolist(), strict=True)) if found else {}


def _shares(model: Any, corpus: Corpus, is_noise: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield for each document the columns of its known tags, their weights scaled to sum to 1, and which are noise."""
    weights, tags = model.tag_weights(corpus), corpus.tags
    for document in range(len(corpus)):
        mine = slice(tags.indptr[document], tags.indptr[document + 1])
        entries = slice(weights.indptr[document], weights.indptr[document + 1])
        columns, values = weights.indices[entries], np.asarray(weights.data[entries], np.float64)
        noise = np.isin(columns, tags.indices[mine][is_noise[mine]])
        yield columns, values / max(values.sum(), 1e-300), noise


def _examples(model: Any, corpus: Corpus, is_noise: Any) -> list[Row]:
    """Describe some documents as in the paper's Table 2: their tags with weights, noise tags marked."""
    found: list[Row] = []
    for document, (columns, shares, noise) in enumerate(_shares(model, corpus, is_noise)):
        if len(columns) < 4 or not noise.any():
            continue
        order = np.argsort(-shares, kind="stable")
        named = [(corpus.tag_names[columns[j]], shares[j], noise[j]) for j in order]
        text = ", ".join(f"{'*' if is_noise_tag else ''}{name} {share:.3f}" for name, share, is_noise_tag in named)
        found.append({"document": corpus.ids[document], "example": text})
        if len(found) == EXAMPLES:
            break
    return found


def tables(rows: list[Row]) -> list[Table]:
    """Make tables of perplexity, its increase, and weights."""
    examples = [row for row in rows if row.get("example")]
    rows = _with_perplexity(rows)
    found = []
    for k in sorted(distinct(rows, "topics")):
        part = where(rows, topics=k)
        found.append(_pivot(part, f"K = {k}: perplexity with noise tags added", "perplexity", 0))
        risen = [row | {"rise": 100 * row["rise"]} for row in part]
        found.append(_pivot(risen, f"K = {k}: increase of perplexity over no noise, %", "rise", 2))
        weighed = [row for row in part if row.get("noise_share") is not None]
        for name in distinct(weighed, "model"):
            own = where(weighed, model=name)
            lines = [
                [f"{share:.0%}", *(f"{mean(where(own, noise=share), column):.3f}" for column in WEIGHTS)]
                for share in distinct(own, "noise")
            ]
            found.append(Table(f"K = {k}: weights of tags by {name}", ["noise", *WEIGHTS.values()], lines))
    lines = [
        [f"{row['model']}, K = {row['topics']}", row["document"], row["example"]] for row in examples if not row["fold"]
    ]
    return [*found, Table(EXAMPLES_TITLE, ["model", "document", "tags and weights"], lines)] if lines else found


EXAMPLES_TITLE = f"Weights of tags in some documents with {EXAMPLE_SHARE:.0%} noise (noise has a star)"


def _with_perplexity(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("perplexity") is not None]


WEIGHTS = {
    "own_weight": "mean weight of an original tag",
    "noise_weight": "mean weight of a noise tag",
    "noise_share": "total weight of noise tags",
    "even": "total under equal weights",
}


def _pivot(rows: list[Row], title: str, value: str, digits: int) -> Table:
    return pivot(rows, title=title, line="model", column="noise", value=value, digits=digits, head="{:.0%}".format)


def draw(rows: list[Row], figure: Any) -> None:
    """Draw perplexity by noise level, as in the paper, and its increase, which separates flat curves; for each K."""
    rows = [row | {"rise": 100 * row["rise"]} for row in _with_perplexity(rows)]
    drawn = [(k, value) for k in sorted(distinct(rows, "topics")) for value in CURVES]
    axes = panels(figure, [f"K = {k}" for k, _ in drawn], width=3.3)
    for axis, (k, value) in zip(axes, drawn, strict=True):
        part = where(rows, topics=k)
        for name in distinct(part, "model"):
            points = [where(part, model=name, noise=share) for share in NOISE_LEVELS]
            values, errors = ([f(point, value) for point in points] for f in (mean, standard_deviation))
            axis.errorbar([100 * share for share in NOISE_LEVELS], values, errors, capsize=2, **style(name))
        axis.set_xlabel("noise tags added, %")
        axis.set_ylabel(CURVES[value])
        legend_below(axis, columns=2)


CURVES = {"perplexity": "perplexity (flat is good)", "rise": "increase of perplexity, %"}


EXPERIMENT = Experiment("noise", "Noise tags added to new documents", MODELS, cells, measure, tables, draw)
