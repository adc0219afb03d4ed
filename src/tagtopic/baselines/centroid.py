"""The tf-idf centroid of each tag: what a person would try first for naming the tags of a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic.baselines.base import Baseline
from tagtopic.corpus import Corpus
from tagtopic.corpus.ragged import owners_of
from tagtopic.inference.arrays import Float64s


class TfidfCentroid(Baseline):
    """A tag's score is the cosine of the document's tf-idf, (1 + log count) idf, with that of the tag's documents.

    Examples
    --------
    >>> from tagtopic.baselines import TfidfCentroid
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = TfidfCentroid().fit(corpus)
    >>> model.tag_scores(corpus).shape
    (60, 8)
    """

    def _learn(self, corpus: Corpus) -> None:
        with_word = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
        self.idf_ = np.log((1 + len(corpus)) / (1 + with_word)) + 1
        sums = sp.csr_array(corpus.tags.astype(np.float64).T @ self._tfidf(corpus))
        lengths = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel())
        self.centroids_ = sp.csr_array(sp.diags_array(1 / np.maximum(lengths, 1e-12)) @ sums)

    def _score_tags(self, corpus: Corpus) -> Float64s:
        scores: Float64s = (self._tfidf(corpus) @ self.centroids_.T).toarray()
        return scores

    def _tfidf(self, corpus: Corpus) -> Any:
        rows = sp.csr_array(corpus.counts, dtype=np.float64, copy=True)
        # of less than one word its part, which meets the logarithm at 1 in value and slope
        weights = np.minimum(rows.data, 1) + np.log(np.maximum(rows.data, 1))
        rows.data = weights * self.idf_[rows.indices]
        owner = owners_of(rows.indptr)
        lengths = np.sqrt(np.bincount(owner, weights=rows.data**2, minlength=rows.shape[0]))
        rows.data /= np.maximum(lengths, 1e-12)[owner]
        return rows
