"""Held-out perplexity with the default settings, by number of topics and seed, against LDA, DMR, CTM and ATM.

    python benchmarks/perplexity.py imdb/documents.twtm --output imdb
    python benchmarks/perplexity.py tmdb10k.jsonl.gz --kinds director,star,keyword,year --output tmdb10k
    python benchmarks/perplexity.py acl.jsonl.gz --kinds author --least 5 --documents 27435 --output acl
    python benchmarks/perplexity.py debian.jsonl.gz --groups source --output debian

Near-duplicates are dropped, and a fifth of the remaining documents is held out (seed 0). Half of each one's words are
observed, with its tags, and the other half is scored; "from tags" scores all words from the tags alone. The same
command continues a killed run, also with more seeds or topics. Rivals have 1,000 sweeps and a learnt prior (CTM: 100
EM iterations at most); new documents are folded in by posterior means under their topics, which gives lower perplexity
than tomotopy's own ``infer``. "LDA (tomotopy)" predicts words from tags by the mean topic proportions of the tags'
training documents.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import warnings
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tagtopic import LDA, TWDA, TWTM, Corpus, baselines
from tagtopic.corpus.splits import first_copies
from tagtopic.corpus.text.rules import TagRules
from tagtopic.evaluation import perplexity
from tagtopic.experiments.dataset import TWTM_FORMAT_RULES
from tagtopic.experiments.experiment import ExperimentGrid, Settings
from tagtopic.experiments.results import Row, distinct, format_mean, where

OURS = (TWDA, TWTM, LDA)
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "TWDA": (TWDA, {}),
    "TWDA (cvb0)": (TWDA, {"inference": "cvb0"}),
    "LDA (ours)": (LDA, {}),
    "TWTM": (TWTM, {}),
    "LDA (tomotopy)": (baselines.LDA, {"sweeps": 1000}),
    "LDA with tags (tomotopy)": (baselines.LDA, {"sweeps": 1000, "tags_as_words": True}),
    "DMR": (baselines.DMR, {"sweeps": 1000}),
    "CTM with tags": (baselines.CTM, {"tags_as_words": True}),
    "ATM": (baselines.AuthorTopic, {"sweeps": 1000}),
}
TWICE_AS_LONG = {
    f"{name}, 2,000 sweeps": (kind, {**given, "sweeps": 2000})
    for name, (kind, given) in MODELS.items()
    if "sweeps" in given
}


class MeanTopicsOfTags(BaseEstimator):
    """The topics of an LDA, and for a document the mean of its tags' topics: the mean of their training documents."""

    def __init__(self, model: baselines.LDA) -> None:
        self.model = model
        self.components_ = model.components_

    def fit(self, X: Any) -> MeanTopicsOfTags:
        """Return the topics as they are."""
        return self

    def aligned(self, X: Corpus, tags: Any = None) -> Corpus:
        """Return the documents with their tags, without words that do not occur in training."""
        words = self.model.aligned(X)
        return words.with_matrices(tags=X.tags)

    def transform(self, X: Corpus) -> Any:
        """Return the mean of the tags' topics; for a document without known tags, the mean of LDA's prior."""
        sums = np.asarray(X.tags.astype(np.float64) @ self.model.tag_topics_)
        prior = self.model.topic_prior_ / self.model.topic_prior_.sum()
        sums[sums.sum(axis=1) == 0] = prior
        return sums / sums.sum(axis=1, keepdims=True)


