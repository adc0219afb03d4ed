"""What several views are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic.engines.posterior import largest

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer

LEAST_TOKENS = 5
"""A word must be so often in a topic's share of the training words to be ranked by lift: rare words have any lift."""

SMOOTHING = 1e-4
"""Words are ranked as if each were so much (of all words) more frequent: hundreds of words may be all a topic's."""


@dataclass(frozen=True)
class WordShare:
    """A word, its probability, and its lift: how many times more probable that is than in all documents."""

    word: str
    probability: float
    lift: float


@dataclass(frozen=True)
class TopicShare:
    """A topic's share of something, and the words to know it by."""

    topic: int
    share: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class TagValue:
    """A tag, its number in the model, and a value: a probability, a share, a likeness, as the view says."""

    tag: str
    number: int
    value: float


@dataclass(frozen=True)
class DocumentValue:
    """A document, its place among the documents, and a value."""

    id: str
    number: int
    value: float


def topic_name(explorer: Explorer, topic: int, n: int = 3) -> tuple[str, ...]:
    """The words to know a topic by."""
    return explorer.topic_words[topic][:n]


def topic_mix(explorer: Explorer, mix: Any, least: float = 0.02, most: int = 10) -> tuple[TopicShare, ...]:
    """The ``most`` topics that have a share of at least ``least``, largest first; the largest in any case."""
    order = np.argsort(-np.asarray(mix), kind="stable")[:most]
    kept = [int(k) for place, k in enumerate(order) if place == 0 or mix[k] >= least]
    return tuple(TopicShare(k, float(mix[k]), topic_name(explorer, k, 5)) for k in kept)


def with_numbers(explorer: Explorer, ranked: Iterable[tuple[str, float]]) -> tuple[TagValue, ...]:
    """Ranked tags with their numbers."""
    return tuple(TagValue(name, explorer.tag_numbers[name], value) for name, value in ranked)


def words_of(explorer: Explorer, distribution: Any, n: int) -> tuple[WordShare, ...]:
    """The n most probable words of a distribution."""
    lift = _lift(explorer, distribution)
    columns = largest(np.asarray(distribution), range(len(lift)), n)
    return tuple(WordShare(explorer.model.words_[w], value, float(lift[w])) for w, value in columns)


def distinctive_words(explorer: Explorer, distribution: Any, share: float, n: int) -> tuple[WordShare, ...]:
    """The n words of largest lift, of those that ``share`` of the training words would have at least a few times."""
    values = np.asarray(distribution, np.float64)
    expected = values * share * explorer.model.word_counts_.sum()
    enough = expected >= min(LEAST_TOKENS, expected.max())
    rank = np.where(enough, values / (_frequencies(explorer) + SMOOTHING), -1.0)
    lift = _lift(explorer, values)
    columns = [w for w, value in largest(rank, range(len(rank)), n) if value > 0 and lift[w] > 1]
    return tuple(WordShare(explorer.model.words_[w], float(values[w]), float(lift[w])) for w in columns)


def _lift(explorer: Explorer, distribution: Any) -> Float64s:
    return np.asarray(np.asarray(distribution, np.float64) / _frequencies(explorer))


def _frequencies(explorer: Explorer) -> Float64s:
    counts = np.asarray(explorer.model.word_counts_, np.float64)
    return np.asarray(np.maximum(counts, 0.5) / max(float(counts.sum()), 1.0))
