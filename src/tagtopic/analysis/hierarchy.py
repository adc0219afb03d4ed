"""Topics grouped into nested levels: a tree by common words and common documents, cut at numbers of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic.analysis.labels import stem

NAME_WORDS = 3


def word_similarity(topics: Any) -> Float64s:
    """Return the similarity of topics by their words: Bhattacharyya coefficients (topics, topics)."""
    roots = np.sqrt(np.asarray(topics, np.float64))
    return np.asarray(np.clip(roots @ roots.T, 0.0, 1.0))


def use_similarity(mixes: Any, weights: Any = None) -> Float64s:
    """Return how far topics are used together, in documents or by tags: correlations of square roots of proportions.

    Parameters
    ----------
    mixes : ndarray of shape (documents or tags, topics)
        Topic proportions.
    weights : ndarray of shape (documents or tags,) or None, default=None
        Their weights; None is equal ones.

    Returns
    -------
    ndarray of shape (topics, topics)
    """
    values = np.asarray(mixes, np.float64)
    given = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    share = given / max(float(given.sum()), 1e-300)
    roots = np.sqrt(values) - share @ np.sqrt(values)
    covariance = (roots * share[:, None]).T @ roots
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
    return np.asarray(covariance / np.outer(spread, spread))


def topic_distances(similarities: Sequence[Float64s]) -> Float64s:
    """Add up similarities, each at most 1, and return distances.

    They are not standardised: where topics have no words in common, what differs from pair to pair is noise.
    """
    distances = len(similarities) - np.sum(similarities, axis=0)
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0.0)
    return np.asarray(np.maximum(distances, 0.0))


def merge_tree(distances: Float64s) -> Float64s:
    """Return the tree of topics by average linkage, in scipy's form."""
    return np.asarray(linkage(squareform(distances, checks=False), "average"))


def cut_tree(tree: Float64s, n_groups: int) -> Int64s:
    """Return the group of each topic when exactly ``n_groups`` are left; groups are numbered by their first topic."""
    n = len(tree) + 1
    root = list(range(2 * n - 1))
    for merge in range(n - n_groups):
        for child in tree[merge, :2].astype(int):
            root[child] = n + merge

    def find(node: int) -> int:
        while root[node] != node:
            node = root[node]
        return node

    found = [find(topic) for topic in range(n)]
    numbers = {group: number for number, group in enumerate(dict.fromkeys(found))}
    return np.array([numbers[group] for group in found], np.int64)


def sibling_names(
    topics: Any, shares: Any, groups: Int64s, parents: Int64s | None, words: Sequence[str], n_words: int = NAME_WORDS
) -> list[str]:
    """Name groups by the words that distinguish them from the other groups of the same parent.

    Words are ranked by their part of the Kullback-Leibler divergence of the group from its siblings (from all topics if
    it has none).

    Parameters
    ----------
    topics : ndarray of shape (topics, words)
        p(word | topic).
    shares : ndarray of shape (topics,)
        The topics' shares.
    groups, parents : ndarray of int, shape (topics,)
        The group of each topic, at this level and at the one above; None if there is none.
    words : sequence of str
        The words.
    n_words : int, default=3
        Words of a name.

    Returns
    -------
    list of str
    """
    values, weights = np.asarray(topics, np.float64), np.asarray(shares, np.float64)
    everything = weights @ values
    found: list[str] = []
    for group in range(int(groups.max()) + 1):
        own = groups == group
        mine = _mean(values[own], weights[own])
        family = own if parents is None else parents == parents[own][0]
        siblings = ~own if parents is None else family & ~own
        others = _mean(values[siblings], weights[siblings]) if siblings.any() else everything
        score = mine * np.log((mine + 1e-9) / (others + 1e-5))
        chosen: list[str] = []
        stems: set[str] = set()
        for word in map(int, np.argsort(-score, kind="stable")[:50]):
            if stem(words[word]) not in stems:
                chosen.append(words[word])
                stems.add(stem(words[word]))
            if len(chosen) == n_words:
                break
        name = ", ".join(chosen)
        found.append(name if name not in found else f"{name} ({group})")
    return found


def _mean(rows: Float64s, weights: Float64s) -> Float64s:
    total = float(weights.sum())
    return np.asarray(weights @ rows / total if total > 0 else rows.mean(axis=0))


@dataclass(frozen=True)
class Group:
    """A group of topics.

    Attributes
    ----------
    level : int
        The number of groups of its level.
    number : int
        Its number within the level.
    name : str
        The words that distinguish it from its siblings.
    topics : tuple of int
        Its topics.
    share : float
        Its share of all words, the sum of its topics'.
    children : tuple of Group
        Its groups of the next level; empty at the last one.

    Examples
    --------
    >>> from tagtopic.analysis import Group
    >>> Group(2, 0, "ship, planet", (0, 3), 0.25).topics
    (0, 3)
    """

    level: int
    number: int
    name: str
    topics: tuple[int, ...]
    share: float
    children: tuple[Group, ...] = ()
