"""Support vector machines on tf-idf: what a person would try first for putting labels on texts.

The tf-idf centroid of each tag: what a person would try first for naming the tags of a text.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from tagtopic._core.arrays import Float64s, owners_of
from tagtopic.baselines.base import Baseline, checked_corpus, without_unseen_tags
from tagtopic.corpus import Corpus
from tagtopic.models import _inputs


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


KERNELS = ("rbf", "linear")

KERNEL_BYTES = 2**31
"""While all pairs of training documents fit into this, their kernel is made once for all labels."""


class TfidfSVM(Baseline):
    """One support vector machine for each label, on the words' tf-idf: scikit-learn's SVC (LIBSVM) or LinearSVC.

    ``fit(corpus)`` learns to tell the corpus's tags; ``fit(corpus, labels=…)`` learns other labels, a list of lists of
    names or a Corpus whose tags they are, and leaves the tags free to be features.

    Parameters
    ----------
    kernel:
        ``"rbf"`` as in the paper, or ``"linear"``, quicker and on words usually better.
    C, gamma:
        As in scikit-learn; ``gamma="auto"`` is LIBSVM's default, one over the number of features.
    topics:
        A fitted topic model, ours or a baseline, whose topic mixes stand beside the tf-idf as features.
    tfidf:
        False leaves the mixes as the only features.
    tags_as_words:
        Take a document's tags as further words of it.
    n_jobs:
        Processes that train machines side by side; as in scikit-learn.

    Learnt: ``tag_names_`` (here: the labels), ``words_``.

    Examples
    --------
    >>> from tagtopic.baselines import TfidfSVM
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = TfidfSVM("linear").fit(corpus)
    >>> model.tag_scores(corpus).shape
    (60, 8)
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        C: float = 1.0,
        gamma: float | str = "scale",
        topics: Any = None,
        tfidf: bool = True,
        tags_as_words: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.topics = topics
        self.tfidf = tfidf
        self.tags_as_words = tags_as_words
        self.n_jobs = n_jobs

    def fit(self, X: Corpus, y: Any = None, *, tags: Any = None, labels: Any = None) -> Self:
        """Learn from a corpus; ``labels`` are what to learn if not the corpus's tags; ``y`` is ignored."""
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r}: expected one of {', '.join(map(repr, KERNELS))}")
        if not self.tfidf and self.topics is None:
            raise ValueError("tfidf=False without topics leaves no features: give a fitted model as topics=")
        if labels is None and self.tags_as_words:
            raise ValueError("tags_as_words=True would learn the tags from the tags: give labels=")
        corpus = self._training_corpus(X, tags)
        self.feature_tags_, self.feature_tag_counts_ = self.tag_names_, self.tag_counts_
        self._set_labels(corpus, labels)
        self._learn(corpus)
        return self

    def transform(self, X: Corpus, *, tags: Any = None) -> Any:
        """The features of each document, CSR: tf-idf, and topic mixes where they are asked for."""
        check_is_fitted(self)
        return self._features(_inputs.with_tags(checked_corpus(X), tags))

    def tag_score_batches(self, X: Corpus, size: int = 1024) -> Any:
        """``tag_scores`` by runs of ``size`` documents. Unlike the topic models' scores these may use the tags."""
        check_is_fitted(self)
        corpus = checked_corpus(X)
        for first in range(0, max(len(corpus), 1), size):
            run = slice(first, min(first + size, len(corpus)))
            yield run, self._score_tags(corpus[run])

    def _set_labels(self, corpus: Corpus, labels: Any) -> None:
        if labels is None:
            labelled = corpus
        elif isinstance(labels, Corpus):
            labelled = labels
        else:
            labelled = Corpus.from_counts(corpus.counts, labels, fractional=True)
        if len(labelled) != len(corpus):
            raise ValueError(f"there are {len(corpus)} documents but labels for {len(labelled)}")
        self.tag_names_ = labelled.tag_names
        self.tag_counts_ = labelled.tag_sizes().astype(np.float64)
        self._targets = labelled.tags

    def _learn(self, corpus: Corpus) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.multiclass import OneVsRestClassifier

        self.tfidf_ = TfidfTransformer(sublinear_tf=False).fit(self._counts(corpus))
        # a label that all documents have, or none, leaves nothing to tell apart
        self.learnt_ = np.flatnonzero((self.tag_counts_ > 0) & (self.tag_counts_ < len(corpus)))
        if not len(self.learnt_):
            raise ValueError("there is nothing to tell apart: every label is on all documents or on none")
        targets = self._targets[:, self.learnt_].toarray()
        del self._targets
        features = self._features(corpus)
        shared = self.kernel == "rbf" and 8 * len(corpus) ** 2 <= KERNEL_BYTES
        self.pairs_ = _Pairs(features, self.gamma) if shared else None
        self.machines_ = OneVsRestClassifier(self._machine(), n_jobs=self.n_jobs)
        # one column alone would be taken for two classes
        self.machines_.fit(self._seen(features), targets if targets.shape[1] > 1 else targets[:, 0])

    def _machine(self) -> Any:
        from sklearn.svm import SVC, LinearSVC

        if self.kernel == "linear":
            return LinearSVC(C=self.C, random_state=0)
        return SVC(kernel="rbf" if self.pairs_ is None else "precomputed", C=self.C, gamma=self.gamma)

    def _seen(self, features: Any) -> Any:
        """What the machines take of documents: features, or how like they are to the training documents."""
        return features if self.pairs_ is None else self.pairs_.of(features)

    def _counts(self, corpus: Corpus) -> Any:
        if not self.tags_as_words:
            return corpus.counts.astype(np.float64)
        return sp.csr_array(sp.hstack([corpus.counts, corpus.tags], format="csr").astype(np.float64))

    def _features(self, corpus: Corpus) -> Any:
        known = self._known(corpus)
        parts = [sp.csr_array(self.tfidf_.transform(self._counts(known)))] if self.tfidf else []
        if self.topics is not None:
            parts.append(sp.csr_array(np.asarray(self.topics.transform(corpus), np.float64)))
        features = sp.csr_array(sp.hstack(parts, format="csr"))
        if features.nnz < 2**31:  # scikit-learn's machines take no others
            features.indptr, features.indices = features.indptr.astype(np.int32), features.indices.astype(np.int32)
        return features

    def _known(self, corpus: Corpus) -> Corpus:
        """In the columns of training; what no training document has would take length from what is known."""
        known = corpus.align(self.words_, self.feature_tags_).corpus
        return without_unseen_tags(_inputs.without_unseen_words(known, self.word_counts_), self.feature_tag_counts_)

    def _score_tags(self, corpus: Corpus) -> Float64s:
        values = np.asarray(self.machines_.decision_function(self._seen(self._features(corpus))))
        scores = np.empty((len(corpus), len(self.tag_names_)))
        scores[:] = np.where(self.tag_counts_ > 0, np.inf, -np.inf)
        scores[:, self.learnt_] = values.reshape(len(corpus), len(self.learnt_))
        return scores


class _Pairs:
    """The RBF kernel of documents with those of training; LIBSVM by itself would make it again for every label."""

    def __init__(self, features: Any, gamma: float | str) -> None:
        self.features = features
        self.gamma = gamma if isinstance(gamma, int | float) else self._named(gamma)

    def _named(self, gamma: str) -> float:
        """As scikit-learn takes "scale" and "auto"."""
        n = int(self.features.shape[1])
        if gamma == "auto":
            return 1.0 / n
        if gamma != "scale":
            raise ValueError(f"gamma={gamma!r}: expected a number, 'scale' or 'auto'")
        variance = self.features.multiply(self.features).mean() - self.features.mean() ** 2
        return 1.0 / float(n * variance) if variance > 0 else 1.0

    def of(self, features: Any) -> Float64s:
        from sklearn.metrics.pairwise import rbf_kernel

        return np.asarray(rbf_kernel(features, self.features, gamma=self.gamma))
