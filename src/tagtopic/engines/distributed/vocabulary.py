"""Words, bigrams and tags of a source, counted on executors.

Each partition counts its words and tags and sends them to buckets by their hash. A bucket adds up the counts, and only
the words that may become columns come to the driver: at most ``max_words`` and the stop words from each bucket. With
``bigrams`` the source is read again to count pairs of words, and once more with the frequent pairs joined (a third
time if ``max_words`` then excludes some of them); of these, pairs seen ``bigram_min_count`` times and two numbers for
each word come to the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus import vocabulary
from tagtopic.corpus.reading.errors import ReadError
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.text import stop_words
from tagtopic.corpus.text.phrases import PairCounts
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.text.tokenizer import tokenize
from tagtopic.corpus.vocabulary import Frequencies, JoinedFrequencies
from tagtopic.engines.distributed.reading import PartitionReader, ReadReport
from tagtopic.engines.distributed.tasks import Shared

BucketPair = tuple[int, tuple[NDArray[Any], NDArray[Any]]]
"""A bucket's number, and two arrays for it."""


@dataclass(frozen=True)
class CountTask:
    """Reads a partition as numbered words; subclasses yield counts for buckets."""

    shared: Shared[tuple[StringArray, Any]]
    kind: str
    request: ReadOptions
    rules: TextRules
    n_buckets: int

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[BucketPair]:
        """Read the partition once."""
        names, asked = self.shared.value
        table = StringTable()
        table.add(names, names.hashes())
        return self.count(self._documents(table, PartitionReader(number, self.kind, self.request), batches), asked)

    def _documents(
        self, table: StringTable, part: PartitionReader, batches: Iterable[bytes]
    ) -> Iterator[tuple[Int64s, Any]]:
        for rows in part.rows(batches):
            tokens = rows.tokens or tokenize(rows.texts, self.rules)
            numbers = np.append(table.find(tokens.words), np.int32(-1))  # other words are gaps, as gaps are
            yield tokens.offsets, numbers[tokens.ids]

    def count(self, documents: Iterable[tuple[Int64s, Any]], asked: Any) -> Iterator[BucketPair]:
        """Yield the counts of the documents."""
        raise NotImplementedError


class CountPairs(CountTask):
    """Counts pairs of adjacent words, by bucket."""

    def count(self, documents: Iterable[tuple[Int64s, Any]], asked: Any) -> Iterator[BucketPair]:
        """Yield the keys and counts of each bucket's pairs."""
        pairs = PairCounts(asked)
        for offsets, ids in documents:
            pairs.add(offsets, ids)
        keys, counts = pairs.items()
        place = keys % np.uint64(self.n_buckets)
        for bucket in range(self.n_buckets):
            yield bucket, (keys[place == bucket], counts[place == bucket])


class CountJoined(CountTask):
    """Counts words and pairs once pairs are joined, by range of columns."""

    def count(self, documents: Iterable[tuple[Int64s, Any]], asked: Any) -> Iterator[BucketPair]:
        """Yield the document and occurrence counts of each range."""
        joined = JoinedFrequencies(*asked)
        for offsets, ids in documents:
            joined.add(offsets, ids)
        parts = (np.array_split(values, self.n_buckets) for values in (joined.documents, joined.occurrences))
        yield from enumerate(zip(*parts, strict=True))


@dataclass(frozen=True)
class MergePairs:
    """Yields the pairs of a bucket that occur often enough in all partitions together."""

    least: int

    def __call__(self, counted: Iterable[BucketPair]) -> Iterator[tuple[NDArray[np.uint64], Int64s]]:
        """Add the partitions' counts, and select."""
        keys, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
        for _, (some, times) in counted:
            keys.append(some)
            counts.append(times)
        pairs, which = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.zeros(len(pairs), np.int64)
        np.add.at(total, which, np.concatenate(counts))
        often = total >= self.least
        yield pairs[often], total[often]


def merge_arrays(counted: Iterable[BucketPair]) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield the sums of one range's arrays over all partitions."""
    sums: tuple[Any, Any] = (np.int64(0), np.int64(0))
    for _, (one, other) in counted:
        sums = sums[0] + one, sums[1] + other
    yield sums


class WordCounts(NamedTuple):
    """Words, with the number of documents and of occurrences of each."""

    names: StringArray
    documents: Int64s
    occurrences: Int64s


class TermCounts(NamedTuple):
    """Counts of words, and of the documents of each tag: of a partition, or of a bucket in all partitions."""

    words: WordCounts
    tags: dict[str, int]


class PartitionTotals(NamedTuple):
    """The outcome of reading a partition, and its number of words."""

    part: int
    report: ReadReport
    n_occurrences: int


