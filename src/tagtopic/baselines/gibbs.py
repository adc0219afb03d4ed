"""Collapsed Gibbs sampling of topics: each word's topic is drawn given those of all other words.

Two kinds: the topics of a document have a Dirichlet prior (LDA, DMR), or each word belongs to one of the document's
tags, whose topics have one (the Author-Topic model). Random numbers come from a state of one's own, so that a
seed decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.jit import compiled, compiled_reordering

State = NDArray[np.uint64]


@dataclass
class Tokens:
    """A corpus word by word: document d has ``words[starts[d]:starts[d + 1]]``, and ``topics`` beside them."""

    starts: Int64s
    words: Int32s
    topics: Int32s

    @classmethod
    def of(cls, counts: Any, n_topics: int, rng: np.random.Generator) -> Tokens:
        """The words of a CSR matrix of whole counts, with topics at random."""
        lengths = np.add.reduceat(np.append(counts.data, 0), counts.indptr[:-1]) * (np.diff(counts.indptr) > 0)
        words = np.repeat(counts.indices, counts.data).astype(np.int32)
        topics = rng.integers(n_topics, size=len(words), dtype=np.int32)
        return cls(offsets_of(lengths), words, topics)

    def owners(self) -> Int64s:
        """The document of each word."""
        return owners_of(self.starts)

    def table(self, rows: Any, n_rows: int, n_topics: int) -> Int32s:
        """How many words of each row (a document, a tag, a word) have each topic."""
        cells = rows.astype(np.int64) * n_topics + self.topics
        counted = np.bincount(cells, minlength=n_rows * n_topics)
        return counted.reshape(n_rows, n_topics).astype(np.int32)


def random_state(rng: np.random.Generator) -> State:
    """The state of ``uniform``."""
    return rng.integers(1, 2**63, size=1, dtype=np.uint64)


@compiled
def uniform(state: State) -> float:
    """A number from 0 to below 1 (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float(((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0)


@compiled
def draw(cumulated: Float64s, n: int, state: State) -> int:
    """A position below n with probability proportional to the steps of ``cumulated``."""
    target = uniform(state) * cumulated[n - 1]
    low, high = 0, n - 1
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@compiled_reordering
def _weigh_words(word: Int32s, smoothing: float, inverse: Float64s, out: Float64s) -> None:
    for k in range(word.shape[0]):
        out[k] = (word[k] + smoothing) * inverse[k]


@compiled_reordering
def _weigh(counts: Int32s, prior: Float64s, words: Float64s, scale: float, out: Float64s) -> None:
    for k in range(counts.shape[0]):
        out[k] = (counts[k] + prior[k]) * words[k] * scale


@compiled
def sweep(
    starts: Int64s,
    words: Int32s,
    topics: Int32s,
    document_topics: Int32s,
    word_topics: Int32s,
    totals: Int64s,
    prior: Float64s,
    smoothing: float,
    state: State,
) -> None:
    """Draw every word's topic once. ``prior`` is (documents, topics), ``smoothing`` the prior count of each word."""
    n_words, n_topics = word_topics.shape
    inverse = 1.0 / (totals + n_words * smoothing)
    of_word, weights = np.empty(n_topics), np.empty(n_topics)
    for d in range(starts.shape[0] - 1):
        for i in range(starts[d], starts[d + 1]):
            word, old = words[i], topics[i]
            document_topics[d, old] -= 1
            word_topics[word, old] -= 1
            totals[old] -= 1
            inverse[old] = 1.0 / (totals[old] + n_words * smoothing)
            _weigh_words(word_topics[word], smoothing, inverse, of_word)
            _weigh(document_topics[d], prior[d], of_word, 1.0, weights)
            for k in range(1, n_topics):
                weights[k] += weights[k - 1]
            new = draw(weights, n_topics, state)
            topics[i] = new
            document_topics[d, new] += 1
            word_topics[word, new] += 1
            totals[new] += 1
            inverse[new] = 1.0 / (totals[new] + n_words * smoothing)


@compiled
def sweep_tags(
    starts: Int64s,
    words: Int32s,
    topics: Int32s,
    chosen: Int32s,
    tag_starts: Int64s,
    tags: Int32s,
    tag_topics: Int32s,
    tag_totals: Int64s,
    word_topics: Int32s,
    totals: Int64s,
    prior: float,
    smoothing: float,
    state: State,
) -> None:
    """Draw every word's tag and topic once, together; ``chosen`` is the tag of each word, as a column."""
    n_words, n_topics = word_topics.shape
    inverse = 1.0 / (totals + n_words * smoothing)
    most = 0
    for d in range(starts.shape[0] - 1):
        most = max(most, tag_starts[d + 1] - tag_starts[d])
    flat = np.full(n_topics, prior)
    of_word, weights = np.empty(n_topics), np.empty(most * n_topics)
    for d in range(starts.shape[0] - 1):
        mine = tags[tag_starts[d] : tag_starts[d + 1]]
        for i in range(starts[d], starts[d + 1]):
            word, old, tag = words[i], topics[i], chosen[i]
            tag_topics[tag, old] -= 1
            tag_totals[tag] -= 1
            word_topics[word, old] -= 1
            totals[old] -= 1
            inverse[old] = 1.0 / (totals[old] + n_words * smoothing)
            _weigh_words(word_topics[word], smoothing, inverse, of_word)
            for j in range(mine.shape[0]):
                scale = 1.0 / (tag_totals[mine[j]] + n_topics * prior)
                _weigh(tag_topics[mine[j]], flat, of_word, scale, weights[j * n_topics : (j + 1) * n_topics])
            n = mine.shape[0] * n_topics
            for k in range(1, n):
                weights[k] += weights[k - 1]
            place = draw(weights, n, state)
            tag, new = mine[place // n_topics], place % n_topics
            topics[i], chosen[i] = new, tag
            tag_topics[tag, new] += 1
            tag_totals[tag] += 1
            word_topics[word, new] += 1
            totals[new] += 1
            inverse[new] = 1.0 / (totals[new] + n_words * smoothing)
