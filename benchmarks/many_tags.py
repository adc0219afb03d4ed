"""Measure time and memory of scoring many documents against many tags, with all cores and with one.

    python benchmarks/many_tags.py --tags 150000 --words 200000 --documents 10000

Words and tags of the training documents follow Zipf's law, and TWDA is fitted for one iteration (the values of its
arrays do not change the work). Printed are the time and the peak resident memory of ``predict_tags`` with both methods,
``rank_tags`` and ``audit_tags`` on a batch of documents.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic import TWDA, Corpus


def zipf_rows(n_rows: int, n_columns: int, mean: int, random: np.random.Generator) -> Any:
    """Return CSR (rows, columns) with about ``mean`` distinct columns per row, low numbers most frequent."""
    import scipy.sparse as sp

    sizes = np.maximum(random.poisson(mean, n_rows), 1)
    rows = np.repeat(np.arange(n_rows), sizes)
    columns = np.minimum((n_columns ** random.random(len(rows))).astype(np.int64), n_columns - 1)
    table = sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(n_rows, n_columns))
    table.sum_duplicates()
    return table


def corpus_of(n: int, words: int, tags: int, random: np.random.Generator) -> Corpus:
    """Draw documents with about 80 words and 8 tags each."""
    tag_table = zipf_rows(n, tags, 8, random)
    tag_table.data[:] = 1
    names = [f"tag:{j}" for j in range(tags)]
    return Corpus.from_counts(zipf_rows(n, words, 80, random), tag_table, tag_names=names)


def resident() -> float:
    """Return resident megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class PeakMemory:
    """Samples the resident memory while something runs."""

    def __enter__(self) -> PeakMemory:
        self.peak, self.done = resident(), False
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self.done:
            self.peak = max(self.peak, resident())
            time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        self.done = True
        self._thread.join()


def show(name: str, work: Callable[[], object]) -> None:
    """Run and print seconds and megabytes."""
    before, started = resident(), time.perf_counter()
    cpu = time.process_time()
    with PeakMemory() as memory:
        work()
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    print(
        f"{name:34s} {seconds:7.1f} s ({used / seconds:.2f} cores busy), resident {before:,.0f} MB before, "
        f"{memory.peak:,.0f} MB at the peak",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tags", type=int, default=150_000)
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--training", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--likelihood", type=int, default=200, help="documents for the paper's score, which is slow")
    parser.add_argument("--audited", type=int, default=2000, help="training documents that are ranked and audited")
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    train = corpus_of(arguments.training, arguments.words, arguments.tags, random)
    new = corpus_of(arguments.documents, arguments.words, arguments.tags, random)
    model = TWDA(arguments.topics, inference="cvb0", max_iter=1, init="random", random_state=0, progress=False)
    show("fit, one iteration", lambda: model.fit(train))
    model.predict_tags(new[:10])  # compiles
    show(f"predict_tags, {len(new):,} documents", lambda: model.predict_tags(new))
    model.set_params(n_jobs=1)
    show(f"the same with one thread, {len(new) // 10:,}", lambda: model.predict_tags(new[: len(new) // 10]))
    model.set_params(n_jobs=None)
    some = new[: arguments.likelihood]
    show(f"the paper's score, {len(some):,}", lambda: model.predict_tags(some, method="likelihood"))
    ranked = train[: arguments.audited]
    show(f"rank_tags, {ranked.tags.nnz:,} entries", lambda: model.rank_tags(ranked))
    show(f"audit_tags, {ranked.tags.nnz:,} entries", lambda: model.audit_tags(ranked).entries[0])


if __name__ == "__main__":
    main()
