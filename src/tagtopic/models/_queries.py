"""Rankings and name suggestions behind a fitted model's methods."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from tagtopic._core.arrays import Float64s, Floats, largest
from tagtopic._core.frames import Ranking
from tagtopic._core.parallel import cut_rows

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.models._base import TagTopicModel

MIN_WORDS = 20
"""Documents with fewer words are listed for a topic only if too few have more: their topic mix is uncertain."""

MIN_TOKENS = 5.0
"""Expected tokens from which a word is ranked by lift: a rarer word can have any lift."""

LIFT_SMOOTHING = 1e-4
"""Added to each word's frequency when words are ranked by lift: hundreds may occur in one topic only."""

PRIOR_DOCUMENTS = 10.0
"""Average documents that each tag counts as having beside its own, where tags are compared."""

BLOCK_ROWS = 1 << 16
"""Documents whose topic proportions are in memory at a time."""


def sum_topics_by_tag(infer: Callable[[Corpus], Floats], corpus: Corpus, n_topics: int) -> Float64s:
    """Add up the topic proportions, which ``infer`` returns, of the documents with each tag: (tags, topics).

    Blocks are cut by the documents, so that the result depends on neither threads nor memory.
    """
    sums = np.zeros((corpus.n_tags, n_topics))
    if corpus.tags.nnz:
        for first, last in cut_rows(len(corpus), BLOCK_ROWS):
            part = corpus[first:last]
            add_topics_by_tag(part.tags, infer(part).astype(np.float64), sums)
    return sums


def add_topics_by_tag(tags: Any, topics: Floats, sums: Floats) -> None:
    """Add the topic proportions of documents, whose tags are the rows of a sparse matrix, to the rows of their tags."""
    used, columns = np.unique(tags.indices, return_inverse=True)
    entries = sp.csr_array((np.ones(len(columns)), columns, tags.indptr), shape=(tags.shape[0], len(used)))
    sums[used] += entries.T @ topics


def top_by_share(shares: Floats, lengths: ArrayLike, n: int, *, min_words: int = MIN_WORDS) -> list[tuple[int, float]]:
    """Rank the n documents with the largest shares; those under ``min_words`` words only if fewer than n are longer."""
    long_enough = np.asarray(lengths) >= min_words
    values = np.where(long_enough, shares, -1.0) if long_enough.sum() >= n else np.asarray(shares)
    return largest(values, range(len(values)), n)


DISTANCES = ("hellinger", "jensen-shannon")
"""Distances of topic mixes, both from 0 (the same) to 1 (no topic in common)."""


def mix_distances(mix: Any, mixes: Any, distance: str = DISTANCES[0]) -> Float64s:
    """Return the distance of one topic mix from each of several.

    hellinger:       ``sqrt(1 - sqrt(mixes) @ sqrt(mix))``
    jensen-shannon:  the square root of the Jensen-Shannon divergence in bits
    """
    if distance not in DISTANCES:
        raise ValueError(f"distance={distance!r}: expected one of {', '.join(map(repr, DISTANCES))}")
    one, others = np.asarray(mix, np.float64), np.asarray(mixes, np.float64)
    if distance == DISTANCES[0]:
        # half the squared difference of the roots, as it is 0 to the last bit for equal mixes
        return np.asarray(np.sqrt(0.5 * ((np.sqrt(others) - np.sqrt(one)) ** 2).sum(axis=1)))
    middle = (others + one) / 2
    divergence = 0.5 * (rel_entr(others, middle).sum(axis=1) + rel_entr(one, middle).sum(axis=1)) / np.log(2)
    return np.asarray(np.sqrt(np.clip(divergence, 0.0, 1.0)))


def nearest_mixes(
    mix: Any, mixes: Any, n: int, distance: str = DISTANCES[0], leave_out: int | None = None
) -> list[tuple[int, float]]:
    """Rank the n rows most similar to a topic mix, by 1 - distance; one row may be left out."""
    similarity = 1.0 - mix_distances(mix, mixes, distance)
    if leave_out is not None:
        similarity[leave_out] = -1.0
    return largest(similarity, range(len(similarity)), min(n, len(similarity) - (leave_out is not None)))


def similar_documents(
    model: TagTopicModel, query: Any, query_tags: Any, corpus: Corpus, n: int, distance: str, topics: Any
) -> Ranking[str]:
    """Rank the n documents of an aligned corpus whose topic mixes are most similar to that of a query."""
    mixes = model._infer(corpus).topics if topics is None else np.asarray(topics)
    if mixes.shape != (len(corpus), len(model.components_)):
        raise ValueError(f"topics has the shape {mixes.shape}: expected {(len(corpus), len(model.components_))}")
    if isinstance(query, int | np.integer) and not isinstance(query, bool):
        row = int(query)
        if not 0 <= row < len(corpus):
            raise ValueError(f"query={row}: there are {len(corpus)} documents, counted from 0")
        ranked = nearest_mixes(mixes[row], mixes, n, distance, leave_out=row)
    else:
        one = model.one_document(query, query_tags)
        if not one.counts.nnz and not one.tags.nnz:
            raise ValueError("the query has no word or tag that the model knows: nothing can be similar to it")
        ranked = nearest_mixes(model._infer(one).topics[0], mixes, n, distance)
    titles = None if corpus.titles is None else [corpus.titles[d] for d, _ in ranked]
    return Ranking(((corpus.ids[d], value) for d, value in ranked), ("id", "similarity"), titles)


