"""Corr-LDA: topics of tags, and words that are each written for one of the tags.

The E-step of Corr-LDA: which topic each tag of a document stands for, and which tag each word was written for.

Names as in Blei and Jordan (2003), with a document's tags as the image's regions and its words as the caption:

    alpha    Dirichlet prior of a document's topics
    tau      topic -> tags           (tags, topics), a topic's column sums to 1
    psi      topic -> words          (words, topics), a topic's column sums to 1
    gamma    a document's Dirichlet posterior over topics
    phi      tag n of a document -> topics
    lambda   word m of a document -> its tags

One sweep, each line the best answer to the others:

    gamma_k   = alpha_k + sum_n phi_nk
    lambda_mn ∝ exp(sum_k phi_nk log psi_mk)
    phi_nk    ∝ tau_nk exp(Psi(gamma_k) - Psi(sum gamma) + sum_m c_m lambda_mn log psi_mk)

The readable twin is in ``reference.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.threads import ThreadPool
from tagtopic.baselines.base import TopicBaseline, check_settings, normalised_rows, of_seen_words
from tagtopic.baselines.fold_in import fold_in
from tagtopic.corpus import Corpus
from tagtopic.engines.blocks import Block, blocks_of
from tagtopic.inference.m_step import ColumnIndex, add_scaled_rows
from tagtopic.inference.priors.latent_topics import update_latent_prior
from tagtopic.inference.special import digamma
from tagtopic.inference.types import Documents
from tagtopic.models._init import start_topics, word_frequencies


class CorrModel(NamedTuple):
    """What the E-step needs to know: log psi (words, topics), log tau (tags, topics), alpha (topics)."""

    log_psi: Floats
    log_tau: Floats
    alpha: Float64s


class CorrEvaluation(NamedTuple):
    """All at one phi: lambda phi by (document, word) entry, E[log theta] and the bound by document."""

    word_topics: Floats
    log_topics: Float64s
    objective: Float64s


@compiled_reordering
def match_words(log_rows: Floats, phi: Floats, shares: Floats) -> None:
    """``shares = log_rows @ phi.T``: what each word would say to each tag's topics."""
    zero = phi[0, 0] * 0
    for i in range(log_rows.shape[0]):
        for j in range(phi.shape[0]):
            total = zero
            for k in range(phi.shape[1]):
                total += log_rows[i, k] * phi[j, k]
            shares[i, j] = total


@compiled_reordering
def add_words(log_rows: Floats, counts: Floats, shares: Floats, scores: Floats) -> None:
    """``scores += (counts[:, None] * shares).T @ log_rows``."""
    for i in range(log_rows.shape[0]):
        for j in range(shares.shape[1]):
            weight = counts[i] * shares[i, j]
            for k in range(log_rows.shape[1]):
                scores[j, k] += weight * log_rows[i, k]


@compiled
def normalise_exponents(values: Floats) -> float:
    """Softmax in place; returns the logarithm of the sum of exponents."""
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    total = 0.0
    for i in range(values.shape[0]):
        values[i] = math.exp(values[i] - largest)
        total += values[i]
    for i in range(values.shape[0]):
        values[i] /= total
    return float(largest) + math.log(total)


@compiled
def expected_logs(gamma: Float64s, out: Float64s) -> None:
    """E[log theta] under Dir(gamma)."""
    centre = digamma(gamma.sum())
    for k in range(gamma.shape[0]):
        out[k] = digamma(gamma[k]) - centre


@compiled
def dirichlet_gain(gamma: Float64s, alpha: Float64s) -> float:
    """Log B(gamma) - log B(alpha), with B the Dirichlet's normaliser: what theta adds to the bound at its best."""
    value = math.lgamma(alpha.sum()) - math.lgamma(gamma.sum())
    for k in range(gamma.shape[0]):
        value += math.lgamma(gamma[k]) - math.lgamma(alpha[k])
    return value


@compiled
def tag_gain(log_tau: Floats, phi: Floats) -> float:
    """Sum phi (log tau - log phi) over a document's tags."""
    value = 0.0
    for j in range(phi.shape[0]):
        for k in range(phi.shape[1]):
            if phi[j, k] > 0:
                value += phi[j, k] * (log_tau[j, k] - math.log(phi[j, k]))
    return value


