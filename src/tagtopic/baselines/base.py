"""What every baseline owes: fit on a corpus, topics, mixes of new documents, scores of tags.

``evaluation.perplexity`` asks a model for ``aligned``, ``transform`` and ``components_`` and nothing else, so the
baselines and our own models are measured by the same lines of code.

How likely a document's words are under one tag: the paper's p(d | tag) = prod_i sum_z p(z | tag) p(w_i | z).

As ``inference.tag_likelihood``, which takes documents one by one; for many at a time, as experiments score them, it is
cheaper to look at each word under each tag once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.isolation import Arrays, ForeignLibraryError, run_isolated
from tagtopic._core.optional import require
from tagtopic._core.threads import effective_n_jobs
from tagtopic.corpus import Corpus
from tagtopic.corpus.matrices import move_columns
from tagtopic.inference.likelihood import LEAST
from tagtopic.models import _inputs

TAGS_AT_ONCE = 256
"""Memory: so many tags times the words that occur."""


def log_likelihood_of_tags(counts: Any, tag_topics: Floats, topic_words: Floats) -> Float64s:
    """The logarithms of p(d | tag), (documents, tags); ``counts`` is CSR, ``topic_words`` (words, topics)."""
    present = np.unique(counts.indices)
    here = counts[:, present].astype(np.float64)
    words = np.asarray(topic_words[present], np.float64)
    scores = np.empty((counts.shape[0], len(tag_topics)))
    for first in range(0, len(tag_topics), TAGS_AT_ONCE):
        tags = slice(first, first + TAGS_AT_ONCE)
        logs = np.log(np.maximum(words @ np.asarray(tag_topics[tags], np.float64).T, LEAST))
        scores[:, tags] = here @ logs
    return scores


BaselineError = ForeignLibraryError
"""A baseline's library crashed, failed or took too long; this process goes on."""

DOCUMENTS_AT_ONCE = 1024

WHOLE_NUMBERS = {
    "n_topics", "sweeps", "passes", "iterations", "starts", "optimise_every", "burn_in",
    "topics_per_tag", "latent_topics", "max_iter",
}  # fmt: skip
POSITIVE_NUMBERS = {"document_topic_prior", "topic_word_prior", "topic_tag_prior", "tag_topic_prior", "sigma"}
DTYPES = ("float32", "float64")


class Baseline(BaseEstimator, ABC):
    """A model to compare with. ``fit`` it on a Corpus; constructor arguments stay as they are, as in scikit-learn.

    Learnt by all: ``words_``, ``word_counts_`` (in training), ``tag_names_``, ``tag_counts_`` (documents with the tag).

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
        """Learn from a corpus, with other tags than its own if ``tags`` are given; ``y`` is ignored."""
        corpus = self._training_corpus(X, tags)
        self._learn(corpus)
        return self

    def aligned(self, X: Corpus, tags: Any = None) -> Corpus:
        """X in this model's words and tags; words and tags that did not occur in training are left out."""
        check_is_fitted(self)
        corpus = checked_corpus(X)
        corpus = _inputs.with_tags(corpus, tags, self.tag_names_) if self._uses_tags else _inputs.without_tags(corpus)
        known = _inputs.aligned(corpus, self.words_, self.tag_names_, "ignore")
        return without_unseen_tags(_inputs.without_unseen_words(known, self.word_counts_), self.tag_counts_)

    def tag_scores(self, X: Corpus) -> Float64s:
        """How much each tag suits each document's words: (documents, tags), to be compared within a document.

        The document's own tags are not looked at. A tag that did not occur in training has minus infinity.
        """
        return np.concatenate([scores for _, scores in self.tag_score_batches(X)])

    def tag_score_batches(self, X: Corpus, size: int = DOCUMENTS_AT_ONCE) -> Iterator[tuple[slice, Float64s]]:
        """``tag_scores`` by runs of ``size`` documents: pairs of the run and its scores, for corpora with many tags."""
        corpus = self.aligned(_inputs.without_tags(checked_corpus(X)))
        for first in range(0, max(len(corpus), 1), size):
            run = slice(first, min(first + size, len(corpus)))
            scores = self._score_tags(corpus[run])
            scores[:, self.tag_counts_ == 0] = -np.inf
            yield run, scores

    @property
    def _uses_tags(self) -> bool:
        """Whether a new document's tags have a say in its topics."""
        return True

    @abstractmethod
    def _learn(self, corpus: Corpus) -> None:
        """Learn from a corpus that has words."""

    @abstractmethod
    def _score_tags(self, corpus: Corpus) -> Float64s:
        """(documents, tags) for an aligned corpus; a new array."""

    def _training_corpus(self, X: Corpus, tags: Any) -> Corpus:
        corpus = _inputs.with_tags(checked_corpus(X), tags)
        if not corpus.n_tokens:
            raise ValueError(f"there are no words in the {len(corpus)} documents: nothing to learn from")
        self.words_, self.tag_names_ = corpus.words, corpus.tag_names
        self.word_counts_ = corpus.word_counts()
        self.tag_counts_ = corpus.tag_sizes().astype(np.float64)
        return corpus


