"""The Correlated Topic Model.

The topic mixes of new documents under CTM: the posterior mean where the mix is softmax of a normal vector.

By elliptical slice sampling (Murray, Adams and MacKay 2010), which has no step size to choose: a circle through the
present point and a draw from the prior is shrunk until a point on it is likely enough. Each document's random numbers
come from its own words, so the result depends neither on the other documents nor on their order. (Numba can seed the
old generator of NumPy inside a kernel, one for each thread, and no other.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.threads import ThreadPool
from tagtopic.baselines.base import check_settings, of_seen_words
from tagtopic.baselines.ctm_e_step import CTMEvaluation, LogisticNormal, infer_documents
from tagtopic.baselines.fold_in import CHUNK_ENTRIES as FOLD_IN_ENTRIES
from tagtopic.baselines.fold_in import Words, words_of
from tagtopic.baselines.lda import UntaggedTopics
from tagtopic.corpus import Corpus
from tagtopic.engines.blocks import Block, blocks_of
from tagtopic.inference.m_step import ColumnIndex, add_scaled_rows
from tagtopic.models._init import start_topics, word_frequencies

BURN_IN = 50
SAMPLES = 200


@compiled
def fill_softmax(values: Float64s, out: Float64s) -> None:
    """``out = exp(values) / exp(values).sum()``."""
    largest = values.max()
    total = 0.0
    for k in range(values.shape[0]):
        out[k] = math.exp(values[k] - largest)
        total += out[k]
    for k in range(values.shape[0]):
        out[k] /= total


@compiled
def log_likelihood(rows: Float64s, counts: Floats, mix: Float64s) -> float:
    """``counts @ log(rows @ mix)``."""
    value = 0.0
    for i in range(rows.shape[0]):
        total = 0.0
        for k in range(mix.shape[0]):
            total += rows[i, k] * mix[k]
        value += counts[i] * math.log(max(total, 1e-300))
    return value


@compiled
def sample_mean_mix(
    rows: Float64s, counts: Floats, mean: Float64s, root: Float64s, burn_in: int, samples: int, out: Float64s
) -> None:
    """The mean of softmax(mean + x) over draws of x from its posterior; the prior of x has covariance root root'."""
    n_topics = mean.shape[0]
    at, mix = np.zeros(n_topics), np.empty(n_topics)
    fill_softmax(mean, mix)
    now = log_likelihood(rows, counts, mix)
    out[:] = 0
    for draw in range(burn_in + samples):
        other = root @ np.random.standard_normal(n_topics)  # noqa: NPY002
        threshold = now + math.log(1.0 - np.random.random())  # noqa: NPY002
        angle = np.random.random() * 2 * math.pi  # noqa: NPY002
        low, high = angle - 2 * math.pi, angle
        while True:
            trial = at * math.cos(angle) + other * math.sin(angle)
            fill_softmax(mean + trial, mix)
            value = log_likelihood(rows, counts, mix)
            if value > threshold or high - low < 1e-12:
                break
            if angle < 0:
                low = angle
            else:
                high = angle
            angle = low + np.random.random() * (high - low)  # noqa: NPY002
        at, now = trial, value
        if draw >= burn_in:
            for k in range(n_topics):
                out[k] += mix[k] / samples


