"""An executor's scratch folder: blocks of documents, their posteriors, and statistics that are yet to be collected.

Scratch is a cache. It is in the executor's own temporary folder, which is removed with the executor; what is not found
there is reported as missing, and the driver sends it. Files are written as a whole and named by the step that computed
them, so that a task that runs twice reads and writes the same.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int32s, read_only
from tagtopic._core.memmap import write_array
from tagtopic.engines.blocks import Block
from tagtopic.inference.gibbs import Assignments
from tagtopic.inference.m_step import ColumnIndex, index_columns
from tagtopic.inference.types import Documents, VariationalPosterior

Arrays = dict[str, NDArray[Any]]

State = VariationalPosterior | Assignments
"""What is kept of a block from step to step: posteriors of its documents, or assignments of its tokens."""

INDEX_FIELDS = ("starts", "rows", "slots")
"""The arrays of a ColumnIndex but for ``columns``, which in a stored block are all."""

INITIAL = -1
"""In place of a step's number: the initial posteriors, which executors compute themselves."""


class BlockData(NamedTuple):
    """What an executor is sent of a block.

    Attributes
    ----------
    documents : Documents or None
        The documents, in the columns of the corpus; None if the executor has them.
    n_words, n_tags : int
        The numbers of columns of the corpus.
    posterior : VariationalPosterior or Assignments or None
        The posteriors of the documents, or a sampler's assignments; None if the executor computes the initial ones.
    extra : dict of arrays or None
        Other arrays to store beside the documents.
    """

    documents: Documents | None
    n_words: int
    n_tags: int
    posterior: State | None
    extra: Arrays | None = None

    @property
    def nbytes(self) -> int:
        """The size of documents and posteriors."""
        return sum(array.nbytes for array in (*(self.documents or ()), *(self.posterior or ())))


class StoredBlock(NamedTuple):
    """A block whose words and tags are numbered from 0, and the columns of the corpus that they are."""

    block: Block
    words: Int32s
    tags: Int32s


class MissingBlocksError(LookupError):
    """Blocks or posteriors that this executor does not have.

    Attributes
    ----------
    numbers : list of int
        The blocks of which something is missing.
    without_documents : list of int
        Those of them whose documents are missing too.
    """

    def __init__(self, numbers: list[int], without_documents: list[int]) -> None:
        super().__init__(f"blocks {numbers} are not in this executor's scratch")
        self.numbers = numbers
        self.without_documents = without_documents


class ScratchNames(NamedTuple):
    """The names of two scratch folders: of a session's posteriors, and of the blocks, which may be a corpus's."""

    session: str
    blocks: str

    def open(self) -> Scratch:
        """Open the folders on the executor that this process belongs to."""
        return Scratch(self.session, self.blocks)


