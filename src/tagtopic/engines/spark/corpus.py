"""A corpus whose documents executors read, count and store.

The driver has the names of words and tags, their frequencies, and the numbers of different words and tags of each
document (8 bytes a document). Documents can be fetched by their positions: a fit needs samples of them.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int32s, Int64s, offsets_of, take_rows
from tagtopic._core.strings import StringArray
from tagtopic.corpus import Corpus
from tagtopic.corpus import vocabulary as columns
from tagtopic.corpus.corpus import Document, positions_of
from tagtopic.corpus.interface import RemoteCorpus
from tagtopic.corpus.matrices import csr
from tagtopic.corpus.reading.errors import ReadError
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.vocabulary import Frequencies
from tagtopic.engines.distributed.reading import (
    IDS,
    PART_BITS,
    BlockSummary,
    Columns,
    CountBlocks,
    CountedBlock,
    RemoteBlock,
    RemovedWords,
    SelectBlocks,
    StoreBlocks,
    as_partitions,
    check_reports,
)
from tagtopic.engines.distributed.scratch import INITIAL, BlockData, Scratch, ScratchNames
from tagtopic.engines.distributed.tasks import Partition, exhaust
from tagtopic.engines.distributed.vocabulary import (
    BucketPair,
    CountJoined,
    CountPairs,
    CountTask,
    CountTerms,
    MergeBucket,
    MergePairs,
    PartitionTotals,
    TermCounts,
    Vocabulary,
    WordTally,
    merge_arrays,
)
from tagtopic.engines.spark.cluster import SourcePlacement, SparkExecutors
from tagtopic.engines.spark.context import broadcast, job_errors, remove_shuffle
from tagtopic.engines.spark.source import Source

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext

    from tagtopic.engines.spark.engine import SparkEngine

BUCKETS = 64
"""The largest number of buckets; with fewer cores there are as many as cores."""


class FetchedDocuments(NamedTuple):
    """Some documents of a block."""

    number: int
    counts: tuple[Int64s, Int32s, Int32s]
    tags: tuple[Int64s, Int32s]
    ids: StringArray


@dataclass(frozen=True)
class FetchDocuments:
    """Yields documents of a partition's blocks by their positions there, in the columns of the corpus."""

    positions: Broadcast[dict[int, NDArray[np.int64]]]

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[FetchedDocuments]:
        """Fetch them."""
        wanted = self.positions.value
        numbers = [number for number in partition.blocks if number in wanted]
        scratch.require(numbers)
        for number in numbers:
            stored, rows = scratch.block(number), wanted[number]
            documents = stored.block.documents
            starts, words = take_rows(documents.word_starts, documents.words, rows)
            _, counts = take_rows(documents.word_starts, documents.counts, rows)
            tag_starts, tags = take_rows(documents.tag_starts, documents.tags, rows)
            ids = StringArray(*(scratch.extra(number, name) for name in IDS)).take(rows)
            yield FetchedDocuments(number, (starts, stored.words[words], counts), (tag_starts, stored.tags[tags]), ids)


