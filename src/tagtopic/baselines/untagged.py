"""Topic models that know no tags (LDA, CTM): a document's tags are left out, or taken as further words of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic.baselines.base import TopicBaseline, normalised_rows
from tagtopic.corpus import Corpus
from tagtopic.inference.arrays import Float64s, Floats


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
