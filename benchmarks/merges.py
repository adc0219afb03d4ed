"""Print the first proposed merges of near-duplicate tags, to be judged one by one (docs/results/merges.md).

    python benchmarks/merges.py tmdb10k.jsonl.gz --kind keyword --least 2
    python benchmarks/merges.py acl.jsonl.gz --kind author --least 3 --iterations 12

Columns: tag, tag, similarities of topics and of names, documents of each, documents with both, and the number of tags
that occur together with both of them (for authors: common co-authors, which is evidence that they are one person).
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic import TWDA, Corpus
from tagtopic.tagging import near_duplicates


def common_neighbours(together: Any, first: int, second: int) -> int:
    """The number of tags that occur on documents of both tags."""
    one, other = (set(together.indices[slice(*together.indptr[tag : tag + 2])]) for tag in (first, second))
    return len((one & other) - {first, second})


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--kind", required=True, help="kind of tags")
    parser.add_argument("--least", type=int, default=2, help="documents of a tag, at least")
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--first", type=int, default=50, help="pairs to print")
    parser.add_argument("--by-topics", action="store_true", help="in the order of the similarity of topics alone")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    corpus = Corpus.read(given.path, keep_kinds=[given.kind], min_tag_documents=given.least, progress=False)
    model = TWDA(50, inference="cvb0", random_state=0, progress=False, max_iter=given.iterations, tag_predictor=False)
    tags = sp.csr_array(corpus.tags)
    pairs = near_duplicates(corpus.tag_names, model.fit(corpus).tag_topics_, tags)
    if given.by_topics:
        pairs = sorted(pairs, key=lambda pair: -pair.topic_similarity)
    together = sp.csr_array(tags.T.astype(np.int32) @ tags.astype(np.int32))
    columns = {name: number for number, name in enumerate(corpus.tag_names)}
    print(f"{len(pairs):,} proposals")
    for pair in pairs[: given.first]:
        common = common_neighbours(together, columns[pair.first], columns[pair.second])
        names = (name.removeprefix(f"{given.kind}:") for name in (pair.first, pair.second))
        values = (f"{pair.topic_similarity:.2f}", pair.name_similarity, *pair.documents, pair.together, common)
        print("\t".join(map(str, (*names, *values))))


if __name__ == "__main__":
    main()