@compiled
def sweep_corr_document(
    log_rows: Floats,
    counts: Floats,
    log_tau: Floats,
    alpha: Float64s,
    phi: Floats,
    shares: Floats,
    log_topics: Float64s,
    sweeps: int,
    tolerance: float,
) -> float:
    """Sweep one document; returns its bound at the phi it leaves, with ``shares`` and ``log_topics`` best for it."""
    n_tags, n_topics = phi.shape
    gamma = np.empty(n_topics)
    scores = np.empty((n_tags, n_topics), phi.dtype)
    words = 0.0
    for sweep in range(sweeps + 1):
        gamma[:] = alpha
        for j in range(n_tags):
            for k in range(n_topics):
                gamma[k] += phi[j, k]
        expected_logs(gamma, log_topics)
        match_words(log_rows, phi, shares)
        words = 0.0
        for i in range(log_rows.shape[0]):
            words += counts[i] * (normalise_exponents(shares[i]) - math.log(n_tags))
        if sweep == sweeps:
            break
        for j in range(n_tags):
            for k in range(n_topics):
                scores[j, k] = log_tau[j, k] + log_topics[k]
        add_words(log_rows, counts, shares, scores)
        moved = 0.0
        for j in range(n_tags):
            normalise_exponents(scores[j])
            for k in range(n_topics):
                moved += abs(scores[j, k] - phi[j, k])
                phi[j, k] = scores[j, k]
        if moved <= tolerance * n_tags:
            sweeps = sweep + 1
    return words + tag_gain(log_tau, phi) + dirichlet_gain(gamma, alpha)


@compiled
def infer_corr_documents(
    documents: Documents,
    first: int,
    last: int,
    model: CorrModel,
    all_phi: Floats,
    out: CorrEvaluation,
    sweeps: int,
    tolerance: float,
) -> None:
    """Sweep documents ``first:last`` from their phi; leave it moved on and ``out`` filled. Each needs a tag.

    ``all_phi`` has a row for each (document, tag) entry of these documents.
    """
    n_topics, dtype = model.log_psi.shape[1], model.log_psi.dtype
    word_base, tag_base = documents.word_starts[0], documents.tag_starts[0]
    for d in range(first, last):
        word_start, n_words = documents.word_starts[d], documents.word_starts[d + 1] - documents.word_starts[d]
        tag_start, n_tags = documents.tag_starts[d], documents.tag_starts[d + 1] - documents.tag_starts[d]
        log_rows, counts = np.empty((n_words, n_topics), dtype), np.empty(n_words, dtype)
        log_tau, shares = np.empty((n_tags, n_topics), dtype), np.empty((n_words, n_tags), dtype)
        for i in range(n_words):
            counts[i] = documents.counts[word_start + i]
            log_rows[i] = model.log_psi[documents.words[word_start + i]]
        for j in range(n_tags):
            log_tau[j] = model.log_tau[documents.tags[tag_start + j]]
        phi = all_phi[tag_start - tag_base : tag_start - tag_base + n_tags]
        out.objective[d] = sweep_corr_document(
            log_rows, counts, log_tau, model.alpha, phi, shares, out.log_topics[d], sweeps, tolerance
        )
        for i in range(n_words):
            row = out.word_topics[word_start - word_base + i]
            row[:] = 0
            for j in range(n_tags):
                for k in range(n_topics):
                    row[k] += shares[i, j] * phi[j, k]


BLOCK_ENTRIES = 1 << 16
CHUNK_ENTRIES = 1 << 11
INFERENCE_SWEEPS, INFERENCE_TOLERANCE = 200, 1e-5
WARM_UP = 20
"""Iterations before alpha is learnt."""

MEAN_PRIOR = 0.1
"""Where alpha starts, and the mean prior count of a topic's words and tags: what TWDA has for its words."""


@dataclass
class CorrParameters:
    """psi (words, topics), tau (tags, topics), alpha (topics); names as in ``corr_e_step``."""

    psi: Floats
    tau: Floats
    alpha: Float64s


@dataclass
class CorrStatistics:
    """Sums of one E-step: psi (words, topics), tau (tags, topics), E[log theta] (topics), and the bound."""

    psi: Float64s
    tau: Float64s
    log_topics: Float64s
    bound: float


