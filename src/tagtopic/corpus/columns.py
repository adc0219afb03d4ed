"""Where each numbered word of a stream goes: the vocabulary, chosen by the rules or given."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import bigrams, counting, vocabulary
from tagtopic.corpus.growing import ValuesInFile, row_blocks
from tagtopic.corpus.names import Names
from tagtopic.corpus.rules import TextRules
from tagtopic.corpus.wordtable import WordTable

BLOCK = 1 << 22  # words counted at a time


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


@dataclass(frozen=True)
class Columns:
    """The words of the columns, the column of each numbered word (-1: none) and of pairs, and the rules behind it."""

    words: tuple[str, ...]
    column: NDArray[np.int32]
    pairs: counting.Pairs
    rules: TextRules


def given(words: tuple[str, ...], table: WordTable, rules: TextRules) -> Columns:
    """The columns of a vocabulary that exists already, such as a model's."""
    column = np.full(len(table), -1, dtype=np.int32)
    numbers = table.find(words)
    here = np.flatnonzero(numbers >= 0)
    column[numbers[here]] = here
    pairs = counting.NO_PAIRS
    if rules.bigrams is not None:
        known = bigrams.known(words)
        first, second = table.find([a for _, a, _ in known]), table.find([b for _, _, b in known])
        both = (first >= 0) & (second >= 0)
        pair_columns = np.array([column for column, _, _ in known], dtype=np.int32)
        pairs = counting.pair_table(first[both], second[both], pair_columns[both])
    return Columns(words, column, pairs, rules)


def chosen(stream: Stream, table: WordTable, frequencies: vocabulary.Frequencies, rules: TextRules) -> Columns:
    """The columns that the rules choose, sorted by name."""
    rules = vocabulary.resolve(rules, table, frequencies)
    names, documents = table.names, frequencies.documents
    allowed = vocabulary.allowed(rules, table, frequencies)
    first = second = np.zeros(0, dtype=np.int64)
    if rules.bigrams is not None:
        first, second = _associated_pairs(stream, frequencies, allowed, rules)
        both = zip(names.take(first), names.take(second), strict=True)
        names = names.concatenated(Names.of(f"{a} {b}" for a, b in both))
        documents = _documents_once_joined(stream, len(table), first, second)
        allowed = np.append(allowed, np.ones(len(first), dtype=bool))
        allowed &= vocabulary.within_limits(documents, frequencies.n_documents, rules)
    numbers = vocabulary.most_used(names, allowed, documents, rules.max_words)
    words = list(names.take(numbers))
    order = sorted(range(len(words)), key=words.__getitem__)
    column = np.full(len(names), -1, dtype=np.int32)
    column[numbers[order]] = np.arange(len(order))
    pair_columns = column[len(table) :]
    kept = pair_columns >= 0
    pairs = counting.pair_table(first[kept], second[kept], pair_columns[kept])
    return Columns(tuple(words[i] for i in order), column[: len(table)], pairs, rules)


def _associated_pairs(
    stream: Stream, frequencies: vocabulary.Frequencies, allowed: NDArray[np.bool_], rules: TextRules
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    assert rules.bigrams is not None
    occurrences = frequencies.occurrences
    counts = bigrams.PairCounts(allowed & (occurrences >= rules.bigram_min_count))
    for offsets, ids in stream.blocks():
        counts.add(offsets, ids)
    return bigrams.associated(counts, occurrences, rules.bigrams, rules.bigram_min_count)


def _documents_once_joined(
    stream: Stream, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """In how many documents each word, then each pair, is when pairs are joined."""
    n = n_words + len(first)
    pairs = counting.pair_table(first, second, np.arange(n_words, n, dtype=np.int32))
    documents = np.zeros(n, dtype=np.int64)
    every_word = np.arange(n_words, dtype=np.int32)
    for offsets, ids in stream.blocks():
        _, columns, _ = counting.count_rows(offsets, ids, every_word, pairs)
        documents += np.bincount(columns, minlength=n)
    return documents
