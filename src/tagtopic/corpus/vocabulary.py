"""Which of all words become the columns of a corpus.

Where each numbered word of a stream goes: the vocabulary, chosen by the rules or given.

A vocabulary that exists already, such as a model's, made ready for looking words up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import row_blocks
from tagtopic._core.jit import compiled
from tagtopic._core.memmap import ArrayFile
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus import matrices
from tagtopic.corpus.text import phrases, stop_words
from tagtopic.corpus.text.rules import TextRules


class Frequencies:
    """For each numbered word: the documents it is in, and its occurrences."""

    def __init__(self) -> None:
        self._documents = np.zeros(256, dtype=np.int64)
        self._occurrences = np.zeros(256, dtype=np.int64)
        self._last_seen = np.full(256, -1, dtype=np.int64)
        self._n_words = 0
        self.n_documents = 0
        self.n_occurrences = 0

    @classmethod
    def of(
        cls, documents: NDArray[np.int64], occurrences: NDArray[np.int64], n_documents: int, n_occurrences: int
    ) -> Frequencies:
        """Of some of the words, counted elsewhere; the two numbers are of all."""
        found = cls()
        found._documents, found._occurrences, found._n_words = documents, occurrences, len(documents)
        found.n_documents, found.n_occurrences = n_documents, n_occurrences
        return found

    @property
    def documents(self) -> NDArray[np.int64]:
        """In how many documents each word is."""
        return self._documents[: self._n_words]

    @property
    def occurrences(self) -> NDArray[np.int64]:
        """How often each word occurs."""
        return self._occurrences[: self._n_words]

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32], n_words: int) -> None:
        """Count the words of further documents; there are n_words different ones so far."""
        if n_words > len(self._documents):
            more = max(n_words, 2 * len(self._documents)) - len(self._documents)
            self._documents = np.pad(self._documents, (0, more))
            self._occurrences = np.pad(self._occurrences, (0, more))
            self._last_seen = np.pad(self._last_seen, (0, more), constant_values=-1)
        self._n_words = n_words
        _count(offsets, ids, self.n_documents, self._last_seen, self._documents, self._occurrences)
        self.n_documents += len(offsets) - 1
        self.n_occurrences += int(np.count_nonzero(ids >= 0))


@compiled
def _count(offsets: Any, ids: Any, first: int, last_seen: Any, documents: Any, occurrences: Any) -> None:
    for d in range(offsets.size - 1):
        for i in range(offsets[d], offsets[d + 1]):
            word = ids[i]
            if word >= 0:
                occurrences[word] += 1
                if last_seen[word] != first + d:
                    last_seen[word] = first + d
                    documents[word] += 1


def resolve(rules: TextRules, table: StringTable, frequencies: Frequencies) -> TextRules:
    """The rules with "auto" and None replaced by what they turn out to mean for this corpus."""
    least, most = rules.document_limits(frequencies.n_documents)
    language = rules.stop_words
    if language == "auto":
        total = max(1, frequencies.n_occurrences)

        def share_covered(words: frozenset[str]) -> float:
            return float(frequencies.occurrences[_numbers(table, words, rules)].sum() / total)

        language = stop_words.detect(share_covered)
    return rules.replace(stop_words=language, min_df=least, max_df=most)


def allowed_words(rules: TextRules, table: StringTable, frequencies: Frequencies) -> NDArray[np.bool_]:
    """Which words pass the stop words and document limits of the rules, before the limit on their number."""
    result = within_limits(frequencies.documents, frequencies.n_documents, rules)
    result[_numbers(table, stop_words.resolve(rules.stop_words), rules)] = False
    return result


def within_limits(documents: NDArray[np.int64], n_documents: int, rules: TextRules) -> NDArray[np.bool_]:
    """Which words are in neither too few nor too many documents."""
    least, most = rules.document_limits(n_documents)
    return (documents >= max(least, 1)) & (documents <= most)


def _numbers(table: StringTable, words: frozenset[str], rules: TextRules) -> NDArray[np.int32]:
    found = table.find(forms(words, rules.lowercase))
    return found[found >= 0]


@lru_cache(maxsize=64)  # the lists of all languages, which every small corpus is held against
def forms(words: frozenset[str], lowercase: bool) -> StringArray:
    """The words as they may stand in texts."""
    forms = set(words)
    if not lowercase:
        forms |= {word.capitalize() for word in words} | {word.upper() for word in words}
    return StringArray.of(sorted(forms))


def most_used(
    names: StringArray, candidates: NDArray[np.bool_], documents: NDArray[np.int64], limit: int | None
) -> NDArray[np.int64]:
    """The candidates, at most `limit`: those in most documents, and among equals the first by name.

    Only words at the limit are decoded, so that millions of rare words stay bytes.
    """
    chosen = np.flatnonzero(candidates)
    if limit is None or len(chosen) <= limit:
        return chosen
    use = documents[chosen]
    threshold = np.partition(use, len(use) - limit)[len(use) - limit]
    sure, ties = chosen[use > threshold], chosen[use == threshold]
    by_name = sorted(zip(names.take(ties), ties.tolist(), strict=True))
    return np.concatenate([sure, np.array([number for _, number in by_name[: limit - len(sure)]], dtype=np.int64)])


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
    ids: NDArray[np.int32] | ArrayFile

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The documents some at a time."""
        for start, stop in row_blocks(self.offsets, BLOCK):
            first, last = int(self.offsets[start]), int(self.offsets[stop])
            yield self.offsets[start : stop + 1] - first, self.ids[first:last]

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """As in ``Readings``."""
        counts = phrases.PairCounts(countable)
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
        self._pairs = phrases.pair_table(first, second, np.arange(n_words, n, dtype=np.int32))
        self.documents, self.occurrences = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
        """Count further documents."""
        _, columns, counts = phrases.count_rows(offsets, ids, self._words, self._pairs)
        self.documents += np.bincount(columns, minlength=len(self.documents))
        self.occurrences += np.bincount(columns, counts, len(self.documents)).astype(np.int64)


