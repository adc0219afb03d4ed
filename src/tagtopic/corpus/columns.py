"""Where each numbered word of a stream goes: the vocabulary, chosen by the rules or given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import bigrams, counting, vocabulary
from tagtopic.corpus.growing import ValuesInFile, row_blocks
from tagtopic.corpus.known import KnownWords
from tagtopic.corpus.names import Names
from tagtopic.corpus.rules import TextRules
from tagtopic.corpus.wordtable import WordTable

BLOCK = 1 << 22  # words counted at a time


class Readings(Protocol):
    """Texts as numbered words that can be gone through again, for their pairs of words."""

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Pairs of countable words that follow each other, as sorted keys, and how often they do."""
        ...

    def once_joined(
        self, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """In how many documents each word, then each pair, is when pairs are joined, and how often it occurs."""
        ...


@dataclass(frozen=True)
class Stream:
    """Documents as numbered words: document d is `ids[offsets[d]:offsets[d + 1]]`, in a file when they are many."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32] | ValuesInFile

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The documents some at a time."""
        for start, stop in row_blocks(self.offsets, BLOCK):
            first, last = int(self.offsets[start]), int(self.offsets[stop])
            yield self.offsets[start : stop + 1] - first, self.ids[first:last]

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """As in ``Readings``."""
        counts = bigrams.PairCounts(countable)
        for offsets, ids in self.blocks():
            counts.add(offsets, ids)
        return counts.items()

    def once_joined(
        self, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As in ``Readings``."""
        joined = Joined(n_words, first, second)
        for offsets, ids in self.blocks():
            joined.add(offsets, ids)
        return joined.documents, joined.occurrences


class Joined:
    """How often each word, then each pair, occurs when pairs are joined, and in how many documents."""

    def __init__(self, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        n = n_words + len(first)
        self._words = np.arange(n_words, dtype=np.int32)
        self._pairs = counting.pair_table(first, second, np.arange(n_words, n, dtype=np.int32))
        self.documents, self.occurrences = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
        """Count further documents."""
        _, columns, counts = counting.count_rows(offsets, ids, self._words, self._pairs)
        self.documents += np.bincount(columns, minlength=len(self.documents))
        self.occurrences += np.bincount(columns, counts, len(self.documents)).astype(np.int64)


@dataclass(frozen=True)
class Columns:
    """The words of the columns, the column of each numbered word (-1: none) and of pairs, and the rules behind it."""

    words: tuple[str, ...]
    column: NDArray[np.int32]
    pairs: counting.Pairs
    rules: TextRules


def given(known: KnownWords, table: WordTable, rules: TextRules) -> Columns:
    """The columns of a vocabulary that exists already."""
    pairs = counting.NO_PAIRS
    if rules.bigrams is not None:
        first, second = table.find(known.first), table.find(known.second)
        both = (first >= 0) & (second >= 0)
        pairs = counting.pair_table(first[both], second[both], known.pair_columns[both])
    return Columns(known.words, known.table.find(table.names), pairs, rules)


@dataclass(frozen=True)
class Choice:
    """The words that become columns, their numbers (pairs are numbered after all words); and how often all occur."""

    words: tuple[str, ...]
    numbers: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    rules: TextRules


def chosen(stream: Stream, table: WordTable, frequencies: vocabulary.Frequencies, rules: TextRules) -> Columns:
    """The columns that the rules choose, sorted by name."""
    found = choose(stream, table, frequencies, rules)
    column = np.full(len(table) + len(found.first), -1, dtype=np.int32)
    column[found.numbers] = np.arange(len(found.words))
    pair_columns = column[len(table) :]
    kept = pair_columns >= 0
    pairs = counting.pair_table(found.first[kept], found.second[kept], pair_columns[kept])
    return Columns(found.words, column[: len(table)], pairs, found.rules)


def choose(readings: Readings, table: WordTable, frequencies: vocabulary.Frequencies, rules: TextRules) -> Choice:
    """What the rules choose, sorted by name; the texts are only gone through again for pairs."""
    rules = vocabulary.resolve(rules, table, frequencies)
    names, documents, occurrences = table.names, frequencies.documents, frequencies.occurrences
    allowed = vocabulary.allowed(rules, table, frequencies)
    first = second = np.zeros(0, dtype=np.int64)
    if rules.bigrams is not None:
        counted = readings.pair_counts(allowed & (occurrences >= rules.bigram_min_count))
        first, second = bigrams.associated(*counted, frequencies, rules)
        both = zip(names.take(first), names.take(second), strict=True)
        names = names.concatenated(Names.of(f"{a} {b}" for a, b in both))
        documents, occurrences = readings.once_joined(len(table), first, second)
        allowed = np.append(allowed, np.ones(len(first), dtype=bool))
        allowed &= vocabulary.within_limits(documents, frequencies.n_documents, rules)
    numbers = vocabulary.most_used(names, allowed, documents, rules.max_words)
    words = list(names.take(numbers))
    order = sorted(range(len(words)), key=words.__getitem__)
    numbers = numbers[order]
    return Choice(tuple(words[i] for i in order), numbers, occurrences, first, second, rules)