@dataclass(frozen=True)
class Vocabulary:
    """The columns of a corpus, with occurrences of each word and documents of each tag and of each partition."""

    words: tuple[str, ...]
    tag_names: tuple[str, ...]
    rules: TextRules
    word_counts: Float64s
    tag_sizes: Int64s
    part_sizes: tuple[int, ...]


@dataclass(frozen=True)
class CountTerms:
    """Yields (bucket, counts) for each bucket of a partition, and last (number of buckets, totals)."""

    kind: str
    request: ReadOptions
    rules: TextRules
    tag_rules: TagRules
    n_buckets: int

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
        """Read the partition once, and count."""
        part = PartitionReader(number, self.kind, self.request)
        table, frequencies, tags = StringTable(), Frequencies(), Counter[str]()
        try:
            for rows in part.rows(batches):
                tokens = rows.tokens or tokenize(rows.texts, self.rules)
                numbers = np.append(table.add(tokens.words, tokens.hashes), np.int32(-1))
                frequencies.add(tokens.offsets, numbers[tokens.ids], len(table))
                for row in rows.tags:
                    tags.update(set(row))
        except ReadError as error:
            yield self.n_buckets, PartitionTotals(number, ReadReport(error=str(error)), 0)
            return
        yield from self._cut(table.strings, frequencies, tags)
        yield self.n_buckets, PartitionTotals(number, part.report(), frequencies.n_occurrences)

    def _cut(
        self, names: StringArray, frequencies: Frequencies, tags: Counter[str]
    ) -> Iterator[tuple[int, TermCounts]]:
        kept = [tag for tag in tags if self.tag_rules.keeps(tag)]
        place_of_word = names.hashes() % np.uint64(self.n_buckets)
        place_of_tag = StringArray.of(kept).hashes() % np.uint64(self.n_buckets)
        for bucket in range(self.n_buckets):
            rows = np.flatnonzero(place_of_word == bucket)
            words = WordCounts(names.take(rows), frequencies.documents[rows], frequencies.occurrences[rows])
            yield bucket, TermCounts(words, {kept[i]: tags[kept[i]] for i in np.flatnonzero(place_of_tag == bucket)})


@dataclass(frozen=True)
class MergeBucket:
    """Yields a bucket's counts in all partitions, without the words and tags that cannot become columns."""

    rules: TextRules
    tag_rules: TagRules
    n_documents: int

    def __call__(self, pairs: Iterable[tuple[int, TermCounts]]) -> Iterator[TermCounts]:
        """Add the partitions' counts, and select."""
        words, tags = WordTally(), Counter[str]()
        for _, bucket in pairs:
            words.add(bucket.words)
            tags.update(bucket.tags)
        enough = max(1, self.tag_rules.min_tag_documents)
        yield TermCounts(self._candidates(words), {tag: n for tag, n in tags.items() if n >= enough})

    def _candidates(self, words: WordTally) -> WordCounts:
        """Words within the limits, and all stop words, by which the language of the texts is recognised."""
        names = words.table.strings
        stops = np.zeros(len(names), bool)
        forms = vocabulary.surface_forms(self._stop_words(), self.rules.lowercase)
        found = words.table.find(forms)
        stops[found[found >= 0]] = True
        within = vocabulary.within_limits(words.documents, self.n_documents, self.rules) & ~stops
        rows = np.concatenate(
            [np.flatnonzero(stops), vocabulary.most_frequent(names, within, words.documents, self._most_words())]
        )
        return WordCounts(names.take(rows), words.documents[rows], words.occurrences[rows])

    def _most_words(self) -> int | None:
        """With bigrams there is no limit yet: joining pairs changes which words are the most used."""
        return self.rules.max_words if self.rules.bigrams is None else None

    def _stop_words(self) -> frozenset[str]:
        if self.rules.stop_words == "auto":
            return frozenset().union(*map(stop_words.of_language, stop_words.LANGUAGES))
        return stop_words.resolve(self.rules.stop_words)


class WordTally:
    """A table of words with their counts, to which partitions are added."""

    def __init__(self) -> None:
        self.table = StringTable()
        self.documents = self.occurrences = np.zeros(0, np.int64)

    def add(self, more: WordCounts) -> None:
        """Add the counts of another partition."""
        places = self.table.add(more.names, more.names.hashes())
        grown = len(self.table) - len(self.documents)
        self.documents = np.pad(self.documents, (0, grown))
        self.occurrences = np.pad(self.occurrences, (0, grown))
        self.documents[places] += more.documents
        self.occurrences[places] += more.occurrences
