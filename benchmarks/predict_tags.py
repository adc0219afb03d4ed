"""Measure tag prediction against tf-idf centroids, nearest neighbours and one-vs-rest logistic regression.

    python benchmarks/predict_tags.py acl.jsonl.gz --kind author --least 5 --documents 27435 --seeds 5
    python benchmarks/predict_tags.py debian.jsonl.gz --kind debtag --groups source
    python benchmarks/predict_tags.py acl.jsonl.gz --kind author --documents 27435 --validate
    python benchmarks/predict_tags.py acl.jsonl.gz --kind author --documents 27435 --speed 50 100 200

The corpus is JSON Lines with "text" and "tags". Tags of the given kind that are on at least --least documents are kept,
with the documents that have one; these are shuffled, cut to --documents, and a fifth is held out. With --groups,
documents with the same value in that column stay together in the split. With --validate the fifth is held out of the
training documents and the test documents are not used, to choose settings. Tags of held-out documents that no training
document has count as missed. With --speed only the time is measured, against the E-step on the same documents, for
models with these numbers of topics.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import one_vs_rest
from tagtopic import TWDA, Corpus
from tagtopic.corpus.tags import kinds_of
from tagtopic.evaluation import rank_lists
from tagtopic.tagging import TagPredictor

STEP, EPOCHS = 4.0, 8
"""Settings of the one-vs-rest regressions: the best of 1, 4 and 16, and of 4 and 8, by --validate."""


def select(corpus: Corpus, kind: str, least: int, documents: int, seed: int) -> Corpus:
    """Return the documents and tags to measure on."""
    names, numbers = kinds_of(corpus.tag_names)
    enough = np.bincount(corpus.tags.indices, minlength=corpus.n_tags) >= least
    kept = np.flatnonzero(enough & np.isin(numbers, [names.index(one) for one in kind.split(",")]))
    tags = sp.csr_array(corpus.tags)[:, kept]
    rows = np.flatnonzero(np.diff(tags.indptr))
    rows = np.random.default_rng(seed).permutation(rows)[:documents]
    tag_names = [corpus.tag_names[j] for j in kept]
    ids = [corpus.ids[i] for i in rows]
    return Corpus.from_counts(corpus.counts[rows], tags[rows], words=corpus.words, tag_names=tag_names, ids=ids)


def tf_idf(counts: Any, idf: Any) -> Any:
    """Return (1 + log count) idf, rows of length 1."""
    rows = sp.csr_array(counts, dtype=np.float32, copy=True)
    rows.data = (1 + np.log(rows.data)) * idf[rows.indices]
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    lengths = np.sqrt(np.bincount(owner, weights=rows.data**2, minlength=rows.shape[0]))
    rows.data /= np.maximum(lengths, 1e-12)[owner]
    return rows


def vectors_of(train: Corpus, test: Corpus) -> tuple[Any, Any]:
    """Return both as tf-idf vectors."""
    document_frequency = np.bincount(train.counts.indices, minlength=train.n_words)
    idf = (np.log((1 + len(train)) / (1 + document_frequency)) + 1).astype(np.float32)
    return tf_idf(train.counts, idf), tf_idf(test.counts, idf)


def plain_scores(train: Corpus, test: Corpus, neighbours: int = 50) -> dict[str, list[Any]]:
    """Return the 200 best tags of each test document by centroid, by neighbours, and by the sum of both scores."""
    known, asked = vectors_of(train, test)
    tags = sp.csr_array(train.tags, dtype=np.float32)
    sums = sp.csr_array(tags.T @ known)
    lengths = np.maximum(np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel()), 1e-12)
    best: dict[str, list[Any]] = {"centroid": [], "neighbours": [], "both added": []}
    for first in range(0, len(test), 256):
        rows = asked[first : first + 256]
        centroid = np.asarray((rows @ sums.T).todense()) / lengths
        similarity = np.asarray((rows @ known.T).todense())
        limit = np.partition(similarity, -neighbours, axis=1)[:, [-neighbours]]
        near = np.asarray((sp.csr_array(np.where(similarity >= limit, similarity**2, 0)) @ tags).todense())
        for name, score in (("centroid", centroid), ("neighbours", near), ("both added", _relative(centroid, near))):
            best[name] += list(np.argsort(-score, axis=1)[:, :200])
    return best


def _relative(*scores: Any) -> Any:
    return sum(score / np.maximum(score.max(axis=1, keepdims=True), 1e-12) for score in scores)


def groups_of(path: str, column: str | None, read: Corpus) -> dict[str, str] | None:
    """Return the group of each document id."""
    if column is None:
        return None
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return dict(zip(read.ids, (json.loads(line)[column] for line in file), strict=True))


def split(corpus: Corpus, seed: int, groups: dict[str, str] | None) -> tuple[Corpus, Corpus]:
    """Return the training documents and a held-out fifth."""
    return corpus.split(0.2, random_state=seed, groups=None if groups is None else [groups[i] for i in corpus.ids])


def recall_and_rank(ranked: list[Any], truth: list[set[Any]]) -> tuple[float, float]:
    """Return recall@10 and the mean reciprocal rank of the first correct tag."""
    found = rank_lists(ranked, truth)
    return found.recall(10), found.reciprocal()


def calibration(predictions: list[Any], truth: list[set[Any]]) -> tuple[float, list[tuple[float, float, int]]]:
    """Return the expected calibration error of the first ten tags, and the curve: predicted, correct, count per bin."""
    pairs = [(p, tag in own) for tags, own in zip(predictions, truth, strict=True) for tag, p in tags[:10]]
    given, right = np.array(pairs, dtype=float).T
    bins = np.minimum((given * 10).astype(int), 9)
    filled = [bins == b for b in range(10) if (bins == b).any()]
    error = sum(abs(given[b].sum() - right[b].sum()) for b in filled) / len(given)
    return float(error), [(given[b].mean(), right[b].mean(), int(b.sum())) for b in filled]


def measure(train: Corpus, test: Corpus, step: float, epochs: int, seed: int) -> dict[str, tuple[float, ...]]:
    """Return recall@10 and MRR of each method, and tagtopic's calibration error; also print them."""
    starts, indices = test.tags.indptr, test.tags.indices
    truth: list[set[Any]] = [set(indices[starts[i] : starts[i + 1]].tolist()) for i in range(len(test))]
    ranked = plain_scores(train, test)
    if step:
        known, asked = vectors_of(train, test)
        learnt = one_vs_rest.fit(known, train.tags, step=step, epochs=epochs, seed=seed)
        ranked["one-vs-rest"] = one_vs_rest.best_tags(asked, *learnt, 200)
        del learnt
    found: dict[str, tuple[float, ...]] = {name: recall_and_rank(tags, truth) for name, tags in ranked.items()}
    started = time.perf_counter()
    predictor = TagPredictor().fit(train)
    fitted = time.perf_counter()
    predictions = predictor.predict_counts(test.counts, 200)
    done = time.perf_counter()
    names = [{train.tag_names[j] for j in own} for own in truth]
    error, curve = calibration(predictions, names)
    found["tagtopic"] = (*recall_and_rank([[tag for tag, _ in tags] for tags in predictions], names), error)
    for name, values in found.items():
        print(f"{name:12s} recall@10 {values[0]:.4f}  MRR {values[1]:.4f}")
    print(f"calibration error {error:.4f}:", ", ".join(f"{g:.2f} -> {r:.2f} ({n})" for g, r, n in curve))
    print(f"fitted in {fitted - started:.1f} s, {1000 * (done - fitted) / len(test):.2f} ms per document", flush=True)
    return found


