"""Time reading text against scikit-learn's CountVectorizer, and measure the memory that a large file takes.

python benchmarks/read.py acl.jsonl.gz              # the ratio, in one run, on a JSON Lines file
python benchmarks/read.py --size 5GB                # peak resident memory on a generated file of this size
"""

import argparse
import gzip
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


def time_in_turn(n: int, *functions: Callable[[], Any]) -> list[tuple[float, float, Any]]:
    """Return best wall and CPU seconds and the result of each; run in turn, so that load affects all alike."""
    best = [(float("inf"), float("inf"), None)] * len(functions)
    for _ in range(n):
        for i, function in enumerate(functions):
            wall, cpu = time.perf_counter(), time.process_time()
            result = function()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            best[i] = (min(wall, best[i][0]), min(cpu, best[i][1]), result)
    return best


def compare(path: Path, text: str, repeats: int) -> None:
    """Count the same words with both: no stop words, no pruning, tokens of at least two characters."""
    from sklearn.feature_extraction.text import CountVectorizer

    def load() -> list[str]:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            return [json.loads(line)[text] for line in file]

    no_pruning: dict[str, Any] = {
        "stop_words": None, "min_df": 1, "max_df": 1.0, "max_words": None, "numbers": True,
    }  # fmt: skip
    texts = load()
    Corpus.from_texts(texts[:100], **no_pruning)  # compile first
    Corpus.read([{"text": "warm up", "tags": ["x"]}])
    print(f"{len(texts):,} texts, {sum(map(len, texts)) / 1e6:.0f} million characters, {os.cpu_count()} cores")
    ours, theirs = time_in_turn(
        repeats, lambda: Corpus.from_texts(texts, **no_pruning), lambda: CountVectorizer().fit_transform(texts)
    )
    print(f"words: tagtopic {ours[2].n_words:,}, sklearn {theirs[2].shape[1]:,}")
    print(f"tokens: tagtopic {ours[2].n_tokens:,}, sklearn {theirs[2].sum():,}")
    report("texts in memory", ours, theirs)
    ours, theirs = time_in_turn(
        repeats,
        lambda: Corpus.read(path, text=text, **no_pruning),
        lambda: CountVectorizer().fit_transform(load()),
    )
    report("from the file (tagtopic with tags and ids)", ours, theirs)


def report(what: str, ours: tuple[float, float, Any], theirs: tuple[float, float, Any]) -> None:
    print(what)
    for i, kind in enumerate(("wall", "cpu")):
        print(f"  {kind:4s}  tagtopic {ours[i]:6.2f} s   sklearn {theirs[i]:6.2f} s   ratio {theirs[i] / ours[i]:.1f}")


def generate(path: Path, size: int) -> int:
    """Write JSON Lines with Zipf words, a unique misspelling in each row, and tags; return the number of rows."""
    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = np.array(["".join(random.choice(letters, size=n)) for n in random.integers(2, 12, size=200_000)])
    numbers = np.minimum(random.zipf(1.2, size=(10_000, 150)), len(vocabulary)) - 1
    texts = [" ".join(vocabulary[row]) for row in numbers]
    rows = written = 0
    with path.open("w", encoding="ascii") as file:
        while written < size:
            row = {
                "id": f"d{rows}",
                "text": f"{texts[rows % 10_000]} typo{rows} naïve. {texts[rows * 7 % 9_973][:200]}",
                "tags": [f"author:{rows * 31 % 100_003}", f"year:{1950 + rows % 76}", f"key{rows % 97}"],
            }
            written += file.write(json.dumps(row) + "\n")
            rows += 1
    return rows


def measure(size: int, folder: str | None) -> None:
    """Measure the peak resident memory of reading a large file into a corpus on disk."""
    scratch = Path(tempfile.mkdtemp(prefix="tagtopic-read-", dir=folder))
    try:
        rows = generate(scratch / "large.jsonl", size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        corpus = Corpus.read(scratch / "large.jsonl", to=scratch / "corpus")
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert len(corpus) == rows
        print(f"{size / 1e9:.2f} GB, {rows:,} rows, {corpus.n_words:,} words kept, {corpus.n_tokens:,} tokens")
        print(
            f"{seconds:.0f} s, {size / seconds / 1e6:.0f} MB/s, peak {peak / 1e6:.2f} GB ({before / 1e6:.2f} GB before)"
        )
    finally:
        shutil.rmtree(scratch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, help="a JSON Lines file, plain or .gz")
    parser.add_argument("--text", default="text", help="its column with the text")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", help="generate a file of this size (5GB) and measure memory")
    parser.add_argument("--folder", help="where to generate it")
    arguments = parser.parse_args()
    if arguments.size:
        unit = arguments.size[-2:].upper()
        measure(int(float(arguments.size[:-2]) * UNITS[unit]), arguments.folder)
    elif arguments.path:
        compare(arguments.path, arguments.text, arguments.repeats)
    else:
        parser.print_help()
        sys.exit(2)


if __name__ == "__main__":
    main()
