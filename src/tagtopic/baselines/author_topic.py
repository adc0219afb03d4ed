"""The Author-Topic model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic.baselines.base import ForeignBaseline, normalised_rows
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus
from tagtopic.inference.arrays import Float64s


class AuthorTopic(ForeignBaseline):
    """The Author-Topic model (Rosen-Zvi et al. 2004) by gensim, the tags as authors: each word has one of them.

    Authors are equally likely for each word, so a document's mix is the plain mean of its tags' mixes and its words
    have no say in it. A document without known tags is taken as by an author never met, whose prior is the model's.

    Parameters
    ----------
    n_topics:
        How many topics.
    passes, iterations:
        Passes over the corpus, and updates of a document's authors in each; the defaults are those of gensim's
        tutorial.
    starts:
        Fits from so many random starts, of which the likeliest is kept. What gensim finds depends much on its start:
        on a planted corpus one of four found the topics. (Its tutorial takes the most coherent of five.)
    tag_topic_prior, topic_word_prior:
        Dirichlet priors, as gensim takes them: a number, ``"symmetric"``, ``"asymmetric"`` (tags only) or ``"auto"``
        (learnt).
    timeout, random_state:
        As in LDA.
    """

    _library = "gensim"
    _task = "fit_author_topic"
    topic_prior_: Float64s
    n_jobs = 1

    def __init__(
        self,
        n_topics: int = 50,
        *,
        passes: int = 100,
        iterations: int = 1,
        starts: int = 1,
        tag_topic_prior: float | str = "symmetric",
        topic_word_prior: float | str = "symmetric",
        timeout: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.passes = passes
        self.iterations = iterations
        self.starts = starts
        self.tag_topic_prior = tag_topic_prior
        self.topic_word_prior = topic_word_prior
        self.timeout = timeout
        self.random_state = random_state

    def _learn(self, corpus: Corpus) -> None:
        if not corpus.tags.nnz:
            raise ValueError("AuthorTopic learns what authors write of, and no document has a tag")
        found = self._fit_elsewhere(corpus.counts, corpus.tags)
        # gensim gives words that never occurred a share of every topic
        seen = found["topic_words"] * (self.word_counts_ > 0)[:, None]
        self.components_ = np.ascontiguousarray(seen / seen.sum(axis=0), np.float32).T
        self.topic_prior_, self.tag_topics_ = found["topic_prior"], found["tag_topics"]

    def _mix(self, corpus: Corpus) -> Float64s:
        mixes = np.asarray(normalised_rows(corpus.tags.astype(np.float64) @ self.tag_topics_), np.float64)
        unknown = np.flatnonzero(mixes.sum(axis=1) == 0)
        if len(unknown):
            mixes[unknown] = fold_in(corpus[unknown].counts, self.topic_words_, self.topic_prior_)
        return mixes
