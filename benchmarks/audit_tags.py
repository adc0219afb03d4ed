"""Measure how well the audit finds random tags added to held-out documents, as in the paper's section 7.5.

    python benchmarks/audit_tags.py acl.jsonl.gz --kind author --least 5 --documents 27435 --seed 0

Documents and split are those of predict_tags.py. For each level, that share of each document's number of tags (rounded
up) is added, drawn at random from all training tags; the AUC is that of separating them from the original tags.
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
    """Add random tags; return the corpus and the 0/1 matrix of its original tags."""
    own = sp.csr_array(corpus.tags)
    sizes = np.ceil(level * np.diff(own.indptr) - 1e-9).astype(int)
    rows = np.repeat(np.arange(len(corpus)), sizes)
    added = sp.csr_array((np.ones(len(rows), np.int8), (rows, random.choice(known, len(rows)))), shape=own.shape)
    tags = (sp.csr_array(own + added) > 0).astype(np.int8)
    names = {"words": corpus.words, "tag_names": corpus.tag_names, "ids": corpus.ids}
    return Corpus.from_counts(corpus.counts, tags, **names), own


def measure(model: TWDA, test: Corpus, seed: int) -> list[tuple[float, float]]:
    """Return per level the AUC of the audit, and of weight over expected weight alone; also print them."""
    known = np.flatnonzero(model.tag_frequencies_)
    random = np.random.default_rng(seed)
    found = []
    for level in LEVELS:
        noisy, own = with_noise(test, known, level, random)
        table = model.audit_tags(noisy).entries
        places, columns = ({name: i for i, name in enumerate(names)} for names in (noisy.ids, noisy.tag_names))
        rows = np.array([places[name] for name in table.column("document")])
        tags = np.array([columns[name] for name in table.column("tag")])
        seen = model.tag_frequencies_[tags] > 0
        right = np.asarray(own[rows[seen], tags[seen]]).ravel() > 0
        ratio = table.column("weight") / table.column("expected_weight")
        weight = table.column("weight")[seen]
        found.append((roc_auc_score(right, table.column("plausibility")[seen]), roc_auc_score(right, ratio[seen])))
        kinds = np.array([name.partition(":")[0] for name in noisy.tag_names])[tags[seen]]
        by_kind = {
            str(kind): f"{roc_auc_score(right[kinds == kind], table.column('plausibility')[seen][kinds == kind]):.3f}"
            for kind in np.unique(kinds)
        }
        print(
            f"{level:.0%} noise: AUC {found[-1][0]:.3f} (weight / expected alone {found[-1][1]:.3f}); mean weight "
            f"of original tags {weight[right].mean():.3f}, of noise {weight[~right].mean():.3f}; by kind {by_kind}",
            flush=True,
        )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--kind", required=True, help="one kind of tag, or several separated by commas")
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--validate", action="store_true", help="hold out a part of the training documents, to choose settings"
    )
    arguments = parser.parse_args()
    read = Corpus.read(arguments.corpus, stop_words="en", min_df=2, progress=False)
    runs = []
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        corpus = select(read, arguments.kind, arguments.least, arguments.documents, seed)
        train, test = corpus.split(0.2, random_state=seed)
        if arguments.validate:
            train, test = train.split(0.2, random_state=seed)
        print(f"seed {seed}: {len(train)} training documents, {len(test)} held out, {corpus.n_tags} tags", flush=True)
        model = TWDA(arguments.topics, max_iter=arguments.iterations, random_state=seed, progress=False).fit(train)
        runs.append(measure(model, test, seed))
    for level, values in zip(LEVELS, np.array(runs).transpose(1, 0, 2), strict=True):
        means, spreads = values.mean(axis=0), values.std(axis=0)
        print(
            f"mean of {len(runs)}, {level:.0%} noise: AUC {means[0]:.4f} (sd {spreads[0]:.4f}), "
            f"weight alone {means[1]:.4f} (sd {spreads[1]:.4f})"
        )


if __name__ == "__main__":
    main()
