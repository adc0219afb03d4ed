"""The cost of averaging the partitions' priors (Solution II): held-out perplexity against the exact update.

    python benchmarks/prior_averaging.py groups                    # 40 groups of documents that share no tags
    python benchmarks/prior_averaging.py FILE [--text … --tags …] [-k 20] [--partitions 2 8]

TWTM is fitted to four fifths of the documents, with the prior of the tag weights learnt at iterations 20, 30 and 40;
the last fifth is scored by document completion. "weighted" is tagtopic's mean, "plain" the paper's.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import scipy.sparse as sp

from tagtopic import TWTM, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import SparkEngine
from tagtopic.engines.distributed.components import component_report
from tagtopic.testing import SparkCluster

GROUPS = 40


def grouped_corpus() -> Corpus:
    """Draw groups of documents that share words but no tags: at least as many connected components."""
    parts = [make_tagged_corpus(100, 10, 12, 1000, random_state=seed).corpus for seed in range(GROUPS)]
    tags = [[f"{group}:{tag}" for tag in document.tags] for group, part in enumerate(parts) for document in part]
    order = np.random.default_rng(0).permutation(len(tags))
    counts = sp.csr_array(sp.vstack([part.counts for part in parts]))
    return Corpus.from_counts(counts[order], [tags[i] for i in order])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--text", default="text")
    parser.add_argument("--tags", nargs="+")
    parser.add_argument("-k", "--topics", type=int, default=20)
    parser.add_argument("--partitions", type=int, nargs="+", default=[2, 8])
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    corpus = (
        grouped_corpus() if given.corpus == "groups" else Corpus.read(given.corpus, text=given.text, tags=given.tags)
    )
    corpus = corpus[np.flatnonzero(corpus.document_sizes()[1])]
    train, test = corpus.split(0.2, 0)
    print(f"{train!r}; {component_report(train.tags, 2)}")
    model = TWTM(given.topics, tag_weight_prior="estimate", max_iter=41, tol=0, random_state=0, progress=False)
    exact = model.fit(train).perplexity(test)
    print(f"exact                  {exact:10.2f}", flush=True)
    config = {"spark.log.level": "ERROR"}
    with SparkCluster(workers=2) as cluster:
        for partitions in given.partitions:
            for average in ("weighted", "plain"):
                engine = SparkEngine(
                    master=cluster.master, weight_update="average", average=average, partitions=partitions,
                    block_entries=max(1, train.counts.nnz // (2 * partitions)), config=config,
                )  # fmt: skip
                with engine:
                    value = model.fit(train, engine=engine).perplexity(test)
                print(f"{partitions:3} partitions, {average:8} {value:8.2f} {value / exact - 1:+.3%}", flush=True)


if __name__ == "__main__":
    main()
