"""The topic mixes of new documents, where topics and a Dirichlet prior of each document's mix are known.

The posterior mean by zero-order collapsed variational inference (Asuncion et al. 2009, "CVB0"): a word's share of topic
k is proportional to psi_wk (N_k - own share + alpha_k), where N_k are the document's words in topic k; a word that
counts less than one takes no more than its part away. On IMDB, with topics and prior of tomotopy's LDA (K = 50),
completion perplexity was 5385 this way, 5341 by the mean of 200 Gibbs samples, 5718 by mean field, and 5954 by
tomotopy's own ``infer``, which gives one Gibbs sample and not a mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, read_only
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.threads import ThreadPool

SWEEPS = 200
TOLERANCE = 1e-5
CHUNK_ENTRIES = 1 << 13


class Words(NamedTuple):
    """Words of documents: entries ``starts[d]:starts[d + 1]`` of ``words`` and ``counts`` are those of document d."""

    starts: Int64s
    words: Int32s
    counts: Floats


class TopicPriors(NamedTuple):
    """By document, the topics that are open to it and their Dirichlet prior, in the same form."""

    starts: Int64s
    topics: Int32s
    values: Float64s


@compiled
def sweep_words(rows: Float64s, counts: Floats, prior: Float64s, shares: Float64s, totals: Float64s) -> float:
    """One CVB0 sweep over a document's words, in place; returns how much of it moved (a sum of absolute changes)."""
    n_topics = prior.shape[0]
    moved = 0.0
    for i in range(rows.shape[0]):
        own = min(counts[i], 1.0)
        total = 0.0
        for k in range(n_topics):
            total += rows[i, k] * max(totals[k] - own * shares[i, k] + prior[k], 0.0)
        if total <= 0.0:
            continue
        for k in range(n_topics):
            share = rows[i, k] * max(totals[k] - own * shares[i, k] + prior[k], 0.0) / total
            change = counts[i] * (share - shares[i, k])
            shares[i, k] = share
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
    """Fill ``mixes[first:last]``: each row sums to 1 over the topics open to its document."""
    for d in range(first, last):
        start, n_words = documents.starts[d], documents.starts[d + 1] - documents.starts[d]
        topics = priors.topics[priors.starts[d] : priors.starts[d + 1]]
        prior = priors.values[priors.starts[d] : priors.starts[d + 1]]
        counts = documents.counts[start : start + n_words]
        rows, shares = np.empty((n_words, len(topics))), np.empty((n_words, len(topics)))
        totals = np.zeros(len(topics))
        for i in range(n_words):
            word = documents.words[start + i]
            weight = 0.0
            for k in range(len(topics)):
                rows[i, k] = topic_words[word, topics[k]]
                shares[i, k] = rows[i, k] * prior[k]
                weight += shares[i, k]
            for k in range(len(topics)):
                shares[i, k] = shares[i, k] / weight if weight > 0.0 else 0.0
                totals[k] += counts[i] * shares[i, k]
        length = counts.sum()
        for _ in range(sweeps):
            if sweep_words(rows, counts, prior, shares, totals) <= tolerance * length:
                break
        weight = totals.sum() + prior.sum()
        for k in range(len(topics)):
            mixes[d, topics[k]] = (totals[k] + prior[k]) / weight


def fold_in(counts: Any, topic_words: Floats, prior: Any, n_jobs: int | None = 1) -> Float64s:
    """Mixes (documents, topics) of documents given as CSR counts.

    ``topic_words`` is (words, topics); ``prior`` is one Dirichlet prior for all documents (topics), one for each
    (documents, topics), or a CSR matrix of these in which topics that are closed to a document have no entry.
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
    """A CSR matrix as the kernels take it."""
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
