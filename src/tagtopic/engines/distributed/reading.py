"""Documents that executors read: from a partition of a source to blocks in scratch.

Batches of records or lines travel as bytes in Arrow's stream format. They are read by the code that reads files on one
machine, counted in the columns of the chosen vocabulary, and divided into blocks, which the executor stores.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tagtopic._core import arrays
from tagtopic._core.arrays import Int32s, Int64s, offsets_of
from tagtopic._core.hashing import GOLDEN_GAMMA, splitmix64_array
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus.builder import DocumentBatch
from tagtopic.corpus.reading.documents import missing_columns
from tagtopic.corpus.reading.errors import ReadError, RowErrors
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.reading.reader import Reader
from tagtopic.corpus.text import phrases
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.text.tokenizer import tokenize
from tagtopic.corpus.vocabulary import FixedVocabulary, fixed_vocabulary, index_columns
from tagtopic.engines.distributed.scratch import Arrays, BlockData, Scratch
from tagtopic.engines.distributed.tasks import Partition, Shared
from tagtopic.inference.types import Documents

TABLE = "table"
LINES = ("jsonl", "text")
"""The kinds of sources: records of columns, or formats with a document a line."""

PART_BITS = 20
"""A block's number is its partition's, followed by this many bits for its position in it."""

IDS = ("ids.offsets", "ids.bytes")
"""The arrays with the ids of a block's documents, stored beside it."""


def pack_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield each batch as bytes in one cell."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([batch_to_bytes(batch)], pa.binary())], ["batch"])


def batch_to_bytes(batch: pa.RecordBatch) -> bytes:
    """Return a batch in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def packed_bytes(row: Any) -> bytes:
    """The bytes of a row that ``pack`` made."""
    return bytes(row[0])


def unpack_documents(batches: Iterable[bytes], kind: str) -> Any:
    """Return the documents of a partition for ``Reader.read_partition``: an Arrow reader, or a binary file of lines."""
    found = (batch for data in batches for batch in pa.ipc.open_stream(data))
    if kind in LINES:
        return _open_chunks(b"".join(value + b"\n" for value in batch.column(0).to_pylist()) for batch in found)
    first = next(found, None)
    if first is None:
        return _open_chunks(iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, _chain(first, found))


def _chain(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _open_chunks(chunks: Iterator[bytes]) -> IO[bytes]:
    """Return chunks of bytes as a binary file."""
    return io.BufferedReader(_Chunks(chunks), 1 << 20)


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


@dataclass(frozen=True)
class ReadReport:
    """The outcome of reading a partition.

    ``missing`` are the wanted columns that no row of lines has, ``found`` the columns that rows have.
    """

    n_documents: int = 0
    n_skipped: int = 0
    complaints: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass
class PartitionReader:
    """Reads one partition of a source; its documents are numbered from ``first``."""

    number: int
    kind: str
    request: ReadOptions
    first: int = 0

    def __post_init__(self) -> None:
        self._reader = Reader(self.request, patience=None, first=self.first)

    def rows(self, batches: Iterable[bytes]) -> Iterator[DocumentBatch]:
        """Yield the documents, some at a time."""
        name = f"part {self.number + 1} of the source"
        return self._reader.read_partition(unpack_documents(batches, self.kind), name)

    def report(self) -> ReadReport:
        """Return the outcome, once all documents are read."""
        errors, documents = self._reader.errors, self._reader.documents
        lines = self.kind in LINES
        return ReadReport(
            documents.n_documents - self.first, errors.n_skipped, errors.first,
            documents.unseen if lines else [], documents.seen if lines else [],
        )  # fmt: skip


def check_reports(reports: list[ReadReport], *, skip: bool) -> None:
    """Raise if the source as a whole cannot be read, or warn of the rows that were skipped."""
    error = next((part.error for part in reports if part.error is not None), None)
    if error is not None:
        raise ReadError(error)
    filled = [part for part in reports if part.n_documents]
    missing = set.intersection(*(set(part.missing) for part in filled)) if filled else set()
    if missing:
        found = list(dict.fromkeys(name for part in filled for name in part.found))
        raise missing_columns(sorted(missing), found, "the source", "in all rows, ")
    first = [text for part in reports for text in part.complaints][:3]
    RowErrors(skip, sum(part.n_skipped for part in reports), first).warn(sum(part.n_documents for part in reports))


@dataclass(frozen=True)
class Columns:
    """The words and tags that are columns of the corpus; sent once to each executor."""

    packed_words: StringArray
    packed_tags: StringArray

    @cached_property
    def words(self) -> FixedVocabulary:
        """The words, in a table to look them up."""
        return fixed_vocabulary(tuple(self.packed_words))

    @cached_property
    def tags(self) -> dict[str, int]:
        """The column of each tag."""
        return {tag: column for column, tag in enumerate(self.packed_tags)}

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.packed_words, self.packed_tags)


@dataclass(frozen=True)
class RemoteBlock:
    """A block on an executor: the position of its documents and their tags in the corpus, and its size."""

    number: int
    first: int
    last: int
    tag_range: tuple[int, int]
    n_words: int
    n_tags: int


class BlockSummary(NamedTuple):
    """The sizes of a stored block: words and tags of each document, different words and tags in all; and a digest."""

    number: int
    word_entries: Int32s
    tag_entries: Int32s
    n_words: int
    n_tags: int
    digest: int


class CountedBlock(NamedTuple):
    """A block that is to be stored."""

    number: int
    data: BlockData
    digest: int


class RemovedWords(NamedTuple):
    """Words to remove from documents: entries ``starts[i]:starts[i + 1]`` of ``counts`` are those of ``rows[i]``."""

    rows: Int64s
    starts: Int64s
    counts: NDArray[Any]

    def subtract_from(self, documents: Documents, first: int) -> Documents:
        """Return the documents, of which the first has the number ``first``, without the removed words."""
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
class CountBlocks:
    """Yields the blocks of a partition; ``firsts`` are the numbers of the partitions' first documents."""

    columns: Shared[Columns]
    kind: str
    request: ReadOptions
    rules: TextRules
    firsts: tuple[int, ...]
    block_entries: int
    removed: Shared[RemovedWords] | None = None

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[CountedBlock]:
        """Read the partition, count its words and divide it into blocks."""
        columns = self.columns.value
        part = PartitionReader(number, self.kind, self.request, self.firsts[number])
        found = _PartitionMatrices()
        for rows in part.rows(batches):
            found.add(rows, columns, self.rules)
        documents, ids = found.finish()
        if self.removed is not None:
            documents = self.removed.value.subtract_from(documents, self.firsts[number])
        for place, (first, last) in enumerate(cut_evenly(documents.word_starts, self.block_entries)):
            own, names = _documents_range(documents, first, last), ids[first:last]
            beside: Arrays = dict(zip(IDS, (names.offsets, names.data), strict=True))
            data = BlockData(own, len(columns.packed_words), len(columns.packed_tags), None, beside)
            digest = _documents_digest(own, names, self.firsts[number] + first)
            yield CountedBlock((number << PART_BITS) + place, data, digest)


