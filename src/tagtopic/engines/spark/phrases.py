"""Pairs of words on the cluster: the source is read once more to count them, and again with those that count joined
(and a third time if ``max_words`` then leaves some of them out).

Each partition counts by itself and sends its counts to buckets, of pairs by their key and of words by their number; a
bucket adds up. Only pairs seen ``bigram_min_count`` times, and two numbers for each word, come to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus.bigrams import PairCounts
from tagtopic.corpus.columns import Joined
from tagtopic.corpus.names import Names
from tagtopic.corpus.reading.read import Request
from tagtopic.corpus.rules import TextRules
from tagtopic.corpus.tokens import tokenize
from tagtopic.corpus.wordtable import WordTable
from tagtopic.engines.spark.parts import Part
from tagtopic.engines.spark.source import Source
from tagtopic.inference.arrays import Int64s

if TYPE_CHECKING:
    from pyspark import Broadcast, SparkContext

Counted = tuple[int, tuple[NDArray[Any], NDArray[Any]]]
"""A bucket, and two arrays for it."""


@dataclass(frozen=True)
class RemoteReadings:
    """A source on the cluster, gone through again: ``Readings`` of the words that may become columns."""

    context: SparkContext
    source: Source
    request: Request
    rules: TextRules
    names: Names
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

    shared: Broadcast[tuple[Names, Any]]
    kind: str
    request: Request
    rules: TextRules
    n_buckets: int

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[Counted]:
        """Read the partition once."""
        names, asked = self.shared.value
        table = WordTable()
        table.add(names, names.hashes())
        return self.count(self._documents(table, Part(number, self.kind, self.request), batches), asked)

    def _documents(self, table: WordTable, part: Part, batches: Iterable[bytes]) -> Iterator[tuple[Int64s, Any]]:
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
