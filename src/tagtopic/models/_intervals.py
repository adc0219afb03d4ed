"""Credible intervals of tag weights and of tags' topics, from samples of the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.parallel import cut_rows
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.methods import method_of
from tagtopic.inference.own_words import own_word_entries
from tagtopic.inference.types import Parameters, kernel_parameters
from tagtopic.inference.weight_draws import draw_weights

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

N_SAMPLES, BURN_IN, FURTHER_BURN_IN = 1000, 200, 40
"""Samples of a document's weights that are kept, those discarded before them, and those discarded under each further
draw of the parameters, where the chain goes on from the weights that it has."""

MIN_DRAWS = 5
"""The least number of draws for intervals of topics."""

CHUNK = 8
"""Documents per task."""

MAX_STEPS = 20_000_000
"""Word-by-tag steps up to which sampling the weights of a document is quick."""


@dataclass(frozen=True)
class WeightIntervals:
    """Credible intervals of the tag weights of documents.

    Attributes
    ----------
    mean, low, high : CSR array of shape (n_documents, n_tags)
        The posterior mean, and the lower and upper end of the interval.
    level : float
        The probability that a weight lies in its interval.

    Examples
    --------
    >>> from tagtopic import TWDA
    >>> model = TWDA(2, max_iter=5, random_state=0).fit([[2, 0, 1], [0, 3, 1]], tags=[["blue"], ["red", "blue"]])
    >>> intervals = model.tag_weights([[1, 1, 1]], tags=[["red", "blue"]], intervals=0.9)
    >>> bool((intervals.low.data < intervals.high.data).all())
    True
    """

    mean: Any
    low: Any
    high: Any
    level: float


@dataclass(frozen=True)
class TopicIntervals:
    """Credible intervals of the topic proportions of tags.

    Attributes
    ----------
    mean, low, high : ndarray of shape (n_tags, n_topics)
        The posterior mean, and the lower and upper end of the interval.
    level : float
        The probability that a proportion lies in its interval.

    Examples
    --------
    >>> from tagtopic.models._intervals import topic_intervals
    >>> draws = np.array([[[0.2, 0.8]], [[0.4, 0.6]], [[0.3, 0.7]]])
    >>> topic_intervals(draws, 0.9).mean.round(2).tolist()
    [[0.3, 0.7]]
    """

    mean: Float64s
    low: Float64s
    high: Float64s
    level: float


def topic_intervals(draws: Floats, level: float) -> TopicIntervals:
    """Compute intervals from draws of theta (draws, tags, topics)."""
    _check_level("level", level)
    if len(draws) < MIN_DRAWS:
        raise ValueError(
            f'the model has {len(draws)} draws, and intervals need {MIN_DRAWS} or more: fit with inference="gibbs" and '
            "n_draws=20"
        )
    # of n draws, the interval from the i-th smallest to the i-th largest has the probability (n + 1 - 2 i) / (n + 1)
    low, high = np.quantile(np.asarray(draws, np.float64), _ends(level), axis=0, method="weibull")
    return TopicIntervals(np.asarray(draws.mean(axis=0, dtype=np.float64)), low, high, level)


def _check_level(name: str, level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"{name}={level!r}: expected a probability between 0 and 1, such as 0.9")


def _ends(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def weight_intervals(
    draws: Sequence[Parameters], corpus: Corpus, level: float, engine: Engine, random_state: int = 0
) -> WeightIntervals:
    """Sample each document's weights under each draw of the parameters.

    The result depends on neither threads nor other documents.
    """
    _check_level("intervals", level)
    latent = draws[0].latent
    models = [kernel_parameters(parameters, method_of("map")) for parameters in draws]
    n_samples = -(-N_SAMPLES // len(models))
    documents = documents_of(corpus, 0, len(corpus))
    own_words = own_word_entries(documents, draws[0].own_words, engine)  # the pairs are those of all draws
    starts = documents.tag_starts
    table = np.empty((3, corpus.tags.nnz), np.float64)

    def sample(part: tuple[int, int]) -> None:
        for d in range(*part):
            n_tags = int(starts[d + 1] - starts[d])
            if not n_tags:
                continue
            samples = np.empty((len(models), n_samples, n_tags + int(latent)))
            start, burn_in = np.empty(0), BURN_IN
            for i, model in enumerate(models):
                draw_weights(documents, d, own_words, model, random_state + i, burn_in, start, samples[i])
                start, burn_in = samples[i, -1], FURTHER_BURN_IN
            weights = samples.reshape(-1, samples.shape[-1])[:, :n_tags]
            entries = slice(starts[d], starts[d + 1])
            table[0, entries] = weights.mean(axis=0)
            table[1:, entries] = np.quantile(weights, _ends(level), axis=0)

    engine.map(sample, cut_rows(len(corpus), CHUNK))
    tags = corpus.tags
    mean, low, high = (sp.csr_array((row, tags.indices, tags.indptr), shape=tags.shape) for row in table)
    return WeightIntervals(mean, low, high, level)


def intervals_if_quick(
    draws: Sequence[Parameters], corpus: Corpus, level: float, *, max_steps: int = MAX_STEPS
) -> WeightIntervals | None:
    """Intervals for the one document of a corpus; None if it has no tags or words, or sampling would be slow."""
    n_words, n_tags = corpus.counts.nnz, corpus.tags.nnz
    steps = (N_SAMPLES + BURN_IN + FURTHER_BURN_IN * (len(draws) - 1)) * n_words * (n_tags + 1)
    if not n_tags or not n_words or steps > max_steps:
        return None
    return weight_intervals(draws, corpus, level, LocalEngine(1))
