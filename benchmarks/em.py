"""Time one EM iteration of TWTM against scikit-learn's LDA and one pass of gensim's author-topic model.

    python benchmarks/em.py PATH [--topics 20 100] [--threads 2] [--repeats 5]

PATH is anything that ``Corpus.read`` accepts. All are timed in turn in one process, best of several: only ratios within
one run are meaningful. Then the peak resident memory added by a fit is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tagtopic import TWTM, Corpus


def tagtopic_iteration(corpus: Corpus, n_topics: int, n_jobs: int) -> float:
    """Return the fastest of ten iterations after the first."""
    times: list[float] = []
    TWTM(
        n_topics, max_iter=11, tol=0, n_jobs=n_jobs, random_state=0, init="random",
        callbacks=[lambda _iteration, _bound, seconds: times.append(seconds)],
    ).fit(corpus)  # fmt: skip
    return min(later - earlier for earlier, later in pairwise(times))


def scikit_learn_iteration(corpus: Corpus, n_topics: int, n_jobs: int) -> float:
    """Return the mean of four batch iterations."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(n_topics, max_iter=4, n_jobs=n_jobs, random_state=0)
    start = time.perf_counter()
    model.fit(corpus.counts)
    return (time.perf_counter() - start) / 4


def gensim_pass(corpus: Corpus, n_topics: int) -> float:
    """Time one pass of the author-topic model with its defaults, on one thread."""
    from gensim.models import AuthorTopicModel

    logging.getLogger("gensim").setLevel(logging.ERROR)
    rows = corpus.counts
    bags = [
        list(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)) for a, b in pairwise(rows.indptr)
    ]
    tags = corpus.tags
    authors = {d: [corpus.tag_names[j] for j in tags.indices[a:b]] for d, (a, b) in enumerate(pairwise(tags.indptr))}
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


def resident(name: str) -> float:
    """Return resident bytes now ("VmRSS") or at the peak ("VmHWM"); Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * int(next(line for line in lines if line.startswith(name)).split()[1])


def peak_growth(corpus: Corpus, model: TWTM) -> tuple[float, float]:
    """Return the peak increase of resident memory until the last EM iteration, and over the whole fit."""
    peaks: list[float] = []
    model.set_params(callbacks=[lambda *_: peaks.append(resident("VmHWM"))])
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident("VmRSS")
    model.fit(corpus)
    return peaks[-1] - before, resident("VmHWM") - before


def measure_memory(path: str, n_topics: int, n_jobs: int) -> None:
    """Print the size of the corpus, the memory bound, and the peak memory that a fit adds."""
    corpus = tagged(Corpus.read(path, min_df=1, stop_words=None))
    model = TWTM(n_topics, max_iter=10, n_jobs=n_jobs, random_state=0)
    # compile and import everything on a small part first: code is not measured
    model.fit(corpus[:100])
    size = sum(array.nbytes for m in (corpus.counts, corpus.tags) for array in (m.data, m.indices, m.indptr))
    allowed = 4 * (corpus.n_words + corpus.n_tags) * n_topics * 4 + 2 * size
    em, whole = peak_growth(corpus, model)
    print(
        f"K = {n_topics}: corpus {size / 1e6:.1f} MB, allowed {allowed / 1e6:.1f} MB; initialisation and EM add "
        f"{em / 1e6:.1f} MB, the whole fit with the tag predictor {whole / 1e6:.1f} MB"
    )


def tagged(corpus: Corpus) -> Corpus:
    """Return the documents that have tags, which TWTM requires."""
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
        ours = best(lambda k=n_topics: tagtopic_iteration(corpus, k, given.threads), given.repeats)  # type: ignore[misc]
        theirs = {
            f"scikit-learn, {jobs} job(s)": best(
                lambda k=n_topics, j=jobs: scikit_learn_iteration(corpus, k, j),  # type: ignore[misc]
                max(1, given.repeats // 2),
            )
            for jobs in sorted({1, given.threads})
        }
        theirs["gensim author-topic"] = gensim_pass(corpus, n_topics)
        print(f"K = {n_topics}: TWTM {ours:.4f} s per iteration")
        for name, seconds in theirs.items():
            print(f"  {name}: {seconds:.3f} s, {seconds / ours:.1f} times as long")
    for n_topics in given.topics:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--memory-of", str(n_topics)], check=True)


if __name__ == "__main__":
    main()
