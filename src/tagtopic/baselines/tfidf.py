"""Classifiers on tf-idf features: a centroid per tag, and a support vector machine per label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, owners_of
from tagtopic._core.estimator import check_is_fitted
from tagtopic.baselines.base import Baseline, check_corpus, without_unseen_tags
from tagtopic.corpus import Corpus
from tagtopic.models import _inputs

KERNELS = ("rbf", "linear")


class TfidfCentroid(Baseline):
    """Score tags by the cosine of a document's tf-idf, (1 + log count) idf, with the centroid of the tag's documents.

    Attributes
    ----------
    idf_ : ndarray of shape (n_words,)
        Inverse document frequencies.
    centroids_ : sparse array of shape (n_tags, n_words)
        Centroid of each tag, of length 1.

    Examples
    --------
    >>> from tagtopic.baselines import TfidfCentroid
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = TfidfCentroid().fit(corpus)
    >>> model.tag_scores(corpus).shape
    (60, 8)
    """

    def _fit(self, corpus: Corpus) -> None:
        document_frequency = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
        self.idf_ = np.log((1 + len(corpus)) / (1 + document_frequency)) + 1
        sums = sp.csr_array(corpus.tags.astype(np.float64).T @ self._tfidf(corpus))
        norms = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel())
        self.centroids_ = sp.csr_array(sp.diags_array(1 / np.maximum(norms, 1e-12)) @ sums)

    def _score_tags(self, corpus: Corpus) -> Float64s:
        scores: Float64s = (self._tfidf(corpus) @ self.centroids_.T).toarray()
        return scores

    def _tfidf(self, corpus: Corpus) -> Any:
        rows = sp.csr_array(corpus.counts, dtype=np.float64, copy=True)
        # a fractional count below 1 is used as it is: value and slope of 1 + log count are continuous at 1
        weights = np.minimum(rows.data, 1) + np.log(np.maximum(rows.data, 1))
        rows.data = weights * self.idf_[rows.indices]
        document = owners_of(rows.indptr)
        norms = np.sqrt(np.bincount(document, weights=rows.data**2, minlength=rows.shape[0]))
        rows.data /= np.maximum(norms, 1e-12)[document]
        return rows


class TfidfSVM(Baseline):
    """Predict labels by one support vector machine each, on tf-idf: scikit-learn's SVC (LIBSVM) or LinearSVC.

    ``fit(corpus)`` learns to predict the tags of the corpus; ``fit(corpus, labels=…)`` learns other labels, so that
    tags can be features.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default "rbf"
        ``"rbf"`` as in the paper; ``"linear"`` is faster and usually better on words.
    C : float, default 1.0
        Regularisation, as in scikit-learn.
    gamma : float or {"scale", "auto"}, default "scale"
        Width of the RBF kernel, as in scikit-learn; ``"auto"`` is LIBSVM's default, one over the number of features.
    topics : fitted topic model, optional
        A model of tagtopic or a baseline, whose topic mixes are further features.
    tfidf : bool, default True
        Whether tf-idf values are features; if False, topic mixes are the only ones.
    tags_as_words : bool, default False
        Add a document's tags to its bag of words.
    n_jobs : int or None, default None
        Processes that train machines in parallel, as in scikit-learn.
    max_kernel_bytes : int, default 2**31
        If the kernel of all pairs of training documents fits into this memory, it is computed once for all labels.

    Attributes
    ----------
    tag_names_ : tuple of str
        The labels.
    words_ : tuple of str
        The vocabulary of the training corpus.

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
        max_kernel_bytes: int = 2**31,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.topics = topics
        self.tfidf = tfidf
        self.tags_as_words = tags_as_words
        self.n_jobs = n_jobs
        self.max_kernel_bytes = max_kernel_bytes

    def fit(self, X: Corpus, y: Any = None, *, tags: Any = None, labels: Any = None) -> Self:
        """Fit the machines.

        Parameters
        ----------
        X : Corpus
            The training documents.
        y : None
            Ignored; present for compatibility with scikit-learn.
        tags : list of lists of str, or sparse matrix, optional
            Tags that replace those of the corpus.
        labels : list of lists of str, or Corpus, optional
            Labels of each document, or a corpus whose tags are the labels; by default the tags are the labels.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ValueError
            If a constructor argument is invalid, or every label is on all documents or on none.
        """
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r}: expected one of {', '.join(map(repr, KERNELS))}")
        if not self.tfidf and self.topics is None:
            raise ValueError("tfidf=False without topics leaves no features: give a fitted model as topics=")
        if labels is None and self.tags_as_words:
            raise ValueError("tags_as_words=True would learn the tags from the tags: give labels=")
        corpus = self._training_corpus(X, tags)
        self.feature_tags_, self.feature_tag_counts_ = self.tag_names_, self.tag_counts_
        self._set_labels(corpus, labels)
        self._fit(corpus)
        return self

    def transform(self, X: Corpus, *, tags: Any = None) -> Any:
        """Return the features of each document: tf-idf, topic mixes or both.

        Parameters
        ----------
        X : Corpus
            Documents.
        tags : list of lists of str, or sparse matrix, optional
            Tags that replace those of the corpus.

        Returns
        -------
        sparse array of shape (n_documents, n_features)
            The features.
        """
        check_is_fitted(self)
        return self._features(_inputs.with_tags(check_corpus(X), tags))

    def tag_score_batches(self, X: Corpus, size: int = 1024) -> Any:
        """Yield ``tag_scores`` in batches of documents; unlike those of topic models they may use the documents' tags.

        Parameters
        ----------
        X : Corpus
            Documents.
        size : int, default 1024
            Documents per batch.

        Yields
        ------
        tuple of slice and ndarray of shape (n_batch_documents, n_labels)
            The rows of the batch, and their scores.
        """
        check_is_fitted(self)
        corpus = check_corpus(X)
        for first in range(0, max(len(corpus), 1), size):
            batch = slice(first, min(first + size, len(corpus)))
            yield batch, self._score_tags(corpus[batch])

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

    def _fit(self, corpus: Corpus) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.multiclass import OneVsRestClassifier

        self.tfidf_ = TfidfTransformer(sublinear_tf=False).fit(self._counts(corpus))
        # a label on all documents or on none has no two classes to separate
        self.learnt_ = np.flatnonzero((self.tag_counts_ > 0) & (self.tag_counts_ < len(corpus)))
        if not len(self.learnt_):
            raise ValueError("there is nothing to tell apart: every label is on all documents or on none")
        targets = self._targets[:, self.learnt_].toarray()
        del self._targets
        features = self._features(corpus)
        precompute = self.kernel == "rbf" and 8 * len(corpus) ** 2 <= self.max_kernel_bytes
        self.kernel_ = _RBFKernel(features, self.gamma) if precompute else None
        self.machines_ = OneVsRestClassifier(self._machine(), n_jobs=self.n_jobs)
        # scikit-learn takes a single column of targets as two classes
        self.machines_.fit(self._machine_inputs(features), targets if targets.shape[1] > 1 else targets[:, 0])

    def _machine(self) -> Any:
        from sklearn.svm import SVC, LinearSVC

        if self.kernel == "linear":
            return LinearSVC(C=self.C, random_state=0)
        return SVC(kernel="rbf" if self.kernel_ is None else "precomputed", C=self.C, gamma=self.gamma)

    def _machine_inputs(self, features: Any) -> Any:
        """Return the features, or their kernel with the training documents if that is precomputed."""
        return features if self.kernel_ is None else self.kernel_.with_training(features)

    def _counts(self, corpus: Corpus) -> Any:
        if not self.tags_as_words:
            return corpus.counts.astype(np.float64)
        return sp.csr_array(sp.hstack([corpus.counts, corpus.tags], format="csr").astype(np.float64))

    def _features(self, corpus: Corpus) -> Any:
        known = self._align(corpus)
        parts = [sp.csr_array(self.tfidf_.transform(self._counts(known)))] if self.tfidf else []
        if self.topics is not None:
            parts.append(sp.csr_array(np.asarray(self.topics.transform(corpus), np.float64)))
        features = sp.csr_array(sp.hstack(parts, format="csr"))
        if features.nnz < 2**31:  # scikit-learn's machines accept 32-bit indices only
            features.indptr, features.indices = features.indptr.astype(np.int32), features.indices.astype(np.int32)
        return features

    def _align(self, corpus: Corpus) -> Corpus:
        """Return the corpus in the columns of training; what training did not have would change the norms."""
        known = corpus.align(self.words_, self.feature_tags_).corpus
        return without_unseen_tags(_inputs.without_unseen_words(known, self.word_counts_), self.feature_tag_counts_)

    def _score_tags(self, corpus: Corpus) -> Float64s:
        values = np.asarray(self.machines_.decision_function(self._machine_inputs(self._features(corpus))))
        scores = np.empty((len(corpus), len(self.tag_names_)))
        scores[:] = np.where(self.tag_counts_ > 0, np.inf, -np.inf)
        scores[:, self.learnt_] = values.reshape(len(corpus), len(self.learnt_))
        return scores


class _RBFKernel:
    """The RBF kernel of documents with the training documents; LIBSVM would compute it for every label."""

    def __init__(self, features: Any, gamma: float | str) -> None:
        self.features = features
        self.gamma = gamma if isinstance(gamma, int | float) else self._resolve(gamma)

    def _resolve(self, gamma: str) -> float:
        """Resolve "scale" and "auto" as scikit-learn does."""
        n = int(self.features.shape[1])
        if gamma == "auto":
            return 1.0 / n
        if gamma != "scale":
            raise ValueError(f"gamma={gamma!r}: expected a number, 'scale' or 'auto'")
        variance = self.features.multiply(self.features).mean() - self.features.mean() ** 2
        return 1.0 / float(n * variance) if variance > 0 else 1.0

    def with_training(self, features: Any) -> Float64s:
        from sklearn.metrics.pairwise import rbf_kernel

        return np.asarray(rbf_kernel(features, self.features, gamma=self.gamma))
