"""Measure prediction with given tags, and whether the reasons for predicted tags are faithful.

    python benchmarks/complete_tags.py tmdb10k.jsonl.gz --kind keyword --seeds 5

Documents, tags and split are those of predict_tags.py. Of each held-out document with several tags one is hidden; it is
looked for by popularity, by the words alone (without the tags that are given), and by words and given tags. For the
first tag that is predicted for a document, the five words that ``reasons`` names are taken out of it, and five random
ones of its words; the reasons are faithful if the named ones lower the log odds more.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp

from predict_tags import groups_of, select, split
from tagtopic import Corpus
from tagtopic.tagging import TagPredictor
from tagtopic.tagging.reasons import reasons_for


def hide_one(tags: Any, random: np.random.Generator) -> tuple[Any, Any]:
    """Return the tags without one of each document, and the hidden ones."""
    hidden = tags.indptr[:-1] + (random.random(tags.shape[0]) * np.diff(tags.indptr)).astype(int)
    data = tags.data.copy()
    data[hidden] = 0
    given = sp.csr_array((data, tags.indices.copy(), tags.indptr.copy()), shape=tags.shape)
    given.eliminate_zeros()
    return given, tags.indices[hidden]


def hit_and_rank(ranked: list[list[int]], hidden: Any) -> tuple[float, float]:
    """Return hit@10 and the mean reciprocal rank of the hidden tags."""
    ranks = [row.index(tag) + 1 if tag in row else 0 for row, tag in zip(ranked, hidden.tolist(), strict=True)]
    return float(np.mean([0 < r <= 10 for r in ranks])), float(np.mean([1 / r if r else 0 for r in ranks]))


def completion(predictor: TagPredictor, train: Corpus, test: Corpus, random: np.random.Generator) -> dict[str, Any]:
    """Return hit@10 and MRR of each method."""
    tags = sp.csr_array(test.tags)
    rows = np.flatnonzero(np.diff(tags.indptr) > 1)
    given, hidden = hide_one(sp.csr_array(tags[rows]), random)
    own = [set(given.indices[given.indptr[i] : given.indptr[i + 1]].tolist()) for i in range(len(rows))]
    number = {name: j for j, name in enumerate(train.tag_names)}
    popular = np.argsort(-np.bincount(train.tags.indices, minlength=train.n_tags), kind="stable")[:300].tolist()
    counts = sp.csr_array(test.counts[rows])
    words = [[number[tag] for tag, _ in row] for row in predictor.predict_counts(counts, 200)]
    both = [[number[tag] for tag, _ in row] for row in predictor.predict_counts(counts, 100, given=given)]
    return {
        "popularity": hit_and_rank([[tag for tag in popular if tag not in mine] for mine in own], hidden),
        "words": hit_and_rank(
            [[t for t in row if t not in mine] for row, mine in zip(words, own, strict=True)], hidden
        ),
        "words and given tags": hit_and_rank(both, hidden),
    }


def faithfulness(predictor: TagPredictor, test: Corpus, n: int, random: np.random.Generator) -> float:
    """Return the share of documents where the named words lower the log odds more than random ones."""
    number = {name: j for j, name in enumerate(predictor.tag_names_)}
    column = {name: j for j, name in enumerate(predictor.words_ or ())}
    lower = []
    for i in range(len(test)):
        row = sp.csr_array(test.counts[i : i + 1])
        if row.nnz < 12 or len(lower) == n:
            continue
        tag = number[predictor.predict_counts(row, 1)[0][0][0]]
        (reason,) = reasons_for(predictor, row, [tag])
        named = [column[word] for word, _ in reason.words]
        drawn = random.choice(row.indices, len(named), replace=False)
        without = []
        for gone in (named, drawn):
            kept = ~np.isin(row.indices, gone)
            fewer = sp.csr_array((row.data[kept], row.indices[kept], np.array([0, int(kept.sum())])), shape=row.shape)
            without.append(reasons_for(predictor, fewer, [tag])[0].log_odds)
        lower.append(without[0] < without[1] or set(named) == set(drawn.tolist()))
    return float(np.mean(lower))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--kind", required=True, help="one kind of tag, or several separated by commas")
    parser.add_argument("--least", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10**9)
    parser.add_argument("--groups", help="a column; documents with the same value stay together")
    parser.add_argument("--explained", type=int, default=200, help="documents whose reasons are checked")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    read = Corpus.read(arguments.corpus, stop_words="en", min_df=2, progress=False)
    groups = groups_of(arguments.corpus, arguments.groups, read)
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        random = np.random.default_rng(seed)
        corpus = select(read, arguments.kind, arguments.least, arguments.documents, seed)
        train, test = split(corpus, seed, groups)
        predictor = TagPredictor().fit(train)
        for name, (hit, rank) in completion(predictor, train, test, random).items():
            print(f"seed {seed}, {name}: hit@10 {hit:.3f}, MRR {rank:.3f}", flush=True)
        share = faithfulness(predictor, test, arguments.explained, random)
        print(f"seed {seed}: the named words lower the log odds more than random ones in {share:.1%}", flush=True)


if __name__ == "__main__":
    main()
