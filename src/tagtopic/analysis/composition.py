"""Draws of documents' topics for a regression: the method of composition, with the regression as the documents' prior.

Topics are uncertain, and so are the topics of a document's words given them. Both enter a regression of topic shares
through draws: for each kept draw of the topics, the topics of all words are drawn, and the regression is computed from
the shares of these. Two steps alternate along the draws,

    the topics of words, given psi and the prior Dir(a m_d) of each document,  m_d ~ p(x_d, b) ,
    the coefficients b of all topics, given the shares of the words' topics ,

so that the prior of a document is what the regression predicts for it. With one prior for all documents, as in the
composition of stm (Roberts et al. 2014), shares are shrunk to the same mean, and effects with them.

References
----------
M. Tanner and W. Wong, "The calculation of posterior distributions by data augmentation", JASA 82, 1987.
M. Roberts et al., "Structural topic models for open-ended survey responses", American Journal of Political Science 58,
2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from tagtopic._core.arrays import Float64s, Floats, offsets_of, owners_of, read_only
from tagtopic._core.parallel import Parallel, cut_evenly, one_blas_thread
from tagtopic.analysis.regression import (
    MANY_COLUMNS,
    MAX_LOGIT,
    Regression,
    dispersion_of,
    fit_draws,
    fit_topic,
    starting_coefficients,
    update_coefficients,
)
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.own_words import own_word_entries, own_word_probabilities
from tagtopic.inference.topic_draws import UNASSIGNED, draw_token_topics, padded
from tagtopic.inference.types import Documents, Parameters

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

SAMPLES = 1000
"""Samples of the coefficients of a topic, over all draws."""

BURN_IN = 8
"""Sweeps before the first draw."""

SWEEPS = 2
"""Sweeps from one draw of the topics to the next."""

MIN_DRAWS = 20
"""Draws of the words' topics; if fewer draws of the topics were kept, each serves several times."""

FEWER_DRAWS, LARGE_STEP = 10, 2
"""Draws under a design of more than ``MANY_COLUMNS``, and sweeps from one update of its coefficients to the next."""

CHUNK_ENTRIES = 1 << 16
LEAST_MEAN = 1e-4
"""The least expected share of a topic in the prior of a document."""

CONCENTRATIONS = (0.5, 100.0)
"""The range of a, the concentration of the documents' prior."""


class DrawnShares(NamedTuple):
    """Draws of documents' topic shares, and the last coefficients.

    Attributes
    ----------
    shares : ndarray of float32, shape (draws, documents, topics)
        Rows sum to 1, or to 0 where all words of a document are its tags' own.
    coefficients : ndarray of shape (columns, topics)
        Rough: where a fit may start.
    """

    shares: Floats
    coefficients: Float64s


