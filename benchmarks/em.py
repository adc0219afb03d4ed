"""One EM iteration of TWTM against one of scikit-learn's LDA and one pass of gensim's author-topic model.

    python benchmarks/em.py PATH [--topics 20 100] [--threads 2] [--repeats 5]

PATH is anything that ``Corpus.read`` takes. All are timed in turn in one process, best of several, because only ratios
within one run mean anything. Then, in a process of its own, the peak of resident memory that a fit adds.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
import time
from collections.abc import Callable

from tagtopic import TWTM, Corpus


def our_iteration(corpus: Corpus, n_topics: int, n_jobs: int) -> float:
    """The quickest of ten iterations after the first."""
    times: list[float] = []
    TWTM(
        n_topics, max_iter=11, tol=0, n_jobs=n_jobs, random_state=0, init="random",
        callbacks=[lambda _iteration, _bound, seconds: times.append(seconds)],
    ).fit(corpus)  # fmt: skip
    return min(later - earlier for earlier, later in zip(times, times[1:], strict=False))


def scikit_learn_iteration(corpus: Corpus, n_topics: int, n_jobs: int) -> float:
    """The mean of four batch iterations."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, max_iter=4, n_jobs=n_jobs, random_state=0)
    start = time.perf_counter()
    model.fit(corpus.counts)
    return (time.perf_counter() - start) / 4


def gensim_pass(corpus: Corpus, n_topics: int) -> float:
    """One pass of the author-topic model with its defaults; it has no threads."""
    from gensim.models import AuthorTopicModel

    logging.getLogger("gensim").setLevel(logging.ERROR)
    rows = corpus.counts
    bags = [
        list(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))
        for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)
    ]
    tags = corpus.tags
    authors = {
        d: [corpus.tag_names[j] for j in tags.indices[a:b]]
        for d, (a, b) in enumerate(zip(tags.indptr, tags.indptr[1:], strict=False))
    }
    start = time.perf_counter()
    AuthorTopicModel(
        bags,
        n_topics,
        id2word=dict(enumerate(corpus.words)),
        doc2author=authors,
        passes=1,
        eval_every=0,
        random_state=0,
    )
    return time.perf_counter() - start


def best(function: Callable[[], float], repeats: int) -> float:
    return min(function() for _ in range(repeats))


def measure_memory(path: str, n_topics: int, n_jobs: int) -> None:
    """Print the corpus's size, what the bound allows, and what a fit added to the peak of resident memory (MB)."""
    import resource

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    corpus = tagged(Corpus.read(path, min_df=1, stop_words=None))
    # compile and import everything on a sliver first: the code is not what is measured
    TWTM(n_topics, max_iter=2, n_jobs=n_jobs, random_state=0).fit(corpus[:100])
    size = sum(array.nbytes for m in (corpus.counts, corpus.tags) for array in (m.data, m.indices, m.indptr))
    before = peak()
    TWTM(n_topics, max_iter=10, n_jobs=n_jobs, random_state=0, init="random").fit(corpus)
    iterations = peak() - before
    TWTM(n_topics, max_iter=10, n_jobs=n_jobs, random_state=0).fit(corpus)
    with_start = peak() - before
    allowed = 4 * (corpus.n_words + corpus.n_tags) * n_topics * 4 + 2 * size
    print(
        f"K = {n_topics}: corpus {size / 1e6:.1f} MB, allowed {allowed / 1e6:.1f} MB, "
        f"EM added {iterations / 1e6:.1f} MB, with the default start {with_start / 1e6:.1f} MB"
    )


def tagged(corpus: Corpus) -> Corpus:
    """The documents that have tags, which are all that TWTM takes."""
    return corpus[corpus.tags.indptr[1:] > corpus.tags.indptr[:-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory-of", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory_of:
        measure_memory(given.path, given.memory_of, given.threads)
        return
    corpus = tagged(Corpus.read(given.path, min_df=1, stop_words=None))
    print(corpus)
    for n_topics in given.topics:
        ours = best(lambda k=n_topics: our_iteration(corpus, k, given.threads), given.repeats)  # type: ignore[misc]
        theirs = {
            f"scikit-learn, {jobs} job(s)": best(
                lambda k=n_topics, j=jobs: scikit_learn_iteration(corpus, k, j),  # type: ignore[misc]
                max(1, given.repeats // 2),
            )
            for jobs in sorted({1, given.threads})
        }
        theirs["gensim author-topic"] = gensim_pass(corpus, n_topics)
        print(f"K = {n_topics}: TWTM {ours:.4f} s an iteration")
        for name, seconds in theirs.items():
            print(f"  {name}: {seconds:.3f} s, {seconds / ours:.1f} times as long")
    for n_topics in given.topics:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--memory-of", str(n_topics)], check=True)


if __name__ == "__main__":
    main()
