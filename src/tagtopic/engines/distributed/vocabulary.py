"""The words and tags of a source, gathered on the cluster and chosen by the rules of ``Corpus.read``.

Each partition counts its words and sends them to buckets by their hash; a bucket adds up, and only the words that may
become columns come to the driver, at most ``max_words`` and the stop words from each bucket. Tags travel alike. With
``bigrams`` the source is read again (see ``phrases``), and all words within the limits come to the driver.

Pairs of words on the cluster: the source is read once more to count them, and again with those that count joined
(and a third time if ``max_words`` then leaves some of them out).

Each partition counts by itself and sends its counts to buckets, of pairs by their key and of words by their number; a
bucket adds up. Only pairs seen ``bigram_min_count`` times, and two numbers for each word, come to the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus import vocabulary
from tagtopic.corpus import vocabulary as columns
from tagtopic.corpus.reading.errors import ReadError
from tagtopic.corpus.reading.reader import Request
from tagtopic.corpus.text import stop_words
from tagtopic.corpus.text.phrases import PairCounts
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.text.tokenizer import tokenize
from tagtopic.corpus.vocabulary import Frequencies, Joined
from tagtopic.engines.distributed.builder import Heard, Part, tell
from tagtopic.engines.spark.source import Source

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext


Counted = tuple[int, tuple[NDArray[Any], NDArray[Any]]]
"""A bucket, and two arrays for it."""


@dataclass(frozen=True)
class RemoteReadings:
    """A source on the cluster, gone through again: ``Readings`` of the words that may become columns."""

    context: SparkContext
    source: Source
    request: Request
    rules: TextRules
    names: StringArray
    n_buckets: int

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], Int64s]:
        """As in ``Readings``."""
        found = self._counted(countable, CountPairs, AddPairs(self.rules.bigram_min_count))
        keys, counts = (np.concatenate(some) for some in zip(*found, strict=True))
        order = np.argsort(keys)
        return keys[order], counts[order]

    def once_joined(self, n_words: int, first: Int64s, second: Int64s) -> tuple[Int64s, Int64s]:
        """As in ``Readings``."""
        found = self._counted((n_words, first, second), CountJoined, add_arrays)
        documents, occurrences = (np.concatenate(some) for some in zip(*found, strict=True))
        return documents, occurrences

    def _counted(self, asked: Any, count: type[_Counting], add: Callable[[Iterable[Counted]], Any]) -> list[Any]:
        """What each bucket adds up to."""
        shared = self.context.broadcast((self.names, asked))
        counting = count(shared, self.source.kind, self.request, self.rules, self.n_buckets)
        shuffled = self.source.batches.mapPartitionsWithIndex(counting).partitionBy(self.n_buckets, int)
        try:
            return list(self.context.runJob(shuffled, add, list(range(self.n_buckets))))
        finally:
            shuffled.cleanShuffleDependencies()
            shared.destroy()


@dataclass(frozen=True)
class _Counting:
    """Reads a partition as numbered words and yields counts for buckets."""

    shared: Broadcast[tuple[StringArray, Any]]
    kind: str
    request: Request
    rules: TextRules
    n_buckets: int

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[Counted]:
        """Read the partition once."""
        names, asked = self.shared.value
        table = StringTable()
        table.add(names, names.hashes())
        return self.count(self._documents(table, Part(number, self.kind, self.request), batches), asked)

    def _documents(self, table: StringTable, part: Part, batches: Iterable[bytes]) -> Iterator[tuple[Int64s, Any]]:
        for rows in part.rows(batches):
            tokens = rows.tokens or tokenize(rows.texts, self.rules)
            numbers = np.append(table.find(tokens.words), np.int32(-1))  # other words are gaps, as gaps are
            yield tokens.offsets, numbers[tokens.ids]

    def count(self, documents: Iterable[tuple[Int64s, Any]], asked: Any) -> Iterator[Counted]:
        """The counts."""
        raise NotImplementedError


class CountPairs(_Counting):
    """Counts pairs of countable words, by bucket."""

    def count(self, documents: Iterable[tuple[Int64s, Any]], asked: Any) -> Iterator[Counted]:
        """Keys and counts."""
        pairs = PairCounts(asked)
        for offsets, ids in documents:
            pairs.add(offsets, ids)
        keys, counts = pairs.items()
        place = keys % np.uint64(self.n_buckets)
        for bucket in range(self.n_buckets):
            yield bucket, (keys[place == bucket], counts[place == bucket])


class CountJoined(_Counting):
    """Counts words and pairs once pairs are joined, by range."""

    def count(self, documents: Iterable[tuple[Int64s, Any]], asked: Any) -> Iterator[Counted]:
        """Documents and occurrences of a range of words."""
        joined = Joined(*asked)
        for offsets, ids in documents:
            joined.add(offsets, ids)
        parts = (np.array_split(values, self.n_buckets) for values in (joined.documents, joined.occurrences))
        yield from enumerate(zip(*parts, strict=True))


@dataclass(frozen=True)
class AddPairs:
    """Yields the pairs of a bucket that are seen often enough in all partitions together."""

    least: int

    def __call__(self, counted: Iterable[Counted]) -> Iterator[tuple[NDArray[np.uint64], Int64s]]:
        """Add, then choose."""
        keys, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
        for _, (some, times) in counted:
            keys.append(some)
            counts.append(times)
        pairs, which = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.zeros(len(pairs), np.int64)
        np.add.at(total, which, np.concatenate(counts))
        often = total >= self.least
        yield pairs[often], total[often]


def add_arrays(counted: Iterable[Counted]) -> Iterator[tuple[Int64s, Int64s]]:
    """The sums of the arrays of one range."""
    sums: tuple[Any, Any] = (np.int64(0), np.int64(0))
    for _, (one, other) in counted:
        sums = sums[0] + one, sums[1] + other
    yield sums


BUCKETS = 64
"""At most so many buckets; as many as cores if those are fewer."""


class WordCounts(NamedTuple):
    """Words, the documents that each is in, and its occurrences."""

    names: StringArray
    documents: Int64s
    occurrences: Int64s


class Bucket(NamedTuple):
    """What a partition sends to a bucket, and what a bucket sends to the driver."""

    words: WordCounts
    tags: dict[str, int]


class Totals(NamedTuple):
    """What a partition says of itself."""

    part: int
    heard: Heard
    n_occurrences: int


@dataclass(frozen=True)
class Vocabulary:
    """The columns of a corpus, how often each word occurs, the documents of each tag, and of each partition."""

    words: tuple[str, ...]
    tag_names: tuple[str, ...]
    rules: TextRules
    word_counts: Float64s
    tag_sizes: Int64s
    part_sizes: tuple[int, ...]


@dataclass(frozen=True)
class Gather:
    """Yields (bucket, its words and tags) of a partition, and (number of buckets, the partition's totals)."""

    kind: str
    request: Request
    rules: TextRules
    tag_rules: TagRules
    n_buckets: int

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
        """Read the partition once."""
        part = Part(number, self.kind, self.request)
        table, frequencies, tags = StringTable(), Frequencies(), Counter[str]()
        try:
            for rows in part.rows(batches):
                tokens = rows.tokens or tokenize(rows.texts, self.rules)
                numbers = np.append(table.add(tokens.words, tokens.hashes), np.int32(-1))
                frequencies.add(tokens.offsets, numbers[tokens.ids], len(table))
                for row in rows.tags:
                    tags.update(set(row))
        except ReadError as error:
            yield self.n_buckets, Totals(number, Heard(error=str(error)), 0)
            return
        yield from self._cut(table.strings, frequencies, tags)
        yield self.n_buckets, Totals(number, part.heard(), frequencies.n_occurrences)

    def _cut(self, names: StringArray, frequencies: Frequencies, tags: Counter[str]) -> Iterator[tuple[int, Bucket]]:
        kept = [tag for tag in tags if self.tag_rules.keeps(tag)]
        place_of_word = names.hashes() % np.uint64(self.n_buckets)
        place_of_tag = StringArray.of(kept).hashes() % np.uint64(self.n_buckets)
        for bucket in range(self.n_buckets):
            rows = np.flatnonzero(place_of_word == bucket)
            words = WordCounts(names.take(rows), frequencies.documents[rows], frequencies.occurrences[rows])
            yield bucket, Bucket(words, {kept[i]: tags[kept[i]] for i in np.flatnonzero(place_of_tag == bucket)})


@dataclass(frozen=True)
class AddUp:
    """Yields one bucket of all partitions' words and tags, less those that cannot become columns."""

    rules: TextRules
    tag_rules: TagRules
    n_documents: int

    def __call__(self, pairs: Iterable[tuple[int, Bucket]]) -> Iterator[Bucket]:
        """Add, then choose."""
        words, tags = WordTally(), Counter[str]()
        for _, bucket in pairs:
            words.add(bucket.words)
            tags.update(bucket.tags)
        enough = max(1, self.tag_rules.min_tag_documents)
        yield Bucket(self._candidates(words), {tag: n for tag, n in tags.items() if n >= enough})

    def _candidates(self, words: WordTally) -> WordCounts:
        """Words within the limits, and all stop words: by them the language of the texts is told."""
        names = words.table.strings
        stops = np.zeros(len(names), bool)
        forms = vocabulary.forms(self._stop_words(), self.rules.lowercase)
        found = words.table.find(forms)
        stops[found[found >= 0]] = True
        within = vocabulary.within_limits(words.documents, self.n_documents, self.rules) & ~stops
        rows = np.concatenate(
            [np.flatnonzero(stops), vocabulary.most_used(names, within, words.documents, self._most_words())]
        )
        return WordCounts(names.take(rows), words.documents[rows], words.occurrences[rows])

    def _most_words(self) -> int | None:
        """With pairs none is sure to be too many: once they are joined, others are the most used."""
        return self.rules.max_words if self.rules.bigrams is None else None

    def _stop_words(self) -> frozenset[str]:
        if self.rules.stop_words == "auto":
            return frozenset().union(*map(stop_words.of_language, stop_words.LANGUAGES))
        return stop_words.resolve(self.rules.stop_words)


class WordTally:
    """A growing table of words with their numbers."""

    def __init__(self) -> None:
        self.table = StringTable()
        self.documents = self.occurrences = np.zeros(0, np.int64)

    def add(self, more: WordCounts) -> None:
        """Add the words of another part."""
        places = self.table.add(more.names, more.names.hashes())
        grown = len(self.table) - len(self.documents)
        self.documents = np.pad(self.documents, (0, grown))
        self.occurrences = np.pad(self.occurrences, (0, grown))
        self.documents[places] += more.documents
        self.occurrences[places] += more.occurrences


def gather(
    context: SparkContext, source: Source, request: Request, rules: TextRules, tag_rules: TagRules
) -> Vocabulary:
    """Read the source once and choose its words and tags."""
    n_buckets = min(BUCKETS, max(1, context.defaultParallelism))
    pairs = source.batches.mapPartitionsWithIndex(Gather(source.kind, request, rules, tag_rules, n_buckets))
    shuffled = pairs.partitionBy(n_buckets + 1, int)
    try:
        return _gathered(context, source, shuffled, n_buckets, request, rules, tag_rules)
    finally:
        shuffled.cleanShuffleDependencies()


def _gathered(
    context: SparkContext, source: Source, shuffled: RDD[tuple[int, Any]], n_buckets: int, request: Request,
    rules: TextRules, tag_rules: TagRules,
) -> Vocabulary:  # fmt: skip
    # the totals stand in a partition of their own; what the others need is on disk when these are known
    totals: list[Totals] = sorted(context.runJob(shuffled, second, [n_buckets]))
    tell([part.heard for part in totals], skip=request.skip_bad_rows)
    sizes = tuple(part.heard.n_documents for part in totals)
    if not sum(sizes):
        raise ReadError("the source has no documents")
    buckets: list[Bucket] = context.runJob(shuffled, AddUp(rules, tag_rules, sum(sizes)), list(range(n_buckets)))
    words = WordTally()
    for bucket in buckets:
        words.add(bucket.words)
    n_occurrences = sum(part.n_occurrences for part in totals)
    frequencies = Frequencies.of(words.documents, words.occurrences, sum(sizes), n_occurrences)
    readings = RemoteReadings(context, source, request, rules, words.table.strings, n_buckets)
    chosen = columns.choose(readings, words.table, frequencies, rules)
    tags = {tag: n for bucket in buckets for tag, n in bucket.tags.items()}
    names = tuple(sorted(tags))
    tag_sizes = np.array([tags[tag] for tag in names], np.int64)
    counts = _counts(readings, chosen, len(words.table))
    return Vocabulary(chosen.words, names, chosen.rules, counts.astype(np.float64), tag_sizes, sizes)


def _counts(readings: RemoteReadings, chosen: columns.Choice, n_words: int) -> Int64s:
    """How often each column occurs: pairs that were not chosen after all are single words again."""
    is_pair = chosen.numbers >= n_words
    pairs = np.sort(chosen.numbers[is_pair] - n_words)
    if len(pairs) == len(chosen.first):
        return chosen.occurrences[chosen.numbers]
    _, occurrences = readings.once_joined(n_words, chosen.first[pairs], chosen.second[pairs])
    return occurrences[np.where(is_pair, n_words + np.searchsorted(pairs, chosen.numbers - n_words), chosen.numbers)]


def second(pairs: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """The values of pairs."""
    return (value for _, value in pairs)
