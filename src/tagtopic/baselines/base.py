"""The common interface of the baselines: fit on a corpus, topics, topic mixes of new documents, scores of tags.

``evaluation.perplexity`` uses ``aligned``, ``transform`` and ``components_`` of a model and nothing else, so baselines
and tagtopic's own models are evaluated by the same code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.estimator import BaseEstimator, check_is_fitted, check_random_state
from tagtopic._core.isolation import Arrays, ForeignLibraryError, run_isolated
from tagtopic._core.optional import require
from tagtopic._core.parallel import effective_n_jobs
from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import move_columns
from tagtopic.models import _inputs
from tagtopic.tagging.likelihood import tag_log_likelihood_matrix

BaselineError = ForeignLibraryError
"""An external library crashed, failed or exceeded the time limit, in a process of its own."""

BATCH_DOCUMENTS = 1024

WHOLE_NUMBERS = {
    "n_topics", "sweeps", "passes", "iterations", "starts", "optimise_every", "burn_in",
    "topics_per_tag", "latent_topics", "max_iter",
}  # fmt: skip
POSITIVE_NUMBERS = {"document_topic_prior", "topic_word_prior", "topic_tag_prior", "tag_topic_prior", "sigma"}
DTYPES = ("float32", "float64")


class Baseline(BaseEstimator, ABC):
    """Base class of the baselines.

    As in scikit-learn, constructor arguments are stored unchanged and ``fit`` sets the attributes that end in ``_``.

    Attributes
    ----------
    words_ : tuple of str
        The vocabulary of the training corpus.
    word_counts_ : ndarray of shape (n_words,)
        Occurrences of each word in training.
    tag_names_ : tuple of str
        The tags of the training corpus.
    tag_counts_ : ndarray of shape (n_tags,)
        Number of training documents with each tag.

    Examples
    --------
    >>> from tagtopic.baselines import TfidfCentroid
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = TfidfCentroid().fit(corpus)
    >>> model.tag_scores(corpus).shape, len(model.tag_names_)
    ((60, 8), 8)
    """

    words_: tuple[str, ...]
    tag_names_: tuple[str, ...]
    word_counts_: Float64s
    tag_counts_: Float64s

    def fit(self, X: Corpus, y: Any = None, *, tags: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Corpus
            The training documents.
        y : None
            Ignored; present for compatibility with scikit-learn.
        tags : list of lists of str, or sparse matrix of shape (n_documents, n_tags), optional
            Tags that replace those of the corpus.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        ValueError
            If the corpus has no words, or a constructor argument is invalid.
        """
        corpus = self._training_corpus(X, tags)
        self._fit(corpus)
        return self

    def aligned(self, X: Corpus, tags: Any = None) -> Corpus:
        """Return a corpus in the columns of this model.

        Words and tags that did not occur in training are removed.

        Parameters
        ----------
        X : Corpus
            Documents.
        tags : list of lists of str, or sparse matrix, optional
            Tags that replace those of the corpus.

        Returns
        -------
        Corpus
            The same documents with the words and tags of the model.
        """
        check_is_fitted(self)
        corpus = check_corpus(X)
        corpus = _inputs.with_tags(corpus, tags, self.tag_names_) if self._uses_tags else _inputs.without_tags(corpus)
        known = _inputs.aligned(corpus, self.words_, self.tag_names_, "ignore")
        return without_unseen_tags(_inputs.without_unseen_words(known, self.word_counts_), self.tag_counts_)

    def tag_scores(self, X: Corpus) -> Float64s:
        """Score each tag by the words of each document.

        Scores are comparable within a document only. The document's own tags are not used. A tag that did not occur in
        training has the score minus infinity.

        Parameters
        ----------
        X : Corpus
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_tags)
            The scores; higher is better.
        """
        return np.concatenate([scores for _, scores in self.tag_score_batches(X)])

    def tag_score_batches(self, X: Corpus, size: int = BATCH_DOCUMENTS) -> Iterator[tuple[slice, Float64s]]:
        """Yield ``tag_scores`` in batches of documents, for corpora with many tags.

        Parameters
        ----------
        X : Corpus
            Documents.
        size : int, default 1024
            Documents per batch.

        Yields
        ------
        tuple of slice and ndarray of shape (n_batch_documents, n_tags)
            The rows of the batch, and their scores.
        """
        corpus = self.aligned(_inputs.without_tags(check_corpus(X)))
        for first in range(0, max(len(corpus), 1), size):
            batch = slice(first, min(first + size, len(corpus)))
            scores = self._score_tags(corpus[batch])
            scores[:, self.tag_counts_ == 0] = -np.inf
            yield batch, scores

    @property
    def _uses_tags(self) -> bool:
        """Whether the tags of a new document influence its topic mix."""
        return True

    @abstractmethod
    def _fit(self, corpus: Corpus) -> None:
        """Learn from a corpus that has words."""

    @abstractmethod
    def _score_tags(self, corpus: Corpus) -> Float64s:
        """Return a new (documents, tags) array for an aligned corpus."""

    def _training_corpus(self, X: Corpus, tags: Any) -> Corpus:
        corpus = _inputs.with_tags(check_corpus(X), tags)
        if not corpus.n_tokens:
            raise ValueError(f"there are no words in the {len(corpus)} documents: nothing to learn from")
        self.words_, self.tag_names_ = corpus.words, corpus.tag_names
        self.word_counts_ = corpus.word_counts()
        self.tag_counts_ = corpus.tag_sizes().astype(np.float64)
        return corpus