@dataclass(frozen=True)
class Columns:
    """The words of the columns, the column of each numbered word (-1: none) and of pairs, and the rules behind it."""

    words: tuple[str, ...]
    column: NDArray[np.int32]
    pairs: phrases.PairTable
    rules: TextRules


def given(known: KnownWords, table: StringTable, rules: TextRules) -> Columns:
    """The columns of a vocabulary that exists already."""
    pairs = phrases.NO_PAIRS
    if rules.bigrams is not None:
        first, second = table.find(known.first), table.find(known.second)
        both = (first >= 0) & (second >= 0)
        pairs = phrases.pair_table(first[both], second[both], known.pair_columns[both])
    return Columns(known.words, known.table.find(table.strings), pairs, rules)


@dataclass(frozen=True)
class Choice:
    """The words that become columns, their numbers (pairs are numbered after all words); and how often all occur."""

    words: tuple[str, ...]
    numbers: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    rules: TextRules


def chosen(stream: Stream, table: StringTable, frequencies: Frequencies, rules: TextRules) -> Columns:
    """The columns that the rules choose, sorted by name."""
    found = choose(stream, table, frequencies, rules)
    column = np.full(len(table) + len(found.first), -1, dtype=np.int32)
    column[found.numbers] = np.arange(len(found.words))
    pair_columns = column[len(table) :]
    kept = pair_columns >= 0
    pairs = phrases.pair_table(found.first[kept], found.second[kept], pair_columns[kept])
    return Columns(found.words, column[: len(table)], pairs, found.rules)


def choose(readings: Readings, table: StringTable, frequencies: Frequencies, rules: TextRules) -> Choice:
    """What the rules choose, sorted by name; the texts are only gone through again for pairs."""
    rules = resolve(rules, table, frequencies)
    names, documents, occurrences = table.strings, frequencies.documents, frequencies.occurrences
    allowed = allowed_words(rules, table, frequencies)
    first = second = np.zeros(0, dtype=np.int64)
    if rules.bigrams is not None:
        counted = readings.pair_counts(allowed & (occurrences >= rules.bigram_min_count))
        first, second = phrases.associated_pairs(*counted, frequencies, rules)
        both = zip(names.take(first), names.take(second), strict=True)
        names = names.concatenated(StringArray.of(f"{a} {b}" for a, b in both))
        documents, occurrences = readings.once_joined(len(table), first, second)
        allowed = np.append(allowed, np.ones(len(first), dtype=bool))
        allowed &= within_limits(documents, frequencies.n_documents, rules)
    numbers = most_used(names, allowed, documents, rules.max_words)
    words = list(names.take(numbers))
    order = sorted(range(len(words)), key=words.__getitem__)
    numbers = numbers[order]
    return Choice(tuple(words[i] for i in order), numbers, occurrences, first, second, rules)


@dataclass(frozen=True)
class KnownWords:
    """Words with a table of them, and those that are pairs ("machine translation") taken apart."""

    words: tuple[str, ...]
    table: StringTable
    pair_columns: NDArray[np.int32]
    first: StringArray
    second: StringArray


def known_words(words: Iterable[str]) -> KnownWords:
    """The words made ready; the last few vocabularies are kept, since a model asks again for every new text."""
    return _known_words(words if isinstance(words, str) else tuple(words))


@lru_cache(maxsize=4)
def _known_words(given: tuple[str, ...] | str) -> KnownWords:
    words = matrices.check_names(given, "words")
    table = StringTable()
    packed = StringArray.of(words)
    table.add(packed, packed.hashes())
    parts = [(column, *word.partition(" ")) for column, word in enumerate(words) if " " in word]
    columns = np.array([column for column, *_ in parts], dtype=np.int32)
    return KnownWords(
        words, table, columns, StringArray.of(part[1] for part in parts), StringArray.of(part[3] for part in parts)
    )
