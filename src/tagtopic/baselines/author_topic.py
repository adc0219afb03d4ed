"""The Author-Topic model, by collapsed Gibbs sampling or by gensim."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, offsets_of
from tagtopic._core.estimator import check_random_state
from tagtopic.baselines.base import (
    ExternalBaseline,
    check_positive,
    check_settings,
    check_whole_counts,
    normalise_rows,
    restrict_to_seen_words,
)
from tagtopic.baselines.fold_in import fold_in
from tagtopic.baselines.gibbs import Tokens, random_state, sweep_tags_and_topics
from tagtopic.corpus import Corpus

METHODS = ("gibbs", "gensim")
ARTICLE_PRIOR = 50.0
"""Rosen-Zvi et al.: the prior of an author's topics is 50 / n_topics."""


class AuthorTopic(ExternalBaseline):
    """The Author-Topic model, with tags as authors: each word is written by one of them.

    Authors are equally likely for each word, so the topic mix of a document is the mean of its tags' mixes and does
    not depend on its words. A document without known tags is inferred as the work of an unknown author under the
    model's prior; in training it gets an author of its own.

    Parameters
    ----------
    n_topics : int, default 50
        Number of topics.
    method : {"gibbs", "gensim"}, default "gibbs"
        Collapsed Gibbs sampling, as in the article, or gensim's variational inference, which takes far longer and
        gives worse results (on IMDB with 50 topics perplexity 6440 after 5 passes; word frequencies alone have about
        6350).
    sweeps : int, default 500
        Gibbs sweeps over the corpus.
    passes : int, default 100
        gensim's passes over the corpus.
    iterations : int, default 1
        gensim's updates of a document's authors in each pass.
    starts : int, default 1
        Random initialisations of gensim, of which the one with the highest likelihood is kept (on a planted corpus
        one of four found the topics).
    tag_topic_prior : float or str, optional
        Dirichlet prior of a tag's topics; for gensim also ``"symmetric"``, ``"asymmetric"`` or ``"auto"``. By default
        50 / n_topics, as in the article.
    topic_word_prior : float or str, default 0.01
        Dirichlet prior of a topic's words; for gensim also ``"symmetric"`` or ``"auto"``.
    timeout : float, optional
        Time limit of gensim in seconds.
    random_state : int, RandomState or None, default None
        Seed.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Word distribution of each topic.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        Topic distribution of each tag.
    topic_prior_ : ndarray of shape (n_topics,)
        Dirichlet prior of a tag's topics.

    References
    ----------
    Rosen-Zvi, M., Griffiths, T., Steyvers, M. and Smyth, P. (2004). The author-topic model for authors and documents.
    Proceedings of the 20th Conference on Uncertainty in Artificial Intelligence, 487-494.

    Examples
    --------
    >>> from tagtopic.baselines import AuthorTopic
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = AuthorTopic(3, sweeps=20, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 3)
    """

    _library = "gensim"
    _task = "fit_author_topic"
    _named_priors = (None, "symmetric", "asymmetric", "auto")
    topic_prior_: Float64s
    n_jobs = 1

    def __init__(
        self,
        n_topics: int = 50,
        *,
        method: str = "gibbs",
        sweeps: int = 500,
        passes: int = 100,
        iterations: int = 1,
        starts: int = 1,
        tag_topic_prior: float | str | None = None,
        topic_word_prior: float | str = 0.01,
        timeout: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.method = method
        self.sweeps = sweeps
        self.passes = passes
        self.iterations = iterations
        self.starts = starts
        self.tag_topic_prior = tag_topic_prior
        self.topic_word_prior = topic_word_prior
        self.timeout = timeout
        self.random_state = random_state

    def _fit(self, corpus: Corpus) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r}: expected one of {', '.join(map(repr, METHODS))}")
        if not corpus.tags.nnz:
            raise ValueError("AuthorTopic learns what authors write of, and no document has a tag")
        if self.method == "gibbs":
            word_topics = self._sample(corpus)
        else:
            found = self._fit_external(corpus.counts, corpus.tags)
            word_topics = found["topic_words"]
            self.topic_prior_, self.tag_topics_ = found["topic_prior"], found["tag_topics"]
        self.components_ = np.ascontiguousarray(
            restrict_to_seen_words(word_topics, self.word_counts_ > 0), np.float32
        ).T

    def _sample(self, corpus: Corpus) -> Float64s:
        """Sample topics and set ``tag_topics_``; return the (words, topics) counts of the last sweep, smoothed."""
        check_settings(self, named_priors=self._named_priors)
        check_whole_counts(corpus.counts, "AuthorTopic")
        prior = _number("tag_topic_prior", self._tag_topic_prior())
        smoothing = _number("topic_word_prior", self.topic_word_prior)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        tokens = Tokens.of(corpus.counts, self.n_topics, rng)
        starts, tags, n_tags = _authors(corpus)
        documents = tokens.documents()
        places = starts[documents] + (rng.random(len(documents)) * np.diff(starts)[documents]).astype(np.int64)
        token_tags = tags[places]
        tag_topics = tokens.topic_counts(token_tags, n_tags, self.n_topics)
        word_topics = tokens.topic_counts(tokens.words, corpus.n_words, self.n_topics)
        tag_totals, totals = tag_topics.sum(axis=1, dtype=np.int64), word_topics.sum(axis=0, dtype=np.int64)
        state = random_state(rng)
        for _ in range(self.sweeps):
            sweep_tags_and_topics(
                tokens.starts, tokens.words, tokens.topics, token_tags, starts, tags, tag_topics, tag_totals,
                word_topics, totals, prior, smoothing, state,
            )  # fmt: skip
        self.topic_prior_ = np.full(self.n_topics, prior)
        self.tag_topics_ = normalise_rows(tag_topics[: corpus.n_tags] + prior)
        self.tag_topics_[self.tag_counts_ == 0] = 0.0
        return np.asarray(word_topics + smoothing, np.float64)

    def _tag_topic_prior(self) -> float | str:
        return ARTICLE_PRIOR / self.n_topics if self.tag_topic_prior is None else self.tag_topic_prior

    def _checked_settings(self) -> dict[str, Any]:
        return super()._checked_settings() | {"tag_topic_prior": self._tag_topic_prior()}

    def _topic_mixes(self, corpus: Corpus) -> Float64s:
        mixes = np.asarray(normalise_rows(corpus.tags.astype(np.float64) @ self.tag_topics_), np.float64)
        unknown = np.flatnonzero(mixes.sum(axis=1) == 0)
        if len(unknown):
            mixes[unknown] = fold_in(corpus[unknown].counts, self.topic_words_, self.topic_prior_)
        return mixes


def _authors(corpus: Corpus) -> tuple[Any, Any, int]:
    """Return offsets and columns of each document's tags; an untagged document gets a column of its own at the end."""
    sizes = np.diff(corpus.tags.indptr)
    starts = offsets_of(np.maximum(sizes, 1))
    tags = np.empty(starts[-1], np.int32)
    is_tag = np.repeat(sizes > 0, np.maximum(sizes, 1))
    tags[is_tag] = corpus.tags.indices
    n_untagged = int((sizes == 0).sum())
    tags[~is_tag] = corpus.n_tags + np.arange(n_untagged, dtype=np.int32)
    return starts, tags, corpus.n_tags + n_untagged


def _number(name: str, value: float | str) -> float:
    check_positive(name, value, hint=" (words such as 'auto' are gensim's)")
    return float(value)