class TopicBaseline(Baseline):
    """Base class of the baselines that are topic models.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Word distribution of each topic; rows sum to 1, and words that did not occur in training have probability 0.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        Topic distribution of each tag; rows sum to 1, and tags that did not occur in training have rows of zeros.

    Examples
    --------
    >>> from tagtopic.baselines import CorrLDA
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = CorrLDA(3, max_iter=3, random_state=0).fit(corpus)
    >>> model.components_.shape, model.tag_topics_.shape
    ((3, 60), (8, 3))
    """

    components_: Floats
    tag_topics_: Floats
    n_jobs: int | None

    def transform(self, X: Corpus, *, tags: Any = None) -> Float64s:
        """Infer the topic mix of each document from its words and, if the model uses them, its tags.

        Parameters
        ----------
        X : Corpus
            Documents.
        tags : list of lists of str, or sparse matrix, optional
            Tags that replace those of the corpus.

        Returns
        -------
        ndarray of shape (n_documents, n_topics)
            Topic mixes; rows sum to 1.
        """
        return self._topic_mixes(self.aligned(X, tags))

    @property
    def topic_words_(self) -> Floats:
        """``components_`` transposed, (words, topics), with contiguous rows."""
        return self.components_.T

    @abstractmethod
    def _topic_mixes(self, corpus: Corpus) -> Float64s:
        """Return the (documents, topics) mixes of an aligned corpus."""

    def _score_tags(self, corpus: Corpus) -> Float64s:
        return tag_log_likelihood_matrix(corpus.counts, self.tag_topics_, self.topic_words_)


class ExternalBaseline(TopicBaseline):
    """A topic model fitted by another library, in a child process."""

    _library: ClassVar[str]
    _task: ClassVar[str]
    """The function of ``external_fits`` that fits the model."""
    _named_priors: ClassVar[tuple[str | None, ...]] = ()
    """Values that the library accepts in place of a prior's number."""

    random_state: Any
    timeout: float | None

    def _fit_external(self, counts: Any, tags: Any) -> Arrays:
        """Run the fit in a child process with all constructor arguments, and return its arrays."""
        name = type(self).__name__
        require(self._library, extra="baselines", purpose=name)
        settings = self._checked_settings()
        check_whole_counts(counts, name)
        arrays = {
            "word_starts": counts.indptr,
            "words": counts.indices,
            "counts": counts.data,
            "tag_starts": tags.indptr,
            "tags": tags.indices,
            "n_words": np.array(counts.shape[1]),
        }
        settings["seed"] = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings["n_tags"] = int(tags.shape[1])
        task = f"tagtopic.baselines.external_fits:{self._task}"
        return run_isolated(task, arrays, settings, name=f"{name} ({self._library})", timeout=self.timeout)

    def _checked_settings(self) -> dict[str, Any]:
        """Return the constructor arguments as JSON values; raise for an invalid one."""
        check_settings(self, named_priors=self._named_priors)
        settings = self.get_params(deep=False)
        del settings["random_state"], settings["timeout"]
        settings |= {name: int(value) for name, value in settings.items() if name in WHOLE_NUMBERS}
        return {**settings, "n_jobs": effective_n_jobs(self.n_jobs)}


def check_settings(model: Baseline, *, named_priors: Collection[str | None] = ()) -> None:
    """Raise for an invalid constructor argument; ``named_priors`` are accepted in place of a prior's number."""
    for name, value in model.get_params(deep=False).items():
        if name in WHOLE_NUMBERS:
            _check_whole(name, value, least=0 if name == "burn_in" else 1)
        elif name in POSITIVE_NUMBERS and value not in named_priors:
            check_positive(name, value)
        elif name == "dtype" and value not in DTYPES:
            raise ValueError(f"dtype={value!r}: expected {' or '.join(map(repr, DTYPES))}")


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: expected a whole number from {least}")


def check_positive(name: str, value: Any, hint: str = "") -> None:
    """Raise unless the value is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r}: expected a number above 0{hint}")


def check_whole_counts(counts: Any, name: str) -> None:
    """Raise if word counts are fractional."""
    if counts.data.dtype.kind == "f":
        raise ValueError(f"{name} counts whole words, and the counts of this corpus are fractions")


def check_corpus(X: Any) -> Corpus:
    """Return X, or raise if it is not a Corpus."""
    if not isinstance(X, Corpus):
        raise TypeError(f"a baseline takes a tagtopic.Corpus, not {type(X).__name__}: Corpus.from_counts makes one")
    return X


def restrict_to_seen_words(topic_words: Floats, occurs: NDArray[np.bool_]) -> Floats:
    """Normalise topics (words, topics) over the words that occurred in training; other words get probability 0."""
    seen = topic_words * occurs[:, None]
    return np.asarray(seen / seen.sum(axis=0, dtype=np.float64))


def normalise_rows(matrix: Floats) -> Floats:
    """Scale rows to sum to 1; rows of zeros are kept."""
    totals = matrix.sum(axis=1, keepdims=True)
    return np.asarray(matrix / np.where(totals > 0, totals, 1.0))


def without_unseen_tags(corpus: Corpus, tag_counts: Float64s) -> Corpus:
    """Remove the tags that no training document had."""
    seen = tag_counts > 0
    if seen.all():
        return corpus
    target = np.where(seen, np.arange(len(seen)), -1).astype(np.int32)
    tags = move_columns(corpus.tags, target, len(seen))
    return corpus.with_matrices(tags=tags)
