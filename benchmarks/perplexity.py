"""Held-out perplexity with the default settings, by number of topics and seed, against tomotopy's LDA.

    python benchmarks/perplexity.py imdb/documents.twtm --output imdb
    python benchmarks/perplexity.py tmdb10k.jsonl.gz --kinds director,star,keyword,year --output tmdb10k
    python benchmarks/perplexity.py acl.jsonl.gz --kinds author --least 5 --documents 27435 --output acl
    python benchmarks/perplexity.py debian.jsonl.gz --groups source --output debian

A fifth of the documents is held out (seed 0); half of each one's words are observed, with its tags, and the other half
is scored. The same command continues a killed run, also with more seeds or topics. tomotopy's LDA is scored twice from
one fit: by its own ``infer``, and with its topics and priors folded in by CVB0, which gives lower perplexity.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic import LDA, TWDA, TWTM, Corpus
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus.text.rules import TagRules
from tagtopic.evaluation import perplexity
from tagtopic.experiments.dataset import TWTM_FORMAT_RULES
from tagtopic.experiments.grid import ExperimentGrid, Row, Settings
from tagtopic.experiments.results import distinct, format_mean, where
from tagtopic.models import _inputs

MODELS = {"TWDA": TWDA, "LDA (ours)": LDA, "TWTM": TWTM}
TOMOTOPY = "LDA (tomotopy)"
SWEEPS = 1000


class Tomotopy:
    """LDA by tomotopy on one thread, with learnt prior; ``own_infer`` selects its own inference of new documents."""

    def __init__(self, n_topics: int, seed: int) -> None:
        import tomotopy

        self.library = tomotopy
        self.model = tomotopy.LDAModel(k=n_topics, seed=seed)
        self.own_infer = True

    def fit(self, corpus: Corpus) -> Tomotopy:
        """Run 1,000 sweeps with tomotopy's default settings."""
        self.words, self.word_counts = corpus.words, np.asarray(corpus.counts.sum(axis=0)).ravel()
        for words in documents(corpus):
            if words:
                self.model.add_doc(words)
        self.model.train(SWEEPS, workers=1)
        used = np.array(list(self.model.used_vocabs), np.int64)
        self.components_ = np.zeros((self.model.k, len(self.words)), np.float32)
        for topic in range(self.model.k):
            self.components_[topic, used] = self.model.get_topic_word_dist(topic)
        return self

    def aligned(self, X: Corpus, tags: Any = None) -> Corpus:
        """Return X without the words that no training document has."""
        return _inputs.without_unseen_words(_inputs.without_tags(X), self.word_counts)

    def transform(self, X: Corpus) -> Any:
        """Return topic mixes."""
        if not self.own_infer:
            psi = np.ascontiguousarray(self.components_.T)
            return fold_in(X.counts, psi, np.asarray(self.model.alpha, np.float64), None)
        made = [self.model.make_doc(words) for words in documents(X)]
        mixes, _ = self.model.infer(made, workers=1)
        return np.array(mixes)


def documents(corpus: Corpus) -> list[list[str]]:
    """Return the tokens of each document, as numbers."""
    counts = corpus.counts
    ends = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return [[str(w) for w in np.repeat(counts.indices[a:b], counts.data[a:b].astype(int))] for a, b in ends]


def measure(train: Corpus, test: Corpus, settings: Settings) -> list[Row]:
    """Measure the perplexities of one fit."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
        if settings["model"] == TOMOTOPY:
            model = Tomotopy(settings["topics"], settings["seed"]).fit(train)
            cpu = time.process_time() - started
            own_inference = perplexity(model, test).value
            model.own_infer = False
            return [
                {"scored": f"{TOMOTOPY}, its own inference", "perplexity": own_inference, "cpu": cpu},
                {"scored": f"{TOMOTOPY}, folded in", "perplexity": perplexity(model, test).value, "cpu": cpu},
            ]
        kind = MODELS[settings["model"]]
        model = kind(settings["topics"], random_state=settings["seed"], progress=False, **settings["arguments"])
        model.fit(train)
        cpu = time.process_time() - started
        value = perplexity(model, test).value
    return [{"scored": settings["model"], "perplexity": value, "cpu": cpu, "iterations": model.n_iter_}]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``read``."""
    parser.add_argument("path", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="folder of finished cells and the table")
    parser.add_argument("--kinds", help="kinds of tags to keep")
    parser.add_argument("--least", type=int, default=1, help="documents that a tag must be on")
    parser.add_argument("--documents", type=int, help="number of documents, drawn at random")
    parser.add_argument("--groups", help="a column whose equal values stay together in the split")


def read(arguments: argparse.Namespace) -> tuple[Corpus, Corpus]:
    """Read the corpus; return training and test documents."""
    rules = TWTM_FORMAT_RULES if arguments.path.suffix == ".twtm" else {}
    corpus = Corpus.read(arguments.path, **rules)
    groups = None
    if arguments.groups:
        with gzip.open(arguments.path, "rt", encoding="utf-8") as file:
            groups = np.array([json.loads(line)[arguments.groups] for line in file])
    if arguments.kinds:
        kinds = tuple(arguments.kinds.split(","))
        corpus = corpus.select_tags(TagRules(min_tag_documents=arguments.least, keep_kinds=kinds))
        if arguments.least > 1:
            corpus = corpus[np.diff(corpus.tags.indptr) > 0]
    if arguments.documents:
        corpus = corpus[np.random.default_rng(0).permutation(len(corpus))[: arguments.documents]]
    train, test = corpus.split(0.2, 0, groups=groups)
    return train, test


def table(rows: list[Row]) -> str:
    """Format means and standard deviations over seeds, models by number of topics."""
    topics = sorted(distinct(rows, "topics"))
    lines = [f"| | {' | '.join(f'K = {k}' for k in topics)} |", "|---" * (len(topics) + 1) + "|"]
    for name in distinct(rows, "scored"):
        own = [where(rows, scored=name, topics=k) for k in topics]
        cells = (f"{format_mean(some, 'perplexity', 0)} ({len(some)})" if some else "–" for some in own)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "In brackets: number of seeds."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options(parser)
    parser.add_argument("--models", default=",".join([*MODELS, TOMOTOPY]))
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
        {"model": name, "topics": k, "seed": seed, "arguments": {} if name == TOMOTOPY else arguments.arguments}
        for seed in range(arguments.seeds)
        for k in map(int, arguments.topics.split(","))
        for name in arguments.models.split(",")
    ]
    grid = ExperimentGrid(arguments.output, train.fingerprint() + test.fingerprint())
    found = grid.run(cells, lambda settings: measure(train, test, settings), minutes=arguments.minutes, log=print)
    text = table([row for cell in found for row in cell.table])
    (arguments.output / "perplexity.md").write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
