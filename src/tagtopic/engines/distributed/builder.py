"""Blocks of documents made on executors, from their part of the source.

Each partition of the source is read, counted in the chosen columns, and cut into blocks, which go to the scratch of
the executor that read it. What says which blocks those are is a small cached RDD; when its executor is lost, Spark
makes the partition again from the source, and so the blocks.

A partition of a source becomes documents, on an executor, by the code that reads files on one machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core import arrays
from tagtopic._core.arrays import Int32s, Int64s, offsets_of
from tagtopic._core.hashing import GOLDEN_GAMMA, splitmix64_array
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus.builder import Rows
from tagtopic.corpus.reading.errors import Complaints, ReadError
from tagtopic.corpus.reading.reader import Request, rows_of_part
from tagtopic.corpus.reading.rows import Rowing, missing_columns
from tagtopic.corpus.text import phrases
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.text.tokenizer import tokenize
from tagtopic.corpus.vocabulary import KnownWords, given, known_words
from tagtopic.engines.distributed.scratch import Arrays, Parcel, Scratch
from tagtopic.engines.distributed.tasks import Slot
from tagtopic.engines.spark.source import LINES, unpacked
from tagtopic.inference.types import Documents

if TYPE_CHECKING:
    from pyspark import Broadcast


@dataclass(frozen=True)
class Heard:
    """What reading a partition had to say."""

    n_documents: int = 0
    n_skipped: int = 0
    complaints: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass
class Part:
    """One partition while it is read: its documents, numbered from ``first``."""

    number: int
    kind: str
    request: Request
    first: int = 0

    def __post_init__(self) -> None:
        self._rowing = Rowing(self.request.wanted, Complaints(self.request.skip_bad_rows), patience=None)
        self._rowing.n_documents = self.first

    def rows(self, batches: Iterable[bytes]) -> Iterator[Rows]:
        """Its documents, some at a time."""
        name = f"part {self.number + 1} of the source"
        yield from rows_of_part(unpacked(batches, self.kind), self.request, self._rowing, name)

    def heard(self) -> Heard:
        """What there is to say once it is read."""
        complaints, rowing = self._rowing.complaints, self._rowing
        lines = self.kind in LINES
        return Heard(
            rowing.n_documents - self.first, complaints.n_skipped, complaints.first,
            rowing.unseen if lines else [], rowing.seen if lines else [],
        )  # fmt: skip


def tell(heard: list[Heard], *, skip: bool) -> None:
    """Raise what was wrong with the source as a whole, or warn of rows that were skipped."""
    error = next((part.error for part in heard if part.error is not None), None)
    if error is not None:
        raise ReadError(error)
    filled = [part for part in heard if part.n_documents]
    unseen = set.intersection(*(set(part.unseen) for part in filled)) if filled else set()
    if unseen:
        seen = list(dict.fromkeys(name for part in filled for name in part.seen))
        raise missing_columns(sorted(unseen), seen, "the source", "in all rows, ")
    first = [text for part in heard for text in part.complaints][:3]
    Complaints(skip, sum(part.n_skipped for part in heard), first).tell(sum(part.n_documents for part in heard))


PART_BITS = 20
"""A block's number is its partition's, followed by so many bits for its place in it: blocks are numbered in order."""

IDS = ("ids.offsets", "ids.bytes")
"""The ids of a block's documents, beside it."""


@dataclass(frozen=True)
class Columns:
    """The words and tags that are columns; travels once to each executor."""

    packed_words: StringArray
    packed_tags: StringArray

    @cached_property
    def words(self) -> KnownWords:
        """The words, ready to be looked up."""
        return known_words(tuple(self.packed_words))

    @cached_property
    def tags(self) -> dict[str, int]:
        """The column of each tag."""
        return {tag: column for column, tag in enumerate(self.packed_tags)}

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.packed_words, self.packed_tags)


@dataclass(frozen=True)
class RemoteBlock:
    """A block on an executor: where its documents and their tags stand in the corpus, and how large it is."""

    number: int
    first: int
    last: int
    tag_range: tuple[int, int]
    n_words: int
    n_tags: int


class BlockSizes(NamedTuple):
    """How large a block is: distinct words and tags of each document, different words and tags in all; a digest."""

    number: int
    word_entries: Int32s
    tag_entries: Int32s
    n_words: int
    n_tags: int
    digest: int


class Counted(NamedTuple):
    """A block on its way to scratch."""

    number: int
    parcel: Parcel
    digest: int


class Taken(NamedTuple):
    """Words to be taken out of some documents: entries ``starts[i]:starts[i + 1]`` of ``counts`` are of ``rows[i]``."""

    rows: Int64s
    starts: Int64s
    counts: NDArray[Any]

    def out_of(self, documents: Documents, first: int) -> Documents:
        """The documents, of which the first has the number ``first``, less what is taken out."""
        n_documents = len(documents.word_starts) - 1
        counts = documents.counts.copy()
        for i in range(*np.searchsorted(self.rows, [first, first + n_documents])):
            row = self.rows[i] - first
            mine = slice(documents.word_starts[row], documents.word_starts[row + 1])
            counts[mine] -= self.counts[self.starts[i] : self.starts[i + 1]]
        kept = counts > 0
        starts = offsets_of(kept)[documents.word_starts]
        return documents._replace(word_starts=starts, words=documents.words[kept], counts=counts[kept])


