"""Time one EM iteration of TWTM, and measure the memory of a fit.

    python benchmarks/em.py PATH [--topics 20 100] [--threads 2] [--repeats 5]

PATH is anything that ``Corpus.read`` accepts. Best of several: compare with other versions within one run only. The
peak resident memory added by a fit is measured in a process of its own. Iterations of different methods differ in what
they achieve: ``time_to_quality.py`` compares libraries by the time until they reach a held-out perplexity.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tagtopic import TWTM, Corpus


def tagtopic_iteration(corpus: Corpus, n_topics: int, n_jobs: int) -> float:
    """Return the fastest of ten iterations after the first."""
    times: list[float] = []
    TWTM(
        n_topics, inference="cvb0", max_iter=11, tol=0, n_jobs=n_jobs, random_state=0, init="random",
        callbacks=[lambda _iteration, _bound, seconds: times.append(seconds)],
    ).fit(corpus)  # fmt: skip
    return min(later - earlier for earlier, later in pairwise(times))


def best(function: Callable[[], float], repeats: int) -> float:
    return min(function() for _ in range(repeats))


def resident(name: str) -> float:
    """Return resident bytes now ("VmRSS") or at the peak ("VmHWM"); Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * int(next(line for line in lines if line.startswith(name)).split()[1])


def peak_growth(corpus: Corpus, model: TWTM) -> tuple[float, float]:
    """Return the peak increase of resident memory over the fit, and until the tag predictor is fitted too."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident("VmRSS")
    model.fit(corpus)
    fitted = resident("VmHWM") - before
    assert model.tag_predictor_ is not None  # fitted by its first use
    return fitted, resident("VmHWM") - before


def measure_memory(path: str, n_topics: int, n_jobs: int) -> None:
    """Print the size of the corpus, the memory bound, and the peak memory that a fit adds."""
    corpus = tagged(Corpus.read(path, min_df=1, stop_words=None))
    model = TWTM(n_topics, inference="cvb0", max_iter=10, n_jobs=n_jobs, random_state=0)
    # compile and import everything on a small part first: code is not measured
    model.fit(corpus[:2000]).predict_tags(corpus[:1])
    size = sum(array.nbytes for m in (corpus.counts, corpus.tags) for array in (m.data, m.indices, m.indptr))
    allowed = 4 * (corpus.n_words + corpus.n_tags) * n_topics * 4 + 2 * size
    fit, whole = peak_growth(corpus, model)
    print(
        f"K = {n_topics}: corpus {size / 1e6:.1f} MB, allowed {allowed / 1e6:.1f} MB; a fit adds {fit / 1e6:.1f} MB, "
        f"with the tag predictor, which its first use fits, {whole / 1e6:.1f} MB"
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
        print(f"K = {n_topics}: TWTM {ours:.4f} s per iteration")
    for n_topics in given.topics:
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--memory-of", str(n_topics)], check=True)


if __name__ == "__main__":
    main()
