"""Latent Dirichlet Allocation by collapsed Gibbs sampling.

Topic models that know no tags (LDA, CTM): a document's tags are left out, or taken as further words of it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats
from tagtopic.baselines.base import ForeignBaseline, TopicBaseline, normalised_rows
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus


class UntaggedTopics(TopicBaseline):
    """The common part of LDA and CTM.

    With ``tags_as_words`` topics have probabilities of words and tags, a new document's tags help to find its mix, and
    what comes out is about words again: ``components_`` given that a token is a word, and mixes of its words.
    ``tag_topics_`` is the mean mix of a tag's documents. Tags are scored by it, or by their own probability in the
    document's topics if they were taken as words.
    """

    tags_as_words: bool
    column_topics_: Floats
    """(words, topics), or (words and then tags, topics): what the library learnt."""
    word_share_: Float64s
    """Of each topic's tokens, the share that are words and not tags."""

    @property
    def _uses_tags(self) -> bool:
        return self.tags_as_words

    @abstractmethod
    def _learn_topics(self, counts: Any) -> Floats:
        """Topics (columns of ``counts``, topics)."""

    @abstractmethod
    def _fold_in(self, counts: Any) -> Float64s:
        """Mixes of documents under ``column_topics_``."""

    def _learn(self, corpus: Corpus) -> None:
        self.column_topics_ = self._learn_topics(self._columns(corpus))
        word_part = self.column_topics_[: corpus.n_words]
        self.word_share_ = word_part.sum(axis=0, dtype=np.float64)
        self.components_ = np.ascontiguousarray(word_part / self.word_share_, np.float32).T
        mixes = self._of_words(self._training_mixes(corpus))
        self.tag_topics_ = normalised_rows(corpus.tags.astype(np.float64).T @ mixes)

    def _training_mixes(self, corpus: Corpus) -> Float64s:
        """Mixes of the documents of the fit; a model that has them already need not infer them again."""
        return self._fold_in(self._columns(corpus))

    def _columns(self, corpus: Corpus) -> Any:
        if not self.tags_as_words:
            return corpus.counts
        return sp.csr_array(sp.hstack([corpus.counts, corpus.tags.astype(corpus.counts.dtype)], format="csr"))

    def _mix(self, corpus: Corpus) -> Float64s:
        return self._of_words(self._fold_in(self._columns(corpus)))

    def _of_words(self, mixes: Float64s) -> Float64s:
        return np.asarray(normalised_rows(mixes * self.word_share_), np.float64)

    def _score_tags(self, corpus: Corpus) -> Float64s:
        if not self.tags_as_words:
            return super()._score_tags(corpus)
        tag_part = self.column_topics_[corpus.n_words :]
        return np.log(np.maximum(self._fold_in(self._columns(corpus)) @ tag_part.T, 1e-300))


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
