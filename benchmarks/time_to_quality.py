"""Time to quality: CPU seconds until libraries reach a held-out perplexity, on the same words with the same scoring.

    python benchmarks/time_to_quality.py tmdb10k.jsonl.gz --kinds director,star,keyword,year --output tmdb10k

Each library is trained on one thread for a growing number of iterations, from the start each time if it cannot
continue. After each number, half of the words of held-out documents are observed and the other half is scored. Topics
of other libraries are folded in by posterior means under their own priors (CVB0). tagtopic's LDA has no tags; TWDA has
them. The time is that of training: reading, scoring and the compilation of kernels are left out. Curves are written as
JSON and as a figure; the table has the seconds until a perplexity is reached for the first time. The same command
continues a killed run.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from perplexity import options, read
from tagtopic import LDA, TWDA, Corpus
from tagtopic.baselines.fold_in import fold_in
from tagtopic.evaluation import perplexity
from tagtopic.experiments.results import write_plot

Point = tuple[int, float, float]
"""Iterations, CPU seconds, perplexity."""


class FoldedTopics(BaseEstimator):
    """Topics of any library, and the prior of a document's topics, as ``perplexity`` takes them."""

    def __init__(self, topic_words: Any, prior: Any) -> None:
        self.components_ = topic_words / topic_words.sum(axis=1, keepdims=True)
        self.prior = np.broadcast_to(np.asarray(prior, np.float64), len(topic_words)).copy()

    def fit(self, X: Any) -> FoldedTopics:
        """Return the topics as they are."""
        return self

    def aligned(self, X: Corpus, tags: Any = None) -> Corpus:
        """Return the documents as they are: all have the same words."""
        return X

    def transform(self, X: Corpus) -> Any:
        """Return the topic mixes of documents."""
        return fold_in(X.counts, np.ascontiguousarray(self.components_.T), self.prior)


def tagtopic_curve(kind: Any, inference: str, numbers: list[int], train: Corpus, k: int) -> Iterator[tuple[int, Any]]:
    """Yield iterations and (CPU seconds, model); sampling has one chain per number, as the average begins halfway."""
    settings: dict[str, Any] = {"n_jobs": 1, "random_state": 0, "inference": inference, "progress": False}
    if kind is TWDA:
        settings["tag_predictor"] = False
    kind(k, max_iter=2, **settings).fit(train)  # compiles
    for number in numbers:
        began = time.process_time()
        model = kind(k, max_iter=number, **settings).fit(train)
        yield number, (time.process_time() - began, model)


def tomotopy_curve(numbers: list[int], train: Corpus, k: int) -> Iterator[tuple[int, Any]]:
    """Yield sweeps and (CPU seconds, topics) of one chain, whose document-topic prior is learnt."""
    import tomotopy

    model = tomotopy.LDAModel(k=k, alpha=0.1, eta=0.01, seed=1)
    model.optim_interval, model.burn_in = 10, 0
    for row in train.counts:
        model.add_doc([str(word) for word in np.repeat(row.indices, row.data)])
    seconds = 0.0
    for done, number in pairwise([0, *numbers]):
        began = time.process_time()
        model.train(number - done, workers=1)
        seconds += time.process_time() - began
        topics = np.full((k, train.n_words), 1e-12)
        topics[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(i) for i in range(k)]
        yield number, (seconds, FoldedTopics(topics, model.alpha))


def scikit_learn_curve(learning: str, numbers: list[int], train: Corpus, k: int) -> Iterator[tuple[int, Any]]:
    """Yield iterations and (CPU seconds, topics), from the start each time."""
    from sklearn.decomposition import LatentDirichletAllocation

    for number in numbers:
        model = LatentDirichletAllocation(k, max_iter=number, learning_method=learning, random_state=0)
        began = time.process_time()
        model.fit(train.counts)
        seconds = time.process_time() - began
        yield number, (seconds, FoldedTopics(model.components_, model.doc_topic_prior_))