def draw_shares(
    corpus: Corpus, draws: Sequence[Parameters], regression: Regression, parallel: Parallel, seed: int = 0
) -> DrawnShares:
    """Draw the topic shares of documents, those of their words, along the draws of the topics.

    Parameters
    ----------
    corpus : Corpus
        The documents, in the model's words and tags.
    draws : sequence of Parameters
        Draws of the topics.
    regression : Regression
        The design; of its documents each has a word.
    parallel : Parallel
        Threads over documents.
    seed : int, default=0
        Seed.

    Returns
    -------
    DrawnShares
    """
    documents = documents_of(corpus, 0, len(corpus))
    sizes = np.asarray(documents.counts, np.int64)
    ends = offsets_of(sizes)[documents.word_starts - documents.word_starts[0]]
    token_starts = np.asarray(ends, np.int64)
    own = _own_words(documents, draws[0], parallel)
    n_topics = len(draws[0].mu)
    topics = np.full(int(token_starts[-1]), UNASSIGNED, np.uint16)
    counts = np.zeros((len(corpus), n_topics), np.float32)
    prior: Floats = np.tile(np.asarray(draws[0].mu / draws[0].mu.sum(), np.float32), (len(corpus), 1))
    parts = cut_evenly(documents.word_starts, CHUNK_ENTRIES)
    large = regression.n_columns > MANY_COLUMNS
    n_found = FEWER_DRAWS if large else max(len(draws), MIN_DRAWS)
    found = np.empty((n_found, *counts.shape), np.float32)
    coefficients: Float64s | None = None
    sweep = 0
    for number in range(n_found):
        psi = read_only(padded(draws[number * len(draws) // n_found].psi))
        for _ in range(BURN_IN if not number else SWEEPS):
            rows = read_only(prior)

            def sample(part: tuple[int, int], psi: Floats = psi, rows: Floats = rows, sweep: int = sweep) -> None:
                draw_token_topics(documents, *part, token_starts, psi, rows, own, topics, seed, sweep, counts)

            parallel.map(sample, parts)
            sweep += 1
            if large and sweep % LARGE_STEP:
                continue
            shares = _shares(counts)
            if coefficients is None:
                coefficients = starting_coefficients(regression, shares)
            rng = np.random.default_rng([seed, sweep - 1])
            noise, prior_noise = rng.standard_normal((len(corpus), 1)), rng.standard_normal(coefficients.shape)
            coefficients, drawn = update_coefficients(regression, shares, coefficients, noise, prior_noise)
            prior = _document_prior(regression, drawn, shares, counts.sum(axis=1))
        found[number] = _shares(counts)
    assert coefficients is not None
    return DrawnShares(found, coefficients)


def sample_regressions(
    drawn: DrawnShares,
    regression: Regression,
    topics: Sequence[int],
    groups: Any,
    n_samples: int,
    parallel: Parallel,
    seed: int,
) -> Floats:
    """Sample the coefficients of topics, given draws of their shares.

    Parameters
    ----------
    drawn : DrawnShares
        The draws.
    regression : Regression
        The design.
    topics : sequence of int
        The topics. The result for one does not depend on the others.
    groups : ndarray of int or None
        For each fitted topic, the number of the topic that it is part of.
    n_samples : int
        The number of samples over all draws, at least.
    parallel : Parallel
        Threads over topics.
    seed : int
        Seed.

    Returns
    -------
    ndarray of float32, shape (topics, columns, samples)
    """
    n_each = -(-n_samples // len(drawn.shares))
    samples = np.empty((len(topics), regression.n_columns, n_each * len(drawn.shares)), np.float32)

    def sample(position: int) -> None:
        topic = topics[position]
        members = [topic] if groups is None else np.flatnonzero(np.asarray(groups) == topic).tolist()
        start = drawn.coefficients[:, members[0]] if len(members) == 1 else None
        shares = _topic_shares(drawn.shares, members)
        samples[position] = _sample_coefficients(regression, shares, start, n_each, [seed, topic])

    with one_blas_thread():
        parallel.map(sample, range(len(topics)))
    return samples


def _topic_shares(shares: Floats, members: Sequence[int]) -> Float64s:
    """The share of a topic, the sum of its fitted topics: (draws, documents)."""
    found = np.zeros(shares.shape[:2])
    for member in members:
        found += shares[:, :, member]
    return np.clip(found, 0.0, 1.0)


def _sample_coefficients(
    regression: Regression, shares: Float64s, start: Float64s | None, n_each: int, seed: Sequence[int]
) -> Floats:
    """Sample the coefficients of a topic: (columns, samples), those of each draw beside each other."""
    rng = np.random.default_rng(list(seed))
    means = np.array([np.average(drawn, weights=regression.weights) for drawn in shares])
    dispersion = float(
        np.mean(
            [
                dispersion_of(drawn, np.full(len(drawn), mean), regression.weights)
                for drawn, mean in zip(shares, means, strict=True)
            ]
        )
    )
    fit = fit_topic(regression, shares.mean(axis=0), dispersion, shares.var(axis=0), start)
    normal = np.concatenate([rng.standard_normal((regression.n_columns, n_each)) for _ in shares], axis=1)
    return np.repeat(fit_draws(regression, fit, shares), n_each, axis=1) + fit.spread(normal)


def _own_words(documents: Documents, parameters: Parameters, parallel: Parallel) -> Floats:
    """The probability of each word entry as an own word of its document's tags, at the prior mean of their weights."""
    entries = own_word_entries(documents, parameters.own_words, parallel)
    if parameters.own_words is None or not len(entries.starts):
        return read_only(np.empty(0, np.float32))
    tags = documents.tags[documents.tag_starts[0] : documents.tag_starts[-1]]
    owner = owners_of(documents.tag_starts - documents.tag_starts[0])
    pi = parameters.pi[tags]
    totals = np.bincount(owner, weights=pi, minlength=len(documents.tag_starts) - 1)
    weights = pi / (totals + (parameters.pi_latent if parameters.latent else 0.0))[owner]
    found = own_word_probabilities(entries, documents, weights, parameters.own_words.omega)
    return read_only(found.astype(np.float32))


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0), np.float32)


def _document_prior(regression: Regression, coefficients: Float64s, shares: Floats, lengths: Floats) -> Floats:
    """A m_d, with a by the method of moments from the variance of the shares around their means."""
    matrix, rows, *_ = regression.distinct
    means = expit(np.clip(matrix @ coefficients, -MAX_LOGIT, MAX_LOGIT))
    means = np.maximum(means, LEAST_MEAN)
    means /= means.sum(axis=1, keepdims=True)
    whole = (means * (1.0 - means)).sum(axis=1)[rows]
    means = means.astype(np.float32)
    squares = ((shares - means[rows]) ** 2).sum(axis=1, dtype=np.float64)
    # the variance of a share is m (1 - m) (1 / n + (1 - 1 / n) / (a + 1))
    inverse_lengths = 1.0 / np.maximum(lengths, 1.0)
    between = (squares - whole * inverse_lengths).sum() / max(float((whole * (1.0 - inverse_lengths)).sum()), 1e-12)
    low, high = CONCENTRATIONS
    concentration = 1.0 / np.clip(between, 1.0 / (high + 1.0), 1.0 / (low + 1.0)) - 1.0
    return np.asarray(np.float32(concentration) * means, np.float32)[rows]
