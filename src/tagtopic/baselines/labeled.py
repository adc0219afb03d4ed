"""Topic models whose topics belong to tags: Labeled LDA and PLDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic.baselines.base import ForeignBaseline, normalised_rows
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus


class _TagsOwnTopics(ForeignBaseline):
    """Each topic is one tag's, or everybody's. A document's words come from its tags' topics and from everybody's.

    ``topic_tags_`` (topics) is the tag of each topic, -1 for everybody's. ``tag_topics_`` shares a tag's words among
    its topics by their prior. Tags are scored by the logarithm of the share that their topics take of a document to
    which all topics are open; so is the mix of a document without known tags found.
    """

    topic_prior_: Float64s
    topic_tags_: Int64s

    def _learn(self, corpus: Corpus) -> None:
        if not corpus.tags.nnz:
            raise ValueError(f"{type(self).__name__} makes its topics from tags, and no document has any")
        found = self._fit_elsewhere(corpus.counts, corpus.tags)
        self.components_ = found["topic_words"].T
        self.topic_prior_, self.topic_tags_ = found["topic_prior"], found["topic_tags"]
        self.tag_topics_ = normalised_rows((self._ownership() * self.topic_prior_).toarray())

    def _ownership(self) -> Any:
        """(tags, topics), one where the topic is the tag's."""
        owned = np.flatnonzero(self.topic_tags_ >= 0)
        shape = (len(self.tag_names_), len(self.topic_tags_))
        return sp.csr_array((np.ones(len(owned)), (self.topic_tags_[owned], owned)), shape=shape)

    def _mix(self, corpus: Corpus) -> Float64s:
        return fold_in(corpus.counts, self.topic_words_, self._open_topics(corpus), self.n_jobs)

    def _open_topics(self, corpus: Corpus) -> Any:
        """The prior of each document's topics, CSR: entries for the topics that are open to it."""
        latent = np.flatnonzero(self.topic_tags_ < 0)
        everybodys = sp.csr_array(
            (np.ones(len(latent)), (np.zeros(len(latent), np.int64), latent)), shape=(1, len(self.topic_tags_))
        )
        mine = sp.csr_array(corpus.tags.astype(np.float64) @ self._ownership())
        # a tag that only documents without words had in training has no topics
        tagged = (np.diff(mine.indptr) > 0).astype(np.float64)[:, None]
        everything = sp.csr_array(np.ones((1, len(self.topic_tags_))))
        opened = sp.csr_array(mine + sp.csr_array(tagged) @ everybodys + sp.csr_array(1.0 - tagged) @ everything)
        opened.data = self.topic_prior_[opened.indices]
        return opened

    def _score_tags(self, corpus: Corpus) -> Float64s:
        mixes = fold_in(corpus.counts, self.topic_words_, self.topic_prior_, self.n_jobs)
        shares: Float64s = np.asarray(mixes @ self._ownership().T, np.float64)
        return np.log(np.maximum(shares, 1e-300))


class LabeledLDA(_TagsOwnTopics):
    """Labeled LDA (Ramage et al. 2009) by tomotopy: one topic a tag, and no others.

    A document without tags may use every topic. The parameters are those of LDA, less the number of topics.

    Examples
    --------
    >>> from tagtopic.baselines import LabeledLDA
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = LabeledLDA(sweeps=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 8)
    """

    _library = "tomotopy"
    _task = "fit_labeled_lda"

    def __init__(
        self,
        *,
        sweeps: int = 1000,
        document_topic_prior: float = 0.1,
        topic_word_prior: float = 0.01,
        optimise_every: int = 10,
        burn_in: int = 0,
        n_jobs: int | None = 1,
        timeout: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.sweeps = sweeps
        self.document_topic_prior = document_topic_prior
        self.topic_word_prior = topic_word_prior
        self.optimise_every = optimise_every
        self.burn_in = burn_in
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.random_state = random_state


class PLDA(_TagsOwnTopics):
    """Partially Labeled Dirichlet Allocation (Ramage, Manning and Dumais 2011) by tomotopy.

    Each tag has ``topics_per_tag`` topics, and ``latent_topics`` more are open to every document. The other parameters
    are those of LDA.

    Examples
    --------
    >>> from tagtopic.baselines import PLDA
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = PLDA(1, sweeps=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 9)
    """

    _library = "tomotopy"
    _task = "fit_plda"

    def __init__(
        self,
        topics_per_tag: int = 1,
        *,
        latent_topics: int = 1,
        sweeps: int = 1000,
        document_topic_prior: float = 0.1,
        topic_word_prior: float = 0.01,
        optimise_every: int = 10,
        burn_in: int = 0,
        n_jobs: int | None = 1,
        timeout: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.topics_per_tag = topics_per_tag
        self.latent_topics = latent_topics
        self.sweeps = sweeps
        self.document_topic_prior = document_topic_prior
        self.topic_word_prior = topic_word_prior
        self.optimise_every = optimise_every
        self.burn_in = burn_in
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.random_state = random_state
