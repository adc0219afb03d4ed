"""CVB0: collapsed variational Bayes, zeroth order (Asuncion et al. 2009), with leave-one-out counts.

In sample, a rare word confirms the topic that it was assigned to, a rare tag the topics of its only document, and a
document's latent tag whatever it was assigned. As in a collapsed Gibbs sampler, each token's own expected counts are
therefore subtracted before it is assigned. For a token of word w with responsibilities
y_jk = a_j t_jk psi_wk / s_w of tag j and topic k:

    psi'_wk = psi_wk - y_k / T_k, at least beta_w / T_k             T_k: tokens of topic k, prior counts included
    t'_jk   = t_jk - y_jk / T_j                                     T_j: those of tag j; of the latent tag sum rho

Responsibilities are not stored: with u_wk = psi_wk / s_w, y_k = e_k u_wk, and summed over tags

    e'_k = e_k - h_k u_wk, at least MIN_SHARE e_k                   h_k = sum_j a_j^2 t_jk / T_j
    s'_w = sum_k e'_k psi'_wk
    n_jk = a_j t_jk (P_k - a_j / T_j Q_k), at least 0
    P_k  = sum_w c_w psi'_wk / s'_w          Q_k = sum_w c_w u_wk psi'_wk / s'_w

so a sweep costs O(words x topics + tags x topics), as for the other methods. ``e_step`` has the names without primes.

References
----------
A. Asuncion, M. Welling, P. Smyth and Y. W. Teh, "On smoothing and inference for topic models", UAI 2009.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Floats
from tagtopic._core.intrinsics import AHEAD, prefetch_row, products_with_four, total_of
from tagtopic._core.jit import compiled_reordering
from tagtopic.inference.m_step import TERMS_IN_SINGLE, ColumnIndex, add_row
from tagtopic.inference.types import KernelParameters, Workspace

MIN_SHARE = 0.02
"""The least of e_k that remains: y may exceed what was counted, because both still change from sweep to sweep."""


@compiled_reordering
def mix_correction_cvb0(parameters: KernelParameters, document: Workspace) -> None:
    """Compute h_k: ``mix_correction = (weights**2 / totals) @ vstack([theta[tags], latent_row])``."""
    correction, tags = document.mix_correction, document.tags
    for k in range(correction.shape[0]):
        correction[k] = 0
    for j in range(tags.shape[0]):
        row = tags[j]
        share = correction.dtype.type(document.weights[j] ** 2) * parameters.leave_one_out.inverse_tag_totals[row]
        for k in range(correction.shape[0]):
            correction[k] += share * parameters.tag_rows[row, k]
    if document.latent:
        latent_share = document.weights[tags.shape[0]] ** 2 / total_of(document.rho)
        for k in range(correction.shape[0]):
            correction[k] += latent_share * document.latent_row[k]


@compiled_reordering
def word_pass_cvb0(
    psi: Floats,
    counts: Floats,
    word_prior: Floats,
    inverse_topic_totals: Floats,
    mix: Floats,
    mix_correction: Floats,
    probabilities: Floats,
    inverse_probabilities: Floats,
    gradient: Floats,
    gradient_correction: Floats,
    scratch: Floats,
) -> None:
    """Compute s' (``probabilities``), 1 / s (``inverse_probabilities``), P (``gradient``), Q (``gradient_correction``).

    ``u = psi / (psi @ mix)[:, None]``
    ``psi_ = maximum(psi - mix * u * inverse_topic_totals, word_prior[:, None] * inverse_topic_totals)``
    ``mix_ = maximum(mix - mix_correction * u, MIN_SHARE * mix)``
    ``probabilities = (mix_ * psi_).sum(axis=1)``
    ``gradient = (counts / probabilities) @ psi_; gradient_correction = (counts / probabilities) @ (u * psi_)``

    Four words at a time for the vector units; ``scratch`` holds psi' of the four. Helper functions for what is written
    four times cost a third of the speed.
    """
    n_words, n_topics = psi.shape
    zero, one, least = mix.dtype.type(0), mix.dtype.type(1), mix.dtype.type(MIN_SHARE)
    for k in range(n_topics):
        gradient[k] = 0
        gradient_correction[k] = 0
    quads = n_words - n_words % 4
    for i in range(0, quads, 4):
        s0, s1, s2, s3 = products_with_four(psi, i, mix)
        i0 = one / s0 if s0 > 0 else zero
        i1 = one / s1 if s1 > 0 else zero
        i2 = one / s2 if s2 > 0 else zero
        i3 = one / s3 if s3 > 0 else zero
        f0, f1, f2, f3 = word_prior[i], word_prior[i + 1], word_prior[i + 2], word_prior[i + 3]
        s0 = s1 = s2 = s3 = zero
        for k in range(n_topics):
            m, h, t = mix[k], mix_correction[k], inverse_topic_totals[k]
            mt, lm = m * t, least * m
            u0, u1, u2, u3 = psi[i, k] * i0, psi[i + 1, k] * i1, psi[i + 2, k] * i2, psi[i + 3, k] * i3
            p0 = psi[i, k] - mt * u0
            p1 = psi[i + 1, k] - mt * u1
            p2 = psi[i + 2, k] - mt * u2
            p3 = psi[i + 3, k] - mt * u3
            p0 = p0 if p0 > f0 * t else f0 * t
            p1 = p1 if p1 > f1 * t else f1 * t
            p2 = p2 if p2 > f2 * t else f2 * t
            p3 = p3 if p3 > f3 * t else f3 * t
            e0, e1, e2, e3 = m - h * u0, m - h * u1, m - h * u2, m - h * u3
            e0 = e0 if e0 > lm else lm
            e1 = e1 if e1 > lm else lm
            e2 = e2 if e2 > lm else lm
            e3 = e3 if e3 > lm else lm
            scratch[0, k], scratch[1, k], scratch[2, k], scratch[3, k] = p0, p1, p2, p3
            s0 += e0 * p0
            s1 += e1 * p1
            s2 += e2 * p2
            s3 += e3 * p3
        r0 = counts[i] / s0 if s0 > 0 else zero
        r1 = counts[i + 1] / s1 if s1 > 0 else zero
        r2 = counts[i + 2] / s2 if s2 > 0 else zero
        r3 = counts[i + 3] / s3 if s3 > 0 else zero
        q0, q1, q2, q3 = r0 * i0, r1 * i1, r2 * i2, r3 * i3
        for k in range(n_topics):
            gradient[k] += r0 * scratch[0, k] + r1 * scratch[1, k] + r2 * scratch[2, k] + r3 * scratch[3, k]
            first_two = q0 * scratch[0, k] * psi[i, k] + q1 * scratch[1, k] * psi[i + 1, k]
            gradient_correction[k] += (
                first_two + q2 * scratch[2, k] * psi[i + 2, k] + q3 * scratch[3, k] * psi[i + 3, k]
            )
        probabilities[i], probabilities[i + 1], probabilities[i + 2], probabilities[i + 3] = s0, s1, s2, s3
        inverse_probabilities[i], inverse_probabilities[i + 1] = i0, i1
        inverse_probabilities[i + 2], inverse_probabilities[i + 3] = i2, i3
    for i in range(quads, n_words):
        total = zero
        for k in range(n_topics):
            total += mix[k] * psi[i, k]
        inverse = one / total if total > 0 else zero
        floor = word_prior[i]
        total = zero
        for k in range(n_topics):
            u = psi[i, k] * inverse
            p = psi[i, k] - mix[k] * u * inverse_topic_totals[k]
            prior = floor * inverse_topic_totals[k]
            p = p if p > prior else prior
            e = mix[k] - mix_correction[k] * u
            e = e if e > least * mix[k] else least * mix[k]
            scratch[0, k] = p
            total += e * p
        ratio = counts[i] / total if total > 0 else zero
        for k in range(n_topics):
            share = ratio * scratch[0, k]
            gradient[k] += share
            gradient_correction[k] += share * (psi[i, k] * inverse)
        probabilities[i] = total
        inverse_probabilities[i] = inverse


@compiled_reordering
def update_posterior_cvb0(parameters: KernelParameters, document: Workspace) -> None:
    """Update xi and rho by the expected counts n_jk.

    ``n = weights[:, None] * rows * maximum(gradient - weights[:, None] / totals * gradient_correction, 0)``
    ``xi = prior + n.sum(axis=1); rho = mu + n[-1]``
    """
    n_tags = document.tags.shape[0]
    n_topics = document.gradient.shape[0]
    for j in range(n_tags):
        row = document.tags[j]
        share = document.weights[j] * parameters.leave_one_out.inverse_tag_totals[row]
        total = 0.0
        for k in range(n_topics):
            total += parameters.tag_rows[row, k] * max(
                document.gradient[k] - share * document.gradient_correction[k], 0.0
            )
        document.xi[j] = document.prior[j] + document.weights[j] * total
    if document.latent:
        weight = document.weights[n_tags]
        share = weight / total_of(document.rho)
        total = 0.0
        for k in range(n_topics):
            n_k = (
                weight
                * document.latent_row[k]
                * max(document.gradient[k] - share * document.gradient_correction[k], 0.0)
            )
            document.rho[k] = document.mu[k] + n_k
            total += n_k
        document.xi[n_tags] = document.prior[n_tags] + total


@compiled_reordering
def add_word_statistics_cvb0(
    index: ColumnIndex,
    first: int,
    last: int,
    count_ratios: Floats,
    inverse_probabilities: Floats,
    mix: Floats,
    mix_correction: Floats,
    psi: Floats,
    word_prior: Floats,
    inverse_topic_totals: Floats,
    out: Floats,
) -> None:
    """Add ``sum_d c e'_dk psi'_wk / s'`` to ``out[w]``, for the words ``index.columns[first:last]``.

    ``count_ratios`` are c / s' and ``inverse_probabilities`` 1 / s, both in the order of the index.
    """
    n_topics = psi.shape[1]
    least = psi.dtype.type(MIN_SHARE)
    part = np.empty(n_topics, psi.dtype)
    total = np.empty(n_topics, np.float64)
    for i in range(first, last):
        word = index.columns[i]
        if i + AHEAD < last:
            prefetch_row(psi, index.columns[i + AHEAD])
            prefetch_row(out, index.columns[i + AHEAD])
        floor = word_prior[word]
        p = index.starts[i]
        end = index.starts[i + 1]
        for k in range(n_topics):
            total[k] = 0
        while p < end:
            stop = min(end, p + TERMS_IN_SINGLE)
            for k in range(n_topics):
                part[k] = 0
            while p < stop:
                ratio, inverse, d = count_ratios[p], inverse_probabilities[p], index.rows[p]
                for k in range(n_topics):
                    u = psi[word, k] * inverse
                    others = psi[word, k] - mix[d, k] * u * inverse_topic_totals[k]
                    prior = floor * inverse_topic_totals[k]
                    others = others if others > prior else prior
                    e = mix[d, k] - mix_correction[d, k] * u
                    e = e if e > least * mix[d, k] else least * mix[d, k]
                    part[k] += ratio * e * others
                p += 1
            if end - index.starts[i] > TERMS_IN_SINGLE:
                for k in range(n_topics):
                    total[k] += part[k]
        if end - index.starts[i] > TERMS_IN_SINGLE:
            for k in range(n_topics):
                part[k] = total[k]
        add_row(out, word, part)


@compiled_reordering
def add_tag_statistics_cvb0(
    index: ColumnIndex,
    first: int,
    last: int,
    weights: Floats,
    gradient: Floats,
    gradient_correction: Floats,
    theta: Floats,
    inverse_tag_totals: Floats,
    out: Floats,
) -> None:
    """Add ``theta_j sum_d a_dj max(P_d - a_dj / T_j Q_d, 0)`` to ``out[j]``, tags ``index.columns[first:last]``.

    ``weights`` are a, in the order of the index.
    """
    n_topics = theta.shape[1]
    zero = theta.dtype.type(0)
    total = np.empty(n_topics, np.float64)
    part = np.empty(n_topics, out.dtype)
    for i in range(first, last):
        tag = index.columns[i]
        for k in range(n_topics):
            total[k] = 0
        for p in range(index.starts[i], index.starts[i + 1]):
            weight, d = weights[p], index.rows[p]
            share = weight * inverse_tag_totals[tag]
            for k in range(n_topics):
                others = gradient[d, k] - share * gradient_correction[d, k]
                total[k] += weight * (others if others > 0 else zero)
        for k in range(n_topics):
            part[k] = theta[tag, k] * total[k]
        add_row(out, tag, part)
