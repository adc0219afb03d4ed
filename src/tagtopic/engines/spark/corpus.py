"""A corpus whose documents never come to the driver: they are read, counted and kept by executors.

The driver has the names of words and tags, their frequencies, and how many different words and tags each document has
(8 bytes a document). Some documents can be fetched by their positions: what a fit looks at closely is a sample.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int32s, Int64s, offsets_of
from tagtopic._core.arrays import take_rows as take_rows
from tagtopic._core.strings import StringArray
from tagtopic.corpus import Corpus, TextRules
from tagtopic.corpus.collection import RemoteCorpus
from tagtopic.corpus.corpus import Document, _positions
from tagtopic.corpus.matrices import csr
from tagtopic.corpus.reading.reader import Request
from tagtopic.corpus.text.rules import TagRules
from tagtopic.engines.distributed.builder import (
    IDS,
    PART_BITS,
    BlockSizes,
    Columns,
    Count,
    Counted,
    Pick,
    RemoteBlock,
    Store,
    Taken,
    as_slots,
)
from tagtopic.engines.distributed.placement import Built
from tagtopic.engines.distributed.scratch import FRESH, Parcel, Rooms, Scratch
from tagtopic.engines.distributed.tasks import Slot, use_up
from tagtopic.engines.distributed.vocabulary import Vocabulary, gather
from tagtopic.engines.spark.cluster import SparkExecutors
from tagtopic.engines.spark.source import Source

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext

    from tagtopic.engines.spark.engine import SparkEngine


class Fetched(NamedTuple):
    """Some documents of a block."""

    number: int
    counts: tuple[Int64s, Int32s, Int32s]
    tags: tuple[Int64s, Int32s]
    ids: StringArray


@dataclass(frozen=True)
class Fetch:
    """Yields documents of a partition's blocks, by their places in them, in the corpus's columns."""

    places: Broadcast[dict[int, NDArray[np.int64]]]

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[Fetched]:
        """Fetch."""
        wanted = self.places.value
        numbers = [number for number in slot.numbers if number in wanted]
        scratch.require(numbers)
        for number in numbers:
            stored, rows = scratch.block(number), wanted[number]
            documents = stored.block.documents
            starts, words = take_rows(documents.word_starts, documents.words, rows)
            _, counts = take_rows(documents.word_starts, documents.counts, rows)
            tag_starts, tags = take_rows(documents.tag_starts, documents.tags, rows)
            ids = StringArray(*(scratch.beside(number, name) for name in IDS)).take(rows)
            yield Fetched(number, (starts, stored.words[words], counts), (tag_starts, stored.tags[tags]), ids)


class SparkCorpus(RemoteCorpus):
    """Documents with words and tags on a cluster; make one with ``SparkEngine.read``, fit it with that engine.

    It has the words, tags and documents that ``Corpus.read`` makes of the same source. ``corpus[rows]`` brings some
    documents here, as a ``Corpus``; ``close`` removes all from the executors.
    """

    def __init__(self, engine: SparkEngine, context: SparkContext, found: Vocabulary, built: _Built) -> None:
        self.engine = engine
        self.context = context
        self._found = found
        self._built = built

    @property
    def words(self) -> tuple[str, ...]:
        """The word of each column."""
        return self._found.words

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tag of each column."""
        return self._found.tag_names

    @property
    def rules(self) -> TextRules:
        """How the texts became words."""
        return self._found.rules

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return len(self)

    @property
    def n_words(self) -> int:
        """How many different words the vocabulary has."""
        return len(self.words)

    @property
    def n_tags(self) -> int:
        """How many different tags there are."""
        return len(self.tag_names)

    @property
    def n_tokens(self) -> int:
        """How many words there are in all, repeats counted."""
        return int(self._found.word_counts.sum())

    def __len__(self) -> int:
        return sum(self._found.part_sizes)

    def __repr__(self) -> str:
        return (
            f"SparkCorpus({len(self):,} documents, {self.n_words:,} words, {self.n_tags:,} tags, "
            f"{len(self.blocks):,} blocks)"
        )

    def word_counts(self) -> NDArray[np.float64]:
        """How often each word occurs."""
        return self._found.word_counts

    def tag_sizes(self) -> NDArray[np.int64]:
        """How many documents have each tag."""
        return self._found.tag_sizes

    def document_sizes(self) -> tuple[Int32s, Int32s]:
        """How many different words, and how many tags, each document has."""
        return self._built.document_sizes

    @property
    def blocks(self) -> list[RemoteBlock]:
        """The blocks, in the order of their documents."""
        return self._built.blocks

    def fingerprint(self) -> str:
        """A digest of everything in the corpus, the same however its source was cut."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{len(self)} {self.n_words} {self.n_tags} {self._built.digest}\n".encode())
        for names in (StringArray.of(self.words), StringArray.of(self.tag_names)):
            digest.update(names.offsets.astype("<i8").tobytes() + names.data.tobytes())
        return digest.hexdigest()

    def without_tags(self) -> SparkCorpus:
        """The same documents, as if they had no tags: only where they were read without."""
        if self.n_tags:
            raise ValueError("the documents on the cluster have tags, and this model has none: read them with tags=()")
        return self

    def less(self, rows: NDArray[np.int64], words: NDArray[np.int32], taken: NDArray[Any]) -> SparkCorpus:
        """The same documents, read again, with words of ``rows`` taken out: which, and how many, by entry."""
        starts = offsets_of(self.document_sizes()[0][rows])
        counts = self._found.word_counts - np.bincount(words, weights=taken, minlength=self.n_words)
        built = self._built.less(Taken(rows, starts, taken))
        return SparkCorpus(self.engine, self.context, replace(self._found, word_counts=counts), built)

    @overload
    def __getitem__(self, rows: int) -> Document: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[Any] | NDArray[Any]) -> Corpus: ...
    def __getitem__(self, rows: Any) -> Document | Corpus:
        """One document by its position, or a corpus by slice, mask or positions, in that order, on this machine."""
        if isinstance(rows, int | np.integer):
            return self._fetched(_positions([int(rows)], len(self)))[0]
        wanted = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else _positions(rows, len(self))
        ascending, places = np.unique(wanted, return_inverse=True)
        found = self._fetched(ascending)
        return found if np.array_equal(wanted, ascending) else found[places]

    def _fetched(self, rows: NDArray[np.int64]) -> Corpus:
        """Documents by their positions, ascending."""
        if not len(rows):
            return self._assembled([])
        lasts = np.array([block.last for block in self.blocks])
        owners = np.searchsorted(lasts, rows, side="right")
        places: dict[int, NDArray[np.int64]] = {}
        for i in np.unique(owners).tolist():
            places[self.blocks[i].number] = rows[owners == i] - self.blocks[i].first
        with self.cluster.share(places) as shared:
            found: list[Fetched] = self.cluster.run(Fetch(shared), FRESH, sorted({n >> PART_BITS for n in places}))
        return self._assembled(found)

    def _assembled(self, found: list[Fetched]) -> Corpus:
        none, no_sizes, no_bytes = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint8)
        offsets = [(part.counts[0], part.tags[0], part.ids.offsets) for part in found]
        starts, tag_starts, id_starts = (
            offsets_of(np.concatenate([no_sizes, *(np.diff(part[i]) for part in offsets)])) for i in range(3)
        )
        words, counts = (np.concatenate([none, *(part.counts[i] for part in found)]) for i in (1, 2))
        tags = np.concatenate([none, *(part.tags[1] for part in found)])
        ids = StringArray(id_starts, np.concatenate([no_bytes, *(part.ids.data for part in found)]))
        return Corpus(
            counts=csr(starts, words.astype(np.int32, copy=False), counts, self.n_words),
            tags=csr(tag_starts, tags, np.ones(len(tags), np.int8), self.n_tags),
            words=self.words,
            tag_names=self.tag_names,
            ids=ids,
            rules=self.rules,
        )

    @cached_property
    def cluster(self) -> SparkExecutors:
        """The executors that have the blocks."""
        home = self._built.home
        return SparkExecutors(
            self.context, self.placement(), Rooms(home, home), parcel=self.parcel, prepare=use_up,
            wave_bytes=self.engine.transfer.wave,
        )  # fmt: skip

    def placement(self) -> Built:
        """Which executor has which blocks."""
        return self._built.placement

    @property
    def home(self) -> str:
        """The name of the folder in executors' scratch where the blocks are."""
        return self._built.home

    def parcel(self, number: int, with_documents: bool) -> Parcel:
        """A block read again from its source, for an executor that has not got it."""
        if not with_documents:
            return Parcel(None, self.n_words, self.n_tags, None)
        found: list[Counted] = self.context.runJob(
            self._built.counted, Pick(frozenset([number])), [number >> PART_BITS]
        )
        return found[0].parcel

    def close(self) -> None:
        """Let go of the blocks."""
        with suppress(Exception):  # if the cluster is gone there is nothing to remove
            self.cluster.close()
            self._built.close()

    def __enter__(self) -> SparkCorpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Built:
    """The blocks that executors made, and what they are made from."""

    def __init__(self, context: SparkContext, source: Source, count: Count) -> None:
        self._context, self._source, self._count = context, source, count
        self.home = uuid.uuid4().hex
        self.counted: RDD[Counted] = source.batches.mapPartitionsWithIndex(count)
        self._stored: RDD[list[BlockSizes]] = self.counted.mapPartitions(Store(self.home)).cache()
        stored = self._stored.collect()
        sizes = [block for part in stored for block in part]
        self.digest = sum(block.digest for block in sizes) % 2**64
        self.document_sizes = (
            np.concatenate([block.word_entries for block in sizes]),
            np.concatenate([block.tag_entries for block in sizes]),
        )
        self.blocks = _placed(sizes)
        slots = [Slot(index, tuple(block.number for block in part)) for index, part in enumerate(stored)]
        self.placement = Built(self._stored.mapPartitionsWithIndex(as_slots), slots)

    def less(self, taken: Taken) -> _Built:
        return _Built(self._context, self._source, replace(self._count, taken=self._context.broadcast(taken)))

    def close(self) -> None:
        self._stored.unpersist()
        # columns are shared by all that was made with them, and go when nobody has them any more
        if self._count.taken is not None:
            self._count.taken.destroy()


def _placed(sizes: list[BlockSizes]) -> list[RemoteBlock]:
    documents = accumulate((len(block.word_entries) for block in sizes), initial=0)
    tags = accumulate((int(block.tag_entries.sum()) for block in sizes), initial=0)
    return [
        RemoteBlock(block.number, *rows, entries, block.n_words, block.n_tags)
        for block, rows, entries in zip(sizes, pairwise(documents), pairwise(tags), strict=True)
    ]


def read_corpus(
    engine: SparkEngine,
    context: SparkContext,
    source: Source,
    request: Request,
    rules: TextRules,
    tag_rules: TagRules,
    block_entries: int,
) -> SparkCorpus:
    """Read a source twice, once for its words and tags and once for its blocks; in between again for bigrams."""
    request = replace(request, format=source.kind)
    found = gather(context, source, request, rules, tag_rules)
    columns = context.broadcast(Columns(StringArray.of(found.words), StringArray.of(found.tag_names)))
    firsts = tuple(accumulate(found.part_sizes, initial=0))[:-1]
    count = Count(columns, source.kind, request, found.rules, firsts, block_entries)
    return SparkCorpus(engine, context, found, _Built(context, source, count))
