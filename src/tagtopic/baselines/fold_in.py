"""Folding in: topic mixes of new documents given the topics and a Dirichlet prior of each document's mix.

Computes the posterior mean by CVB0 (Asuncion et al. 2009): the responsibility of topic k for a token of word w is
proportional to psi_wk (N_k - r_wk + alpha_k), where N_k is the expected count of topic k in the document and r_wk the
token's present responsibility; a word counted less than once subtracts only its count. On IMDB, with topics and prior
of tomotopy's LDA (K = 50), completion perplexity was 5385 by this method, 5341 by the mean of 200 Gibbs samples, 5718
by mean field, and 5954 by tomotopy's own ``infer``, which returns one Gibbs sample instead of a mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, read_only
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import ThreadPool, cut_evenly

SWEEPS = 200
TOLERANCE = 1e-5
CHUNK_ENTRIES = 1 << 13


class Words(NamedTuple):
    """Bags of words in CSR form: document d has entries ``starts[d]:starts[d + 1]`` of ``words`` and ``counts``."""

    starts: Int64s
    words: Int32s
    counts: Floats


class TopicPriors(NamedTuple):
    """The topics that each document may use, and their Dirichlet prior, in CSR form."""

    starts: Int64s
    topics: Int32s
    values: Float64s


@compiled
def sweep_words(rows: Float64s, counts: Floats, prior: Float64s, responsibilities: Float64s, totals: Float64s) -> float:
    """Run one CVB0 sweep over a document's words, in place; return the sum of absolute changes of expected counts."""
    n_topics = prior.shape[0]
    moved = 0.0
    for i in range(rows.shape[0]):
        own = min(counts[i], 1.0)
        total = 0.0
        for k in range(n_topics):
            total += rows[i, k] * max(totals[k] - own * responsibilities[i, k] + prior[k], 0.0)
        if total <= 0.0:
            continue
        for k in range(n_topics):
            responsibility = rows[i, k] * max(totals[k] - own * responsibilities[i, k] + prior[k], 0.0) / total
            change = counts[i] * (responsibility - responsibilities[i, k])
            responsibilities[i, k] = responsibility
            totals[k] += change
            moved += abs(change)
    return moved


@compiled
def fold_in_documents(
    documents: Words,
    priors: TopicPriors,
    topic_words: Floats,
    first: int,
    last: int,
    mixes: Float64s,
    sweeps: int,
    tolerance: float,
) -> None:
    """Fill ``mixes[first:last]``; each row sums to 1 over the topics that its document may use."""
    for d in range(first, last):
        start, n_words = documents.starts[d], documents.starts[d + 1] - documents.starts[d]
        topics = priors.topics[priors.starts[d] : priors.starts[d + 1]]
        prior = priors.values[priors.starts[d] : priors.starts[d + 1]]
        counts = documents.counts[start : start + n_words]
        rows, responsibilities = np.empty((n_words, len(topics))), np.empty((n_words, len(topics)))
        totals = np.zeros(len(topics))
        for i in range(n_words):
            word = documents.words[start + i]
            weight = 0.0
            for k in range(len(topics)):
                rows[i, k] = topic_words[word, topics[k]]
                responsibilities[i, k] = rows[i, k] * prior[k]
                weight += responsibilities[i, k]
            for k in range(len(topics)):
                responsibilities[i, k] = responsibilities[i, k] / weight if weight > 0.0 else 0.0
                totals[k] += counts[i] * responsibilities[i, k]
        length = counts.sum()
        for _ in range(sweeps):
            if sweep_words(rows, counts, prior, responsibilities, totals) <= tolerance * length:
                break
        weight = totals.sum() + prior.sum()
        for k in range(len(topics)):
            mixes[d, topics[k]] = (totals[k] + prior[k]) / weight


def fold_in(counts: Any, topic_words: Floats, prior: Any, n_jobs: int | None = 1) -> Float64s:
    """Infer the topic mixes (documents, topics) of documents given as CSR counts.

    ``topic_words`` is (words, topics); ``prior`` is one Dirichlet prior for all documents (topics), one for each
    (documents, topics), or a CSR matrix of these without entries for the topics that a document may not use.
    """
    n_documents, n_topics = counts.shape[0], topic_words.shape[1]
    documents = words_of(counts)
    priors = _priors_of(prior, n_documents, n_topics)
    mixes = np.zeros((n_documents, n_topics))
    with ThreadPool(n_jobs) as workers:
        workers.map(
            lambda part: fold_in_documents(documents, priors, topic_words, *part, mixes, SWEEPS, TOLERANCE),
            cut_evenly(documents.starts, CHUNK_ENTRIES),
        )
    return mixes


def words_of(counts: Any) -> Words:
    """Convert a CSR matrix to the arrays that kernels take."""
    return Words(
        read_only(counts.indptr, np.int64), read_only(counts.indices, np.int32), read_only(counts.data, np.float64)
    )


def _priors_of(prior: Any, n_documents: int, n_topics: int) -> TopicPriors:
    if sp.issparse(prior):
        csr = sp.csr_array(prior)
        return TopicPriors(
            read_only(csr.indptr, np.int64), read_only(csr.indices, np.int32), read_only(csr.data, np.float64)
        )
    values = np.broadcast_to(np.asarray(prior, np.float64), (n_documents, n_topics))
    topics = np.broadcast_to(np.arange(n_topics, dtype=np.int32), (n_documents, n_topics))
    return TopicPriors(
        read_only(np.arange(n_documents + 1) * n_topics, np.int64),
        read_only(topics.ravel(), np.int32),
        read_only(values.ravel(), np.float64),
    )