class SparkCorpus(RemoteCorpus):
    """Documents with words and tags on a Spark cluster.

    ``SparkEngine.read`` returns it, and that engine fits it. It has the words, tags and documents that ``Corpus.read``
    returns for the same source. ``corpus[rows]`` fetches some documents, as a ``Corpus``. Use it as a context manager,
    or ``close`` it, to remove the documents from the executors.

    Parameters
    ----------
    engine : SparkEngine
        The engine that read it.
    context : SparkContext
        The context that it was read in.
    vocabulary : Vocabulary
        The columns and their frequencies.
    stored : _StoredBlocks
        The blocks on executors.
    """

    def __init__(
        self, engine: SparkEngine, context: SparkContext, vocabulary: Vocabulary, stored: _StoredBlocks
    ) -> None:
        self.engine = engine
        self.context = context
        self._vocabulary = vocabulary
        self._stored = stored

    @property
    def words(self) -> tuple[str, ...]:
        """The word of each column."""
        return self._vocabulary.words

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tag of each column."""
        return self._vocabulary.tag_names

    @property
    def rules(self) -> TextRules:
        """The text processing rules."""
        return self._vocabulary.rules

    @property
    def n_documents(self) -> int:
        """The number of documents."""
        return len(self)

    @property
    def n_words(self) -> int:
        """The size of the vocabulary."""
        return len(self.words)

    @property
    def n_tags(self) -> int:
        """The number of different tags."""
        return len(self.tag_names)

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return int(self._vocabulary.word_counts.sum())

    def __len__(self) -> int:
        return sum(self._vocabulary.part_sizes)

    def __repr__(self) -> str:
        return (
            f"SparkCorpus({len(self):,} documents, {self.n_words:,} words, {self.n_tags:,} tags, "
            f"{len(self.blocks):,} blocks)"
        )

    def word_counts(self) -> NDArray[np.float64]:
        """Return the number of occurrences of each word."""
        return self._vocabulary.word_counts

    def tag_sizes(self) -> NDArray[np.int64]:
        """Return the number of documents with each tag."""
        return self._vocabulary.tag_sizes

    def document_sizes(self) -> tuple[Int32s, Int32s]:
        """Return the numbers of different words and of tags of each document."""
        return self._stored.document_sizes

    @property
    def blocks(self) -> list[RemoteBlock]:
        """The blocks, in the order of their documents."""
        return self._stored.blocks

    def fingerprint(self) -> str:
        """Return a digest of the corpus, which does not depend on its division into partitions."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(f"{len(self)} {self.n_words} {self.n_tags} {self._stored.digest}\n".encode())
        for names in (StringArray.of(self.words), StringArray.of(self.tag_names)):
            digest.update(names.offsets.astype("<i8").tobytes() + names.data.tobytes())
        return digest.hexdigest()

    def without_tags(self) -> SparkCorpus:
        """Return the corpus, if it was read without tags."""
        if self.n_tags:
            raise ValueError("the documents on the cluster have tags, and this model has none: read them with tags=()")
        return self

    def without_tokens(self, rows: NDArray[np.int64], words: NDArray[np.int32], taken: NDArray[Any]) -> SparkCorpus:
        """The same documents, read again, with words of ``rows`` taken out: which, and how many, by entry."""
        starts = offsets_of(self.document_sizes()[0][rows])
        counts = self._vocabulary.word_counts - np.bincount(words, weights=taken, minlength=self.n_words)
        built = self._stored.less(RemovedWords(rows, starts, taken))
        return SparkCorpus(self.engine, self.context, replace(self._vocabulary, word_counts=counts), built)

    @overload
    def __getitem__(self, rows: int) -> Document: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[Any] | NDArray[Any]) -> Corpus: ...
    def __getitem__(self, rows: Any) -> Document | Corpus:
        """Fetch one document by its position, or a corpus by slice, mask or positions, in that order."""
        if isinstance(rows, int | np.integer):
            return self._fetched(positions_of([int(rows)], len(self)))[0]
        wanted = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else positions_of(rows, len(self))
        ascending, places = np.unique(wanted, return_inverse=True)
        found = self._fetched(ascending)
        return found if np.array_equal(wanted, ascending) else found[places]

    def _fetched(self, rows: NDArray[np.int64]) -> Corpus:
        """Fetch documents by their positions, ascending."""
        if not len(rows):
            return self._assembled([])
        lasts = np.array([block.last for block in self.blocks])
        owners = np.searchsorted(lasts, rows, side="right")
        positions: dict[int, NDArray[np.int64]] = {}
        for i in np.unique(owners).tolist():
            positions[self.blocks[i].number] = rows[owners == i] - self.blocks[i].first
        with self.cluster.share(positions) as shared:
            found: list[FetchedDocuments] = self.cluster.run(
                FetchDocuments(shared), INITIAL, sorted({n >> PART_BITS for n in positions})
            )
        return self._assembled(found)

    def _assembled(self, found: list[FetchedDocuments]) -> Corpus:
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
        """The executors that store the blocks."""
        home = self._stored.home
        return SparkExecutors(
            self.context, self.placement(), ScratchNames(home, home), block_data=self.block_data, prepare=exhaust,
            wave_bytes=self.engine.transfer.wave,
        )  # fmt: skip

    def placement(self) -> SourcePlacement:
        """Return the placement of the blocks on executors."""
        return self._stored.placement

    @property
    def home(self) -> str:
        """The name of the scratch folder of the blocks."""
        return self._stored.home

    def block_data(self, number: int, with_documents: bool) -> BlockData:
        """Return a block, read again from its source, for an executor that has lost it."""
        if not with_documents:
            return BlockData(None, self.n_words, self.n_tags, None)
        with job_errors():
            found: list[CountedBlock] = self.context.runJob(
                self._stored.counted, SelectBlocks(frozenset([number])), [number >> PART_BITS]
            )
        return found[0].data

    def close(self) -> None:
        """Remove the blocks from the executors."""
        with suppress(Exception):  # if the cluster is gone there is nothing to remove
            self.cluster.close()
            self._stored.close()

    def __enter__(self) -> SparkCorpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _StoredBlocks:
    """The blocks that executors store, and the task that reads them from the source."""

    def __init__(
        self,
        context: SparkContext,
        source: Source,
        count: CountBlocks,
        removed: Broadcast[RemovedWords] | None = None,
    ) -> None:
        self._context, self._source, self._count, self._removed = context, source, count, removed
        self.home = uuid.uuid4().hex
        self.counted: RDD[CountedBlock] = source.batches.mapPartitionsWithIndex(count)
        self._stored: RDD[list[BlockSummary]] = self.counted.mapPartitions(StoreBlocks(self.home)).cache()
        with job_errors():
            stored = self._stored.collect()
        sizes = [block for part in stored for block in part]
        self.digest = sum(block.digest for block in sizes) % 2**64
        self.document_sizes = (
            np.concatenate([block.word_entries for block in sizes]),
            np.concatenate([block.tag_entries for block in sizes]),
        )
        self.blocks = _block_extents(sizes)
        partitions = [Partition(index, tuple(block.number for block in part)) for index, part in enumerate(stored)]
        self.placement = SourcePlacement(self._stored.mapPartitionsWithIndex(as_partitions), partitions)

    def less(self, removed: RemovedWords) -> _StoredBlocks:
        shared = broadcast(self._context, removed)
        return _StoredBlocks(self._context, self._source, replace(self._count, removed=shared), shared)

    def close(self) -> None:
        self._stored.unpersist()
        # columns are shared with other corpora, and are removed with the last of them
        if self._removed is not None:
            self._removed.destroy()


