"""The Correlated Topic Model by variational EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.estimator import check_random_state
from tagtopic._core.parallel import ThreadPool, cut_evenly
from tagtopic.baselines.base import check_settings, restrict_to_seen_words
from tagtopic.baselines.ctm_inference import CTMPosteriors, LogisticNormal, fold_in_logistic_normal, infer_documents
from tagtopic.baselines.lda import BagOfWordsBaseline
from tagtopic.corpus import Corpus
from tagtopic.engines.blocks import Block, blocks_of
from tagtopic.inference.m_step import ColumnIndex, add_scaled_rows
from tagtopic.models._init import initial_topics, word_frequencies

CHUNK_ENTRIES = 1 << 11


@dataclass
class CTMParameters:
    """psi (words, topics), mu (topics), Sigma (topics, topics)."""

    psi: Floats
    mean: Float64s
    covariance: Float64s

    def for_kernels(self) -> LogisticNormal:
        """Return the parameters in the form that kernels take."""
        inverse = np.linalg.inv(self.covariance)
        precision: Float64s = np.ascontiguousarray(0.5 * (inverse + inverse.T), np.float64)
        return LogisticNormal(self.psi, self.mean, precision, float(np.linalg.slogdet(precision)[1]))


class CTMSession:
    """A corpus under inference; the lambda and nu of each document are kept between E-steps."""

    def __init__(self, corpus: Corpus, n_topics: int, n_jobs: int | None) -> None:
        self.blocks = list(blocks_of(corpus))
        self.means = np.zeros((len(corpus), n_topics))
        self.variances = np.ones((len(corpus), n_topics))
        self.workers = ThreadPool(n_jobs)

    def e_step(self, parameters: CTMParameters, sweeps: int) -> tuple[Float64s, float]:
        """Return the statistics of psi (words, topics) and the bound; the number of threads changes no bit."""
        model = parameters.for_kernels()
        statistics, bound = np.zeros(parameters.psi.shape), 0.0
        for block in self.blocks:
            out = self._infer(block, model, sweeps)
            self._add_statistics(block.by_word, out, parameters.psi, statistics)
            bound += float(out.bound.sum())
        return statistics, bound

    def _infer(self, block: Block, model: LogisticNormal, sweeps: int) -> CTMPosteriors:
        out = CTMPosteriors(
            np.empty((block.n_documents, len(model.mean)), model.psi.dtype),
            np.empty(block.word_entries, model.psi.dtype),
            np.empty(block.n_documents),
        )
        means, variances = self.means[block.first : block.last], self.variances[block.first : block.last]
        self.workers.map(
            lambda part: infer_documents(block.documents, part[0], part[1], model, means, variances, out, sweeps),
            cut_evenly(block.documents.word_starts, CHUNK_ENTRIES),
        )
        return out

    def _add_statistics(self, index: ColumnIndex, out: CTMPosteriors, psi: Floats, statistics: Float64s) -> None:
        ordered = np.empty_like(out.ratios)
        ordered[index.slots] = out.ratios
        self.workers.map(
            lambda part: add_scaled_rows(index, part[0], part[1], ordered, out.weights, psi, statistics),
            cut_evenly(index.starts, CHUNK_ENTRIES),
        )

    def gaussian(self) -> tuple[Float64s, Float64s]:
        """Return the maximum-likelihood mu and Sigma."""
        mean = self.means.mean(axis=0)
        deviation = self.means - mean
        covariance = deviation.T @ deviation / len(deviation) + np.diag(self.variances.mean(axis=0))
        return mean, covariance


class CTM(BagOfWordsBaseline):
    """Correlated Topic Model: correlations between topics, by a learnt logistic normal prior.

    Fitted by variational EM as in the article. (tomotopy samples the model, and its chain hardly mixes from 50 topics
    on: after 400 sweeps on IMDB it predicted words worse than their frequencies;
    docs/decisions/baselines-implementation.md.)

    Parameters
    ----------
    n_topics : int, default 50
        Number of topics.
    max_iter : int, default 100
        Maximum number of EM iterations.
    tol : float, default 1e-4
        EM stops when an iteration increases the bound by at most this relative amount.
    tags_as_words : bool, default False
        Add a document's tags to its bag of words.
    sweeps : int, default 2
        Sweeps over a document in each E-step.
    topic_word_prior : float, default 0.1
        Mean prior count of a topic's words, distributed in proportion to their frequencies.
    dtype : {"float32", "float64"}, default "float32"
        Precision of the topics.
    n_jobs : int or None, default None
        Threads; None uses all cores. The result does not depend on it, bit for bit.
    random_state : int, RandomState or None, default None
        Seed of the initialisation.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_words)
        Word distribution of each topic.
    tag_topics_ : ndarray of shape (n_tags, n_topics)
        Mean topic mix of each tag's documents.
    topic_mean_ : ndarray of shape (n_topics,)
        Mean of the logistic normal prior.
    topic_covariance_ : ndarray of shape (n_topics, n_topics)
        Covariance of the logistic normal prior.
    bound_ : ndarray of shape (n_iterations,)
        The variational bound after each iteration; it never decreases.
    n_iter_ : int
        Number of EM iterations.
    converged_ : bool
        Whether EM stopped because of ``tol``.

    References
    ----------
    Blei, D. M. and Lafferty, J. D. (2007). A correlated topic model of Science. The Annals of Applied Statistics
    1(1), 17-35.

    Examples
    --------
    >>> from tagtopic.baselines import CTM
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = CTM(3, max_iter=3, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 3)
    """

    topic_mean_: Float64s
    topic_covariance_: Float64s

    def __init__(
        self,
        n_topics: int = 50,
        *,
        max_iter: int = 100,
        tol: float = 1e-4,
        tags_as_words: bool = False,
        sweeps: int = 2,
        topic_word_prior: float = 0.1,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.max_iter = max_iter
        self.tol = tol
        self.tags_as_words = tags_as_words
        self.sweeps = sweeps
        self.topic_word_prior = topic_word_prior
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_topics(self, counts: Any) -> Floats:
        check_settings(self)
        corpus = Corpus.from_counts(counts, fractional=True)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        frequencies = word_frequencies(corpus)
        topics = initial_topics(corpus, frequencies, self.n_topics, "merged", np.random.default_rng(seed), self.n_jobs)
        parameters = CTMParameters(topics.astype(self.dtype), np.zeros(self.n_topics), np.eye(self.n_topics))
        parameters = self._iterate(corpus, parameters, self.topic_word_prior * corpus.n_words * frequencies)
        self.topic_mean_, self.topic_covariance_ = parameters.mean, parameters.covariance
        occurs = np.bincount(counts.indices, minlength=counts.shape[1]) > 0
        return restrict_to_seen_words(parameters.psi, occurs).astype(self.dtype)

    def _iterate(self, corpus: Corpus, parameters: CTMParameters, prior: Float64s) -> CTMParameters:
        bounds: list[float] = []
        self.converged_ = False
        session = CTMSession(corpus, self.n_topics, self.n_jobs)
        with session.workers:
            while len(bounds) < self.max_iter and not self.converged_:
                statistics, bound = session.e_step(parameters, self.sweeps)
                bounds.append(bound + float(prior @ np.log(parameters.psi, dtype=np.float64).sum(axis=1)))
                self.converged_ = len(bounds) > 1 and bounds[-1] - bounds[-2] <= self.tol * abs(bounds[-2])
                statistics += prior[:, None]
                parameters = CTMParameters(
                    (statistics / statistics.sum(axis=0)).astype(self.dtype), *session.gaussian()
                )
        self.bound_, self.n_iter_ = np.array(bounds), len(bounds)
        self._fitted_mixes = softmax(session.means, axis=1)
        return parameters

    def _training_mixes(self, corpus: Corpus) -> Float64s:
        mixes: Float64s = self._fitted_mixes
        del self._fitted_mixes
        return mixes

    def _fold_in(self, counts: Any) -> Float64s:
        return fold_in_logistic_normal(
            counts, self.column_topics_, self.topic_mean_, self.topic_covariance_, self.n_jobs
        )