class CorrRun:
    """A corpus of tagged documents under inference; phi is kept from one E-step to the next."""

    def __init__(self, corpus: Corpus, phi: Floats, n_jobs: int | None) -> None:
        self.corpus = corpus
        self.blocks = list(blocks_of(corpus, BLOCK_ENTRIES))
        self.phi = phi
        self.workers = ThreadPool(n_jobs)

    def expect(self, parameters: CorrParameters, sweeps: int, tolerance: float = 0.0) -> CorrStatistics:
        """The E-step, and the sums for the M-step; the same bits for any number of threads."""
        n_topics = len(parameters.alpha)
        sums = CorrStatistics(np.zeros(parameters.psi.shape), np.zeros(parameters.tau.shape), np.zeros(n_topics), 0.0)
        for block, phi, out in self.infer(parameters, sweeps, tolerance):
            starts = block.documents.word_starts
            self._add(block.by_word, block.documents.counts[starts[0] : starts[-1]], out.word_topics, sums.psi)
            self._add(block.by_tag, np.ones(len(phi)), phi, sums.tau)
            sums.log_topics += out.log_topics.sum(axis=0)
            sums.bound += float(out.objective.sum())
        return sums

    def infer(
        self, parameters: CorrParameters, sweeps: int, tolerance: float = 0.0
    ) -> Iterator[tuple[Block, Floats, CorrEvaluation]]:
        """Sweep the documents block by block; each with its phi and what was found."""
        log_psi = np.log(np.maximum(parameters.psi, np.finfo(parameters.psi.dtype).tiny))  # 0: of words not in training
        model = CorrModel(log_psi, np.log(parameters.tau), parameters.alpha)
        for block in self.blocks:
            phi = self.phi[slice(*block.tag_range)]
            yield block, phi, self._infer_block(block, model, phi, sweeps, tolerance)

    def _infer_block(
        self, block: Block, model: CorrModel, phi: Floats, sweeps: int, tolerance: float
    ) -> CorrEvaluation:
        n_topics = len(model.alpha)
        out = CorrEvaluation(
            word_topics=np.empty((block.word_entries, n_topics), model.log_psi.dtype),
            log_topics=np.empty((block.n_documents, n_topics)),
            objective=np.empty(block.n_documents),
        )
        self.workers.map(
            lambda part: infer_corr_documents(block.documents, *part, model, phi, out, sweeps, tolerance),
            cut_evenly(block.documents.word_starts, CHUNK_ENTRIES),
        )
        return out

    def _add(self, index: ColumnIndex, values: Any, vectors: Floats, sums: Float64s) -> None:
        """Add each entry's vector, times its value, to the row of its column."""
        # here the vectors belong to the entries themselves, not to their documents
        entries = np.empty(len(index.slots), np.int32)
        entries[index.slots] = np.arange(len(entries), dtype=np.int32)
        ordered = np.asarray(values, vectors.dtype)[entries]
        by_entry, no_factor = index._replace(rows=entries), np.empty((0, vectors.shape[1]), vectors.dtype)
        self.workers.map(
            lambda part: add_scaled_rows(by_entry, *part, ordered, vectors, no_factor, sums),
            cut_evenly(index.starts, CHUNK_ENTRIES),
        )

    def document_topics(self) -> Float64s:
        """The topics of a document's words: the mean of its tags' phi, since each word is for one of them."""
        starts = self.corpus.tags.indptr
        means = np.add.reduceat(self.phi, starts[:-1], axis=0, dtype=np.float64) / np.diff(starts)[:, None]
        return np.asarray(means)


