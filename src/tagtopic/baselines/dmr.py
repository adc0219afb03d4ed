"""The Dirichlet-multinomial regression topic model.

The effects of tags on topics in DMR, learnt from how many words of each document have each topic.

The prior of a document's topics is alpha_dk = exp(intercept_k + sum of its tags' effects); the counts then are
Dirichlet-multinomial, and the effects have a normal prior. Counts are whole, so that
lnGamma(alpha + n) - lnGamma(alpha) is a sum of n logarithms and no special function is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tagtopic._core.arrays import Float64s, Int32s
from tagtopic._core.jit import compiled
from tagtopic.baselines.base import TopicBaseline, check_settings, normalised_rows, of_seen_words, require_whole_counts
from tagtopic.baselines.fold_in import fold_in
from tagtopic.baselines.gibbs import Tokens, random_state, sweep
from tagtopic.corpus import Corpus

LARGEST = 20.0
"""Of the logarithm of a prior: beyond it nothing changes any more."""

INTERCEPT_SIGMA = 3.0
"""The intercept is nearly free."""

MEMORY = 5
"""Steps that L-BFGS remembers; with thousands of tags each is large."""


@compiled
def evidence(logs: Float64s, counts: Int32s, gradient: Float64s) -> float:
    """Log p(counts | alpha = exp(logs)), the same for all orders of words; fills its gradient in ``logs``."""
    value = 0.0
    n_topics = logs.shape[1]
    alpha = np.empty(n_topics)
    for d in range(logs.shape[0]):
        total, length = 0.0, 0
        for k in range(n_topics):
            alpha[k] = math.exp(min(logs[d, k], LARGEST))
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


def learn_effects(
    tags: Any, counts: Int32s, intercept: Float64s, effects: Float64s, *, centre: float, sigma: float, steps: int
) -> tuple[Float64s, Float64s]:
    """The intercept (topics) and effects (tags, topics) of most posterior density, from those given, by L-BFGS.

    ``tags`` is (documents, tags) CSR. Effects are normal around 0 with deviation ``sigma``, the intercept around
    ``centre``.
    """
    from scipy.optimize import minimize

    matrix = tags.astype(np.float64)
    turned = matrix.T.tocsr()
    n_topics = counts.shape[1]
    gradient = np.empty(counts.shape)

    def loss(point: Float64s) -> tuple[float, Float64s]:
        table = point.reshape(-1, n_topics)
        logs = table[0] + matrix @ table[1:]
        value = evidence(logs, counts, gradient)
        away = table / sigma**2
        away[0] = (table[0] - centre) / INTERCEPT_SIGMA**2
        value -= 0.5 * float((away[1:] * table[1:]).sum() + (away[0] * (table[0] - centre)).sum())
        slopes = np.vstack([gradient.sum(axis=0, keepdims=True), turned @ gradient]) - away
        return -value, -slopes.ravel()

    start = np.vstack([intercept[None, :], effects]).ravel()
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": MEMORY})
    table = found.x.reshape(-1, n_topics)
    return table[0], table[1:]


STEPS = 30
"""Of L-BFGS each time that the effects are learnt; the next time goes on from there."""


class DMR(TopicBaseline):
    """DMR (Mimno and McCallum 2008): the prior of a document's topics is log-linear in its tags.

    A document's prior is exp(intercept + the sum of its tags' effects); ``tag_topics_`` is that of a document with the
    one tag, scaled to sum to 1, by which tags are scored. Learnt as in the article: Gibbs sampling of the topics, and
    every so often the effects by L-BFGS. (tomotopy's DMR hardly moves the effects of thousands of tags from their
    random start; docs/decisions/baselines-implementation.md has the figures.)

    Parameters
    ----------
    n_topics:
        How many topics.
    sweeps:
        Gibbs sweeps over the corpus.
    document_topic_prior:
        The prior of a document without tags before anything is learnt.
    topic_word_prior:
        Dirichlet prior of a topic's words, fixed.
    sigma:
        Standard deviation of the normal prior of the effects. On IMDB (20 topics, 200 sweeps) completion perplexity was
        5414 with 1, 5305 with 0.5 and 5287 with 0.2.
    optimise_every, burn_in:
        The effects are learnt every so many sweeps, after so many, and at the end.
    n_jobs:
        Threads when new documents are inferred; sampling takes one.
    random_state:
        Seed.

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

    def _learn(self, corpus: Corpus) -> None:
        check_settings(self)
        require_whole_counts(corpus.counts, type(self).__name__)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        tokens = Tokens.of(corpus.counts, self.n_topics, rng)
        state = random_state(rng)
        documents = tokens.table(tokens.owners(), len(corpus), self.n_topics)
        words = tokens.table(tokens.words, corpus.n_words, self.n_topics)
        totals = words.sum(axis=0, dtype=np.int64)
        intercept = np.full(self.n_topics, np.log(self.document_topic_prior))
        effects = np.zeros((corpus.n_tags, self.n_topics))
        prior = _prior(np.tile(intercept, (len(corpus), 1)))
        for done in range(1, self.sweeps + 1):
            sweep(
                tokens.starts, tokens.words, tokens.topics, documents, words, totals, prior, self.topic_word_prior,
                state,
            )  # fmt: skip
            if done == self.sweeps or (done > self.burn_in and done % self.optimise_every == 0):
                intercept, effects = learn_effects(
                    corpus.tags, documents, intercept, effects,
                    centre=float(np.log(self.document_topic_prior)), sigma=self.sigma, steps=STEPS,
                )  # fmt: skip
                prior = _prior(intercept + corpus.tags.astype(np.float64) @ effects)
        self._keep(words, intercept, effects)

    def _keep(self, word_topics: Any, intercept: Float64s, effects: Float64s) -> None:
        topic_words = of_seen_words(word_topics + self.topic_word_prior, self.word_counts_ > 0)
        self.components_ = np.ascontiguousarray(topic_words, np.float32).T
        self.intercept_, self.tag_effects_ = intercept, effects
        self.tag_topics_ = normalised_rows(_prior(intercept + effects))
        self.tag_topics_[self.tag_counts_ == 0] = 0.0

    def _mix(self, corpus: Corpus) -> Float64s:
        prior = _prior(self.intercept_ + corpus.tags.astype(np.float64) @ self.tag_effects_)
        return fold_in(corpus.counts, self.topic_words_, prior, self.n_jobs)


def _prior(logarithms: Float64s) -> Float64s:
    """exp, with a little added so that no topic is closed, and no overflow where many effects add up."""
    return np.exp(np.minimum(logarithms, 20.0)) + 1e-10
