"""What several views are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import largest
from tagtopic.models._queries import distinctive_words as distinctive
from tagtopic.models._queries import main_topics, word_lift

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


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
    topics = main_topics(mix, least=least, most=most)
    return tuple(TopicShare(k, float(mix[k]), topic_name(explorer, k, 5)) for k in topics)


def with_numbers(explorer: Explorer, ranked: Iterable[tuple[str, float]]) -> tuple[TagValue, ...]:
    """Ranked tags with their numbers."""
    return tuple(TagValue(name, explorer.tag_numbers[name], value) for name, value in ranked)


def words_of(explorer: Explorer, distribution: Any, n: int) -> tuple[WordShare, ...]:
    """The n most probable words of a distribution."""
    lift = word_lift(distribution, explorer.model.word_counts_)
    columns = largest(np.asarray(distribution), range(len(lift)), n)
    return tuple(WordShare(explorer.model.words_[w], value, float(lift[w])) for w, value in columns)


def distinctive_words(explorer: Explorer, distribution: Any, share: float, n: int) -> tuple[WordShare, ...]:
    """The n words of largest lift, of those that ``share`` of the training words would have at least a few times."""
    model = explorer.model
    words = distinctive(distribution, model.word_counts_, share, n)
    return tuple(WordShare(model.words_[word], probability, lift) for word, probability, lift in words)