@dataclass(frozen=True)
class TagMixes:
    """The topics of each tag's documents, with how many documents there are as evidence.

    A tag with few documents is shrunk towards the mean over all tags, as if it had ``PRIOR_DOCUMENTS`` average
    documents more, so that it ranks high in an answer only where many documents support it.

    Parameters
    ----------
    names : sequence of str
        The tags.
    means : ndarray of shape (tags, topics)
        The mean topic proportions of the documents with each tag.
    documents : ndarray of shape (tags,)
        The number of documents with each tag.
    """

    names: Sequence[str]
    means: Floats
    documents: Float64s

    @cached_property
    def average(self) -> Float64s:
        """The mean over all tags, weighted by their documents."""
        total = max(float(self.documents.sum()), 1e-300)
        return np.asarray(self.documents @ self.means / total, np.float64)

    @cached_property
    def reliability(self) -> Float64s:
        """The weight of a tag's own documents in its shrunk mean, from 0 to 1."""
        return np.asarray(self.documents / (self.documents + PRIOR_DOCUMENTS))

    @cached_property
    def _deviations(self) -> Floats:
        """Square roots of the shrunk means, less those of the average, as unit vectors."""
        shrunk = self.reliability[:, None] * self.means + (1.0 - self.reliability[:, None]) * self.average
        deviations = np.sqrt(np.maximum(shrunk, 0.0)) - np.sqrt(self.average)
        lengths = np.linalg.norm(deviations, axis=1, keepdims=True)
        return np.asarray(deviations / np.maximum(lengths, 1e-12), self.means.dtype)

    def nearest(self, tag: int, n: int) -> list[tuple[str, float]]:
        """Rank the n tags most similar to one, itself excluded.

        The similarity is the cosine of how far the two tags are from the average, times the square root of the other
        tag's reliability: a tag with two documents is never very similar.
        """
        similarity = (self._deviations @ self._deviations[tag]) * np.sqrt(self.reliability)
        similarity[tag] = -np.inf
        return largest(similarity, self.names, min(n, len(self.names) - 1))

    def of_topic(self, topic: int, n: int) -> list[tuple[str, float]]:
        """Rank the n tags whose documents have more of a topic than others, by the evidence for it.

        The evidence is the log-likelihood ratio, n_j m_jk log(m_jk / m_k), of the shrunk mean proportion m_jk to the
        average. The values are p(tag | topic) over the tags' documents.
        """
        share, own = float(self.average[topic]), self.means[:, topic]
        shrunk = self.reliability * own + (1.0 - self.reliability) * share
        ratio = np.log(np.maximum(shrunk, 1e-300) / max(share, 1e-300))
        joint = self.documents * own
        probability = joint / max(float(joint.sum()), 1e-300)
        order = largest(self.documents * shrunk * ratio, range(len(self.names)), n)
        return [(self.names[tag], float(probability[tag])) for tag, _ in order]


def suggest_names(tag: str, names: Sequence[str]) -> list[str]:
    """Up to three known tags close to an unknown one; first those that differ in kind or letter case only."""
    wanted = tag.casefold()
    same = [name for name in names if wanted in (name.casefold(), name.casefold().partition(":")[2])]
    values = {name.partition(":")[2] or name: name for name in names}
    close = [values[value] for value in difflib.get_close_matches(tag, values, 3)]
    return list(dict.fromkeys([*same, *difflib.get_close_matches(tag, names, 3), *close]))[:3]


def main_topics(mix: Any, *, least: float = 0.02, most: int = 10) -> list[int]:
    """The at most ``most`` topics with a share of at least ``least``, largest first; the largest in any case."""
    order = np.argsort(-np.asarray(mix), kind="stable")[:most]
    return [int(k) for place, k in enumerate(order) if place == 0 or mix[k] >= least]


def word_lift(distribution: Any, word_counts: Any) -> Float64s:
    """How many times as probable each word is under a distribution as in the training documents."""
    return np.asarray(np.asarray(distribution, np.float64) / _frequencies(word_counts))


def distinctive_words(distribution: Any, word_counts: Any, share: float, n: int) -> list[tuple[int, float, float]]:
    """Rank the n words of largest lift as (word, probability, lift).

    Only words that are expected at least a few times in ``share`` of the training words, and whose lift is above 1.
    """
    values = np.asarray(distribution, np.float64)
    expected = values * share * word_counts.sum()
    enough = expected >= min(MIN_TOKENS, expected.max())
    rank = np.where(enough, values / (_frequencies(word_counts) + LIFT_SMOOTHING), -1.0)
    lift = word_lift(values, word_counts)
    words = [word for word, value in largest(rank, range(len(rank)), n) if value > 0 and lift[word] > 1]
    return [(word, float(values[word]), float(lift[word])) for word in words]


def _frequencies(word_counts: Any) -> Float64s:
    counts = np.asarray(word_counts, np.float64)
    return np.asarray(np.maximum(counts, 0.5) / max(float(counts.sum()), 1.0))
