"""An executor's scratch folder: blocks of documents, where their inference stands, and sums on their way to the driver.

Scratch is a cache and nothing more. It stands in the executor's own temporary folder, which Spark removes with the
executor; what is not found there is reported as missing, and the driver sends it (see ``cluster.py``). Files appear
whole or not at all, and are named by the step that made them, so a task that is run twice reads the same and writes
the same.

Kernels on executors: compiled once on each, whatever the number of its Python processes.

They are cached beside the package where its folder can be written to, else in the executor's scratch.
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
from tagtopic.inference.m_step import ColumnIndex, index_columns
from tagtopic.inference.types import Documents, State

Arrays = dict[str, NDArray[Any]]

INDEX_FIELDS = ("starts", "rows", "slots")
"""The arrays of a ColumnIndex but for ``columns``, which in a block are all."""


FRESH = -1
"""In place of a step: documents stand where their prior puts them, which executors work out themselves."""


class Parcel(NamedTuple):
    """What the driver sends of a block: its documents in the corpus's columns, and where their inference stands.

    Either may be None: the executor has or makes it. ``beside`` is kept with the documents, as it is.
    """

    documents: Documents | None
    n_words: int
    n_tags: int
    state: State | None
    beside: Arrays | None = None

    @property
    def nbytes(self) -> int:
        """How large it is."""
        return sum(array.nbytes for array in (*(self.documents or ()), *(self.state or ())))


class ScratchBlock(NamedTuple):
    """A block whose words and tags are numbered from 0; the two arrays say which columns of the corpus they are."""

    block: Block
    words: Int32s
    tags: Int32s


class MissingError(LookupError):
    """Blocks, or their states, that this executor does not have; of ``blocks`` it has not even the documents."""

    def __init__(self, numbers: list[int], blocks: list[int]) -> None:
        super().__init__(f"blocks {numbers} are not in this executor's scratch")
        self.numbers = numbers
        self.blocks = blocks


class Rooms(NamedTuple):
    """The names of two folders in scratch: a run's own, and the one where blocks are, which may be a corpus's."""

    run: str
    home: str

    def open(self) -> Scratch:
        """Them, on the executor that this process belongs to."""
        return Scratch(self.run, self.home)


class Scratch:
    """The scratch of one run on the executor that this process belongs to; ``home`` has its blocks if it has not."""

    def __init__(self, run: str, home: str | None = None) -> None:
        self.folder = scratch_root() / f"tagtopic-{run}"
        self.home = scratch_root() / f"tagtopic-{home or run}"

    def require(self, numbers: Iterable[int], step: int = FRESH) -> None:
        """Raise if a block, or its state after ``step``, is not here."""
        wanted = list(numbers)
        blocks = [n for n in wanted if not self._block(n).is_dir()]
        missing = blocks if step == FRESH else [n for n in wanted if n in blocks or not self._state(n, step).is_file()]
        if missing:
            raise MissingError(missing, blocks)

    def keep_block(self, number: int, parcel: Parcel) -> tuple[int, int]:
        """Store a block; returns how many different words and tags it has."""
        folder = self._block(number)
        if not folder.is_dir():
            _write_folder(folder, _numbered_anew(parcel) | (parcel.beside or {}))
        return len(self._load(folder, "word_columns")), len(self._load(folder, "tag_columns"))

    def block(self, number: int) -> ScratchBlock:
        """A block, memory-mapped."""
        folder = self._block(number)

        def load(name: str) -> NDArray[Any]:
            return self._load(folder, name)

        words, tags = load("word_columns"), load("tag_columns")
        documents = Documents(load("word_starts"), load("words"), load("counts"), load("tag_starts"), load("tags"))
        block = Block(0, len(documents.word_starts) - 1, documents, len(words), len(tags))
        for index, columns in (("by_word", words), ("by_tag", tags)):
            # made once, when the block came: stands where the block would otherwise put its own
            places = np.arange(len(columns), dtype=np.int32)
            vars(block)[index] = ColumnIndex(places, *(_map(folder, f"{index}.{field}") for field in INDEX_FIELDS))
        return ScratchBlock(block, words, tags)

    def beside(self, number: int, name: str) -> NDArray[Any]:
        """An array that was stored beside a block."""
        return self._load(self._block(number), name)

    def keep_state(self, number: int, step: int, state: State) -> None:
        """Store where a block's inference stands after ``step``."""
        _write_arrays(self._state(number, step), state._asdict())

    def state(self, number: int, step: int) -> State:
        """Where a block's inference stood after ``step``: a copy, to be moved on."""
        return State(**_read_arrays(self._state(number, step)))

    def has_states(self, numbers: Iterable[int], step: int) -> bool:
        """Whether the blocks' states after ``step`` are here."""
        return all(self._state(number, step).is_file() for number in numbers)

    def columns(self, numbers: Iterable[int]) -> tuple[Int32s, Int32s]:
        """The words and the tags that occur in any of the blocks, ascending."""
        folders = [self._block(number) for number in numbers]
        words, tags = (
            np.unique(np.concatenate([np.empty(0, np.int32), *(self._load(folder, name) for folder in folders)]))
            for name in ("word_columns", "tag_columns")
        )
        return words, tags

    def keep_sums(self, slot: int, step: int, sums: Arrays) -> None:
        """Store a partition's sums."""
        _write_arrays(self._sums(slot, step), sums)

    def sums(self, slot: int, step: int) -> Arrays | None:
        """A partition's sums of ``step``, if they are here."""
        file = self._sums(slot, step)
        return _read_arrays(file) if file.is_file() else None

    def forget_before(self, number: int, step: int) -> None:
        """Drop a block's states from before ``step``."""
        self._forget(f"state-{number}", step)

    def forget_sums(self, slot: int, step: int) -> None:
        """Drop a partition's sums from before ``step``: they were fetched when theirs ended."""
        self._forget(f"sums-{slot}", step)

    def _forget(self, name: str, step: int) -> None:
        for file in self.folder.glob(f"{name}-*.npz"):
            if int(file.stem.rpartition("-")[2]) < step:
                file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Drop everything of this run."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _block(self, number: int) -> Path:
        return self.home / f"block-{number}"

    def _state(self, number: int, step: int) -> Path:
        return self.folder / f"state-{number}-{step}.npz"

    def _sums(self, slot: int, step: int) -> Path:
        return self.folder / f"sums-{slot}-{step}.npz"

    @staticmethod
    def _load(folder: Path, name: str) -> NDArray[Any]:
        array = _map(folder, name)
        return read_only(array)


