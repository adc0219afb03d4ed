"""Labeled LDA and PLDA: topic models in which each topic belongs to one tag or is shared by all documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic.baselines.base import ExternalBaseline, normalise_rows
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus


class _LabeledTopicBaseline(ExternalBaseline):
    """Base class of models whose topics belong to tags; a document uses the topics of its tags and the shared ones.

    ``topic_tags_`` (topics) is the tag of each topic, -1 for shared topics. ``tag_topics_`` divides a tag among its
    topics in proportion to their prior. A document without known tags may use every topic. Tags are scored by the
    logarithm of their topics' share of a document that may use every topic.
    """

    topic_prior_: Float64s
    topic_tags_: Int64s

    def _fit(self, corpus: Corpus) -> None:
        if not corpus.tags.nnz:
            raise ValueError(f"{type(self).__name__} makes its topics from tags, and no document has any")
        found = self._fit_external(corpus.counts, corpus.tags)
        self.components_ = found["topic_words"].T
        self.topic_prior_, self.topic_tags_ = found["topic_prior"], found["topic_tags"]
        self.tag_topics_ = normalise_rows((self._tag_topic_indicator() * self.topic_prior_).toarray())

    def _tag_topic_indicator(self) -> Any:
        """Return the sparse (tags, topics) matrix with ones where the topic belongs to the tag."""
        owned = np.flatnonzero(self.topic_tags_ >= 0)
        shape = (len(self.tag_names_), len(self.topic_tags_))
        return sp.csr_array((np.ones(len(owned)), (self.topic_tags_[owned], owned)), shape=shape)

    def _topic_mixes(self, corpus: Corpus) -> Float64s:
        return fold_in(corpus.counts, self.topic_words_, self._document_priors(corpus), self.n_jobs)

    def _document_priors(self, corpus: Corpus) -> Any:
        """Return the prior of each document's topics as CSR, with entries for the topics that it may use."""
        latent = np.flatnonzero(self.topic_tags_ < 0)
        shared = sp.csr_array(
            (np.ones(len(latent)), (np.zeros(len(latent), np.int64), latent)), shape=(1, len(self.topic_tags_))
        )
        own = sp.csr_array(corpus.tags.astype(np.float64) @ self._tag_topic_indicator())
        # a tag whose training documents had no words has no topics
        tagged = (np.diff(own.indptr) > 0).astype(np.float64)[:, None]
        all_topics = sp.csr_array(np.ones((1, len(self.topic_tags_))))
        allowed = sp.csr_array(own + sp.csr_array(tagged) @ shared + sp.csr_array(1.0 - tagged) @ all_topics)
        allowed.data = self.topic_prior_[allowed.indices]
        return allowed

    def _score_tags(self, corpus: Corpus) -> Float64s:
        mixes = fold_in(corpus.counts, self.topic_words_, self.topic_prior_, self.n_jobs)
        shares: Float64s = np.asarray(mixes @ self._tag_topic_indicator().T, np.float64)
        return np.log(np.maximum(shares, 1e-300))


class LabeledLDA(_LabeledTopicBaseline):
    """Labeled LDA by tomotopy: one topic per tag and no others.

    A document without tags may use every topic.

    Parameters
    ----------
    sweeps : int, default 1000
        Gibbs sweeps over the corpus.
    document_topic_prior : float, default 0.1
        Dirichlet prior of a document's topics.
    topic_word_prior : float, default 0.01
        Dirichlet prior of a topic's words, fixed.
    optimise_every : int, default 10
        Sweeps between updates of the document-topic prior.
    burn_in : int, default 0
        Sweeps before the first of these updates.
    n_jobs : int or None, default 1
        Threads; None uses all cores. With more than one, tomotopy's fits differ from run to run.
    timeout : float, optional
        Time limit of the fit in seconds.
    random_state : int, RandomState or None, default None
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Word distribution of each topic.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        Topic distribution of each tag: 1 for its own topic.
    topic_tags_ : ndarray of shape (n_topics,)
        The tag of each topic.
    topic_prior_ : ndarray of shape (n_topics,)
        Dirichlet prior of a document's topics.

    References
    ----------
    Ramage, D., Hall, D., Nallapati, R. and Manning, C. D. (2009). Labeled LDA: a supervised topic model for credit
    attribution in multi-labeled corpora. Proceedings of EMNLP 2009, 248-256.

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


class PLDA(_LabeledTopicBaseline):
    """Partially Labeled Dirichlet Allocation by tomotopy: several topics per tag, and topics that all documents share.

    Parameters
    ----------
    topics_per_tag : int, default 1
        Topics of each tag.
    latent_topics : int, default 1
        Topics shared by all documents.
    sweeps : int, default 1000
        Gibbs sweeps over the corpus.
    document_topic_prior : float, default 0.1
        Dirichlet prior of a document's topics.
    topic_word_prior : float, default 0.01
        Dirichlet prior of a topic's words, fixed.
    optimise_every : int, default 10
        Sweeps between updates of the document-topic prior.
    burn_in : int, default 0
        Sweeps before the first of these updates.
    n_jobs : int or None, default 1
        Threads; None uses all cores. With more than one, tomotopy's fits differ from run to run.
    timeout : float, optional
        Time limit of the fit in seconds.
    random_state : int, RandomState or None, default None
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Word distribution of each topic.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        Topic distribution of each tag over its own topics.
    topic_tags_ : ndarray of shape (n_topics,)
        The tag of each topic, -1 for shared topics.
    topic_prior_ : ndarray of shape (n_topics,)
        Dirichlet prior of a document's topics.

    References
    ----------
    Ramage, D., Manning, C. D. and Dumais, S. (2011). Partially labeled topic models for interpretable text mining.
    Proceedings of KDD 2011, 457-465.

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
