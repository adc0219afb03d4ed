"""Two models compared: topics matched by similarity, and the tags whose topics differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from tagtopic._core.arrays import Float64s, largest
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.items import TagValue
from tagtopic.explore.views.overview import Quality, measure_quality

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.explorer import Explorer
    from tagtopic.models._base import TagTopicModel

MIN_TAG_FREQUENCY = 5e-4
"""Tags on a smaller share of the documents are not compared: their topics are mostly the prior."""


@dataclass(frozen=True)
class TopicPair:
    """A topic of each model, matched by similarity (1 for the same words); None for a topic without a match."""

    topic: int | None
    other: int | None
    similarity: float
    share: float
    other_share: float
    words: tuple[str, ...]
    other_words: tuple[str, ...]


@dataclass(frozen=True)
class ModelSummary:
    """One of the two models."""

    name: str
    kind: str
    n_topics: int
    n_words: int
    n_tags: int
    quality: Quality | None


@dataclass(frozen=True)
class CompareView:
    """Two models. ``moved`` has the tags of both whose topics differ most, with the similarity of their topics."""

    first: ModelSummary
    second: ModelSummary
    shared_words: int
    shared_tags: int
    mean_similarity: float
    pairs: tuple[TopicPair, ...]
    moved: tuple[TagValue, ...]


def compare(explorer: Explorer, n_words: int = 6, n_moved: int = 20) -> CompareView:
    """Compare the explorer's two models; raises `NotFoundError` if there is only one."""
    model, other = explorer.model, explorer.other
    if other is None:
        raise NotFoundError("there is no second model: start with --compare OTHER to see two side by side")
    other_numbers = {word: column for column, word in enumerate(other.words_)}
    shared = [(column, other_numbers[word]) for column, word in enumerate(model.words_) if word in other_numbers]
    if not shared:
        raise NotFoundError("the two models have no word in common, so nothing of them can be compared")
    columns, other_columns = np.array(shared).T
    similarity = _topic_similarity(model.components_[:, columns], other.components_[:, other_columns])
    rows, matched = linear_sum_assignment(-similarity)
    pairs = _pairs(model, other, similarity, rows, matched, n_words)
    shared_tags = [
        (tag, explorer.tag_numbers[tag], j) for j, tag in enumerate(other.tag_names_) if tag in explorer.tag_numbers
    ]
    return CompareView(
        first=_model_summary(model, explorer.name, explorer.corpus),
        second=_model_summary(other, explorer.other_name, explorer.other_corpus),
        shared_words=len(shared),
        shared_tags=len(shared_tags),
        mean_similarity=float(similarity[rows, matched].mean()),
        pairs=pairs,
        moved=_changed_tags(model, other, shared_tags, rows, matched, n_moved),
    )


def _topic_similarity(first: Any, second: Any) -> Float64s:
    """Bhattacharyya similarity of the topics of two models over their shared words."""
    roots = [np.sqrt(_normalised(topics)) for topics in (first, second)]
    return np.asarray(np.clip(roots[0] @ roots[1].T, 0.0, 1.0))


def _normalised(topics: Any) -> Float64s:
    values = np.asarray(topics, np.float64)
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300))


def _pairs(
    model: TagTopicModel, other: TagTopicModel, similarity: Float64s, rows: Any, matched: Any, n_words: int
) -> tuple[TopicPair, ...]:
    def words(owner: TagTopicModel, topic: int | None) -> tuple[str, ...]:
        return () if topic is None else tuple(word for word, _ in owner.top_words(topic, n_words))

    def share(owner: TagTopicModel, topic: int | None) -> float:
        return 0.0 if topic is None else float(owner.topic_shares_[topic])

    pairs: list[tuple[int | None, int | None, float]] = [
        (int(i), int(j), float(similarity[i, j])) for i, j in zip(rows, matched, strict=True)
    ]
    pairs.sort(key=lambda pair: -pair[2])
    pairs += [(i, None, 0.0) for i in range(similarity.shape[0]) if i not in set(rows.tolist())]
    pairs += [(None, j, 0.0) for j in range(similarity.shape[1]) if j not in set(matched.tolist())]
    return tuple(
        TopicPair(i, j, value, share(model, i), share(other, j), words(model, i), words(other, j))
        for i, j, value in pairs
    )


def _changed_tags(
    model: TagTopicModel, other: TagTopicModel, shared: list[tuple[str, int, int]], rows: Any, matched: Any, n: int
) -> tuple[TagValue, ...]:
    frequent = [pair for pair in shared if model.tag_frequencies_[pair[1]] >= MIN_TAG_FREQUENCY]
    if not frequent:
        return ()
    first = np.sqrt(model.tag_topics_[[i for _, i, _ in frequent]][:, rows])
    second = np.sqrt(other.tag_topics_[[j for _, _, j in frequent]][:, matched])
    distance = 1.0 - (first * second).sum(axis=1)
    return tuple(
        TagValue(frequent[i][0], frequent[i][1], 1.0 - value) for i, value in largest(distance, range(len(frequent)), n)
    )


def _model_summary(model: TagTopicModel, name: str, corpus: Corpus | None) -> ModelSummary:
    return ModelSummary(
        name=name,
        kind=type(model).__name__,
        n_topics=len(model.components_),
        n_words=len(model.words_),
        n_tags=len(model.tag_names_),
        quality=None if corpus is None else measure_quality(model, corpus),
    )
