"""The Correlated Topic Model."""

from __future__ import annotations

from typing import Any

from tagtopic.baselines.logistic_normal import logistic_normal_fold_in
from tagtopic.baselines.untagged import UntaggedTopics
from tagtopic.inference.arrays import Float64s, Floats


class CTM(UntaggedTopics):
    """CTM (Blei and Lafferty 2005) by tomotopy: Gibbs sampling, with the logistic normal prior learnt.

    Parameters
    ----------
    smoothing:
        Added to topic counts so that none is zero; tomotopy's ``smoothing_alpha``.
    optimise_every, burn_in:
        A document's mix is drawn, and the prior learnt, every so many sweeps, after so many. Until then words are drawn
        without regard to their document: a burn-in does not help this model.
    prior_samples:
        Draws of each document's mix then. Nearly all the time goes into them, and it grows with the square of the
        number of topics: on the 7,700 storylines of IMDB 1,000 sweeps take about half an hour at 20 topics and hours at
        50 (estimates from 150 and 4 sweeps). With fewer sweeps, or with ``prior_samples=1``, it is quicker; ``timeout``
        sets a limit.

    It needs many sweeps. On IMDB at 20 topics its completion perplexity was 6509 after 150 sweeps; with 2 draws of
    each mix (and tomotopy's ``num_tmn_samples`` at 1) 6556 after 400 and 6304 after 1,000; plain word frequencies have
    6370.

    The other parameters are those of LDA.
    """

    _library = "tomotopy"
    _task = "fit_ctm"
    topic_mean_: Float64s
    topic_covariance_: Float64s

    def __init__(
        self,
        n_topics: int = 50,
        *,
        sweeps: int = 1000,
        tags_as_words: bool = False,
        smoothing: float = 0.1,
        topic_word_prior: float = 0.01,
        optimise_every: int = 2,
        burn_in: int = 0,
        prior_samples: int = 10,
        n_jobs: int | None = 1,
        timeout: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.sweeps = sweeps
        self.tags_as_words = tags_as_words
        self.smoothing = smoothing
        self.topic_word_prior = topic_word_prior
        self.optimise_every = optimise_every
        self.burn_in = burn_in
        self.prior_samples = prior_samples
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.random_state = random_state

    def _learn_topics(self, counts: Any, no_tags: Any) -> Floats:
        found = self._fit_elsewhere(counts, no_tags)
        self.topic_mean_, self.topic_covariance_ = found["mean"], found["covariance"]
        return found["topic_words"]

    def _fold_in(self, counts: Any) -> Float64s:
        return logistic_normal_fold_in(
            counts, self.column_topics_, self.topic_mean_, self.topic_covariance_, self.n_jobs
        )
