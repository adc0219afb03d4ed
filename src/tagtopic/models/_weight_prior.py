"""The prior of the tag weights (pi) for new documents, scaled on documents that were not in training.

The pi that is best for learning topics is not the best for new documents: even weights keep training from converging
too soon, while the weights of a new document may concentrate on one of its tags. Half of each document's words are
observed and the other half is scored; pi of the tags and of the latent tag are each multiplied by the factor that
maximises the likelihood of the scored half under a Gaussian prior of the logarithms, so that a factor without evidence
stays at 1.

With ``noise`` random tags are added to the documents first, that many per tag of their own: pi then suits documents
some of whose tags are wrong.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from tagtopic.corpus.splits import split_tokens
from tagtopic.corpus.tags import with_noise_tags
from tagtopic.engines.posterior import predictive_mixes
from tagtopic.evaluation.perplexity import log_probabilities

if TYPE_CHECKING:
    from tagtopic._core.arrays import Float64s
    from tagtopic.corpus import Corpus
    from tagtopic.engines.base import Engine
    from tagtopic.inference.types import Parameters

MAX_DOCUMENTS = 5_000
"""Documents that are used at most: they determine the two factors to a few percent."""

PRIOR_SCALE = 0.5
"""The standard deviation of the prior of the factors' logarithms."""

INITIAL_STEP = -1.0
OPTIONS = {"xatol": 0.05, "fatol": 0.1, "maxfev": 100}


def scale_weight_prior(
    parameters: Parameters,
    inference: str,
    corpus: Corpus,
    noise: float,
    engine: Engine,
    *,
    max_documents: int = MAX_DOCUMENTS,
) -> Parameters:
    """The parameters with pi of the tags and of the latent tag scaled."""
    observed, scored = _token_split(_sample(corpus, max_documents), noise)
    if not len(observed):
        raise ValueError("no document has a tag that the model knows, and words to give and to score")

    def loss(logs: Float64s) -> float:
        found = engine.infer(observed, _scaled(parameters, logs), inference)
        mixes, own = predictive_mixes(found, parameters.theta, parameters.own_words, scored, engine)
        likelihood = _log_probability(scored.counts, np.ascontiguousarray(mixes), parameters.psi, own)
        return float(0.5 * ((logs / PRIOR_SCALE) ** 2).sum() - likelihood)

    start = np.zeros(1 + int(parameters.latent))
    simplex = np.vstack([start, INITIAL_STEP * np.eye(len(start))])
    found = minimize(loss, start, method="Nelder-Mead", options={**OPTIONS, "initial_simplex": simplex})
    return _scaled(parameters, found.x)


def _scaled(parameters: Parameters, logs: Float64s) -> Parameters:
    factors = np.exp(logs)
    return replace(parameters, pi=parameters.pi * factors[0], pi_latent=float(parameters.pi_latent * factors[-1]))


def _sample(corpus: Corpus, max_documents: int) -> Corpus:
    """Documents with tags, sampled if there are more than ``max_documents``."""
    rows = np.flatnonzero(np.diff(corpus.tags.indptr))
    if len(rows) > max_documents:
        rows = np.sort(np.random.default_rng(0).choice(rows, max_documents, replace=False))
    return corpus[rows]


def _token_split(corpus: Corpus, noise: float) -> tuple[Corpus, Corpus]:
    """The documents with their observed words, and with the words to score."""
    observed, scored = split_tokens(corpus)
    rows = np.flatnonzero((np.diff(observed.indptr) > 0) & (np.diff(scored.indptr) > 0))
    documents = corpus.with_matrices(counts=observed)[rows]
    documents = with_noise_tags(documents, noise)[0] if noise else documents
    return documents, documents.with_matrices(counts=scored[rows])


def _log_probability(counts: Any, mixes: Any, psi: Any, own: Any) -> float:
    return math.fsum(log_probabilities(counts.indptr, counts.indices, counts.data, mixes, psi, own).tolist())
