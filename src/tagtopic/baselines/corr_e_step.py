"""The E-step of Corr-LDA: which topic each tag of a document stands for, and which tag each word was written for.

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
from typing import NamedTuple

import numpy as np

from tagtopic.compiled import compiled, compiled_reordering
from tagtopic.inference.arrays import Documents, Float64s, Floats
from tagtopic.inference.special import digamma


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
