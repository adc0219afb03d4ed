"""How well the audit finds random tags that were added to held-out documents, as in the paper's section 7.5.

    python benchmarks/audit_tags.py acl.jsonl.gz --kind author --least 5 --documents 27435 --seed 0

Documents and split are those of predict_tags.py. For each level, that share of each document's number of tags (rounded
up) is added, drawn at random from all tags of the training; the AUC is that of telling them from the document's own.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from predict_tags import select
from tagtopic import TWDA, Corpus

LEVELS = (0.2, 0.4, 0.5, 0.8, 1.0)


def with_noise(corpus: Corpus, known: Any, level: float, random: np.random.Generator) -> tuple[Corpus, Any]:
    """The corpus with random tags added, and a 0/1 matrix of its own."""
    own = sp.csr_array(corpus.tags)
    sizes = np.ceil(level * np.diff(own.indptr) - 1e-9).astype(int)
    rows = np.repeat(np.arange(len(corpus)), sizes)
    added = sp.csr_array((np.ones(len(rows), np.int8), (rows, random.choice(known, len(rows)))), shape=own.shape)
    tags = (sp.csr_array(own + added) > 0).astype(np.int8)
    names = {"words": corpus.words, "tag_names": corpus.tag_names, "ids": corpus.ids}
    return Corpus.from_counts(corpus.counts, tags, **names), own


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--kind", required=True)
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    corpus = Corpus.read(chosen.corpus, stop_words="en", min_df=2, progress=False)
    corpus = select(corpus, chosen.kind, chosen.least, chosen.documents, chosen.seed)
    train, test = corpus.split(0.2, random_state=chosen.seed)
    model = TWDA(chosen.topics, max_iter=chosen.iterations, random_state=chosen.seed, progress=False).fit(train)
    known = np.flatnonzero(model.tag_frequencies_)
    random = np.random.default_rng(chosen.seed)
    for level in LEVELS:
        noisy, own = with_noise(test, known, level, random)
        places = {name: i for i, name in enumerate(noisy.ids)}
        columns = {name: j for j, name in enumerate(noisy.tag_names)}
        entries = [e for e in model.audit_tags(noisy).entries if model.tag_frequencies_[columns[e.tag]] > 0]
        right = np.asarray(own[[places[e.document] for e in entries], [columns[e.tag] for e in entries]]).ravel() > 0
        belongs = roc_auc_score(right, [e.belongs for e in entries])
        weight = roc_auc_score(right, [e.weight / e.expected_weight for e in entries])
        shares = [
            np.mean([e.weight for e, own in zip(entries, right, strict=True) if own == is_own]) for is_own in (1, 0)
        ]
        print(
            f"{level:.0%} noise: AUC {belongs:.3f} (weight / expected weight alone {weight:.3f}); "
            f"mean weight of own tags {shares[0]:.3f}, of noise {shares[1]:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