class Scratch:
    """The scratch folders of a session on the executor that this process belongs to.

    Parameters
    ----------
    session : str
        The name of the folder for posteriors and statistics.
    blocks : str or None, default=None
        The name of the folder for blocks; None is the same one.
    """

    def __init__(self, session: str, blocks: str | None = None) -> None:
        self.folder = scratch_root() / f"tagtopic-{session}"
        self.block_folder = scratch_root() / f"tagtopic-{blocks or session}"

    def require(self, numbers: Iterable[int], step: int = INITIAL) -> None:
        """Raise MissingBlocksError if a block, or its posterior after ``step``, is not here."""
        wanted = list(numbers)
        blocks = [n for n in wanted if not self._block(n).is_dir()]
        if step == INITIAL:
            missing = blocks
        else:
            missing = [n for n in wanted if n in blocks or not self._posterior(n, step).is_file()]
        if missing:
            raise MissingBlocksError(missing, blocks)

    def store_block(self, number: int, data: BlockData) -> tuple[int, int]:
        """Store a block; return the numbers of its different words and tags."""
        folder = self._block(number)
        if not folder.is_dir():
            _write_folder(folder, _compact_arrays(data) | (data.extra or {}))
        return len(self._load(folder, "word_columns")), len(self._load(folder, "tag_columns"))

    def block(self, number: int) -> StoredBlock:
        """Open a block, memory-mapped."""
        folder = self._block(number)

        def load(name: str) -> NDArray[Any]:
            return self._load(folder, name)

        words, tags = load("word_columns"), load("tag_columns")
        documents = Documents(load("word_starts"), load("words"), load("counts"), load("tag_starts"), load("tags"))
        block = Block(0, len(documents.word_starts) - 1, documents, len(words), len(tags))
        for index, columns in (("by_word", words), ("by_tag", tags)):
            # computed once, when the block was stored: in place of the block's own cached property
            places = np.arange(len(columns), dtype=np.int32)
            vars(block)[index] = ColumnIndex(places, *(_map(folder, f"{index}.{field}") for field in INDEX_FIELDS))
        return StoredBlock(block, words, tags)

    def extra(self, number: int, name: str) -> NDArray[Any]:
        """Open an array that was stored beside a block."""
        return self._load(self._block(number), name)

    def n_documents(self, number: int) -> int:
        """Return the number of documents of a block."""
        return len(_map(self._block(number), "word_starts")) - 1

    def store_arrays(self, name: str, arrays: Arrays) -> None:
        """Store arrays of the session under a name."""
        _write_folder(self.folder / name, arrays)

    def arrays(self, name: str) -> Arrays | None:
        """Open arrays that were stored under a name, memory-mapped; None if there are none."""
        folder = self.folder / name
        return {file.stem: _map(folder, file.stem) for file in folder.glob("*.npy")} if folder.is_dir() else None

    def store_posterior(self, number: int, step: int, posterior: State) -> None:
        """Store a block's posteriors, or assignments, after ``step``."""
        _write_arrays(self._posterior(number, step), posterior._asdict())

    def posterior(self, number: int, step: int) -> VariationalPosterior:
        """Read a block's posteriors after ``step``: a copy, which may be updated."""
        return VariationalPosterior(**self.state(number, step))

    def state(self, number: int, step: int) -> Arrays:
        """Read what was stored of a block after ``step``."""
        return _read_arrays(self._posterior(number, step))

    def has_posteriors(self, numbers: Iterable[int], step: int) -> bool:
        """Return whether the blocks' posteriors after ``step`` are here."""
        return all(self._posterior(number, step).is_file() for number in numbers)

    def columns(self, numbers: Iterable[int]) -> tuple[Int32s, Int32s]:
        """Return the words and the tags that occur in any of the blocks, ascending."""
        folders = [self._block(number) for number in numbers]
        words, tags = (
            np.unique(np.concatenate([np.empty(0, np.int32), *(self._load(folder, name) for folder in folders)]))
            for name in ("word_columns", "tag_columns")
        )
        return words, tags

    def store_statistics(self, partition: int, step: int, statistics: Arrays) -> None:
        """Store a partition's statistics."""
        _write_arrays(self._statistics(partition, step), statistics)

    def statistics(self, partition: int, step: int) -> Arrays | None:
        """Read a partition's statistics of ``step``, if they are here."""
        file = self._statistics(partition, step)
        return _read_arrays(file) if file.is_file() else None

    def drop_posteriors_before(self, number: int, step: int) -> None:
        """Remove a block's posteriors from before ``step``."""
        self._drop(f"state-{number}", step)

    def drop_statistics_before(self, partition: int, step: int) -> None:
        """Remove a partition's statistics from before ``step``, which have been collected."""
        self._drop(f"sums-{partition}", step)

    def _drop(self, name: str, step: int) -> None:
        for file in self.folder.glob(f"{name}-*.npz"):
            if int(file.stem.rpartition("-")[2]) < step:
                file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the session's folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _block(self, number: int) -> Path:
        return self.block_folder / f"block-{number}"

    def _posterior(self, number: int, step: int) -> Path:
        return self.folder / f"state-{number}-{step}.npz"

    def _statistics(self, partition: int, step: int) -> Path:
        return self.folder / f"sums-{partition}-{step}.npz"

    @staticmethod
    def _load(folder: Path, name: str) -> NDArray[Any]:
        array = _map(folder, name)
        return read_only(array)


def scratch_root() -> Path:
    """Return the executor's own temporary folder, which Spark passes to its Python workers."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(given or tempfile.gettempdir())


def _map(folder: Path, name: str) -> NDArray[Any]:
    # copy-on-write: the local engine has writeable indices, and Numba would compile anew for read-only ones
    array: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False)
    return array.view(np.ndarray)


def _compact_arrays(data: BlockData) -> Arrays:
    """Return the block's arrays with its own words and tags only, numbered from 0, and indices by them."""
    documents = Documents(*(read_only(array) for array in data.documents or ()))
    by_word = index_columns(documents.word_starts, documents.words, data.n_words)
    by_tag = index_columns(documents.tag_starts, documents.tags, data.n_tags)
    arrays: Arrays = {
        "word_starts": documents.word_starts,
        "words": _renumber(by_word.columns, documents.words, data.n_words),
        "counts": documents.counts,
        "tag_starts": documents.tag_starts,
        "tags": _renumber(by_tag.columns, documents.tags, data.n_tags),
        "word_columns": by_word.columns,
        "tag_columns": by_tag.columns,
    }
    for name, index in (("by_word", by_word), ("by_tag", by_tag)):
        arrays |= {f"{name}.{field}": getattr(index, field) for field in INDEX_FIELDS}
    return arrays


def _renumber(columns: Int32s, indices: Int32s, n_columns: int) -> Int32s:
    """Return the position of each index among the columns that occur."""
    lookup = np.empty(n_columns, np.int32)
    lookup[columns] = np.arange(len(columns), dtype=np.int32)
    return lookup[indices]


def _write_folder(folder: Path, arrays: Arrays) -> None:
    partial = _temporary(folder)
    partial.mkdir(parents=True)
    for name, array in arrays.items():
        write_array(partial / f"{name}.npy", array)
    try:
        partial.rename(folder)
    except OSError:  # another task has just stored the same block
        shutil.rmtree(partial)


def _write_arrays(file: Path, arrays: Arrays) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = _temporary(file)
    with partial.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)
    partial.replace(file)


def _read_arrays(file: Path) -> Arrays:
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _temporary(path: Path) -> Path:
    return path.with_name(f"{path.name}.{uuid.uuid4().hex}")
