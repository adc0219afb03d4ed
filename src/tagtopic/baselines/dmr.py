"""The Dirichlet-multinomial regression topic model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.baselines.base import ForeignBaseline, normalised_rows
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus
from tagtopic.inference.arrays import Float64s


class DMR(ForeignBaseline):
    """DMR (Mimno and McCallum 2008) by tomotopy: the prior of a document's topics is log-linear in its tags.

    A document's prior is exp(intercept + the sum of its tags' effects); ``tag_topics_`` is that of a document with the
    one tag, scaled to sum to 1, by which tags are scored.

    Parameters
    ----------
    sigma:
        Standard deviation of the normal prior of the effects.
    optimise_every, burn_in:
        The effects are learnt every so many sweeps, after so many. MALLET, which the paper used, does so every 100;
        tomotopy's own default (every 10 from the first) is ten times as slow with thousands of tags, because learning
        takes nearly all the time (on IMDB 30 s at 50 topics, where a sweep takes 0.1 s).

    With thousands of tags tomotopy does not learn the effects well: on IMDB (20 topics) their standard deviation stays
    near ``sigma``, completion perplexity is 6659, and 5609 with the same topics under a flat prior of 0.3. Results on
    such corpora say more about that than about DMR.

    The other parameters are those of LDA.
    """

    _library = "tomotopy"
    _task = "fit_dmr"
    intercept_: Float64s
    tag_effects_: Float64s

    def __init__(
        self,
        n_topics: int = 50,
        *,
        sweeps: int = 1000,
        document_topic_prior: float = 0.1,
        topic_word_prior: float = 0.01,
        sigma: float = 1.0,
        optimise_every: int = 100,
        burn_in: int = 200,
        n_jobs: int | None = 1,
        timeout: float | None = None,
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
        self.timeout = timeout
        self.random_state = random_state

    def _learn(self, corpus: Corpus) -> None:
        found = self._fit_elsewhere(corpus.counts, corpus.tags)
        self.components_ = found["topic_words"].T
        self.intercept_, self.tag_effects_ = found["intercept"], found["effects"]
        self.tag_topics_ = normalised_rows(_prior(self.intercept_ + self.tag_effects_))
        self.tag_topics_[self.tag_counts_ == 0] = 0.0

    def _mix(self, corpus: Corpus) -> Float64s:
        prior = _prior(self.intercept_ + corpus.tags.astype(np.float64) @ self.tag_effects_)
        return fold_in(corpus.counts, self.topic_words_, prior, self.n_jobs)


def _prior(logarithms: Float64s) -> Float64s:
    """exp, with a little added as tomotopy does, and no overflow where many effects add up."""
    return np.exp(np.minimum(logarithms, 50.0)) + 1e-10
