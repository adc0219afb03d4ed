"""Latent Dirichlet Allocation by collapsed Gibbs sampling; the base class of LDA and CTM."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats
from tagtopic.baselines.base import ExternalBaseline, TopicBaseline, normalise_rows
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus


class BagOfWordsBaseline(TopicBaseline):
    """Base class of LDA and CTM: the tags of a document are ignored or added to its bag of words.

    With ``tags_as_words`` topics are distributions over words and tags, and the tags of a new document contribute to
    its mix. The results are conditional on a token being a word: ``components_`` are distributions over words, and
    mixes are those of the document's words. ``tag_topics_`` is the mean mix of a tag's documents. Tags are scored by
    it or, if they were taken as words, by their probability under the document's mix.
    """

    tags_as_words: bool
    column_topics_: Floats
    """The learnt distributions: (words, topics), or (words followed by tags, topics)."""
    word_share_: Float64s
    """Probability, for each topic, that a token is a word and not a tag."""

    @property
    def _uses_tags(self) -> bool:
        return self.tags_as_words

    @abstractmethod
    def _fit_topics(self, counts: Any) -> Floats:
        """Learn topics (columns of ``counts``, topics)."""

    @abstractmethod
    def _fold_in(self, counts: Any) -> Float64s:
        """Infer mixes of documents under ``column_topics_``."""

    def _fit(self, corpus: Corpus) -> None:
        self.column_topics_ = self._fit_topics(self._columns(corpus))
        word_part = self.column_topics_[: corpus.n_words]
        self.word_share_ = word_part.sum(axis=0, dtype=np.float64)
        self.components_ = np.ascontiguousarray(word_part / self.word_share_, np.float32).T
        mixes = self._word_mixes(self._training_mixes(corpus))
        self.tag_topics_ = normalise_rows(corpus.tags.astype(np.float64).T @ mixes)

    def _training_mixes(self, corpus: Corpus) -> Float64s:
        """Return the mixes of the training documents; a model that has them already overrides this."""
        return self._fold_in(self._columns(corpus))

    def _columns(self, corpus: Corpus) -> Any:
        if not self.tags_as_words:
            return corpus.counts
        return sp.csr_array(sp.hstack([corpus.counts, corpus.tags.astype(corpus.counts.dtype)], format="csr"))

    def _topic_mixes(self, corpus: Corpus) -> Float64s:
        return self._word_mixes(self._fold_in(self._columns(corpus)))

    def _word_mixes(self, mixes: Float64s) -> Float64s:
        return np.asarray(normalise_rows(mixes * self.word_share_), np.float64)

    def _score_tags(self, corpus: Corpus) -> Float64s:
        if not self.tags_as_words:
            return super()._score_tags(corpus)
        tag_part = self.column_topics_[corpus.n_words :]
        return np.log(np.maximum(self._fold_in(self._columns(corpus)) @ tag_part.T, 1e-300))


class LDA(BagOfWordsBaseline, ExternalBaseline):
    """Latent Dirichlet Allocation by tomotopy: Gibbs sampling, with a learnt document-topic prior.

    Parameters
    ----------
    n_topics : int, default 50
        Number of topics.
    sweeps : int, default 1000
        Gibbs sweeps over the corpus.
    tags_as_words : bool, default False
        Add a document's tags to its bag of words.
    document_topic_prior : float, default 0.1
        Initial Dirichlet prior of a document's topics; the value of each topic is then learnt.
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
        Mean topic mix of each tag's documents.
    topic_prior_ : ndarray of shape (n_topics,)
        The learnt Dirichlet prior of a document's topics.

    References
    ----------
    Blei, D. M., Ng, A. Y. and Jordan, M. I. (2003). Latent Dirichlet allocation. Journal of Machine Learning Research
    3, 993-1022.

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

    def _fit_topics(self, counts: Any) -> Floats:
        no_tags = sp.csr_array((counts.shape[0], 0), dtype=np.int8)
        found = self._fit_external(counts, no_tags)
        self.topic_prior_ = found["topic_prior"]
        return found["topic_words"]

    def _fold_in(self, counts: Any) -> Float64s:
        return fold_in(counts, self.column_topics_, self.topic_prior_, self.n_jobs)