def _block_extents(sizes: list[BlockSummary]) -> list[RemoteBlock]:
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
    request: ReadOptions,
    rules: TextRules,
    tag_rules: TagRules,
    block_entries: int,
) -> SparkCorpus:
    """Read a source twice, for its vocabulary and then for its blocks; in between again for bigrams."""
    request = replace(request, format=source.kind)
    vocabulary = choose_vocabulary(context, source, request, rules, tag_rules)
    columns = broadcast(context, Columns(StringArray.of(vocabulary.words), StringArray.of(vocabulary.tag_names)))
    firsts = tuple(accumulate(vocabulary.part_sizes, initial=0))[:-1]
    count = CountBlocks(columns, source.kind, request, vocabulary.rules, firsts, block_entries)
    return SparkCorpus(engine, context, vocabulary, _StoredBlocks(context, source, count))


@dataclass(frozen=True)
class ClusterPasses:
    """Further passes over a source, to count pairs of the words that may become columns; see ``TokenSource``."""

    context: SparkContext
    source: Source
    request: ReadOptions
    rules: TextRules
    names: StringArray
    n_buckets: int

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], Int64s]:
        """As in ``TokenSource``."""
        found = self._counted(countable, CountPairs, MergePairs(self.rules.bigram_min_count))
        keys, counts = (np.concatenate(some) for some in zip(*found, strict=True))
        order = np.argsort(keys)
        return keys[order], counts[order]

    def joined_frequencies(self, n_words: int, first: Int64s, second: Int64s) -> tuple[Int64s, Int64s]:
        """As in ``TokenSource``."""
        found = self._counted((n_words, first, second), CountJoined, merge_arrays)
        documents, occurrences = (np.concatenate(some) for some in zip(*found, strict=True))
        return documents, occurrences

    def _counted(self, asked: Any, count: type[CountTask], add: Callable[[Iterable[BucketPair]], Any]) -> list[Any]:
        """Return the merged counts of each bucket."""
        shared = broadcast(self.context, (self.names, asked))
        counting = count(shared, self.source.kind, self.request, self.rules, self.n_buckets)
        shuffled = self.source.batches.mapPartitionsWithIndex(counting).partitionBy(self.n_buckets, int)
        try:
            with job_errors():
                return list(self.context.runJob(shuffled, add, list(range(self.n_buckets))))
        finally:
            remove_shuffle(shuffled)
            shared.destroy()


