"""The Dirichlet-multinomial regression topic model (DMR).

The prior of a document's topics is alpha_dk = exp(intercept_k + sum of its tags' effects). Given the topics of its
tokens, the topic counts are Dirichlet-multinomial, and the effects have a normal prior. Counts are whole numbers, so
lnGamma(alpha + n) - lnGamma(alpha) is a sum of n logarithms and no special function is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Int32s
from tagtopic._core.estimator import check_random_state
from tagtopic._core.jit import compiled
from tagtopic.baselines.base import (
    TopicBaseline,
    check_settings,
    check_whole_counts,
    normalise_rows,
    restrict_to_seen_words,
)
from tagtopic.baselines.fold_in import fold_in
from tagtopic.baselines.gibbs import Tokens, random_state, sweep_topics
from tagtopic.corpus import Corpus

MAX_LOG_PRIOR = 20.0
"""Upper limit of the logarithm of a prior; larger values make no difference."""

INTERCEPT_SIGMA = 3.0
"""Standard deviation of the intercept's prior: nearly flat."""

LBFGS_CORRECTIONS = 5
"""Corrections that L-BFGS stores; with thousands of tags each is large."""

LBFGS_STEPS = 30
"""L-BFGS steps of each update of the effects; the next update continues from there."""


@compiled
def log_evidence(logs: Float64s, counts: Int32s, gradient: Float64s) -> float:
    """Return log p(counts | alpha = exp(logs)), without the multinomial coefficient; fill ``gradient`` in ``logs``."""
    value = 0.0
    n_topics = logs.shape[1]
    alpha = np.empty(n_topics)
    for d in range(logs.shape[0]):
        total, length = 0.0, 0
        for k in range(n_topics):
            alpha[k] = math.exp(min(logs[d, k], MAX_LOG_PRIOR))
            total += alpha[k]
            length += counts[d, k]
        slope = 0.0
        for i in range(length):
            value -= math.log(total + i)
            slope -= 1.0 / (total + i)
        for k in range(n_topics):
            own = slope
            for i in range(counts[d, k]):
                value += math.log(alpha[k] + i)
                own += 1.0 / (alpha[k] + i)
            gradient[d, k] = alpha[k] * own
    return value


def fit_effects(
    tags: Any, counts: Int32s, intercept: Float64s, effects: Float64s, *, centre: float, sigma: float, steps: int
) -> tuple[Float64s, Float64s]:
    """Maximise the posterior of the intercept (topics) and the effects (tags, topics) by L-BFGS from those given.

    ``tags`` is (documents, tags) CSR. Effects are normal with mean 0 and standard deviation ``sigma``, the intercept
    is normal with mean ``centre``.
    """
    from scipy.optimize import minimize

    matrix = tags.astype(np.float64)
    transposed = matrix.T.tocsr()
    n_topics = counts.shape[1]
    gradient = np.empty(counts.shape)

    def negative_log_posterior(point: Float64s) -> tuple[float, Float64s]:
        table = point.reshape(-1, n_topics)
        logs = table[0] + matrix @ table[1:]
        value = log_evidence(logs, counts, gradient)
        scaled = table / sigma**2
        scaled[0] = (table[0] - centre) / INTERCEPT_SIGMA**2
        value -= 0.5 * float((scaled[1:] * table[1:]).sum() + (scaled[0] * (table[0] - centre)).sum())
        gradients = np.vstack([gradient.sum(axis=0, keepdims=True), transposed @ gradient]) - scaled
        return -value, -gradients.ravel()

    start = np.vstack([intercept[None, :], effects]).ravel()
    found = minimize(
        negative_log_posterior,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": LBFGS_CORRECTIONS},
    )
    table = found.x.reshape(-1, n_topics)
    return table[0], table[1:]