def scratch_root() -> Path:
    """The executor's own temporary folder: Spark tells its Python workers."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(given or tempfile.gettempdir())


def _map(folder: Path, name: str) -> NDArray[Any]:
    # copy-on-write: the local engine has writeable indices, and Numba would compile anew for read-only ones
    array: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False)
    return array.view(np.ndarray)


def _numbered_anew(parcel: Parcel) -> Arrays:
    """The block's arrays with its own words and tags only, numbered from 0, and indexed by them."""
    documents = Documents(*(read_only(array) for array in parcel.documents or ()))
    by_word = index_columns(documents.word_starts, documents.words, parcel.n_words)
    by_tag = index_columns(documents.tag_starts, documents.tags, parcel.n_tags)
    arrays: Arrays = {
        "word_starts": documents.word_starts,
        "words": _positions(by_word.columns, documents.words, parcel.n_words),
        "counts": documents.counts,
        "tag_starts": documents.tag_starts,
        "tags": _positions(by_tag.columns, documents.tags, parcel.n_tags),
        "word_columns": by_word.columns,
        "tag_columns": by_tag.columns,
    }
    for name, index in (("by_word", by_word), ("by_tag", by_tag)):
        arrays |= {f"{name}.{field}": getattr(index, field) for field in INDEX_FIELDS}
    return arrays


def _positions(columns: Int32s, indices: Int32s, n_columns: int) -> Int32s:
    """Where each index stands among the columns that occur."""
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
    except OSError:  # another task has just put the same block there
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
