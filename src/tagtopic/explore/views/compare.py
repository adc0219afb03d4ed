"""Two models side by side: which topics are the same, which tags have changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from tagtopic._core.arrays import Float64s, largest
from tagtopic.explore.explorer import NothingToShowError
from tagtopic.explore.views.overview import Quality, quality
from tagtopic.explore.views.parts import TagValue

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.explore.explorer import Explorer
    from tagtopic.models._base import TagTopicModel

LEAST_DOCUMENTS = 5e-4
"""Tags on a smaller share of the documents are not compared: their topics are mostly prior."""


@dataclass(frozen=True)
class TopicPair:
    """Topics of the two models that belong together: likeness 1 is the same words. One is None where none is left."""

    topic: int | None
    other: int | None
    likeness: float
    share: float
    other_share: float
    words: tuple[str, ...]
    other_words: tuple[str, ...]


@dataclass(frozen=True)
class ModelSide:
    """One of the models."""

    name: str
    kind: str
    n_topics: int
    n_words: int
    n_tags: int
    quality: Quality | None


@dataclass(frozen=True)
class CompareView:
    """Two models; ``moved`` are the tags of both whose topics differ most, with their likeness."""

    first: ModelSide
    second: ModelSide
    shared_words: int
    shared_tags: int
    mean_likeness: float
    pairs: tuple[TopicPair, ...]
    moved: tuple[TagValue, ...]


def compare(explorer: Explorer, n_words: int = 6, n_moved: int = 20) -> CompareView:
    """The explorer's model and the other; an error if there is no other."""
    model, other = explorer.model, explorer.other
    if other is None:
        raise NothingToShowError("there is no second model: start with --compare OTHER to see two side by side")
    places = {word: column for column, word in enumerate(other.words_)}
    shared = [(column, places[word]) for column, word in enumerate(model.words_) if word in places]
    if not shared:
        raise NothingToShowError("the two models have no word in common, so nothing of them can be compared")
    columns, other_columns = np.array(shared).T
    alike = _alike(model.components_[:, columns], other.components_[:, other_columns])
    rows, matched = linear_sum_assignment(-alike)
    pairs = _pairs(model, other, alike, rows, matched, n_words)
    shared_tags = [
        (tag, explorer.tag_numbers[tag], j) for j, tag in enumerate(other.tag_names_) if tag in explorer.tag_numbers
    ]
    return CompareView(
        first=_side(model, explorer.name, explorer.corpus),
        second=_side(other, explorer.other_name, explorer.other_corpus),
        shared_words=len(shared),
        shared_tags=len(shared_tags),
        mean_likeness=float(alike[rows, matched].mean()),
        pairs=pairs,
        moved=_moved(model, other, shared_tags, rows, matched, n_moved),
    )


def _alike(first: Any, second: Any) -> Float64s:
    """Bhattacharyya likeness of every two topics over the words that both models know."""
    roots = [np.sqrt(_scaled(part)) for part in (first, second)]
    return np.asarray(np.clip(roots[0] @ roots[1].T, 0.0, 1.0))


def _scaled(part: Any) -> Float64s:
    values = np.asarray(part, np.float64)
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300))


def _pairs(
    model: TagTopicModel, other: TagTopicModel, alike: Float64s, rows: Any, matched: Any, n_words: int
) -> tuple[TopicPair, ...]:
    def words(owner: TagTopicModel, topic: int | None) -> tuple[str, ...]:
        return () if topic is None else tuple(word for word, _ in owner.top_words(topic, n_words))

    def share(owner: TagTopicModel, topic: int | None) -> float:
        return 0.0 if topic is None else float(owner.topic_shares_[topic])

    found: list[tuple[int | None, int | None, float]] = [
        (int(i), int(j), float(alike[i, j])) for i, j in zip(rows, matched, strict=True)
    ]
    found.sort(key=lambda pair: -pair[2])
    found += [(i, None, 0.0) for i in range(alike.shape[0]) if i not in set(rows.tolist())]
    found += [(None, j, 0.0) for j in range(alike.shape[1]) if j not in set(matched.tolist())]
    return tuple(
        TopicPair(i, j, value, share(model, i), share(other, j), words(model, i), words(other, j))
        for i, j, value in found
    )


def _moved(
    model: TagTopicModel, other: TagTopicModel, shared: list[tuple[str, int, int]], rows: Any, matched: Any, n: int
) -> tuple[TagValue, ...]:
    used = [pair for pair in shared if model.tag_frequencies_[pair[1]] >= LEAST_DOCUMENTS]
    if not used:
        return ()
    mine = np.sqrt(model.tag_topics_[[i for _, i, _ in used]][:, rows])
    theirs = np.sqrt(other.tag_topics_[[j for _, _, j in used]][:, matched])
    changed = 1.0 - (mine * theirs).sum(axis=1)
    return tuple(
        TagValue(used[place][0], used[place][1], 1.0 - value) for place, value in largest(changed, range(len(used)), n)
    )


def _side(model: TagTopicModel, name: str, corpus: Corpus | None) -> ModelSide:
    return ModelSide(
        name=name,
        kind=type(model).__name__,
        n_topics=len(model.components_),
        n_words=len(model.words_),
        n_tags=len(model.tag_names_),
        quality=None if corpus is None else quality(model, corpus),
    )
