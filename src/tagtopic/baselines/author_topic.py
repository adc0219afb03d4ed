"""The Author-Topic model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tagtopic._core.arrays import Float64s, offsets_of
from tagtopic.baselines.base import (
    ForeignBaseline,
    check_positive,
    check_settings,
    normalised_rows,
    of_seen_words,
    require_whole_counts,
)
from tagtopic.baselines.fold_in import fold_in
from tagtopic.baselines.gibbs import Tokens, random_state, sweep_tags
from tagtopic.corpus import Corpus

METHODS = ("gibbs", "gensim")
ARTICLES_PRIOR = 50.0


class AuthorTopic(ForeignBaseline):
    """The Author-Topic model (Rosen-Zvi et al. 2004), the tags as authors: each word has one of them.

    Authors are equally likely for each word, so a document's mix is the plain mean of its tags' mixes and its words
    have no say in it. A document without known tags is taken as by an author never met, whose prior is the model's; in
    training as by an author of its own.

    Parameters
    ----------
    n_topics:
        How many topics.
    method:
        ``"gibbs"``, as in the article, or ``"gensim"``: that library's variational inference, which needs far longer
        and comes out worse (on IMDB with 50 topics perplexity 6440 after 5 passes, where plain word frequencies have
        about 6350).
    sweeps:
        Gibbs sweeps over the corpus.
    passes, iterations, starts:
        gensim's passes over the corpus, updates of a document's authors in each, and random starts, of which the
        likeliest is kept (on a planted corpus one of four found the topics).
    tag_topic_prior, topic_word_prior:
        Dirichlet priors: numbers, or for gensim also ``"symmetric"``, ``"asymmetric"`` (tags only) and ``"auto"``.
        None is 50 / n_topics for a tag's topics, as in the article.
    timeout:
        Seconds that gensim may take.
    random_state:
        Seed.

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
    _for_priors = (None, "symmetric", "asymmetric", "auto")
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

    def _learn(self, corpus: Corpus) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r}: expected one of {', '.join(map(repr, METHODS))}")
        if not corpus.tags.nnz:
            raise ValueError("AuthorTopic learns what authors write of, and no document has a tag")
        if self.method == "gibbs":
            word_topics = self._sample(corpus)
        else:
            found = self._fit_elsewhere(corpus.counts, corpus.tags)
            word_topics = found["topic_words"]
            self.topic_prior_, self.tag_topics_ = found["topic_prior"], found["tag_topics"]
        self.components_ = np.ascontiguousarray(of_seen_words(word_topics, self.word_counts_ > 0), np.float32).T

    def _sample(self, corpus: Corpus) -> Float64s:
        """Words by topics, after the last sweep; sets ``tag_topics_`` on the way."""
        check_settings(self, for_priors=self._for_priors)
        require_whole_counts(corpus.counts, "AuthorTopic")
        prior = _number("tag_topic_prior", self._tag_topic_prior())
        smoothing = _number("topic_word_prior", self.topic_word_prior)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        tokens = Tokens.of(corpus.counts, self.n_topics, rng)
        starts, tags, n_tags = _authors(corpus)
        owners = tokens.owners()
        places = starts[owners] + (rng.random(len(owners)) * np.diff(starts)[owners]).astype(np.int64)
        chosen = tags[places]
        tag_topics = tokens.table(chosen, n_tags, self.n_topics)
        word_topics = tokens.table(tokens.words, corpus.n_words, self.n_topics)
        tag_totals, totals = tag_topics.sum(axis=1, dtype=np.int64), word_topics.sum(axis=0, dtype=np.int64)
        state = random_state(rng)
        for _ in range(self.sweeps):
            sweep_tags(
                tokens.starts, tokens.words, tokens.topics, chosen, starts, tags, tag_topics, tag_totals, word_topics,
                totals, prior, smoothing, state,
            )  # fmt: skip
        self.topic_prior_ = np.full(self.n_topics, prior)
        self.tag_topics_ = normalised_rows(tag_topics[: corpus.n_tags] + prior)
        self.tag_topics_[self.tag_counts_ == 0] = 0.0
        return np.asarray(word_topics + smoothing, np.float64)

    def _tag_topic_prior(self) -> float | str:
        return ARTICLES_PRIOR / self.n_topics if self.tag_topic_prior is None else self.tag_topic_prior

    def _checked_settings(self) -> dict[str, Any]:
        return super()._checked_settings() | {"tag_topic_prior": self._tag_topic_prior()}

    def _mix(self, corpus: Corpus) -> Float64s:
        mixes = np.asarray(normalised_rows(corpus.tags.astype(np.float64) @ self.tag_topics_), np.float64)
        unknown = np.flatnonzero(mixes.sum(axis=1) == 0)
        if len(unknown):
            mixes[unknown] = fold_in(corpus[unknown].counts, self.topic_words_, self.topic_prior_)
        return mixes


def _authors(corpus: Corpus) -> tuple[Any, Any, int]:
    """Starts and columns of each document's tags; a document without gets a column of its own, after the tags."""
    sizes = np.diff(corpus.tags.indptr)
    starts = offsets_of(np.maximum(sizes, 1))
    tags = np.empty(starts[-1], np.int32)
    own = np.repeat(sizes > 0, np.maximum(sizes, 1))
    tags[own] = corpus.tags.indices
    alone = np.flatnonzero(sizes == 0)
    tags[~own] = corpus.n_tags + np.arange(len(alone), dtype=np.int32)
    return starts, tags, corpus.n_tags + len(alone)


def _number(name: str, value: float | str) -> float:
    check_positive(name, value, hint=" (words such as 'auto' are gensim's)")
    return float(value)