def choose_vocabulary(
    context: SparkContext, source: Source, request: ReadOptions, rules: TextRules, tag_rules: TagRules
) -> Vocabulary:
    """Read the source once, and choose its words and tags."""
    n_buckets = min(BUCKETS, max(1, context.defaultParallelism))
    pairs = source.batches.mapPartitionsWithIndex(CountTerms(source.kind, request, rules, tag_rules, n_buckets))
    shuffled = pairs.partitionBy(n_buckets + 1, int)
    try:
        return _choose(context, source, shuffled, n_buckets, request, rules, tag_rules)
    finally:
        remove_shuffle(shuffled)


def _choose(
    context: SparkContext, source: Source, shuffled: RDD[tuple[int, Any]], n_buckets: int, request: ReadOptions,
    rules: TextRules, tag_rules: TagRules,
) -> Vocabulary:  # fmt: skip
    # totals have a partition of their own; the shuffle files of the others exist when it is computed
    with job_errors():
        totals: list[PartitionTotals] = sorted(context.runJob(shuffled, _values, [n_buckets]))
    check_reports([part.report for part in totals], skip=request.skips_errors)
    sizes = tuple(part.report.n_documents for part in totals)
    if not sum(sizes):
        raise ReadError("the source has no documents")
    with job_errors():
        merge = MergeBucket(rules, tag_rules, sum(sizes))
        buckets: list[TermCounts] = context.runJob(shuffled, merge, list(range(n_buckets)))
    words = WordTally()
    for bucket in buckets:
        words.add(bucket.words)
    n_occurrences = sum(part.n_occurrences for part in totals)
    frequencies = Frequencies.of(words.documents, words.occurrences, sum(sizes), n_occurrences)
    readings = ClusterPasses(context, source, request, rules, words.table.strings, n_buckets)
    chosen = columns.select_vocabulary(readings, words.table, frequencies, rules)
    tags = {tag: n for bucket in buckets for tag, n in bucket.tags.items()}
    names = tuple(sorted(tags))
    tag_sizes = np.array([tags[tag] for tag in names], np.int64)
    counts = _column_counts(readings, chosen, len(words.table))
    return Vocabulary(chosen.words, names, chosen.rules, counts.astype(np.float64), tag_sizes, sizes)


def _column_counts(readings: ClusterPasses, chosen: columns.SelectedVocabulary, n_words: int) -> Int64s:
    """Return the occurrences of each column; words of pairs that are not columns count as single words."""
    is_pair = chosen.numbers >= n_words
    pairs = np.sort(chosen.numbers[is_pair] - n_words)
    if len(pairs) == len(chosen.first):
        return chosen.occurrences[chosen.numbers]
    _, occurrences = readings.joined_frequencies(n_words, chosen.first[pairs], chosen.second[pairs])
    return occurrences[np.where(is_pair, n_words + np.searchsorted(pairs, chosen.numbers - n_words), chosen.numbers)]


def _values(pairs: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Yield the values of pairs."""
    return (value for _, value in pairs)