def gensim_curve(numbers: list[int], train: Corpus, k: int) -> Iterator[tuple[int, Any]]:
    """Yield passes and (CPU seconds, topics) of one model, whose priors are learnt."""
    from gensim.models import LdaModel

    bags = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in train.counts]
    names = dict(enumerate(train.words))
    model = LdaModel(id2word=names, num_topics=k, alpha="auto", eta="auto", eval_every=None, random_state=0)
    seconds = 0.0
    for done, number in pairwise([0, *numbers]):
        began = time.process_time()
        for _ in range(number - done):
            model.update(bags)
        seconds += time.process_time() - began
        yield number, (seconds, FoldedTopics(model.get_topics().astype(np.float64), model.alpha))


SAMPLED, ITERATED, PASSES = [25, 50, 100, 200, 400], [10, 25, 50, 100, 200], [1, 2, 5, 10, 20]
CURVES: dict[str, Any] = {
    "TWDA, sampling": lambda *given: tagtopic_curve(TWDA, "gibbs", SAMPLED, *given),
    "TWDA, CVB0": lambda *given: tagtopic_curve(TWDA, "cvb0", ITERATED, *given),
    "LDA, sampling": lambda *given: tagtopic_curve(LDA, "gibbs", SAMPLED, *given),
    "LDA, CVB0": lambda *given: tagtopic_curve(LDA, "cvb0", ITERATED, *given),
    "tomotopy LDA": lambda *given: tomotopy_curve([50, 100, 200, 500, 1000], *given),
    "scikit-learn LDA, online": lambda *given: scikit_learn_curve("online", PASSES, *given),
    "scikit-learn LDA, batch": lambda *given: scikit_learn_curve("batch", PASSES, *given),
    "gensim LDA": lambda *given: gensim_curve(PASSES, *given),
}


def words_of_training(train: Corpus, test: Corpus) -> tuple[Corpus, Corpus]:
    """Return both with the words that occur in training, so that all libraries score the same words."""
    known = np.flatnonzero(train.word_counts())
    words, names = [train.words[w] for w in known], {"tag_names": train.tag_names}
    made = (Corpus.from_counts(each.counts[:, known], each.tags, words=words, **names) for each in (train, test))
    one, other = made
    return one, other


def table(curves: dict[str, list[Point]], targets: list[float]) -> str:
    """Format the seconds until each perplexity is reached, and the best of each curve."""
    lines = [f"| | {' | '.join(f'{target:,.0f}' for target in targets)} | best |", "|---" * (len(targets) + 2) + "|"]
    for name, points in curves.items():
        reached = [min((s for _, s, value in points if value <= target), default=None) for target in targets]
        number, seconds, best = min(points, key=lambda point: point[2])
        cells = ["–" if each is None else f"{each:.1f}" for each in reached]
        lines.append(f"| {name} | {' | '.join(cells)} | {best:,.0f} after {number} in {seconds:.0f} s |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options(parser)
    parser.add_argument("--libraries", default=";".join(CURVES), help="names, separated by semicolons")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--targets", type=float, nargs="+", help="perplexities; seven by default")
    given = parser.parse_args()
    train, test = words_of_training(*read(given))
    given.output.mkdir(parents=True, exist_ok=True)
    file = given.output / f"time-to-quality-{given.topics}.json"
    curves: dict[str, list[Point]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for name in given.libraries.split(";"):
        if name in curves:
            continue
        points: list[Point] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, (seconds, model) in CURVES[name](train, given.topics):
                points.append((number, seconds, perplexity(model, test).value))
                print(f"{name}: {number} in {seconds:.1f} s: {points[-1][2]:.1f}", flush=True)
        curves[name] = points
        file.write_text(json.dumps(curves, indent=1), "utf-8")
    values = [value for points in curves.values() for _, _, value in points]
    targets = given.targets or np.linspace(min(values), np.median(values), 7)[::-1].round(-1).tolist()
    text = table(curves, targets)
    file.with_suffix(".md").write_text(text + "\n", "utf-8")
    print(text)
    write_plot(lambda figure: plot(figure, curves), file.with_suffix(""))


def plot(figure: Any, curves: dict[str, list[Point]]) -> None:
    """Draw perplexity by CPU seconds."""
    axes = figure.subplots()
    for name, points in curves.items():
        axes.plot([point[1] for point in points], [point[2] for point in points], marker="o", markersize=3, label=name)
    axes.set(xscale="log", xlabel="CPU seconds of training", ylabel="held-out perplexity")
    axes.legend(frameon=False, fontsize=7)


if __name__ == "__main__":
    main()
