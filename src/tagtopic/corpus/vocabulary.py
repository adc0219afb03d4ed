"""The vocabulary: word frequencies, words that the rules select, columns of words, alignment with another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import SMALL, row_blocks
from tagtopic._core.jit import compiled
from tagtopic._core.memmap import ArrayFile
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus import matrices
from tagtopic.corpus.text import phrases, stop_words
from tagtopic.corpus.text.rules import TextRules
from tagtopic.corpus.validation import check_names

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus

BLOCK_TOKENS = 1 << 22
"""Tokens counted at a time."""


class Frequencies:
    """The number of documents and the number of occurrences of each numbered word."""

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
        """Return the frequencies of some of the words, counted elsewhere; the two totals are those of all words."""
        found = cls()
        found._documents, found._occurrences, found._n_words = documents, occurrences, len(documents)
        found.n_documents, found.n_occurrences = n_documents, n_occurrences
        return found

    @property
    def documents(self) -> NDArray[np.int64]:
        """Number of documents of each word."""
        return self._documents[: self._n_words]

    @property
    def occurrences(self) -> NDArray[np.int64]:
        """Number of occurrences of each word."""
        return self._occurrences[: self._n_words]

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32], n_words: int) -> None:
        """Count the words of further documents; n_words is the number of distinct words so far."""
        if n_words > len(self._documents):
            more = max(n_words, 2 * len(self._documents)) - len(self._documents)
            self._documents = np.pad(self._documents, (0, more))
            self._occurrences = np.pad(self._occurrences, (0, more))
            self._last_seen = np.pad(self._last_seen, (0, more), constant_values=-1)
        self._n_words = n_words
        if len(ids) <= SMALL and not self.n_documents:  # of many small batches, only the first
            _, words, counts = phrases.count_rows(offsets, ids, np.arange(n_words, dtype=np.int32))
            self._documents[:n_words] += np.bincount(words, minlength=n_words)
            np.add.at(self._occurrences, words, counts)
        else:
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


class JoinedFrequencies:
    """Frequencies of the words, followed by those of pairs of words, when pairs are joined."""

    def __init__(self, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        n = n_words + len(first)
        self._words = np.arange(n_words, dtype=np.int32)
        self._pairs = phrases.pair_table(first, second, np.arange(n_words, n, dtype=np.int32))
        self.documents, self.occurrences = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def add(self, offsets: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
        """Count the words and pairs of further documents."""
        _, columns, counts = phrases.count_rows(offsets, ids, self._words, self._pairs)
        self.documents += np.bincount(columns, minlength=len(self.documents))
        self.occurrences += np.bincount(columns, counts, len(self.documents)).astype(np.int64)


class TokenSource(Protocol):
    """Tokenized texts that can be read again, to count their pairs of words."""

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the pairs of countable words that follow each other, as sorted keys, and their counts."""
        ...

    def joined_frequencies(
        self, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return documents and occurrences of each word, then of each pair, when pairs are joined."""
        ...


@dataclass(frozen=True)
class TokenStream:
    """Documents as numbered words: document d is `ids[offsets[d]:offsets[d + 1]]`; many are in a file."""

    offsets: NDArray[np.int64]
    ids: NDArray[np.int32] | ArrayFile
    block_tokens: int = BLOCK_TOKENS

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Yield offsets and ids of blocks of documents."""
        for start, stop in row_blocks(self.offsets, self.block_tokens):
            first, last = int(self.offsets[start]), int(self.offsets[stop])
            yield self.offsets[start : stop + 1] - first, self.ids[first:last]

    def pair_counts(self, countable: NDArray[np.bool_]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the pairs of countable words that follow each other, as sorted keys, and their counts."""
        counts = phrases.PairCounts(countable)
        for offsets, ids in self.blocks():
            counts.add(offsets, ids)
        return counts.items()

    def joined_frequencies(
        self, n_words: int, first: NDArray[np.int64], second: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return documents and occurrences of each word, then of each pair, when pairs are joined."""
        joined = JoinedFrequencies(n_words, first, second)
        for offsets, ids in self.blocks():
            joined.add(offsets, ids)
        return joined.documents, joined.occurrences


@dataclass(frozen=True)
class SelectedVocabulary:
    """The words that become columns, by name, with their numbers; pairs are numbered after all words.

    `occurrences` are those of all words and pairs; `first` and `second` are the words of each pair.
    """

    words: tuple[str, ...]
    numbers: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    rules: TextRules


def select_vocabulary(
    tokens: TokenSource, table: StringTable, frequencies: Frequencies, rules: TextRules
) -> SelectedVocabulary:
    """Select words by the rules, sorted by name; the texts are read again only for pairs."""
    rules = resolve_rules(rules, table, frequencies)
    names, documents, occurrences = table.strings, frequencies.documents, frequencies.occurrences
    allowed = _allowed_words(rules, table, frequencies)
    first = second = np.zeros(0, dtype=np.int64)
    if rules.bigrams is not None:
        counted = tokens.pair_counts(allowed & (occurrences >= rules.bigram_min_count))
        first, second = phrases.associated_pairs(*counted, frequencies, rules)
        both = zip(names.take(first), names.take(second), strict=True)
        names = names.concatenated(StringArray.of(f"{a} {b}" for a, b in both))
        documents, occurrences = tokens.joined_frequencies(len(table), first, second)
        allowed = np.append(allowed, np.ones(len(first), dtype=bool))
        allowed &= within_limits(documents, frequencies.n_documents, rules)
    numbers = most_frequent(names, allowed, documents, rules.max_words)
    words = list(names.take(numbers))
    order = sorted(range(len(words)), key=words.__getitem__)
    numbers = numbers[order]
    return SelectedVocabulary(tuple(words[i] for i in order), numbers, occurrences, first, second, rules)


def resolve_rules(rules: TextRules, table: StringTable, frequencies: Frequencies) -> TextRules:
    """Return the rules with "auto" and None replaced by their values for this corpus."""
    least, most = rules.document_limits(frequencies.n_documents)
    language = rules.stop_words
    if language == "auto":
        total = max(1, frequencies.n_occurrences)

        def share_covered(words: frozenset[str]) -> float:
            return float(frequencies.occurrences[_numbers(table, words, rules)].sum() / total)

        language = stop_words.detect(share_covered)
    return rules.replace(stop_words=language, min_df=least, max_df=most)


def within_limits(documents: NDArray[np.int64], n_documents: int, rules: TextRules) -> NDArray[np.bool_]:
    """Whether each word is in neither too few nor too many documents."""
    least, most = rules.document_limits(n_documents)
    return (documents >= max(least, 1)) & (documents <= most)


def most_frequent(
    names: StringArray, candidates: NDArray[np.bool_], documents: NDArray[np.int64], limit: int | None
) -> NDArray[np.int64]:
    """Return at most `limit` candidates: those in most documents, and among equals the first by name.

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


def _allowed_words(rules: TextRules, table: StringTable, frequencies: Frequencies) -> NDArray[np.bool_]:
    """Whether each word is within the limits and no stop word, before the limit on the number of words."""
    result = within_limits(frequencies.documents, frequencies.n_documents, rules)
    result[_numbers(table, stop_words.resolve(rules.stop_words), rules)] = False
    return result


def _numbers(table: StringTable, words: frozenset[str], rules: TextRules) -> NDArray[np.int32]:
    found = table.find(surface_forms(words, rules.lowercase))
    return found[found >= 0]


@lru_cache(maxsize=64)  # the lists of all languages, which every small corpus is compared with
def surface_forms(words: frozenset[str], lowercase: bool) -> StringArray:
    """Return the forms that words may have in texts: capitalised ones too unless texts are lower-cased."""
    forms = set(words)
    if not lowercase:
        forms |= {word.capitalize() for word in words} | {word.upper() for word in words}
    return StringArray.of(sorted(forms))


@dataclass(frozen=True)
class ColumnIndex:
    """The words of the columns, the column of each numbered word (-1: none) and of pairs, and the resolved rules."""

    words: tuple[str, ...]
    column: NDArray[np.int32]
    pairs: phrases.PairTable
    rules: TextRules


def select_columns(tokens: TokenStream, table: StringTable, frequencies: Frequencies, rules: TextRules) -> ColumnIndex:
    """Return the columns of the words that the rules select, sorted by name."""
    found = select_vocabulary(tokens, table, frequencies, rules)
    column = np.full(len(table) + len(found.first), -1, dtype=np.int32)
    column[found.numbers] = np.arange(len(found.words))
    pair_columns = column[len(table) :]
    kept = pair_columns >= 0
    pairs = phrases.pair_table(found.first[kept], found.second[kept], pair_columns[kept])
    return ColumnIndex(found.words, column[: len(table)], pairs, found.rules)


@dataclass(frozen=True)
class FixedVocabulary:
    """A given vocabulary, such as a model's, with a hash table of its words, and the two words of each pair."""

    words: tuple[str, ...]
    table: StringTable
    pair_columns: NDArray[np.int32]
    first: StringArray
    second: StringArray


def fixed_vocabulary(words: Iterable[str]) -> FixedVocabulary:
    """Return the vocabulary of these words; the last few are cached, since a model needs its own for every new text."""
    return _fixed_vocabulary(words if isinstance(words, str) else tuple(words))


@lru_cache(maxsize=4)
def _fixed_vocabulary(given: tuple[str, ...] | str) -> FixedVocabulary:
    words = check_names(given, "words")
    table = StringTable()
    packed = StringArray.of(words)
    table.add(packed, packed.hashes())
    columns = [column for column, word in enumerate(words) if " " in word]
    pairs = [words[column].partition(" ") for column in columns]
    first, second = (StringArray.of(pair[i] for pair in pairs) for i in (0, 2))
    return FixedVocabulary(words, table, np.array(columns, dtype=np.int32), first, second)


def index_columns(vocabulary: FixedVocabulary, table: StringTable, rules: TextRules) -> ColumnIndex:
    """Return the columns of a given vocabulary."""
    pairs = phrases.NO_PAIRS
    if rules.bigrams is not None:
        first, second = table.find(vocabulary.first), table.find(vocabulary.second)
        both = (first >= 0) & (second >= 0)
        pairs = phrases.pair_table(first[both], second[both], vocabulary.pair_columns[both])
    return ColumnIndex(vocabulary.words, vocabulary.table.find(table.strings), pairs, rules)


@dataclass(frozen=True)
class Alignment:
    """A corpus in the columns of another vocabulary, and what that vocabulary lacks.

    Attributes
    ----------
    corpus : Corpus
        The documents in the columns of the other vocabulary.
    unknown_tokens : int
        Number of tokens whose word it lacks.
    unknown_tags : tuple of str
        Tags of documents that it lacks.

    Examples
    --------
    >>> from tagtopic import Corpus
    >>> corpus = Corpus.from_counts([[2, 1]], [["old", "new"]], words=["engine", "note"])
    >>> alignment = corpus.align(["engine"], ["old"])
    >>> alignment.unknown_tokens, alignment.unknown_tags
    (1, ('new',))
    """

    corpus: Corpus
    unknown_tokens: int
    unknown_tags: tuple[str, ...]


def unknown_tags_of(corpus: Corpus, tag_names: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of documents that are not among the names."""
    in_use = matrices.column_counts(corpus.tags) > 0
    known = set(tag_names)
    return tuple(corpus.tag_names[j] for j in np.flatnonzero(in_use) if corpus.tag_names[j] not in known)


def align(corpus: Corpus, words: Sequence[str], tag_names: Sequence[str]) -> Alignment:
    """Return the documents in these columns, with a count of unknown tokens and the unknown tags."""
    corpus.check()
    new_words, new_tags = tuple(words), tuple(tag_names)
    counts, tags = corpus.counts, corpus.tags
    unknown_tags: tuple[str, ...] = ()
    if new_words != corpus.words:
        counts = matrices.move_columns(counts, _targets(corpus.words, new_words), len(new_words))
    if new_tags != corpus.tag_names:
        unknown_tags = unknown_tags_of(corpus, new_tags)
        tags = matrices.move_columns(tags, _targets(corpus.tag_names, new_tags), len(new_tags))
    aligned = type(corpus)(
        counts=counts,
        tags=tags,
        words=new_words,
        tag_names=new_tags,
        ids=corpus.ids,
        rules=corpus.rules,
        texts=corpus.texts,
        titles=corpus.titles,
    )
    aligned._checked = True
    unknown_tokens = 0 if counts is corpus.counts else corpus.n_tokens - aligned.n_tokens
    return Alignment(aligned, unknown_tokens, unknown_tags)


def _targets(names: Sequence[str], new_names: Sequence[str]) -> NDArray[np.int32]:
    column = {name: j for j, name in enumerate(new_names)}
    return np.fromiter((column.get(name, -1) for name in names), dtype=np.int32, count=len(names))
