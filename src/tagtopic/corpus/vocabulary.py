"""Which of all words become the columns of a corpus."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.compiled import compiled
from tagtopic.corpus import stop_words
from tagtopic.corpus.names import Names
from tagtopic.corpus.rules import TextRules
from tagtopic.corpus.wordtable import WordTable


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
    ) -> "Frequencies":
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


def resolve(rules: TextRules, table: WordTable, frequencies: Frequencies) -> TextRules:
    """The rules with "auto" and None replaced by what they turn out to mean for this corpus."""
    least, most = rules.document_limits(frequencies.n_documents)
    language = rules.stop_words
    if language == "auto":
        total = max(1, frequencies.n_occurrences)

        def share_covered(words: frozenset[str]) -> float:
            return float(frequencies.occurrences[_numbers(table, words, rules)].sum() / total)

        language = stop_words.detect(share_covered)
    return rules.replace(stop_words=language, min_df=least, max_df=most)


def allowed(rules: TextRules, table: WordTable, frequencies: Frequencies) -> NDArray[np.bool_]:
    """Which words pass the stop words and document limits of the rules, before the limit on their number."""
    result = within_limits(frequencies.documents, frequencies.n_documents, rules)
    result[_numbers(table, stop_words.resolve(rules.stop_words), rules)] = False
    return result


def within_limits(documents: NDArray[np.int64], n_documents: int, rules: TextRules) -> NDArray[np.bool_]:
    """Which words are in neither too few nor too many documents."""
    least, most = rules.document_limits(n_documents)
    return (documents >= max(least, 1)) & (documents <= most)


def _numbers(table: WordTable, words: frozenset[str], rules: TextRules) -> NDArray[np.int32]:
    found = table.find(forms(words, rules.lowercase))
    return found[found >= 0]


@lru_cache(maxsize=64)  # the lists of all languages, which every small corpus is held against
def forms(words: frozenset[str], lowercase: bool) -> Names:
    """The words as they may stand in texts."""
    forms = set(words)
    if not lowercase:
        forms |= {word.capitalize() for word in words} | {word.upper() for word in words}
    return Names.of(sorted(forms))


def most_used(
    names: Names, candidates: NDArray[np.bool_], documents: NDArray[np.int64], limit: int | None
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
