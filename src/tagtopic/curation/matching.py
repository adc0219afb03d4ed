"""The counterparts of named topics in another model: an assignment by the similarity of their words.

Topics share their frequent words, so they are compared by what is particular to them: x = sqrt(p) - sqrt(u), where p is
the topic's distribution over words and u the frequency of words in all documents. The similarity of x and y is
Tanimoto's coefficient, x y / (x x + y y - x y): 1 for equal topics, about 0 for unrelated ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.parallel import one_blas_thread
from tagtopic.curation.decisions import TopicReference

LEAST_SIMILARITY = 0.4
"""The similarity from which on a counterpart can be clear."""

MOST_AMBIGUITY = 0.6
"""The similarity of the second candidate, relative to the first, up to which a counterpart can be clear."""


@dataclass(frozen=True)
class TopicMatch:
    """The counterpart of a topic in another model.

    Attributes
    ----------
    topic : int
        The most similar topic, of those that are no better counterpart of another topic; -1 if there is none.
    similarity : float
        The similarity of the two topics, from 0 to 1.
    runner_up : float
        The similarity of the most similar other pair: the topic and another candidate, or the counterpart and another
        topic.

    Examples
    --------
    >>> from tagtopic.curation import TopicMatch
    >>> TopicMatch(3, 0.9, 0.2).is_clear, TopicMatch(3, 0.9, 0.7).is_clear
    (True, False)
    """

    topic: int
    similarity: float
    runner_up: float

    @property
    def is_clear(self) -> bool:
        """Whether the topics are similar, and clearly more so than other pairs."""
        return self.similarity >= LEAST_SIMILARITY and self.runner_up <= MOST_AMBIGUITY * self.similarity


def match_topics(similarity: Float64s) -> list[TopicMatch]:
    """Assign each topic (row) to at most one candidate (column), with the largest sum of similarities."""
    from scipy.optimize import linear_sum_assignment

    n_rows, n_columns = similarity.shape
    if not n_columns:
        return [TopicMatch(-1, 0.0, 0.0)] * n_rows
    found = dict(zip(*linear_sum_assignment(similarity, maximize=True), strict=True))
    matches = []
    for row in range(n_rows):
        column = found.get(row)
        if column is None:
            matches.append(TopicMatch(-1, 0.0, float(similarity[row].max())))
            continue
        rivals = np.concatenate([np.delete(similarity[row], column), np.delete(similarity[:, column], row), [0.0]])
        matches.append(TopicMatch(int(column), float(similarity[row, column]), float(rivals.max())))
    return matches


def similarity_of_topics(
    topics: Any, words: Sequence[str], others: Any, other_words: Sequence[str], frequencies: Float64s
) -> Float64s:
    """Return the similarities of topics (topics, words) and of those of another model, over the words of both.

    ``frequencies`` are those of ``other_words``.
    """
    column = {word: number for number, word in enumerate(other_words)}
    pairs = [(i, column[word]) for i, word in enumerate(words) if word in column]
    if not pairs:
        return np.zeros((len(topics), len(others)))
    own, other = (list(numbers) for numbers in zip(*pairs, strict=True))
    usual = np.sqrt(frequencies[other])
    return _tanimoto(np.sqrt(topics[:, own]) - usual, np.sqrt(others[:, other]) - usual)


def similarity_of_references(
    references: Sequence[TopicReference], topics: Any, words: Sequence[str], frequencies: Float64s
) -> Float64s:
    """Return the similarities of references and topics (topics, words), over the words that a reference has."""
    wanted = {word for reference in references for word in reference.words}
    column = {word: number for number, word in enumerate(words) if word in wanted}
    rows = [np.zeros(len(topics))] * len(references)
    for row, reference in enumerate(references):
        known = [(column[word], share) for word, share in reference.words.items() if word in column]
        lost = sum(share for word, share in reference.words.items() if word not in column)
        if known:
            numbers, shares = (list(values) for values in zip(*known, strict=True))
            usual = np.sqrt(frequencies[numbers])
            found = _tanimoto((np.sqrt(shares) - usual)[None], np.sqrt(topics[:, numbers]) - usual)[0]
            rows[row] = found * (1 - lost / (lost + sum(shares)))
    return np.array(rows).reshape(len(references), len(topics))


def _tanimoto(one: Any, other: Any) -> Float64s:
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    with one_blas_thread():
        product = one @ other.T
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)
    return np.asarray(np.maximum(product, 0.0) / np.maximum(squares - product, 1e-300))
