"""Stability of topics: which of a model's topics come back when it is fitted again with other seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from tagtopic._core.display import BAR, ELAPSED, progress_display
from tagtopic._core.estimator import clone
from tagtopic._core.frames import Rows, Tabular
from tagtopic.models.plotting import topic_similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagtopic._core.arrays import Floats
    from tagtopic.corpus import Corpus
    from tagtopic.models._base import TagTopicModel

N_WORDS = 20
"""The most probable words of a topic that are compared."""

CAME_BACK = 0.5
"""The share of the words in common from which on a topic has come back."""


@dataclass(frozen=True)
class TopicStability:
    """How often a topic came back.

    Attributes
    ----------
    topic : int
        The topic.
    share : float
        Its share of the training words.
    came_back : int
        The number of fits with a counterpart that has at least half of its 20 most probable words.
    words_in_common : float
        The mean share of these words that the counterparts have.
    similarity : float
        The mean Bhattacharyya similarity to the counterparts: 1 for the same distribution of words.
    words : str
        Its ten most probable words.
    """

    topic: int
    share: float
    came_back: int
    words_in_common: float
    similarity: float
    words: str


@dataclass(frozen=True)
class Stability(Tabular):
    """The result of ``model.stability``; ``print`` it for a summary. As a data frame, a row per topic.

    Attributes
    ----------
    topics : tuple of TopicStability
        The topics, the most stable first.
    seeds : tuple of int
        The seeds of the other fits.

    Examples
    --------
    >>> from tagtopic.models.stability import Stability, TopicStability
    >>> print(Stability((TopicStability(3, 0.2, 5, 0.9, 0.95, "ship planet"),), seeds=(1, 2, 3, 4, 5)))
    1 of 1 topics came back in most of 5 fits
      topic 3: 5 of 5, 90% of its words: ship planet
    """

    topics: tuple[TopicStability, ...]
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        n = len(self.seeds)
        stable = sum(2 * topic.came_back > n for topic in self.topics)
        lines = [f"{stable} of {len(self.topics)} topics came back in most of {n} fits"]
        lines += [
            f"  topic {topic.topic}: {topic.came_back} of {n}, {topic.words_in_common:.0%} of its words: {topic.words}"
            for topic in self.topics
        ]
        return "\n".join(lines)

    def _arrow_table(self, most: int | None = None) -> Any:
        return Rows(self.topics)._arrow_table(most)


def measure_stability(model: TagTopicModel, corpus: Corpus, seeds: int | Iterable[int]) -> Stability:
    """Fit the model again with each seed and match the topics."""
    chosen = _seeds(model, seeds)
    rows = []
    with progress_display(model.progress, "{task.description}", BAR, ELAPSED) as bar:
        task = None if bar is None else bar.add_task("fitting with other seeds", total=len(chosen))
        for seed in chosen:
            rows.append(match(model.components_, _topics_of(_unfitted(model, seed).fit(corpus), model.words_)))
            if bar is not None:
                bar.update(task, advance=1)
    common, similarity = (np.array([row[i] for row in rows]) for i in (0, 1))
    found = [
        TopicStability(
            topic=topic,
            share=float(model.topic_shares_[topic]),
            came_back=int((common[:, topic] >= CAME_BACK).sum()),
            words_in_common=float(common[:, topic].mean()),
            similarity=float(similarity[:, topic].mean()),
            words=" ".join(word for word, _ in model.top_words(topic, 10)),
        )
        for topic in range(len(model.components_))
    ]
    return Stability(tuple(sorted(found, key=lambda topic: (-topic.came_back, -topic.words_in_common))), chosen)


def match(topics: Floats, others: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Match topics one to one with others so that the similarities add up to the most.

    Parameters
    ----------
    topics, others : ndarray of shape (topics, words)
        Distributions over the same words.

    Returns
    -------
    common, similarity : ndarray of shape (topics,)
        The share of a topic's first words that its counterpart has among its first ones, and their similarity; 0 for a
        topic without a counterpart.
    """
    n = len(topics)
    values = topic_similarity(np.vstack([topics, others]))[:n, n:]
    common, similarity = np.zeros(n), np.zeros(n)
    for one, other in zip(*linear_sum_assignment(-values), strict=True):
        first, second = (set(_first_words(rows[i])) for rows, i in ((topics, one), (others, other)))
        common[one], similarity[one] = len(first & second) / max(len(first), 1), values[one, other]
    return common, similarity


def _topics_of(model: TagTopicModel, words: Sequence[str]) -> Floats:
    """The topics of a model in other columns; words that it lacks have no probability."""
    if model.words_ == words:
        return model.components_
    columns = {word: column for column, word in enumerate(model.words_)}
    topics = np.zeros((len(model.components_), len(words)), model.components_.dtype)
    known = [(place, columns[word]) for place, word in enumerate(words) if word in columns]
    topics[:, [place for place, _ in known]] = model.components_[:, [column for _, column in known]]
    return topics


def _first_words(topic: Floats) -> Sequence[int]:
    return [int(word) for word in np.argsort(-topic, kind="stable")[:N_WORDS]]


def _seeds(model: TagTopicModel, seeds: int | Iterable[int]) -> tuple[int, ...]:
    if not isinstance(seeds, int):
        chosen = tuple(seeds)
    else:
        own = model.random_state if isinstance(model.random_state, int) else -1
        chosen = tuple(seed for seed in range(seeds + 1) if seed != own)[:seeds]
    if not chosen:
        raise ValueError(f"seeds={seeds!r}: expected a number of fits from 1, or their seeds")
    return chosen


def _unfitted(model: TagTopicModel, seed: int) -> TagTopicModel:
    """An estimator with the same settings and another seed, that starts from no other model."""
    settings: dict[str, Any] = {"random_state": seed, "progress": False, "callbacks": (), "checkpoint": None}
    settings |= {"initial": None, "tag_predictor": False}
    known = model.get_params(deep=False)
    made: TagTopicModel = clone(model).set_params(**{name: v for name, v in settings.items() if name in known})
    return made
