"""Figures about topics alone: how much their words differ from topic to topic."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.inference.arrays import Floats


def diversity(components: Any, n_words: int = 25) -> float:
    """The share of different words among the first ``n_words`` of all topics: 1 if no two topics share one.

    ``components`` is (topics, words), as in ``model.components_`` (Dieng, Ruiz and Blei 2020).

    Examples
    --------
    >>> from tagtopic.evaluation.topics import diversity
    >>> diversity([[0.9, 0.1, 0.0], [0.9, 0.0, 0.1]], n_words=1)
    0.5
    """
    first = first_words(components, n_words)
    return float(len(np.unique(first)) / first.size)


def exclusivity(components: Any, n_words: int = 10) -> float:
    """How much the first ``n_words`` of a topic are its own: the mean share that it has in its words' probabilities.

    The share of topic k in word w is p(w | k) / sum_j p(w | j): 1 if no other topic has the word, 1 / topics if all
    have it alike (the exclusivity of Bischof and Airoldi 2012, without their ranks).

    Examples
    --------
    >>> from tagtopic.evaluation.topics import exclusivity
    >>> exclusivity([[1.0, 0.0], [0.0, 1.0]], n_words=1)
    1.0
    """
    probabilities = np.asarray(components)
    first = first_words(probabilities, n_words)
    own = np.take_along_axis(probabilities, first, axis=1).astype(np.float64)
    everybody = probabilities.sum(axis=0, dtype=np.float64)[first]
    return float((own / np.maximum(everybody, 1e-300)).mean())


def first_words(components: Any, n_words: int) -> Any:
    """(topics, n_words): the most probable words of each topic, most probable first."""
    if n_words < 1:
        raise ValueError(f"n_words={n_words!r}: expected a whole number from 1")
    probabilities: Floats = np.asarray(components)
    n = min(n_words, probabilities.shape[1])
    chosen = np.argpartition(-probabilities, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(probabilities, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