class DMR(TopicBaseline):
    """Dirichlet-multinomial regression: the prior of a document's topics is log-linear in its tags.

    The prior of a document is exp(intercept + the sum of its tags' effects). Learnt as in the article: Gibbs sampling
    of the topics, interleaved with updates of the effects by L-BFGS. (In tomotopy's DMR the effects of thousands of
    tags hardly move from their random initialisation; docs/decisions/baselines-implementation.md has the figures.)

    Parameters
    ----------
    n_topics : int, default 50
        Number of topics.
    sweeps : int, default 1000
        Gibbs sweeps over the corpus.
    document_topic_prior : float, default 0.1
        Initial prior of each topic, and the prior mean of exp(intercept).
    topic_word_prior : float, default 0.01
        Dirichlet prior of a topic's words, fixed.
    sigma : float, default 0.5
        Standard deviation of the normal prior of the effects. On IMDB (20 topics, 200 sweeps) completion perplexity was
        5414 with 1, 5305 with 0.5 and 5287 with 0.2.
    optimise_every : int, default 50
        Sweeps between updates of the effects; the last update follows the last sweep.
    burn_in : int, default 50
        Sweeps before the first update of the effects.
    n_jobs : int or None, default 1
        Threads that infer new documents; sampling uses one.
    random_state : int, RandomState or None, default None
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Word distribution of each topic.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        The prior of a document with one tag, scaled to sum to 1; tags are scored by it.
    intercept_ : ndarray of shape (n_topics,)
        Logarithm of the prior of an untagged document.
    tag_effects_ : ndarray of shape (n_tags, n_topics)
        What each tag adds to the logarithm of the prior.

    References
    ----------
    Mimno, D. and McCallum, A. (2008). Topic models conditioned on arbitrary features with Dirichlet-multinomial
    regression. Proceedings of the 24th Conference on Uncertainty in Artificial Intelligence, 411-418.

    Examples
    --------
    >>> from tagtopic.baselines import DMR
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = DMR(3, sweeps=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 3)
    """

    intercept_: Float64s
    tag_effects_: Float64s

    def __init__(
        self,
        n_topics: int = 50,
        *,
        sweeps: int = 1000,
        document_topic_prior: float = 0.1,
        topic_word_prior: float = 0.01,
        sigma: float = 0.5,
        optimise_every: int = 50,
        burn_in: int = 50,
        n_jobs: int | None = 1,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.sweeps = sweeps
        self.document_topic_prior = document_topic_prior
        self.topic_word_prior = topic_word_prior
        self.sigma = sigma
        self.optimise_every = optimise_every
        self.burn_in = burn_in
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, corpus: Corpus) -> None:
        check_settings(self)
        check_whole_counts(corpus.counts, type(self).__name__)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        tokens = Tokens.of(corpus.counts, self.n_topics, rng)
        state = random_state(rng)
        documents = tokens.topic_counts(tokens.documents(), len(corpus), self.n_topics)
        words = tokens.topic_counts(tokens.words, corpus.n_words, self.n_topics)
        totals = words.sum(axis=0, dtype=np.int64)
        intercept = np.full(self.n_topics, np.log(self.document_topic_prior))
        effects = np.zeros((corpus.n_tags, self.n_topics))
        prior = _prior(np.tile(intercept, (len(corpus), 1)))
        for done in range(1, self.sweeps + 1):
            sweep_topics(
                tokens.starts, tokens.words, tokens.topics, documents, words, totals, prior, self.topic_word_prior,
                state,
            )  # fmt: skip
            if done == self.sweeps or (done > self.burn_in and done % self.optimise_every == 0):
                intercept, effects = fit_effects(
                    corpus.tags, documents, intercept, effects,
                    centre=float(np.log(self.document_topic_prior)), sigma=self.sigma, steps=LBFGS_STEPS,
                )  # fmt: skip
                prior = _prior(intercept + corpus.tags.astype(np.float64) @ effects)
        self._set_learnt(words, intercept, effects)

    def _set_learnt(self, word_topics: Any, intercept: Float64s, effects: Float64s) -> None:
        topic_words = restrict_to_seen_words(word_topics + self.topic_word_prior, self.word_counts_ > 0)
        self.components_ = np.ascontiguousarray(topic_words, np.float32).T
        self.intercept_, self.tag_effects_ = intercept, effects
        self.tag_topics_ = normalise_rows(_prior(intercept + effects))
        self.tag_topics_[self.tag_counts_ == 0] = 0.0

    def _topic_mixes(self, corpus: Corpus) -> Float64s:
        prior = _prior(self.intercept_ + corpus.tags.astype(np.float64) @ self.tag_effects_)
        return fold_in(corpus.counts, self.topic_words_, prior, self.n_jobs)


def _prior(logarithms: Float64s) -> Float64s:
    """Exponentiate without overflow, plus a small constant so that every topic stays possible."""
    return np.exp(np.minimum(logarithms, MAX_LOG_PRIOR)) + 1e-10