class CorrLDA(TopicBaseline):
    """Corr-LDA (Blei and Jordan 2003) by variational EM, a document's tags in the place of an image's regions.

    A document has topics, each of its tags stands for one of them, and each word is written for one of the tags. The
    mix of a new document is the mean over its tags of what they stand for; one without known tags gets the topics that
    its words alone speak for. Documents without tags are not learnt from. Tags are scored by p(document | tag), where
    ``tag_topics_`` is p(topic | tag).

    Parameters
    ----------
    n_topics:
        How many topics.
    max_iter, tol:
        EM ends after ``max_iter`` iterations, or when the bound's relative rise in one is at most ``tol``.
    sweeps:
        Passes over a document in each E-step.
    topic_word_prior, topic_tag_prior:
        Prior counts of each topic's words and tags: a mean, spread by how often they are used.
    learn_topic_prior:
        Learn the Dirichlet prior of a document's topics.
    dtype:
        ``"float32"`` or ``"float64"``.
    n_jobs:
        Threads; None is all cores. The result is the same bits for any number.
    random_state:
        Seed of the start.

    Learnt besides: ``tag_components_`` (topics, tags), ``topic_prior_``, ``bound_`` (one number an iteration), which
    never falls, ``n_iter_``, ``converged_``.

    Examples
    --------
    >>> from tagtopic.baselines import CorrLDA
    >>> from tagtopic.datasets import make_tagged_corpus
    >>> corpus = make_tagged_corpus(60, n_topics=3, n_tags=8, n_words=60, random_state=0).corpus
    >>> model = CorrLDA(3, max_iter=3, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape
    (60, 3)
    """

    def __init__(
        self,
        n_topics: int = 50,
        *,
        max_iter: int = 100,
        tol: float = 1e-5,
        sweeps: int = 5,
        topic_word_prior: float = MEAN_PRIOR,
        topic_tag_prior: float = MEAN_PRIOR,
        learn_topic_prior: bool = True,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.max_iter = max_iter
        self.tol = tol
        self.sweeps = sweeps
        self.topic_word_prior = topic_word_prior
        self.topic_tag_prior = topic_tag_prior
        self.learn_topic_prior = learn_topic_prior
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn(self, corpus: Corpus) -> None:
        check_settings(self)
        usable = _tagged(corpus)
        if not len(usable):
            raise ValueError("CorrLDA learns from documents with words and tags, and no document has both")
        frequencies, tag_shares = word_frequencies(usable), _shares(self.tag_counts_)
        priors = (
            self.topic_word_prior * corpus.n_words * frequencies,
            self.topic_tag_prior * corpus.n_tags * tag_shares,
        )
        parameters, tag_topics = self._start(usable, frequencies, tag_shares)
        bounds: list[float] = []
        self.converged_ = False
        run = CorrRun(usable, tag_topics[usable.tags.indices].astype(self.dtype), self.n_jobs)
        with run.workers:
            while len(bounds) < self.max_iter and not self.converged_:
                sums = run.expect(parameters, self.sweeps)
                bounds.append(
                    sums.bound + _log_prior(parameters.psi, priors[0]) + _log_prior(parameters.tau, priors[1])
                )
                self.converged_ = len(bounds) > WARM_UP + 1 and bounds[-1] - bounds[-2] <= self.tol * abs(bounds[-2])
                warm = self.learn_topic_prior and len(bounds) >= WARM_UP
                parameters = self._maximise(parameters, sums, priors, len(usable) if warm else 0)
        self._keep(parameters, np.array(bounds))

    def _start(self, corpus: Corpus, frequencies: Float64s, tag_shares: Float64s) -> tuple[CorrParameters, Float64s]:
        """Topics from NMF, and the tags' topics (tags, topics) from the documents that have them.

        If all tags started alike, those of a document would stay alike: each would explain all of its words.
        """
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        topics = start_topics(corpus, frequencies, self.n_topics, "nmf", np.random.default_rng(seed), self.n_jobs)
        alpha = np.full(self.n_topics, MEAN_PRIOR)
        mixes = fold_in(corpus.counts, topics, alpha, self.n_jobs)
        shared = corpus.tags.astype(np.float64).T @ mixes + 1.0 / self.n_topics
        tag_topics: Float64s = shared / shared.sum(axis=1, keepdims=True)
        tau = tag_topics * tag_shares[:, None]
        return CorrParameters(topics.astype(self.dtype), (tau / tau.sum(axis=0)).astype(self.dtype), alpha), tag_topics

    def _maximise(
        self, old: CorrParameters, sums: CorrStatistics, priors: tuple[Float64s, Float64s], n_documents: int
    ) -> CorrParameters:
        alpha = old.alpha
        if n_documents:
            alpha = update_latent_prior(alpha, sums.log_topics, n_documents)
        psi, tau = (
            ((total + prior[:, None]) / (total.sum(axis=0) + prior.sum())).astype(self.dtype)
            for total, prior in zip((sums.psi, sums.tau), priors, strict=True)
        )
        return CorrParameters(psi, tau, alpha)

    def _keep(self, parameters: CorrParameters, bounds: Float64s) -> None:
        self.components_ = of_seen_words(parameters.psi, self.word_counts_ > 0).astype(self.dtype).T
        self.tag_components_ = parameters.tau.T
        self.topic_prior_ = parameters.alpha
        self.tag_topics_ = normalised_rows(parameters.tau * parameters.alpha)
        self.tag_topics_[self.tag_counts_ == 0] = 0.0
        self.bound_, self.n_iter_ = bounds, len(bounds)

    def _mix(self, corpus: Corpus) -> Float64s:
        mixes = np.empty((len(corpus), self.n_topics))
        tagged = np.diff(corpus.tags.indptr) > 0
        if tagged.any():
            parameters = CorrParameters(self.topic_words_, self.tag_components_.T, self.topic_prior_)
            known = corpus[tagged]
            run = CorrRun(known, self.tag_topics_[known.tags.indices].astype(self.dtype), self.n_jobs)
            with run.workers:
                for _ in run.infer(parameters, INFERENCE_SWEEPS, INFERENCE_TOLERANCE):
                    pass
            mixes[tagged] = run.document_topics()
        if not tagged.all():
            mixes[~tagged] = fold_in(corpus[~tagged].counts, self.topic_words_, self.topic_prior_, self.n_jobs)
        return mixes


def _tagged(corpus: Corpus) -> Corpus:
    """The documents that have words and tags."""
    usable: Corpus = corpus[(np.diff(corpus.tags.indptr) > 0) & (np.diff(corpus.counts.indptr) > 0)]
    return usable


def _shares(counts: Float64s) -> Float64s:
    """Shares of a total, with a little added so that none is zero."""
    return np.asarray((counts + 0.01) / (counts + 0.01).sum())


def _log_prior(matrix: Floats, prior: Float64s) -> float:
    return float(prior @ np.log(matrix, dtype=np.float64).sum(axis=1))
