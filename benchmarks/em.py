"""Time one EM iteration of TWTM, and measure the memory of a fit.

    python benchmarks/em.py PATH [--topics 20 100] [--threads 2] [--repeats 5] [--only-memory]

PATH is anything that ``Corpus.read`` accepts. Best of several: compare with other versions within one run only. The
peak resident memory added by a fit is measured in a process of its own. Iterations of different methods differ in what
they achieve: ``time_to_quality.py`` compares libraries by the time until they reach a held-out perplexity.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from sklearn.base import clone

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


def peak_growth(corpus: Corpus, model: TWTM) -> tuple[float, float, float]:
    """Return what a fit adds to resident memory: its peak, the peak with the tag predictor, and what stays."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before would hide what the fit allocates
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident("VmRSS")
    model.fit(corpus)
    fitted = resident("VmHWM") - before
    assert model.tag_predictor_ is not None  # fitted by its first use
    whole = resident("VmHWM") - before
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return fitted, whole, resident("VmRSS") - before


def measure_memory(path: str, n_topics: int, inference: str, n_jobs: int) -> None:
    """Print the size of the corpus, the memory bound, and the peak memory that a fit adds."""
    corpus = tagged(Corpus.read(path, min_df=1, stop_words=None))
    model = TWTM(n_topics, inference=inference, max_iter=10, n_jobs=n_jobs, random_state=0)
    # code is not measured: all is compiled and imported first, also the kernels that only larger corpora use
    model.fit(corpus).predict_tags(corpus[:1])
    model = clone(model)
    size = sum(array.nbytes for m in (corpus.counts, corpus.tags) for array in (m.data, m.indices, m.indptr))
    allowed = 4 * (corpus.n_words + corpus.n_tags) * n_topics * 4 + 2 * size
    fit, whole, kept = peak_growth(corpus, model)
    print(
        f"K = {n_topics}, {model.inference_}: corpus {size / 1e6:.1f} MB, allowed {allowed / 1e6:.1f} MB; a fit adds "
        f"{fit / 1e6:.1f} MB, the tag predictor, which its first use fits, {whole / 1e6:.1f} MB at its peak, and "
        f"{kept / 1e6:.1f} MB stay"
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
    parser.add_argument("--only-memory", action="store_true")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory_of:
        measure_memory(given.path, int(given.memory_of[0]), given.memory_of[1], given.threads)
        return
    if not given.only_memory:
        time_iterations(given.path, given.topics, given.threads, given.repeats)
    for n_topics in given.topics:
        for inference in ("auto", "cvb0"):
            command = [sys.executable, __file__, given.path, "--threads", str(given.threads)]
            # arrays return to the system when they are freed, so that resident memory is what is in use
            environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 17), "MALLOC_TRIM_THRESHOLD_": str(1 << 17)}
            subprocess.run([*command, "--memory-of", str(n_topics), inference], env=environment, check=True)


def time_iterations(path: str, topics: list[int], n_jobs: int, repeats: int) -> None:
    """Print the time of one EM iteration for each number of topics."""
    corpus = tagged(Corpus.read(path, min_df=1, stop_words=None))
    print(corpus)
    for n_topics in topics:
        ours = best(lambda k=n_topics: tagtopic_iteration(corpus, k, n_jobs), repeats)  # type: ignore[misc]
        print(f"K = {n_topics}: TWTM {ours:.4f} s per iteration")


if __name__ == "__main__":
    main()
