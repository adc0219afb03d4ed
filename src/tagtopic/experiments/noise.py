"""Figure 8 and Table 2: perplexity as noise tags are added to new documents, and what weight the noise is given."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.corpus.tags import with_noise_tags
from tagtopic.evaluation.perplexity import perplexity
from tagtopic.experiments.data import Subject
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.models import SEED, arguments_of, fitted, make
from tagtopic.experiments.plots import legend_below, panels, style
from tagtopic.experiments.tables import Table, different, mean, pivot, spread, where

TOPICS, QUICK_TOPICS = (100, 200), (20,)
LEARNT = "TWDA (prior learnt)"
"""Documents held out of training tell it the prior of the weights, with noise expected among their tags."""

HELD_OUT, EXPECTED = 0.05, 0.5
MODELS = ("TWDA", LEARNT, "TWTM", "ATM", "DMR")
SHARES = (0.0, 0.2, 0.4, 0.5, 0.8, 1.0)
EXAMPLES, EXAMPLE_SHARE = 5, 0.5


def cells(subject: Subject, plan: Plan) -> list[Settings]:
    """One fit a cell: all shares of noise are measured on it."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    return [
        {
            "experiment": "noise", "model": name, "topics": k, "fold": fold, "folds": FOLDS,
            "arguments": arguments_of(name, k, quick=plan.quick),
            **({"held_out": HELD_OUT, "expected": EXPECTED} if name == LEARNT else {}),
        }
        for fold in plan.fold_numbers(FOLDS)
        for name in plan.chosen(MODELS)
        for k in topics
    ]  # fmt: skip


def measure(subject: Subject, settings: Settings, jobs: int | None) -> list[Row]:
    """Perplexity at each share of noise and its rise over no noise; and the weights of tags where there are any."""
    train, test = subject.fold(settings["fold"], settings["folds"])
    model = _fitted(train.corpus, settings, jobs)
    known = np.unique(train.corpus.tags.indices)
    rows: list[Row] = []
    examples: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that are in the test part only
        for share in SHARES:
            noisy, is_noise = with_noise_tags(test.corpus, share, known=known)
            row: Row = {"noise": share, "perplexity": perplexity(model, noisy).value}
            if hasattr(model, "tag_weights"):
                row |= _weights(model, noisy, is_noise)
                examples += _examples(model, noisy, is_noise) if share == EXAMPLE_SHARE else []
            rows.append(row)
    plain = rows[0]["perplexity"]
    return [row | {"rise": row["perplexity"] / plain - 1} for row in rows] + examples


