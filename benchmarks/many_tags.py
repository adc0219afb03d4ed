"""Scoring many documents against many tags: time and memory, and the same without all cores.

    python benchmarks/many_tags.py --tags 150000 --words 200000 --documents 10000

Training documents with words and tags drawn by Zipf's law, TWDA's arrays of the right sizes (random: their values do
not change the work), and a batch of new documents. What is shown is the peak of resident memory over what the model
itself takes, for ``predict_tags`` with both methods, ``rank_tags`` and ``audit_tags``.
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
    """CSR (rows, columns) with about ``mean`` different columns a row, common ones first."""
    import scipy.sparse as sp

    sizes = np.maximum(random.poisson(mean, n_rows), 1)
    rows = np.repeat(np.arange(n_rows), sizes)
    columns = np.minimum((n_columns ** random.random(len(rows))).astype(np.int64), n_columns - 1)
    table = sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(n_rows, n_columns))
    table.sum_duplicates()
    return table


def corpus_of(n: int, words: int, tags: int, random: np.random.Generator) -> Corpus:
    """Documents with 80 words and 8 tags each."""
    tag_table = zipf_rows(n, tags, 8, random)
    tag_table.data[:] = 1
    names = [f"tag:{j}" for j in range(tags)]
    return Corpus.from_counts(zipf_rows(n, words, 80, random), tag_table, tag_names=names)


def resident() -> float:
    """Megabytes now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Peak:
    """Watches the resident memory while something runs."""

    def __enter__(self) -> Peak:
        self.most, self.done = resident(), False
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self.done:
            self.most = max(self.most, resident())
            time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        self.done = True
        self._thread.join()


def show(name: str, work: Callable[[], object]) -> None:
    """Run and print seconds and megabytes."""
    before, started = resident(), time.perf_counter()
    cpu = time.process_time()
    with Peak() as peak:
        work()
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    print(
        f"{name:34s} {seconds:7.1f} s ({used / seconds:.2f} cores busy), resident {before:,.0f} MB before, "
        f"{peak.most:,.0f} MB at the peak",
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
    chosen = parser.parse_args()
    random = np.random.default_rng(0)
    train = corpus_of(chosen.training, chosen.words, chosen.tags, random)
    new = corpus_of(chosen.documents, chosen.words, chosen.tags, random)
    model = TWDA(chosen.topics, max_iter=1, init="random", random_state=0, progress=False)
    show("fit, one iteration", lambda: model.fit(train))
    model.predict_tags(new[:10])  # compiles
    show(f"predict_tags, {len(new):,} documents", lambda: model.predict_tags(new))
    model.set_params(n_jobs=1)
    show(f"the same with one thread, {len(new) // 10:,}", lambda: model.predict_tags(new[: len(new) // 10]))
    model.set_params(n_jobs=None)
    some = new[: chosen.likelihood]
    show(f"the paper's score, {len(some):,}", lambda: model.predict_tags(some, method="likelihood"))
    ranked = train[: chosen.audited]
    show(f"rank_tags, {ranked.tags.nnz:,} entries", lambda: model.rank_tags(ranked))
    show(f"audit_tags, {ranked.tags.nnz:,} entries", lambda: model.audit_tags(ranked).entries[0])


if __name__ == "__main__":
    main()
