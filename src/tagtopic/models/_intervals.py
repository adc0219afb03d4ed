"""Credible intervals of tag weights, from Gibbs samples of each document's posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.parallel import cut_rows
from tagtopic.engines import LocalEngine
from tagtopic.engines.base import Engine
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.methods import method_of
from tagtopic.inference.types import Parameters, kernel_parameters
from tagtopic.inference.weight_draws import draw_weights

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

N_SAMPLES, BURN_IN = 1000, 200
"""Samples of a document's weights that are kept, and those discarded before them."""

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
        The probability that a weight lies in its interval, given the model's topics.

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


def weight_intervals(
    parameters: Parameters, corpus: Corpus, level: float, engine: Engine, random_state: int = 0
) -> WeightIntervals:
    """Sample each document's weights; the result depends on neither threads nor other documents."""
    if not 0 < level < 1:
        raise ValueError(f"intervals={level!r}: expected a probability between 0 and 1, such as 0.9")
    model = kernel_parameters(parameters, method_of("map"))
    documents = documents_of(corpus, 0, len(corpus))
    starts = documents.tag_starts
    table = np.empty((3, corpus.tags.nnz), np.float64)
    ends = ((1 - level) / 2, (1 + level) / 2)

    def sample(part: tuple[int, int]) -> None:
        for d in range(*part):
            n_tags = int(starts[d + 1] - starts[d])
            if not n_tags:
                continue
            samples = np.empty((N_SAMPLES, n_tags + int(parameters.latent)))
            draw_weights(documents, d, model, random_state, BURN_IN, samples)
            entries = slice(starts[d], starts[d + 1])
            table[0, entries] = samples[:, :n_tags].mean(axis=0)
            table[1:, entries] = np.quantile(samples[:, :n_tags], ends, axis=0)

    engine.map(sample, cut_rows(len(corpus), CHUNK))
    tags = corpus.tags
    mean, low, high = (sp.csr_array((row, tags.indices, tags.indptr), shape=tags.shape) for row in table)
    return WeightIntervals(mean, low, high, level)


def intervals_if_quick(
    parameters: Parameters, corpus: Corpus, level: float, *, max_steps: int = MAX_STEPS
) -> WeightIntervals | None:
    """Intervals for the one document of a corpus; None if it has no tags or words, or sampling would be slow."""
    n_words, n_tags = corpus.counts.nnz, corpus.tags.nnz
    steps = (N_SAMPLES + BURN_IN) * n_words * (n_tags + 1)
    if not n_tags or not n_words or steps > max_steps:
        return None
    return weight_intervals(parameters, corpus, level, LocalEngine(1))