@compiled
def sample_documents(
    documents: Words, topic_words: Floats, mean: Float64s, root: Float64s, first: int, last: int, mixes: Float64s
) -> None:
    """Fill ``mixes[first:last]``."""
    n_topics = mean.shape[0]
    for d in range(first, last):
        start, n_words = documents.starts[d], documents.starts[d + 1] - documents.starts[d]
        rows = np.empty((n_words, n_topics))
        seed = np.uint64(n_words)
        for i in range(n_words):
            word = documents.words[start + i]
            rows[i] = topic_words[word]
            seed = (seed ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(documents.counts[start + i])
        np.random.seed(np.int64(seed >> np.uint64(33)))  # noqa: NPY002
        sample_mean_mix(rows, documents.counts[start : start + n_words], mean, root, BURN_IN, SAMPLES, mixes[d])


def logistic_normal_fold_in(
    counts: Any, topic_words: Floats, mean: Float64s, covariance: Float64s, n_jobs: int | None = 1
) -> Float64s:
    """Mixes (documents, topics) of documents given as CSR counts; ``topic_words`` is (words, topics)."""
    values, vectors = np.linalg.eigh(covariance)
    root = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    documents = words_of(counts)
    mixes = np.empty((counts.shape[0], len(mean)))
    with ThreadPool(n_jobs) as workers:
        workers.map(
            lambda part: sample_documents(documents, topic_words, mean, root, *part, mixes),
            cut_evenly(documents.starts, FOLD_IN_ENTRIES),
        )
    return mixes


CHUNK_ENTRIES = 1 << 11


@dataclass
class CTMParameters:
    """psi (words, topics), mu (topics), Sigma (topics, topics)."""

    psi: Floats
    mean: Float64s
    covariance: Float64s

    def prepared(self) -> LogisticNormal:
        """As the kernels take them."""
        inverse = np.linalg.inv(self.covariance)
        precision: Float64s = np.ascontiguousarray(0.5 * (inverse + inverse.T), np.float64)
        return LogisticNormal(self.psi, self.mean, precision, float(np.linalg.slogdet(precision)[1]))


class CTMRun:
    """A corpus under inference; each document's lambda and nu are kept from one E-step to the next."""

    def __init__(self, corpus: Corpus, n_topics: int, n_jobs: int | None) -> None:
        self.blocks = list(blocks_of(corpus))
        self.means = np.zeros((len(corpus), n_topics))
        self.variances = np.ones((len(corpus), n_topics))
        self.workers = ThreadPool(n_jobs)

    def expect(self, parameters: CTMParameters, sweeps: int) -> tuple[Float64s, float]:
        """The sums of psi (words, topics), and the bound; the same bits for any number of threads."""
        model = parameters.prepared()
        sums, bound = np.zeros(parameters.psi.shape), 0.0
        for block in self.blocks:
            out = self._infer(block, model, sweeps)
            self._add(block.by_word, out, parameters.psi, sums)
            bound += float(out.bound.sum())
        return sums, bound

    def _infer(self, block: Block, model: LogisticNormal, sweeps: int) -> CTMEvaluation:
        out = CTMEvaluation(
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

    def _add(self, index: ColumnIndex, out: CTMEvaluation, psi: Floats, sums: Float64s) -> None:
        ordered = np.empty_like(out.ratios)
        ordered[index.slots] = out.ratios
        self.workers.map(
            lambda part: add_scaled_rows(index, part[0], part[1], ordered, out.weights, psi, sums),
            cut_evenly(index.starts, CHUNK_ENTRIES),
        )

    def gaussian(self) -> tuple[Float64s, Float64s]:
        """Mu and Sigma of most likelihood."""
        mean = self.means.mean(axis=0)
        away = self.means - mean
        covariance = away.T @ away / len(away) + np.diag(self.variances.mean(axis=0))
        return mean, covariance


class CTM(UntaggedTopics):
    """CTM (Blei and Lafferty 2005): topics that go together, by a logistic normal prior that is learnt.

    By variational EM as in the article. (tomotopy samples it, and hardly mixes from 50 topics on: after 400 sweeps on
    IMDB it predicted words worse than their plain frequencies; docs/decisions/baselines-implementation.md.)

    Parameters
    ----------
    n_topics:
        How many topics.
    max_iter, tol:
        EM ends after ``max_iter`` iterations, or when the bound's relative rise in one is at most ``tol``.
    tags_as_words:
        Take a document's tags as further words of it.
    sweeps:
        Passes over a document in each E-step.
    topic_word_prior:
        Prior count of each topic's words: a mean, spread by how often they are used.
    dtype:
        Of the topics: ``"float32"`` or ``"float64"``.
    n_jobs:
        Threads; None is all cores. The result is the same bits for any number.
    random_state:
        Seed of the start.

    Learnt besides: ``topic_mean_``, ``topic_covariance_``, ``bound_`` (one number an iteration), which never falls,
    ``n_iter_``, ``converged_``.

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

    def _learn_topics(self, counts: Any) -> Floats:
        check_settings(self)
        corpus = Corpus.from_counts(counts, fractional=True)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        frequencies = word_frequencies(corpus)
        topics = start_topics(corpus, frequencies, self.n_topics, "merged", np.random.default_rng(seed), self.n_jobs)
        parameters = CTMParameters(topics.astype(self.dtype), np.zeros(self.n_topics), np.eye(self.n_topics))
        parameters = self._iterate(corpus, parameters, self.topic_word_prior * corpus.n_words * frequencies)
        self.topic_mean_, self.topic_covariance_ = parameters.mean, parameters.covariance
        occurs = np.bincount(counts.indices, minlength=counts.shape[1]) > 0
        return of_seen_words(parameters.psi, occurs).astype(self.dtype)

    def _iterate(self, corpus: Corpus, parameters: CTMParameters, prior: Float64s) -> CTMParameters:
        bounds: list[float] = []
        self.converged_ = False
        run = CTMRun(corpus, self.n_topics, self.n_jobs)
        with run.workers:
            while len(bounds) < self.max_iter and not self.converged_:
                sums, bound = run.expect(parameters, self.sweeps)
                bounds.append(bound + float(prior @ np.log(parameters.psi, dtype=np.float64).sum(axis=1)))
                self.converged_ = len(bounds) > 1 and bounds[-1] - bounds[-2] <= self.tol * abs(bounds[-2])
                sums += prior[:, None]
                parameters = CTMParameters((sums / sums.sum(axis=0)).astype(self.dtype), *run.gaussian())
        self.bound_, self.n_iter_ = np.array(bounds), len(bounds)
        self._fitted_mixes = softmax(run.means, axis=1)
        return parameters

    def _training_mixes(self, corpus: Corpus) -> Float64s:
        mixes: Float64s = self._fitted_mixes
        del self._fitted_mixes
        return mixes

    def _fold_in(self, counts: Any) -> Float64s:
        return logistic_normal_fold_in(
            counts, self.column_topics_, self.topic_mean_, self.topic_covariance_, self.n_jobs
        )
