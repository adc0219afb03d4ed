"""Compare initialisations: held-out perplexity and CPU seconds of "merged", "nmf", "random" and mini-batch k-means.

    python benchmarks/initialisation.py imdb/documents.twtm --output imdb
    python benchmarks/initialisation.py acl.jsonl.gz --kinds author --least 5 --documents 27435 --output acl

Corpora, held-out documents and scores are as in perplexity.py. k-means is not part of the library: it replaces "merged"
here, on the same sample and words and with the same updates after it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans

from perplexity import options, read
from tagtopic import TWDA, Corpus
from tagtopic.experiments.experiment import ExperimentGrid, Settings
from tagtopic.experiments.results import Row, distinct, format_mean, where
from tagtopic.models import _init

INITIALISATIONS = ("merged", "nmf", "random", "k-means")


def clustered_topics(corpus: Corpus, n_topics: int, random: np.random.Generator, n_jobs: int | None) -> Any:
    """Return the words of ``n_topics`` clusters of documents (Hellinger distance); small clusters are re-seeded."""
    counts = corpus.counts
    profiles = np.sqrt(counts.data / np.repeat(corpus.lengths(), np.diff(counts.indptr)))
    indices, starts = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # writable copies
    matrix = sp.csr_matrix((profiles, indices, starts), shape=counts.shape)
    clusters = MiniBatchKMeans(n_topics, n_init=3, reassignment_ratio=0.05, random_state=int(random.integers(2**31)))
    found = clusters.fit_predict(matrix)
    members = sp.csr_array((np.ones(len(found)), (found, np.arange(len(found)))), shape=(n_topics, len(corpus)))
    topics = np.asarray((members @ counts).toarray(), dtype=np.float32).T
    frequencies = _init.word_frequencies(corpus).astype(np.float32)
    topics += np.float32(0.5) * np.outer(frequencies, np.maximum(topics.sum(axis=0), 1.0))
    topics = np.ascontiguousarray(topics / topics.sum(axis=0))
    return _init.factorise(corpus, topics, None, _init.UPDATES_BEFORE + _init.UPDATES_AFTER, n_jobs).topics


def measure(train: Corpus, test: Corpus, settings: Settings) -> list[Row]:
    """Measure one fit from one initialisation."""
    name, seed, n_topics = settings["start"], settings["seed"], settings["topics"]
    merged, started = _init.merged_topics, time.process_time()
    _init.merged_topics = clustered_topics if name == "k-means" else merged
    init = "merged" if name == "k-means" else name
    try:
        _init.initial_topics(train, _init.word_frequencies(train), n_topics, init, np.random.default_rng(seed), None)
        seconds = time.process_time() - started
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
            model = TWDA(n_topics, inference="cvb0", init=init, random_state=seed, progress=False).fit(train)
            value = model.perplexity(test)
    finally:
        _init.merged_topics = merged
    return [{"start": name, "perplexity": value, "seconds": seconds, "iterations": model.n_iter_}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options(parser)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    train, test = read(arguments)
    cells: list[Settings] = [
        {"start": name, "topics": arguments.topics, "seed": seed}
        for seed in range(arguments.seeds)
        for name in INITIALISATIONS
    ]
    grid = ExperimentGrid(arguments.output, train.fingerprint() + test.fingerprint())
    found = grid.run(cells, lambda settings: measure(train, test, settings), log=print)
    rows = [row for cell in found for row in cell.table]
    for name in distinct(rows, "start"):
        own = where(rows, start=name)
        print(
            f"{name}: {format_mean(own, 'perplexity', 0)}, initialisation {format_mean(own, 'seconds', 1)} CPU s, "
            f"{json.dumps([row['iterations'] for row in own])} iterations"
        )


if __name__ == "__main__":
    main()
