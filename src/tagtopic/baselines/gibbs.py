"""Collapsed Gibbs sampling: the topic of each token is drawn given the topics of all other tokens.

``sweep_topics`` is for models in which a document's topics have a Dirichlet prior (LDA, DMR),
``sweep_tags_and_topics`` for the Author-Topic model, in which each token belongs to one of the document's tags and a
tag's topics have a Dirichlet prior. The state of the random generator is an argument, so results depend on the seed
alone.
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
    """The tokens of a corpus: document d has ``words[starts[d]:starts[d + 1]]`` with ``topics`` in the same places."""

    starts: Int64s
    words: Int32s
    topics: Int32s

    @classmethod
    def of(cls, counts: Any, n_topics: int, rng: np.random.Generator) -> Tokens:
        """Expand a CSR matrix of whole counts to tokens with random topics."""
        lengths = np.add.reduceat(np.append(counts.data, 0), counts.indptr[:-1]) * (np.diff(counts.indptr) > 0)
        words = np.repeat(counts.indices, counts.data).astype(np.int32)
        topics = rng.integers(n_topics, size=len(words), dtype=np.int32)
        return cls(offsets_of(lengths), words, topics)

    def documents(self) -> Int64s:
        """Return the document of each token."""
        return owners_of(self.starts)

    def topic_counts(self, rows: Any, n_rows: int, n_topics: int) -> Int32s:
        """Count the tokens of each row (a document, a tag or a word) and topic."""
        cells = rows.astype(np.int64) * n_topics + self.topics
        counts = np.bincount(cells, minlength=n_rows * n_topics)
        return counts.reshape(n_rows, n_topics).astype(np.int32)


def random_state(rng: np.random.Generator) -> State:
    """Draw an initial state for ``uniform``."""
    return rng.integers(1, 2**63, size=1, dtype=np.uint64)


@compiled
def uniform(state: State) -> float:
    """Draw a number from [0, 1) (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float(((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0)


@compiled
def sample_index(cumulated: Float64s, n: int, state: State) -> int:
    """Draw an index below n with probability proportional to the increments of ``cumulated``."""
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
def _word_weights(word: Int32s, smoothing: float, inverse: Float64s, out: Float64s) -> None:
    for k in range(word.shape[0]):
        out[k] = (word[k] + smoothing) * inverse[k]


@compiled_reordering
def _topic_weights(counts: Int32s, prior: Float64s, words: Float64s, scale: float, out: Float64s) -> None:
    for k in range(counts.shape[0]):
        out[k] = (counts[k] + prior[k]) * words[k] * scale


@compiled
def sweep_topics(
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
    """Draw every token's topic once. ``prior`` is (documents, topics), ``smoothing`` the prior count of each word."""
    n_words, n_topics = word_topics.shape
    inverse = 1.0 / (totals + n_words * smoothing)
    word_weights, weights = np.empty(n_topics), np.empty(n_topics)
    for d in range(starts.shape[0] - 1):
        for i in range(starts[d], starts[d + 1]):
            word, old = words[i], topics[i]
            document_topics[d, old] -= 1
            word_topics[word, old] -= 1
            totals[old] -= 1
            inverse[old] = 1.0 / (totals[old] + n_words * smoothing)
            _word_weights(word_topics[word], smoothing, inverse, word_weights)
            _topic_weights(document_topics[d], prior[d], word_weights, 1.0, weights)
            for k in range(1, n_topics):
                weights[k] += weights[k - 1]
            new = sample_index(weights, n_topics, state)
            topics[i] = new
            document_topics[d, new] += 1
            word_topics[word, new] += 1
            totals[new] += 1
            inverse[new] = 1.0 / (totals[new] + n_words * smoothing)


@compiled
def sweep_tags_and_topics(
    starts: Int64s,
    words: Int32s,
    topics: Int32s,
    token_tags: Int32s,
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
    """Draw every token's tag and topic jointly, once; ``token_tags`` has the column of each token's tag."""
    n_words, n_topics = word_topics.shape
    inverse = 1.0 / (totals + n_words * smoothing)
    max_tags = 0
    for d in range(starts.shape[0] - 1):
        max_tags = max(max_tags, tag_starts[d + 1] - tag_starts[d])
    flat_prior = np.full(n_topics, prior)
    word_weights, weights = np.empty(n_topics), np.empty(max_tags * n_topics)
    for d in range(starts.shape[0] - 1):
        own_tags = tags[tag_starts[d] : tag_starts[d + 1]]
        for i in range(starts[d], starts[d + 1]):
            word, old, tag = words[i], topics[i], token_tags[i]
            tag_topics[tag, old] -= 1
            tag_totals[tag] -= 1
            word_topics[word, old] -= 1
            totals[old] -= 1
            inverse[old] = 1.0 / (totals[old] + n_words * smoothing)
            _word_weights(word_topics[word], smoothing, inverse, word_weights)
            for j in range(own_tags.shape[0]):
                scale = 1.0 / (tag_totals[own_tags[j]] + n_topics * prior)
                _topic_weights(
                    tag_topics[own_tags[j]], flat_prior, word_weights, scale, weights[j * n_topics : (j + 1) * n_topics]
                )
            n = own_tags.shape[0] * n_topics
            for k in range(1, n):
                weights[k] += weights[k - 1]
            place = sample_index(weights, n, state)
            tag, new = own_tags[place // n_topics], place % n_topics
            topics[i], token_tags[i] = new, tag
            tag_topics[tag, new] += 1
            tag_totals[tag] += 1
            word_topics[word, new] += 1
            totals[new] += 1
            inverse[new] = 1.0 / (totals[new] + n_words * smoothing)
