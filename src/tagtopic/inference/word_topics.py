"""The topics of each word, in sparse rows: the counts n_wk that are not zero.

The dense table of n_wk has a row of all topics for each word. A token of a word needs only those that the word has, and
reading them from the dense row costs as much memory traffic as all of them. The sparse rows have what the dense ones
have at the start of each block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int32s, Int64s, offsets_of
from tagtopic._core.intrinsics import AHEAD, prefetch_entry
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import CHUNK_ROWS, Parallel, cut_rows
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


def word_topics_of(counts: Int32s, tokens: Int64s, parallel: Parallel) -> WordTopics:
    """Return the sparse rows of n_wk, with room for as many topics as a word can have.

    Parameters
    ----------
    counts : ndarray of shape (words, topics)
        n_wk.
    tokens : ndarray of shape (words,)
        The number of tokens of each word.
    parallel : Parallel
        Threads over words.

    Returns
    -------
    WordTopics

    Examples
    --------
    >>> from tagtopic._core.parallel import ThreadPool
    >>> found = word_topics_of(np.array([[0, 2, 1], [0, 0, 0]], np.int32), np.array([3, 1]), ThreadPool(1))
    >>> found.sizes.tolist(), found.topics[:2].tolist(), found.counts[:2].tolist()
    ([2, 0], [1, 2], [2, 1])
    """
    sizes = np.zeros(len(counts), np.int32)
    parts = cut_rows(len(counts), CHUNK_ROWS)
    parallel.map(lambda part: count_topics(counts, *part, sizes), parts)
    # seeded topics have counts beyond those of tokens
    starts = offsets_of(np.minimum(counts.shape[1], sizes + np.asarray(tokens, np.int64)))
    found = WordTopics(starts, sizes, np.empty(starts[-1], np.uint16), np.empty(starts[-1], np.int32))
    parallel.map(lambda part: gather_topics(counts, *part, found), parts)
    return found


@compiled
def count_topics(counts: Int32s, first: int, last: int, sizes: Int32s) -> None:
    """``sizes = (counts > 0).sum(axis=1)`` for words ``first:last``."""
    for w in range(first, last):
        size = 0
        for k in range(counts.shape[1]):
            size += counts[w, k] > 0
        sizes[w] = size


@compiled
def gather_topics(counts: Int32s, first: int, last: int, out: WordTopics) -> None:
    """Write the topics of words ``first:last`` and their counts."""
    for w in range(first, last):
        i = out.starts[w]
        for k in range(counts.shape[1]):
            if counts[w, k] > 0:
                out.topics[i] = k
                out.counts[i] = counts[w, k]
                i += 1


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
