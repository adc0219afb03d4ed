"""Compare the inference methods: held-out perplexity, CPU seconds, and rank correlation with planted tag weights.

    python benchmarks/inference_methods.py imdb/documents.twtm tmdb10k.jsonl.gz

Each corpus is split 80/20 (seed 0) and fitted by TWDA with default settings except ``inference``. Planted corpora are
drawn from TWTM and TWDA; the true weights of each document's tags are correlated with ``tag_weights``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from tagtopic import TWDA, TWTM, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.experiments.dataset import TWTM_FORMAT_RULES
from tagtopic.inference.methods import METHODS


def on_corpus(path: Path, method: str, topics: int, seed: int) -> str:
    """Return the perplexity of the held-out fifth, CPU seconds and iterations."""
    corpus = Corpus.read(path, progress=False, **(TWTM_FORMAT_RULES if path.suffix == ".twtm" else {}))
    train, test = corpus.split(0.2, 0)
    started = time.process_time()
    model = TWDA(topics, inference=method, random_state=seed, progress=False).fit(train)
    seconds = time.process_time() - started
    return f"{model.perplexity(test):.0f} ({seconds:.0f} s, {model.n_iter_})"


def on_planted(kind: str, method: str, seed: int) -> float:
    """Return the rank correlation of weights over all documents with at least two tags."""
    drawn = make_tagged_corpus(2000, 10, 60, 800, model=kind, random_state=seed)
    estimator = TWTM if kind == "twtm" else TWDA
    model = estimator(10, inference=method, random_state=seed, progress=False).fit(drawn.corpus)
    found, true = model.tag_weights(drawn.corpus), drawn.tag_weights
    several = np.repeat(np.diff(drawn.corpus.tags.indptr), np.diff(drawn.corpus.tags.indptr)) > 1
    return float(spearmanr(found.data[several], true.data[several]).statistic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3, help="number of planted corpora per model")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # tags that occur in the test part only
    heads = [
        *(f"{path.name}: perplexity (CPU, iterations)" for path in arguments.paths),
        "TWTM planted",
        "TWDA planted",
    ]
    print("| |", " | ".join(heads), "|\n" + "|---" * (len(heads) + 1) + "|")
    for method in METHODS:
        cells = [on_corpus(path, method, arguments.topics, 0) for path in arguments.paths]
        for kind in ("twtm", "twda"):
            values = [on_planted(kind, method, seed) for seed in range(arguments.seeds)]
            cells.append(f"{np.mean(values):.3f} ({np.min(values):.3f} to {np.max(values):.3f})")
        print(f'| `"{method}"` |', " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