def _fitted(corpus: Corpus, settings: Settings, jobs: int | None) -> Any:
    model = make(settings["model"], settings["arguments"], jobs)
    if settings["model"] != LEARNT:
        return fitted(model, corpus)
    seen, held_out = corpus.split(settings["held_out"], SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that are in the held-out part only
        return fitted(model, seen).fit_weight_prior(held_out, noise=settings["expected"])


def _weights(model: Any, corpus: Corpus, is_noise: Any) -> Row:
    """Means over documents of ``WEIGHTS``, a document's weights being scaled to sum to 1 over its known tags."""
    found: list[tuple[float, float, float, float]] = []
    for _, shares, noise in _shares(model, corpus, is_noise):
        if noise.any() and not noise.all():
            found.append((shares[~noise].mean(), shares[noise].mean(), shares[noise].sum(), noise.mean()))
    return dict(zip(WEIGHTS, np.mean(found, axis=0).tolist(), strict=True)) if found else {}


def _shares(model: Any, corpus: Corpus, is_noise: Any) -> Iterator[tuple[Any, Any, Any]]:
    """By document: the columns of its known tags, their weights scaled to sum to 1, and which are noise."""
    weights, tags = model.tag_weights(corpus), corpus.tags
    for document in range(len(corpus)):
        mine = slice(tags.indptr[document], tags.indptr[document + 1])
        entries = slice(weights.indptr[document], weights.indptr[document + 1])
        columns, values = weights.indices[entries], np.asarray(weights.data[entries], np.float64)
        noise = np.isin(columns, tags.indices[mine][is_noise[mine]])
        yield columns, values / max(values.sum(), 1e-300), noise


def _examples(model: Any, corpus: Corpus, is_noise: Any) -> list[Row]:
    """As in the paper's Table 2: some documents, their tags' weights, and those of the noise."""
    found: list[Row] = []
    for document, (columns, shares, noise) in enumerate(_shares(model, corpus, is_noise)):
        if len(columns) < 4 or not noise.any():
            continue
        order = np.argsort(-shares, kind="stable")
        named = [(corpus.tag_names[columns[j]], shares[j], noise[j]) for j in order]
        text = ", ".join(f"{'*' if is_bad else ''}{name} {share:.3f}" for name, share, is_bad in named)
        found.append({"document": corpus.ids[document], "example": text})
        if len(found) == EXAMPLES:
            break
    return found


def tables(rows: list[Row]) -> list[Table]:
    """Perplexity, its rise over no noise, and weights."""
    told = [row for row in rows if row.get("example")]
    rows = _measured(rows)
    found = []
    for k in sorted(different(rows, "topics")):
        part = where(rows, topics=k)
        found.append(_pivot(part, f"K = {k}: perplexity with noise tags added", "perplexity", 0))
        risen = [row | {"rise": 100 * row["rise"]} for row in part]
        found.append(_pivot(risen, f"K = {k}: rise of perplexity over no noise, %", "rise", 2))
        weighed = [row for row in part if row.get("noise_share") is not None]
        for name in different(weighed, "model"):
            own = where(weighed, model=name)
            lines = [
                [f"{share:.0%}", *(f"{mean(where(own, noise=share), column):.3f}" for column in WEIGHTS)]
                for share in different(own, "noise")
            ]
            found.append(Table(f"K = {k}: weights of tags by {name}", ["noise", *WEIGHTS.values()], lines))
    lines = [
        [f"{row['model']}, K = {row['topics']}", row["document"], row["example"]] for row in told if not row["fold"]
    ]
    return [*found, Table(EXAMPLES_TITLE, ["model", "document", "tags and weights"], lines)] if lines else found


EXAMPLES_TITLE = f"Weights of tags in some documents with {EXAMPLE_SHARE:.0%} noise (noise has a star)"


def _measured(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("perplexity") is not None]


WEIGHTS = {
    "own_weight": "mean weight of an own tag",
    "noise_weight": "mean weight of a noise tag",
    "noise_share": "weight of all noise",
    "even": "if all weighed the same",
}


def _pivot(rows: list[Row], title: str, value: str, digits: int) -> Table:
    return pivot(rows, title=title, line="model", column="noise", value=value, digits=digits, head="{:.0%}".format)


def draw(rows: list[Row], figure: Any) -> None:
    """Perplexity by share of noise, as in the paper, and its rise, which tells flat curves apart; for each K."""
    rows = [row | {"rise": 100 * row["rise"]} for row in _measured(rows)]
    drawn = [(k, value) for k in sorted(different(rows, "topics")) for value in CURVES]
    axes = panels(figure, [f"K = {k}" for k, _ in drawn], width=3.3)
    for axis, (k, value) in zip(axes, drawn, strict=True):
        part = where(rows, topics=k)
        for name in different(part, "model"):
            points = [where(part, model=name, noise=share) for share in SHARES]
            values, errors = ([f(point, value) for point in points] for f in (mean, spread))
            axis.errorbar([100 * share for share in SHARES], values, errors, capsize=2, **style(name))
        axis.set_xlabel("noise tags added, %")
        axis.set_ylabel(CURVES[value])
        legend_below(axis, columns=2)


CURVES = {"perplexity": "perplexity (flat is good)", "rise": "rise of perplexity over no noise, %"}


EXPERIMENT = Experiment("noise", "Noise tags added to new documents", MODELS, cells, measure, tables, draw)
