"""Items of the lists in views: words, topics, tags and documents, each with a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic._core.arrays import largest
from tagtopic.models import _queries as queries

if TYPE_CHECKING:
    from tagtopic.explore.explorer import Explorer


@dataclass(frozen=True)
class WordShare:
    """A word, its probability, and its lift: the ratio of this probability to the word's frequency in all documents."""

    word: str
    probability: float
    lift: float


@dataclass(frozen=True)
class TopicShare:
    """A topic, its share, its name ("" without one), and its most probable words.

    ``lift`` is the ratio of the share to the topic's mean share in the documents of all tags, where that is shown.
    """

    topic: int
    share: float
    words: tuple[str, ...]
    name: str = ""
    lift: float | None = None


@dataclass(frozen=True)
class TagValue:
    """A tag, its number in the model, and a value: a probability, share, similarity or count, depending on the view."""

    tag: str
    number: int
    value: float


@dataclass(frozen=True)
class TagShare:
    """A tag of a topic: the topic's mean share in its documents, the ratio to the mean, and how many they are."""

    tag: str
    number: int
    value: float
    lift: float
    documents: int


@dataclass(frozen=True)
class DocumentValue:
    """A document, its number in the corpus, and a value."""

    id: str
    number: int
    value: float


def topic_words(explorer: Explorer, topic: int, n: int = 3) -> tuple[str, ...]:
    """The label of a topic: its n most probable words."""
    return explorer.topic_words[topic][:n]


def topic_mix(
    explorer: Explorer, mix: Any, min_share: float = 0.02, n: int = 10, *, average: Any = None
) -> tuple[TopicShare, ...]:
    """The n largest topics with at least ``min_share``, largest first; the largest one in any case.

    With the ``average`` mix, shares have their ratios to it.
    """
    topics = queries.main_topics(mix, least=min_share, most=n)
    lifts = {k: None if average is None else float(mix[k] / max(average[k], 1e-12)) for k in topics}
    return tuple(topic_share(explorer, k, float(mix[k]), lifts[k]) for k in topics)


def topic_share(explorer: Explorer, topic: int, share: float, lift: float | None = None) -> TopicShare:
    """A topic with its name and five words."""
    return TopicShare(topic, share, topic_words(explorer, topic, 5), explorer.model.topic_names_[topic], lift)


def numbered_tags(explorer: Explorer, ranked: Iterable[tuple[str, float]]) -> tuple[TagValue, ...]:
    """Ranked tags with their numbers in the model."""
    return tuple(TagValue(name, explorer.tag_numbers[name], value) for name, value in ranked)


def top_words(explorer: Explorer, distribution: Any, n: int) -> tuple[WordShare, ...]:
    """The n most probable words of a distribution."""
    lift = queries.word_lift(distribution, explorer.model.word_counts_)
    columns = largest(np.asarray(distribution), range(len(lift)), n)
    return tuple(WordShare(explorer.model.words_[w], value, float(lift[w])) for w, value in columns)


def distinctive_words(explorer: Explorer, distribution: Any, share: float, n: int) -> tuple[WordShare, ...]:
    """The n words of largest lift, among those expected a few times in ``share`` of the training words."""
    model = explorer.model
    words = queries.distinctive_words(distribution, model.word_counts_, share, n)
    found = (WordShare(model.words_[word], probability, lift) for word, probability, lift in words)
    return tuple(sorted(found, key=lambda word: -word.lift))  # they are chosen by smoothed lifts