@dataclass
class _PartitionMatrices:
    """The counts and tags of a partition, batch by batch."""

    counts: list[tuple[Any, Any, Any]] = field(default_factory=list)
    tags: list[tuple[Any, Any]] = field(default_factory=list)
    ids: list[StringArray] = field(default_factory=list)

    def add(self, rows: DocumentBatch, columns: Columns, rules: TextRules) -> None:
        tokens = rows.tokens or tokenize(rows.texts, rules)
        table = StringTable()
        table.add(tokens.words, tokens.hashes)
        found = index_columns(columns.words, table, rules)
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


def _documents_range(documents: Documents, first: int, last: int) -> Documents:
    """Return documents first:last, with offsets from 0."""
    words = slice(int(documents.word_starts[first]), int(documents.word_starts[last]))
    tags = slice(int(documents.tag_starts[first]), int(documents.tag_starts[last]))
    return Documents(
        documents.word_starts[first : last + 1] - words.start, documents.words[words], documents.counts[words],
        documents.tag_starts[first : last + 1] - tags.start, documents.tags[tags],
    )  # fmt: skip


@dataclass(frozen=True)
class StoreBlocks:
    """Stores the blocks of a partition in scratch; yields one list of their summaries."""

    home: str

    def __call__(self, blocks: Iterable[CountedBlock]) -> Iterator[list[BlockSummary]]:
        """Store them."""
        scratch = Scratch(self.home)
        found = []
        for number, data, digest in blocks:
            assert data.documents is not None
            n_words, n_tags = scratch.store_block(number, data)
            starts = data.documents.word_starts, data.documents.tag_starts
            words, tags = (np.diff(offsets).astype(np.int32) for offsets in starts)
            found.append(BlockSummary(number, words, tags, n_words, n_tags, digest))
        yield found


def as_partitions(number: int, stored: Iterable[list[BlockSummary]]) -> Iterator[Partition]:
    """Yield the partition that tasks are given."""
    for blocks in stored:
        yield Partition(number, tuple(block.number for block in blocks))


@dataclass(frozen=True)
class SelectBlocks:
    """Yields the blocks with these numbers."""

    numbers: frozenset[int]

    def __call__(self, blocks: Iterable[CountedBlock]) -> Iterator[CountedBlock]:
        """Select them."""
        return (block for block in blocks if block.number in self.numbers)


def _documents_digest(documents: Documents, ids: StringArray, first: int) -> int:
    """Return a digest of documents at these positions, which adds up over any division into blocks."""
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
