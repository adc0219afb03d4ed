"""Draw a corpus of any size for benchmarks, by a kernel that writes directly into the folder of a saved corpus.

Ranks of words and tags are log-uniform (Zipf with exponent 1). A tag has two of ``TOPICS`` topics, and a topic
has one word of its own in every twenty consecutive ranks. The random numbers of a document are seeded by its number, so
a corpus of 100,000 documents is the beginning of the one of 1,000,000.

    python benchmarks/synthetic_corpus.py FOLDER [--documents 1000000] [--tags 160000] [--words 2600000]
"""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from tagtopic import Corpus
from tagtopic._core.files import atomic_folder
from tagtopic._core.hashing import GOLDEN_GAMMA, splitmix64
from tagtopic._core.memmap import GrowingArray
from tagtopic._core.strings import StringArray
from tagtopic.corpus import matrices, storage

TOPICS = 100
GROUP = 20
TOKENS = 119
"""Mean tokens per document; about 100 of them are distinct."""

BLOCK = 20_000


@dataclass(frozen=True)
class Size:
    """The size of the corpus."""

    documents: int = 1_000_000
    tags: int = 160_000
    words: int = 2_600_000


@numba.njit(cache=True)
def uniform(seed: Any, step: Any) -> float:
    """Return number ``step`` of a document's random sequence, in [0, 1)."""
    return float(splitmix64(seed + np.uint64(step) * GOLDEN_GAMMA) >> np.uint64(11)) / 9007199254740992.0


@numba.njit(cache=True)
def draw(first: int, last: int, n_tags: int, n_words: int, most: int) -> Any:
    """Draw documents first:last; return entries per document, their words and counts, tags per document, tags."""
    n = last - first
    sizes, tag_sizes = np.empty(n, np.int64), np.empty(n, np.int64)
    words, counts = np.empty(n * most, np.int32), np.empty(n * most, np.int32)
    tags = np.empty(n * 5, np.int32)
    drawn, own = np.empty(most, np.int64), np.empty(5, np.int64)
    entries = tag_entries = 0
    for d in range(n):
        seed = splitmix64(np.uint64(first + d + 1) * GOLDEN_GAMMA)
        own_tags = 1 + int(5 * uniform(seed, 1))
        for j in range(own_tags):
            own[j] = int(math.exp(uniform(seed, 2 + j) * math.log(n_tags + 1.0))) - 1
        chosen = np.unique(own[:own_tags])
        tags[tag_entries : tag_entries + len(chosen)] = chosen
        tag_sizes[d] = len(chosen)
        tag_entries += len(chosen)
        length = int(most * (0.5 + 0.5 * uniform(seed, 7)))
        for i in range(length):
            rank = int(math.exp(uniform(seed, 10 + 4 * i) * math.log(n_words + 1.0))) - 1
            if uniform(seed, 11 + 4 * i) < 0.6:
                tag = chosen[int(len(chosen) * uniform(seed, 12 + 4 * i))]
                side = 2 * tag + (1 if uniform(seed, 13 + 4 * i) < 0.3 else 0)
                topic = splitmix64(np.uint64(side + 1) * GOLDEN_GAMMA) % np.uint64(TOPICS)
                group = rank // GROUP
                mark = splitmix64((np.uint64(group) * np.uint64(TOPICS) + topic + np.uint64(1)) * GOLDEN_GAMMA)
                rank = min(group * GROUP + int(mark % np.uint64(GROUP)), n_words - 1)
            drawn[i] = rank
        ordered = np.sort(drawn[:length])
        begin = entries
        for i in range(length):
            if i and ordered[i] == ordered[i - 1]:
                counts[entries - 1] += 1
            else:
                words[entries], counts[entries] = ordered[i], 1
                entries += 1
        sizes[d] = entries - begin
    return sizes, words[:entries], counts[:entries], tag_sizes, tags[:tag_entries]


def write_corpus(path: Path, size: Size) -> None:
    """Draw the corpus block by block into a folder for ``Corpus.open``."""
    most = round(TOKENS * 4 / 3)  # lengths are uniform between half of this and this
    with atomic_folder(path, marker=storage.MARKER) as folder:
        with ExitStack() as files:
            arrays = {
                name: files.enter_context(GrowingArray(folder / f"{name}.npy", kind, spill_at=0))
                for name, kind in storage.ARRAYS.items()
            }
            for name in ("counts.indptr", "tags.indptr", "ids.offsets"):
                arrays[name].append(np.zeros(1, dtype=np.int64))
            for first in range(0, size.documents, BLOCK):
                last = min(first + BLOCK, size.documents)
                sizes, words, counts, tag_sizes, tags = draw(first, last, size.tags, size.words, most)
                ids = StringArray.of(map(str, range(first, last)))
                arrays["counts.indptr"].append(np.cumsum(sizes) + len(arrays["counts.indices"]))
                arrays["counts.indices"].append(words)
                arrays["counts.data"].append(counts)
                arrays["tags.indptr"].append(np.cumsum(tag_sizes) + len(arrays["tags.indices"]))
                arrays["tags.indices"].append(tags)
                arrays["tags.data"].append(np.ones(len(tags), np.int8))
                arrays["ids.offsets"].append(ids.offsets[1:] + len(arrays["ids.bytes"]))
                arrays["ids.bytes"].append(ids.data)
            done = {name: array.finish() for name, array in arrays.items()}
        names = tuple(f"w{j}" for j in range(size.words)), tuple(f"t{j}" for j in range(size.tags))
        storage.write_names(folder, *names)
        counts, tags = (
            matrices.csr(done[f"{m}.indptr"], done[f"{m}.indices"], done[f"{m}.data"], n)
            for m, n in (("counts", size.words), ("tags", size.tags))
        )
        ids = StringArray(done["ids.offsets"], done["ids.bytes"])
        storage.write_marker(folder, Corpus(counts=counts, tags=tags, words=names[0], tag_names=names[1], ids=ids))


def synthetic_corpus(folder: Path, size: Size) -> Path:
    """Return the folder of the corpus of this size; draw it if it does not exist."""
    path = folder / f"generated-{size.documents}-{size.tags}-{size.words}"
    if not path.exists():
        write_corpus(path, size)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for name, default in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    path = synthetic_corpus(given.folder, Size(given.documents, given.tags, given.words))
    corpus = Corpus.open(path)
    print(
        f"{path}: {corpus}, {corpus.counts.nnz / len(corpus):.1f} distinct words per document, "
        f"{corpus.n_tokens:,} tokens"
    )


if __name__ == "__main__":
    main()