class TopicBaseline(Baseline):
    """A topic model to compare with.

    Learnt besides: ``components_`` (topics, words) and ``tag_topics_`` (tags, topics), whose rows sum to 1; a word or a
    tag that did not occur in training has zeros.

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
        """The topic mix of each document, from its words and, where the model uses them, its tags."""
        return self._mix(self.aligned(X, tags))

    @property
    def topic_words_(self) -> Floats:
        """``components_`` the other way round, (words, topics): a word's row is contiguous."""
        return self.components_.T

    @abstractmethod
    def _mix(self, corpus: Corpus) -> Float64s:
        """(documents, topics) of an aligned corpus."""

    def _score_tags(self, corpus: Corpus) -> Float64s:
        return log_likelihood_of_tags(corpus.counts, self.tag_topics_, self.topic_words_)


class ForeignBaseline(TopicBaseline):
    """A topic model that another library fits, in a process of its own."""

    _library: ClassVar[str]
    _task: ClassVar[str]
    _for_priors: ClassVar[tuple[str | None, ...]] = ()

    random_state: Any
    timeout: float | None

    def _fit_elsewhere(self, counts: Any, tags: Any) -> Arrays:
        """The answer of the fit in ``tomotopy_fits`` or ``gensim_fits``, which are given all our parameters."""
        name = type(self).__name__
        require(self._library, extra="baselines", purpose=name)
        settings = self._checked_settings()
        require_whole_counts(counts, name)
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
        task = f"tagtopic.baselines.{self._library}_fits:{self._task}"
        return run_isolated(task, arrays, settings, name=f"{name} ({self._library})", timeout=self.timeout)

    def _checked_settings(self) -> dict[str, Any]:
        """The parameters as JSON takes them, or an error for one that cannot be."""
        check_settings(self, for_priors=self._for_priors)
        settings = self.get_params(deep=False)
        del settings["random_state"], settings["timeout"]
        settings |= {name: int(value) for name, value in settings.items() if name in WHOLE_NUMBERS}
        return {**settings, "n_jobs": effective_n_jobs(self.n_jobs)}


def check_settings(model: BaseEstimator, *, for_priors: Collection[str | None] = ()) -> None:
    """Raise for a setting that cannot be; ``for_priors`` may stand where a prior's number is expected."""
    for name, value in model.get_params(deep=False).items():
        if name in WHOLE_NUMBERS:
            _check_whole(name, value, least=0 if name == "burn_in" else 1)
        elif name in POSITIVE_NUMBERS and value not in for_priors:
            check_positive(name, value)
        elif name == "dtype" and value not in DTYPES:
            raise ValueError(f"dtype={value!r}: expected {' or '.join(map(repr, DTYPES))}")


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}={value!r}: expected a whole number from {least}")


def check_positive(name: str, value: Any, hint: str = "") -> None:
    """Raise unless the value is a number above 0, and finite."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r}: expected a number above 0{hint}")


def require_whole_counts(counts: Any, name: str) -> None:
    """Raise if words are counted in fractions."""
    if counts.data.dtype.kind == "f":
        raise ValueError(f"{name} counts whole words, and the counts of this corpus are fractions")


def of_seen_words(topic_words: Floats, occurs: NDArray[np.bool_]) -> Floats:
    """Topics (words, topics) that sum to 1 over the words that occurred in training, and give the others nothing."""
    seen = topic_words * occurs[:, None]
    return np.asarray(seen / seen.sum(axis=0, dtype=np.float64))


def normalised_rows(matrix: Floats) -> Floats:
    """Rows that sum to 1; a row of zeros stays."""
    totals = matrix.sum(axis=1, keepdims=True)
    return np.asarray(matrix / np.where(totals > 0, totals, 1.0))


def checked_corpus(X: Any) -> Corpus:
    """X, or an error if it is no Corpus."""
    if not isinstance(X, Corpus):
        raise TypeError(f"a baseline takes a tagtopic.Corpus, not {type(X).__name__}: Corpus.from_counts makes one")
    return X


def without_unseen_tags(corpus: Corpus, tag_counts: Float64s) -> Corpus:
    """The corpus without the tags that no document had in training."""
    seen = tag_counts > 0
    if seen.all():
        return corpus
    target = np.where(seen, np.arange(len(seen)), -1).astype(np.int32)
    tags = move_columns(corpus.tags, target, len(seen))
    return corpus.with_matrices(tags=tags)
