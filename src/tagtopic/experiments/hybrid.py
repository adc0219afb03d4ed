"""Hybrid corpora, the paper's third contribution: the tags of some training documents are hidden.

TWDA learns from all documents, as does LDA, which ignores tags; TWTM has the documents that still have tags. All models
of a share have the same vocabulary, the words of the documents that still have tags, and the same candidates for a
tag's rank, the tags of these documents: figures are comparable within a share only.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import csr
from tagtopic.corpus.tags import with_noise_tags
from tagtopic.evaluation import perplexity, rank_scores
from tagtopic.experiments.dataset import Dataset, with_seen_words
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import SEED, build_model, fit_model, model_arguments, tag_score_batches
from tagtopic.experiments.results import (
    Row,
    Table,
    distinct,
    legend_below,
    mean,
    panels,
    pivot,
    style,
    topics_title,
    where,
)

TOPICS, QUICK_TOPICS = (50,), (10,)
SHARES, QUICK_SHARES = (0.0, 0.2, 0.5, 0.8, 0.95), (0.0, 0.8)
"""Shares of the training documents whose tags are hidden."""

TAGGED_PART = "TWDA, tagged part"
MODELS = ("TWDA", TAGGED_PART, "TWTM", "LDA (ours)", "TWDA (paper)", "TWTM (paper)")
ON_TAGGED_PART = {TAGGED_PART: "TWDA", "TWTM": "TWTM", "TWTM (paper)": "TWTM (paper)"}
"""The rows that are fitted to the documents with tags only, and their models."""

NOISE = 0.5
MEASURES = {
    "completion": ("perplexity, document completion", 0),
    "tags": ("perplexity, from the tags alone", 0),
    "weights": (f"own tags with a larger weight than noise tags ({NOISE:.0%} added), share of pairs", 3),
    "recall": ("recall of tags among the first 10, by theta alone", 3),
}


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return a cell for each model, share, number of topics and fold; by default the first fold only."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    return [
        {
            "experiment": "hybrid", "model": name, "hidden": share, "topics": k, "fold": fold, "folds": FOLDS,
            "arguments": model_arguments(ON_TAGGED_PART.get(name, name), k, quick=plan.quick),
        }
        for fold in plan.fold_numbers(1)
        for k in topics
        for share in (QUICK_SHARES if plan.quick else SHARES)
        for name in plan.chosen(MODELS)
        if share > 0 or name != TAGGED_PART  # with all tags, it is TWDA
    ]  # fmt: skip


def hide_tags(corpus: Corpus, share: float) -> tuple[Corpus, NDArray[np.bool_]]:
    """Remove the tags of a share of the documents, and return which ones; a larger share includes a smaller one."""
    hidden = np.zeros(len(corpus), np.bool_)
    hidden[np.random.default_rng(SEED).permutation(len(corpus))[: round(share * len(corpus))]] = True
    tags = corpus.tags
    sizes = np.diff(tags.indptr)
    kept = np.repeat(~hidden, sizes)
    starts = np.concatenate([[0], np.cumsum(np.where(hidden, 0, sizes))])
    return corpus.with_matrices(tags=csr(starts, tags.indices[kept], tags.data[kept], corpus.n_tags)), hidden


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure one fit: perplexities, how weights tell own tags from noise, and the ranks of tags."""
    train, test = dataset.fold(settings["fold"], settings["folds"])
    corpus, hidden = hide_tags(train.corpus, settings["hidden"])
    tagged = corpus[~hidden]
    corpus, scored, tagged = (with_seen_words(part, tagged) for part in (corpus, test.corpus, tagged))
    name: str = settings["model"]
    estimator = build_model(ON_TAGGED_PART.get(name, name), settings["arguments"], jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that are hidden, or occur in the test part only
        model = fit_model(estimator, tagged if name in ON_TAGGED_PART else corpus)
        row: Row = {method: perplexity(model, scored, method=method).value for method in ("completion", "tags")}
        if model.tag_names_:
            known = np.unique(tagged.tags.indices)
            row["weights"] = _pairs_in_order(model, scored, known)
            ranks = rank_scores(tag_score_batches(model, scored), scored.tags)
            row["recall"] = ranks.recall(10)
    return [row]


def _pairs_in_order(model: Any, corpus: Corpus, known: Any) -> float:
    """The share of pairs of an own tag and a noise tag of a document in which the own one has the larger weight.

    Own tags that the training documents do not have are left out; equal weights count half.
    """
    noisy, is_noise = with_noise_tags(corpus, NOISE, known=known)
    weights, tags = model.tag_weights(noisy), noisy.tags
    above, pairs = 0.0, 0
    for d in range(len(noisy)):
        entries = slice(weights.indptr[d], weights.indptr[d + 1])
        mine = slice(tags.indptr[d], tags.indptr[d + 1])
        noise = np.isin(weights.indices[entries], tags.indices[mine][is_noise[mine]])
        seen = np.isin(weights.indices[entries], known)
        values = np.asarray(weights.data[entries], np.float64)
        difference = np.subtract.outer(values[~noise & seen], values[noise])
        above += float((difference > 0).sum() + 0.5 * (difference == 0).sum())
        pairs += difference.size
    return above / pairs if pairs else float("nan")


def tables(rows: list[Row]) -> list[Table]:
    """Make a table by hidden share for each number of topics and measure."""
    return [
        pivot(
            [row for row in where(rows, topics=k) if row.get(value) is not None],
            title=f"{topics_title(k)}: {title}", line="model", column="hidden", value=value, digits=digits,
            head=lambda share: f"{share:.0%} hidden",
        )
        for k in sorted(distinct(rows, "topics"))
        for value, (title, digits) in MEASURES.items()
    ]  # fmt: skip


def draw(rows: list[Row], figure: Any) -> None:
    """Draw each measure by the share of hidden tags, for the first number of topics."""
    drawn = where(rows, topics=min(distinct(rows, "topics")))
    values = ["completion", "tags", "weights", "recall"]
    for axis, value in zip(panels(figure, [LABELS[value] for value in values], width=3.6), values, strict=True):
        for name in distinct(drawn, "model"):
            own = [row for row in where(drawn, model=name) if row.get(value) is not None]
            at = sorted(distinct(own, "hidden"))
            if at:
                axis.plot([100 * x for x in at], [mean(where(own, hidden=x), value) for x in at], **style(name))
        axis.set_xlabel("documents with hidden tags, %")
        axis.set_ylabel(LABELS[value])
        legend_below(axis, columns=2)


LABELS = {
    "completion": "perplexity (completion)",
    "tags": "perplexity (tags alone)",
    "weights": "own above noise tags",
    "recall": "recall of tags at 10",
}

EXPERIMENT = Experiment("hybrid", "Corpora with and without tags", MODELS, cells, measure, tables, draw)
