"""Latent Dirichlet Allocation by collapsed Gibbs sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic.baselines.base import ForeignBaseline
from tagtopic.baselines.fold_in import fold_in
from tagtopic.baselines.untagged import UntaggedTopics
from tagtopic.inference.arrays import Float64s, Floats


class LDA(UntaggedTopics, ForeignBaseline):
    """LDA (Blei, Ng and Jordan 2003) by tomotopy: Gibbs sampling, with the document-topic prior learnt.

    Parameters
    ----------
    n_topics:
        How many topics.
    sweeps:
        Gibbs sweeps over the corpus.
    tags_as_words:
        Take a document's tags as further words of it.
    document_topic_prior:
        Where the Dirichlet prior of a document's topics starts (each topic's part of it is then learnt).
    topic_word_prior:
        Dirichlet prior of a topic's words, fixed.
    optimise_every, burn_in:
        The prior is learnt every so many sweeps, after so many.
    n_jobs:
        Threads; None is all cores. With more than one, tomotopy's fits are not the same from run to run.
    timeout:
        Seconds that the fit may take; None is no limit.
    random_state:
        Seed.

    Examples
    --------
    >>> from tagtopic.baselines import LDA
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = LDA(3, sweeps=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 3)
    """

    _library = "tomotopy"
    _task = "fit_lda"
    topic_prior_: Float64s

    def __init__(
        self,
        n_topics: int = 50,
        *,
        sweeps: int = 1000,
        tags_as_words: bool = False,
        document_topic_prior: float = 0.1,
        topic_word_prior: float = 0.01,
        optimise_every: int = 10,
        burn_in: int = 0,
        n_jobs: int | None = 1,
        timeout: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.sweeps = sweeps
        self.tags_as_words = tags_as_words
        self.document_topic_prior = document_topic_prior
        self.topic_word_prior = topic_word_prior
        self.optimise_every = optimise_every
        self.burn_in = burn_in
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.random_state = random_state

    def _learn_topics(self, counts: Any) -> Floats:
        no_tags = sp.csr_array((counts.shape[0], 0), dtype=np.int8)
        found = self._fit_elsewhere(counts, no_tags)
        self.topic_prior_ = found["topic_prior"]
        return found["topic_words"]

    def _fold_in(self, counts: Any) -> Float64s:
        return fold_in(counts, self.column_topics_, self.topic_prior_, self.n_jobs)