@dataclass(frozen=True)
class Count:
    """Yields the blocks of a partition; ``firsts`` is the number of the first document of each."""

    columns: Broadcast[Columns]
    kind: str
    request: Request
    rules: TextRules
    firsts: tuple[int, ...]
    block_entries: int
    taken: Broadcast[Taken] | None = None

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[Counted]:
        """Read the partition, count it, cut it."""
        columns = self.columns.value
        part = Part(number, self.kind, self.request, self.firsts[number])
        found = _Matrices()
        for rows in part.rows(batches):
            found.add(rows, columns, self.rules)
        documents, ids = found.finish()
        if self.taken is not None:
            documents = self.taken.value.out_of(documents, self.firsts[number])
        for place, (first, last) in enumerate(cut_evenly(documents.word_starts, self.block_entries)):
            own, names = part_of(documents, first, last), ids[first:last]
            beside: Arrays = dict(zip(IDS, (names.offsets, names.data), strict=True))
            parcel = Parcel(own, len(columns.packed_words), len(columns.packed_tags), None, beside)
            digest = digest_of(own, names, self.firsts[number] + first)
            yield Counted((number << PART_BITS) + place, parcel, digest)


@dataclass
class _Matrices:
    """The rows of a partition's two matrices, batch by batch."""

    counts: list[tuple[Any, Any, Any]] = field(default_factory=list)
    tags: list[tuple[Any, Any]] = field(default_factory=list)
    ids: list[StringArray] = field(default_factory=list)

    def add(self, rows: Rows, columns: Columns, rules: TextRules) -> None:
        tokens = rows.tokens or tokenize(rows.texts, rules)
        table = StringTable()
        table.add(tokens.words, tokens.hashes)
        found = given(columns.words, table, rules)
        self.counts.append(phrases.count_rows(tokens.offsets, tokens.ids, found.column, found.pairs))
        known = columns.tags
        tags = [sorted({known[tag] for tag in row if tag in known}) for row in rows.tags]
        flat = np.fromiter((tag for row in tags for tag in row), dtype=np.int32)
        self.tags.append((np.fromiter(map(len, tags), dtype=np.int64, count=len(tags)), flat))
        self.ids.append(StringArray.of(rows.ids))

    def finish(self) -> tuple[Documents, StringArray]:
        word_sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for offsets, _, _ in self.counts)])
        tag_sizes = np.concatenate([np.zeros(0, np.int64), *(sizes for sizes, _ in self.tags)])
        none = np.zeros(0, np.int32)
        documents = Documents(
            arrays.offsets_of(word_sizes),
            np.concatenate([none, *(words for _, words, _ in self.counts)]),
            np.concatenate([none, *(counts for _, _, counts in self.counts)]),
            arrays.offsets_of(tag_sizes),
            np.concatenate([none, *(tags for _, tags in self.tags)]),
        )
        id_sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(names.offsets) for names in self.ids)])
        data = np.concatenate([np.zeros(0, np.uint8), *(names.data for names in self.ids)])
        return documents, StringArray(arrays.offsets_of(id_sizes), data)


def part_of(documents: Documents, first: int, last: int) -> Documents:
    """Documents first:last on their own."""
    words = slice(int(documents.word_starts[first]), int(documents.word_starts[last]))
    tags = slice(int(documents.tag_starts[first]), int(documents.tag_starts[last]))
    return Documents(
        documents.word_starts[first : last + 1] - words.start, documents.words[words], documents.counts[words],
        documents.tag_starts[first : last + 1] - tags.start, documents.tags[tags],
    )  # fmt: skip


@dataclass(frozen=True)
class Store:
    """Puts the blocks of a partition into scratch; yields one list of their sizes."""

    home: str

    def __call__(self, blocks: Iterable[Counted]) -> Iterator[list[BlockSizes]]:
        """Store."""
        scratch = Scratch(self.home)
        found = []
        for number, parcel, digest in blocks:
            assert parcel.documents is not None
            n_words, n_tags = scratch.keep_block(number, parcel)
            starts = parcel.documents.word_starts, parcel.documents.tag_starts
            words, tags = (np.diff(offsets).astype(np.int32) for offsets in starts)
            found.append(BlockSizes(number, words, tags, n_words, n_tags, digest))
        yield found


def as_slots(number: int, stored: Iterable[list[BlockSizes]]) -> Iterator[Slot]:
    """What tasks are told of a partition."""
    for blocks in stored:
        yield Slot(number, tuple(block.number for block in blocks))


@dataclass(frozen=True)
class Pick:
    """Yields those blocks of a partition that were asked for, as they are sent."""

    numbers: frozenset[int]

    def __call__(self, blocks: Iterable[Counted]) -> Iterator[Counted]:
        """Pick."""
        return (block for block in blocks if block.number in self.numbers)


def digest_of(documents: Documents, ids: StringArray, first: int) -> int:
    """A number that stands for these documents at these places: the same however they are cut into blocks."""
    rows = ids.hashes() + _mixed(np.arange(first, first + len(ids)).astype(np.uint64), 1)
    words = _mixed(documents.words.astype(np.uint64), 2) + documents.counts.astype(np.uint64)
    rows += _row_sums(documents.word_starts, _mixed(words, 3))
    rows += _row_sums(documents.tag_starts, _mixed(documents.tags.astype(np.uint64), 4))
    return int(_mixed(rows, 5).sum(dtype=np.uint64))


def _mixed(values: Any, salt: int) -> Any:
    """Return well-mixed 64-bit numbers (splitmix64)."""
    return splitmix64_array(values + np.uint64(salt * int(GOLDEN_GAMMA) % 2**64))


def _row_sums(starts: Int64s, values: Any) -> Any:
    sums = np.append(np.uint64(0), np.cumsum(values, dtype=np.uint64))
    return sums[starts[1:]] - sums[starts[:-1]]
