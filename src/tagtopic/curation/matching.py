"""The counterparts of named topics in another model: an assignment by the similarity of their words.

The similarity of two topics p and q is the Bhattacharyya coefficient, the sum of sqrt(p_w q_w): 1 for equal topics. If
only the most probable words of p are known, the sum is over them, relative to their share of p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.parallel import one_blas_thread
from tagtopic.curation.decisions import TopicReference

LEAST_SIMILARITY = 0.5
"""The similarity from which on a counterpart can be clear."""

MOST_AMBIGUITY = 0.8
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
    >>> TopicMatch(3, 0.9, 0.2).is_clear, TopicMatch(3, 0.9, 0.8).is_clear
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


def similarity_of_topics(topics: Any, words: Sequence[str], others: Any, other_words: Sequence[str]) -> Float64s:
    """Return the similarities of topics (topics, words) and of those of another model, over the words of both."""
    column = {word: number for number, word in enumerate(other_words)}
    pairs = [(i, column[word]) for i, word in enumerate(words) if word in column]
    if not pairs:
        return np.zeros((len(topics), len(others)))
    own, other = (list(numbers) for numbers in zip(*pairs, strict=True))
    with one_blas_thread():
        similarity = np.sqrt(topics[:, own]) @ np.sqrt(others[:, other]).T
    return np.asarray(similarity, np.float64)


def similarity_of_references(references: Sequence[TopicReference], topics: Any, words: Sequence[str]) -> Float64s:
    """Return the similarities of references, by the words that they have, and topics (topics, words)."""
    wanted = {word for reference in references for word in reference.words}
    column = {word: number for number, word in enumerate(words) if word in wanted}
    rows = []
    for reference in references:
        known = [(column[word], share) for word, share in reference.words.items() if word in column]
        total = sum(reference.words.values())
        shares = np.array([share for _, share in known])
        common = np.sqrt(np.asarray(topics[:, [number for number, _ in known]], np.float64) * shares).sum(axis=1)
        rows.append(np.minimum(common / max(total, 1e-300), 1.0))
    return np.array(rows).reshape(len(references), len(topics))
