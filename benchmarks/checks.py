"""Measure what checks cost: loading a model of a gigabyte, and `transform` of 100,000 documents, with and without them.

    python benchmarks/checks.py [--megabytes 1000] [--topics 1000] [--documents 100000] [--repeats 5]

With and without checks alternate; seconds by the clock and CPU seconds, best of several. Without them, models are read
as before there were checks: by safetensors, names one by one. The indices of sparse matrices are taken as they are.
``NUMPY_MADVISE_HUGEPAGE=0`` is needed where memory is fragmented: else most of what is measured is the time in which
the kernel makes huge pages, for NumPy's arrays and for none of safetensors'.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from tagtopic import TWDA
from tagtopic._core.strings import StringArray
from tagtopic.corpus import validation
from tagtopic.models import _io

WORDS_PER_DOCUMENT = 60


def large_model(n_bytes: int, n_topics: int) -> TWDA:
    """Return a model whose topics take about this many bytes."""
    n_words = n_bytes // (4 * n_topics)
    rng = np.random.default_rng(0)
    documents = sp.csr_array(
        (np.ones(20 * 50, np.int32), rng.integers(0, n_words, 20 * 50), np.arange(0, 20 * 50 + 1, 50)), (20, n_words)
    )
    settings: dict[str, Any] = {"inference": "cvb0", "init": "random", "dtype": "float32", "tag_predictor": False}
    model = TWDA(n_topics, max_iter=1, random_state=0, progress=False, **settings)
    return model.fit(documents, tags=[[f"tag {i % 5}"] for i in range(20)])


def read_by_safetensors(path: Path, kind: str, *_: Any, **__: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the same file as models were read before there were checks, by safetensors."""
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:
        return json.loads(file.metadata()[kind]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def one_by_one(names: StringArray) -> tuple[str, ...]:
    """Unpack names as before there were checks."""
    return tuple(names)


@contextmanager
def no_checks_of_files() -> Iterator[None]:
    """Read model files by safetensors and names one by one, and take all values as they are."""
    with (
        mock.patch.object(_io, "read_tensors", side_effect=read_by_safetensors),
        mock.patch.object(_io, "_check_values"),
        mock.patch.object(_io, "require_distinct"),
        mock.patch.object(StringArray, "may_repeat", return_value=False),
        mock.patch.object(StringArray, "to_tuple", one_by_one),
    ):
        yield


@contextmanager
def no_checks_of_arrays() -> Iterator[None]:
    """Take sparse matrices as they are."""
    with (
        mock.patch.object(validation, "_check_indices"),
        mock.patch.object(validation, "_check_range"),
    ):
        yield


def compare(name: str, unchecked: Callable[[], Any], task: Callable[[], Any], repeats: int) -> None:
    """Print the CPU seconds of a task with checks and without, in turn."""
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    task()
    for _ in range(repeats):
        for checked in (True, False):
            with nullcontext() if checked else unchecked():
                start = time.perf_counter(), time.process_time()
                task()
                times[checked].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    for i, clock in enumerate(("clock", "CPU")):
        with_checks, without = (min(pair[i] for pair in times[checked]) for checked in (True, False))
        slower = 100 * (with_checks / without - 1)
        print(f"{name:<34}{clock:<6}{with_checks:8.3f} with{without:8.3f} without{slower:+7.1f}%", flush=True)


def main() -> None:
    """Read the command line and print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tagtopic"
        large_model(asked.megabytes * 1_000_000, asked.topics).save(path)
        print(f"model file of {path.stat().st_size / 1e6:,.0f} MB")
        compare("load", no_checks_of_files, lambda: TWDA.load(path), asked.repeats)
    rng = np.random.default_rng(0)
    n_words, n_entries = 20_000, asked.documents * WORDS_PER_DOCUMENT
    starts = np.arange(0, n_entries + 1, WORDS_PER_DOCUMENT)
    columns = (n_words * rng.random(n_entries) ** 3).astype(np.int32)
    documents = sp.csr_array((np.ones(n_entries, np.int32), columns, starts), (asked.documents, n_words))
    documents.sum_duplicates()
    tags = [[f"tag {i % 50}"] for i in range(min(2000, asked.documents))]
    model = TWDA(50, inference="cvb0", max_iter=5, random_state=0, progress=False, tag_predictor=False)
    model.fit(documents[:2000], tags=tags)
    compare(
        f"transform of {asked.documents:,} documents",
        no_checks_of_arrays,
        lambda: model.transform(documents),
        asked.repeats,
    )


if __name__ == "__main__":
    main()