def compare_speed(train: Corpus, test: Corpus, topics: int) -> None:
    """Print the time to predict the tags of held-out documents and to infer their topics: best of five, in turn."""
    model = TWDA(topics, max_iter=10, random_state=0, progress=False).fit(train)
    best = {"predict_tags": np.inf, "transform": np.inf}
    for turn in range(6):  # the first is not counted: it compiles
        for name in best:
            started = time.perf_counter()
            getattr(model, name)(test)
            best[name] = min(best[name], time.perf_counter() - started) if turn else np.inf
    tags, e_step = best.values()
    print(f"K = {topics}: tags {tags:.2f} s, E-step {e_step:.2f} s, {tags / e_step:.2f} times as long", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--kind", required=True, help="one kind of tag, or several separated by commas")
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds; each draws its own documents and split")
    parser.add_argument("--groups", help="a column; documents with the same value stay together")
    parser.add_argument("--validate", action="store_true", help="hold out a part of the training documents")
    parser.add_argument("--speed", type=int, nargs="+", metavar="TOPICS", help="time against the E-step only")
    parser.add_argument(
        "--step", type=float, default=STEP, help="step size of the one-vs-rest regressions; 0 omits them"
    )
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    read = Corpus.read(arguments.corpus, stop_words="en", min_df=2, progress=False)
    groups = groups_of(arguments.corpus, arguments.groups, read)
    runs = []
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        corpus = select(read, arguments.kind, arguments.least, arguments.documents, seed)
        train, test = split(corpus, seed, groups)
        if arguments.validate:
            train, test = split(train, seed, groups)
        print(f"seed {seed}: {len(corpus)} documents, {corpus.n_tags} tags, {len(test)} held out", flush=True)
        for topics in arguments.speed or ():
            compare_speed(train, test, topics)
        if not arguments.speed:
            runs.append(measure(train, test, arguments.step, arguments.epochs, seed))
    for name in runs[0] if runs else ():
        values = np.array([run[name] for run in runs])
        pairs = zip(values.mean(axis=0), values.std(axis=0), strict=True)
        print(f"mean of {len(runs)}: {name:12s}", "  ".join(f"{mean:.4f} (sd {sd:.4f})" for mean, sd in pairs))


if __name__ == "__main__":
    main()
