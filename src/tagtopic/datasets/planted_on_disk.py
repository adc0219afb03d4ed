"""Planted corpora that are larger than memory, drawn block by block into the folder of a saved corpus."""

from __future__ import annotations

from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic.corpus import Corpus, Names, matrices, storage
from tagtopic.corpus.folders import new_folder
from tagtopic.corpus.growing import GrowingArray
from tagtopic.datasets.planted import Block, Truth, draw_blocks, draw_truth
from tagtopic.datasets.recipe import Recipe


def write_tagged_corpus(path: str | PathLike[str], recipe: Recipe) -> Truth:
    """Write the corpus that `make_tagged_corpus` would draw to a folder for `Corpus.open`, in bounded memory.

    Returns the topics and the tags' topic mixes; what is true of single documents is not kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic import Corpus
    >>> from tagtopic.datasets import Recipe, write_tagged_corpus
    >>> with TemporaryDirectory() as folder:
    ...     truth = write_tagged_corpus(f"{folder}/drawn", Recipe(n_documents=100, n_topics=3))
    ...     len(Corpus.open(f"{folder}/drawn")), truth.topic_words.shape
    (100, (3, 1000))
    """
    truth = draw_truth(recipe)
    with new_folder(Path(path), marker=storage.MARKER) as folder:
        with ExitStack() as files:
            growing = {
                name: files.enter_context(GrowingArray(folder / f"{name}.npy", kind, spill_at=0))
                for name, kind in storage.ARRAYS.items()
            }
            for name in ("counts.indptr", "tags.indptr", "ids.offsets"):
                growing[name].append(np.zeros(1, dtype=np.int64))
            n_documents = 0
            for block in draw_blocks(recipe, truth):
                _append(growing, block, first=n_documents)
                n_documents += len(block.latent_share)
            arrays = {name: array.finish() for name, array in growing.items()}
        corpus = _corpus(arrays, recipe)
        storage.write_names(folder, corpus.words, corpus.tag_names)
        storage.write_marker(folder, corpus)
    return truth


def _corpus(arrays: dict[str, Any], recipe: Recipe) -> Corpus:
    """The corpus over these arrays; its names are those that `Corpus.from_counts` gives."""
    words = tuple(f"word_{j}" for j in range(recipe.n_words))
    tag_names = tuple(f"tag_{j}" for j in range(recipe.n_tags))
    counts, tags = (
        matrices.csr(arrays[f"{name}.indptr"], arrays[f"{name}.indices"], arrays[f"{name}.data"], n)
        for name, n in (("counts", len(words)), ("tags", len(tag_names)))
    )
    ids = Names(arrays["ids.offsets"], arrays["ids.bytes"])
    return Corpus(counts=counts, tags=tags, words=words, tag_names=tag_names, ids=ids)


def _append(arrays: dict[str, GrowingArray], block: Block, *, first: int) -> None:
    """Add a block of documents, the first of which has the number `first`."""
    matrix: Any
    for name, matrix in (("counts", block.counts), ("tags", block.tags)):
        arrays[f"{name}.indptr"].append(matrix.indptr[1:].astype(np.int64) + len(arrays[f"{name}.indices"]))
        arrays[f"{name}.indices"].append(matrix.indices)
        arrays[f"{name}.data"].append(matrix.data)
    ids = Names.of(str(first + i) for i in range(len(block.latent_share)))
    arrays["ids.offsets"].append(ids.offsets[1:] + len(arrays["ids.bytes"]))
    arrays["ids.bytes"].append(ids.data)
