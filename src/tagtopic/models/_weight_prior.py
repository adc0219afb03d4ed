"""pi, the prior of the tag weights of new documents, learnt from documents that training has not seen.

The pi that is best to learn topics with is not the pi that tells new documents best: even weights keep training from
settling too soon, while a document that is only read may lean on one of its tags. Half of each document's words are
given and the other half is scored; pi and the latent tag's are each scaled to where that half is likeliest. A move pays
for its length, so what the words do not tell stays.

With ``noise`` the documents get random tags first, so many for each of their own: pi is then the one to read documents
with some of whose tags are wrong.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from tagtopic.corpus.splits import split_tokens
from tagtopic.corpus.tags import with_noise_tags
from tagtopic.inference.likelihood import log_probabilities

if TYPE_CHECKING:
    from tagtopic._core.arrays import Float64s
    from tagtopic.corpus import Corpus
    from tagtopic.engines.base import Engine
    from tagtopic.inference.types import Parameters

MOST_DOCUMENTS = 5_000
"""So many tell the two numbers to a few percent."""

PACE = 0.5
"""A change of a logarithm by this much must better the log probability of the scored words by 1/2."""

FIRST_STEP = -1.0
CLOSE = {"xatol": 0.05, "fatol": 0.1, "maxfev": 100}


def learn_weight_prior(
    parameters: Parameters, inference: str, corpus: Corpus, noise: float, engine: Engine
) -> Parameters:
    """The parameters with pi scaled, and the latent tag's, as documents like these are told best."""
    given, scored = _halves(_sample(corpus), noise)
    if not len(given):
        raise ValueError("no document has a tag that the model knows, and words to give and to score")

    def loss(move: Float64s) -> float:
        mixes = engine.infer(given, _scaled(parameters, move), inference).topics
        return float(0.5 * ((move / PACE) ** 2).sum() - _log_probability(scored, mixes, parameters.psi))

    start = np.zeros(1 + int(parameters.latent))
    simplex = np.vstack([start, FIRST_STEP * np.eye(len(start))])
    found = minimize(loss, start, method="Nelder-Mead", options={**CLOSE, "initial_simplex": simplex})
    return _scaled(parameters, found.x)


def _scaled(parameters: Parameters, move: Float64s) -> Parameters:
    factors = np.exp(move)
    return replace(parameters, pi=parameters.pi * factors[0], pi_latent=float(parameters.pi_latent * factors[-1]))


def _sample(corpus: Corpus) -> Corpus:
    """Documents with tags, some of them if there are many."""
    rows = np.flatnonzero(np.diff(corpus.tags.indptr))
    if len(rows) > MOST_DOCUMENTS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_DOCUMENTS, replace=False))
    return corpus[rows]


def _halves(corpus: Corpus, noise: float) -> tuple[Corpus, Any]:
    """The documents with the words that are given, and the counts of those that are scored."""
    given, scored = split_tokens(corpus)
    rows = np.flatnonzero((np.diff(given.indptr) > 0) & (np.diff(scored.indptr) > 0))
    documents = corpus.with_matrices(counts=given)[rows]
    return with_noise_tags(documents, noise)[0] if noise else documents, scored[rows]


def _log_probability(scored: Any, mixes: Any, psi: Any) -> float:
    return math.fsum(log_probabilities(scored.indptr, scored.indices, scored.data, mixes, psi).tolist())
