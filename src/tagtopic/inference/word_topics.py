"""The topics of each word, in sparse rows: the counts n_wk that are not zero.

The dense table of n_wk has a row of all topics for each word. A word with few tokens has few topics: its sparse row
takes at most 6 bytes for each of its tokens, and no more than 6 for each topic. With many topics or many words, the
rows are kept in place of the table. The sparse draw reads only the topics that the word has; to find them in the dense
row costs as much memory traffic as all topics. The dense draw unpacks the row of the word in use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.intrinsics import AHEAD, prefetch_entry
from tagtopic._core.jit import compiled
from tagtopic.inference.gibbs import Assignments
from tagtopic.inference.types import Documents


class WordTopics(NamedTuple):
    """Word w has the topics ``topics[starts[w] : starts[w] + sizes[w]]``, in ascending order, and their counts."""

    starts: Int64s
    sizes: Int32s
    topics: NDArray[np.uint16]
    counts: Int32s


def no_word_topics() -> WordTopics:
    """Return no rows, for the dense draw."""
    return WordTopics(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.uint16), np.empty(0, np.int32))


def empty_word_topics(capacities: Int64s) -> WordTopics:
    """Return rows without topics, with room for these numbers of them."""
    starts = offsets_of(capacities)
    sizes = np.zeros(len(capacities), np.int32)
    return WordTopics(starts, sizes, np.empty(starts[-1], np.uint16), np.empty(starts[-1], np.int32))


def unpacked(rows: WordTopics, words: NDArray[Any], n_topics: int) -> Int32s:
    """Return the rows of some words with all topics.

    Parameters
    ----------
    rows : WordTopics
        The sparse rows.
    words : ndarray of int
        The words.
    n_topics : int
        The number of topics.

    Returns
    -------
    ndarray of shape (words, topics)

    Examples
    --------
    >>> rows = empty_word_topics(np.array([3, 1]))
    >>> rows = with_counts(rows, np.array([0, 0]), np.array([2, 1]), np.array([4, 5]), 3)
    >>> unpacked(rows, np.array([1, 0]), 3).tolist()
    [[0, 0, 0], [0, 5, 4]]
    """
    sizes = rows.sizes[words]
    offsets = offsets_of(sizes)
    owners = owners_of(offsets)
    cells = np.arange(offsets[-1]) - offsets[:-1][owners] + rows.starts[words][owners]
    found = np.zeros((len(words), n_topics), np.int32)
    found[owners, rows.topics[cells]] = rows.counts[cells]
    return found


def with_counts(rows: WordTopics, words: Int64s, topics: Int64s, counts: Int64s, n_topics: int) -> WordTopics:
    """Return rows to which counts of pairs of a word and a topic are added, beyond those of tokens.

    Parameters
    ----------
    rows : WordTopics
        The sparse rows.
    words, topics, counts : ndarray of int
        The pairs and their counts.
    n_topics : int
        The number of topics.

    Returns
    -------
    WordTopics
        Each with room for as many topics more.
    """
    capacities = np.diff(rows.starts) + np.bincount(words, minlength=len(rows.sizes))
    found = empty_word_topics(np.minimum(capacities, n_topics))
    found.sizes[:] = rows.sizes
    owners = owners_of(offsets_of(rows.sizes))
    within = np.arange(len(owners)) - offsets_of(rows.sizes)[:-1][owners]
    for new, old in ((found.topics, rows.topics), (found.counts, rows.counts)):
        new[found.starts[:-1][owners] + within] = old[rows.starts[:-1][owners] + within]
    for word, topic, count in zip(words.tolist(), topics.tolist(), counts.tolist(), strict=True):
        if count:
            _add(found.starts[word], found.sizes, word, found.topics, found.counts, topic, count)
    return found


@compiled
def count_word_topics(
    documents: Documents,
    first: int,
    last: int,
    token_starts: Int64s,
    n_topics: int,
    tokens: Assignments,
    part: int,
    n_parts: int,
    rows: WordTopics,
) -> None:
    """Add the topics of documents ``first:last`` to the rows of some words; see ``update_word_topics``."""
    topics: Any
    starts, sizes, topics, counts = rows
    for d in range(first, last):
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = np.int64(documents.words[e])
            if word % n_parts != part:
                t += documents.counts[e]
                continue
            for _ in range(documents.counts[e]):
                k = np.int64(tokens.topics[t])
                if k < n_topics:
                    _add(starts[word], sizes, word, topics, counts, k, 1)
                t += 1


@compiled
def update_word_topics(
    documents: Documents,
    first: int,
    last: int,
    token_starts: Int64s,
    n_topics: int,
    before: Assignments,
    after: Assignments,
    part: int,
    n_parts: int,
    rows: WordTopics,
) -> None:
    """Move the tokens of documents ``first:last`` from the topics before to those after, in the rows of some words.

    They are the words whose number modulo ``n_parts`` is ``part``, so that parts can be updated in parallel. ``after``
    begins with the first token of document ``first``.
    """
    offset = token_starts[first]
    topics: Any
    starts, sizes, topics, counts = rows
    for d in range(first, last):
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = np.int64(documents.words[e])
            if e + AHEAD < documents.word_starts[last]:
                ahead = starts[documents.words[e + AHEAD]]
                prefetch_entry(topics, ahead)
                prefetch_entry(counts, ahead)
            if word % n_parts != part:
                t += documents.counts[e]
                continue
            for _ in range(documents.counts[e]):
                k, new_k = np.int64(before.topics[t]), np.int64(after.topics[t - offset])
                if new_k != k:
                    if k < n_topics:
                        _add(starts[word], sizes, word, topics, counts, k, -1)
                    if new_k < n_topics:
                        _add(starts[word], sizes, word, topics, counts, new_k, 1)
                t += 1


@compiled
def _add(start: Any, sizes: Int32s, word: Any, topics: Any, counts: Int32s, topic: Any, change: int) -> None:
    """Add to the count of a topic; insert it, or remove it if the count becomes zero."""
    end = start + sizes[word]
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    if low < end and topics[low] == topic:
        counts[low] += change
        if counts[low] == 0:
            for i in range(low, end - 1):
                topics[i] = topics[i + 1]
                counts[i] = counts[i + 1]
            sizes[word] -= 1
        return
    for i in range(end, low, -1):
        topics[i] = topics[i - 1]
        counts[i] = counts[i - 1]
    topics[low] = topic
    counts[low] = change
    sizes[word] += 1