def measure(train: Corpus, test: Corpus, settings: Settings) -> list[Row]:
    """Fit a model; measure completion, the perplexity from tags alone if it has one, and CPU seconds of the fit."""
    kind, given = (MODELS | TWICE_AS_LONG)[settings["model"]]
    given = {**given, **settings["arguments"], "random_state": settings["seed"]}
    optional = {"n_jobs": 1, "tag_predictor": False}
    given |= {name: value for name, value in optional.items() if name in signature(kind).parameters}
    started = cpu_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
        model = kind(settings["topics"], **given).fit(train)
        cpu = cpu_seconds() - started
        row: Row = {"scored": settings["model"], "cpu": cpu, "perplexity": perplexity(model, test).value}
        by_tags = MeanTopicsOfTags(model) if kind is baselines.LDA and not model.tags_as_words else model
        if kind is not LDA:
            row["from tags"] = perplexity(by_tags, test, method="tags").value
    return [row]


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it has started and that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``read``."""
    parser.add_argument("path", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="folder of finished cells and the table")
    parser.add_argument("--kinds", help="kinds of tags to keep")
    parser.add_argument("--least", type=int, default=1, help="documents that a tag must be on")
    parser.add_argument("--documents", type=int, help="number of documents, drawn at random")
    parser.add_argument("--keep-duplicates", action="store_true", help="keep near-duplicates")
    parser.add_argument("--groups", help="a column whose equal values stay together in the split")


def read(arguments: argparse.Namespace) -> tuple[Corpus, Corpus]:
    """Read the corpus; return training and test documents."""
    rules = TWTM_FORMAT_RULES if arguments.path.suffix == ".twtm" else {}
    corpus = Corpus.read(arguments.path, **rules)
    groups = None
    if arguments.groups:
        with gzip.open(arguments.path, "rt", encoding="utf-8") as file:
            groups = np.array([json.loads(line)[arguments.groups] for line in file])
    numbers = np.arange(len(corpus))
    if arguments.kinds:
        kinds = tuple(arguments.kinds.split(","))
        corpus = corpus.select_tags(TagRules(min_tag_documents=arguments.least, keep_kinds=kinds))
        if arguments.least > 1:
            tagged = np.flatnonzero(np.diff(corpus.tags.indptr))
            corpus, numbers = corpus[tagged], numbers[tagged]
    if arguments.documents:
        drawn = np.random.default_rng(0).permutation(len(corpus))[: arguments.documents]
        corpus, numbers = corpus[drawn], numbers[drawn]
    if not arguments.keep_duplicates:
        kept = np.flatnonzero(first_copies(corpus.counts, 0.6) < 0)
        corpus, numbers = corpus[kept], numbers[kept]
    train, test = corpus.split(0.2, 0, groups=None if groups is None else groups[numbers])
    return train, test


def table(rows: list[Row]) -> str:
    """Format means and standard deviations over seeds, models by number of topics."""
    topics = sorted(distinct(rows, "topics"))
    lines = []
    for measured in ("perplexity", "from tags", "cpu"):
        lines += [f"| {measured} | {' | '.join(f'K = {k}' for k in topics)} |", "|---" * (len(topics) + 1) + "|"]
        for name in distinct(rows, "scored"):
            own = [[row for row in where(rows, scored=name, topics=k) if measured in row] for k in topics]
            cells = (f"{format_mean(some, measured, 0)} ({len(some)})" if some else "–" for some in own)
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join([*lines, "In brackets: number of seeds; cpu: CPU seconds of the fit."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options(parser)
    parser.add_argument(
        "--models", default=";".join(MODELS), help="separated by semicolons; also " + "; ".join(TWICE_AS_LONG)
    )
    parser.add_argument("--topics", default="20,50,100,200")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--set", dest="arguments", type=json.loads, default={}, help="settings of tagtopic's models, as JSON"
    )
    parser.add_argument("--minutes", type=float, help="start no cell after this time")
    arguments = parser.parse_args()
    train, test = read(arguments)
    print(f"{train}, held out {len(test):,}")
    cells: list[Settings] = [
        {
            "model": name,
            "topics": k,
            "seed": seed,
            "arguments": arguments.arguments if name in MODELS and MODELS[name][0] in OURS else {},
        }
        for seed in range(arguments.seeds)
        for k in map(int, arguments.topics.split(","))
        for name in arguments.models.split(";")
    ]
    grid = ExperimentGrid(arguments.output, train.fingerprint() + test.fingerprint())
    found = grid.run(cells, lambda settings: measure(train, test, settings), minutes=arguments.minutes, log=print)
    text = table([row for cell in found for row in cell.table])
    (arguments.output / "perplexity.md").write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
