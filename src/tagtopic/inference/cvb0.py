"""CVB0: a word is assigned to tag and topic by what all *other* words say, its own share left out.

In sample, a rare word confirms the topic that it was itself given to, a rare tag the topics of its one document, and a
document's latent tag whatever it has. Leaving each token's share out of the counts (as a collapsed Gibbs sampler does;
with expected counts this is CVB0, Asuncion et al. 2009) ends that. For a token of word w, with its share of tag j and
topic k as things stand, y_jk = a_j t_jk psi_wk / s_w:

    psi'_wk = psi_wk - y_k / T_k, at least beta_w / T_k             T_k: words of topic k, with its prior
    t'_jk   = t_jk - y_jk / T_j                                     T_j: words of tag j alike; the latent tag's sum rho

No share is stored: with u_wk = psi_wk / s_w, y_k = e_k u_wk, and all tags together are

    e'_k = e_k - h_k u_wk, at least a little of e_k                 h_k = sum_j a_j^2 t_jk / T_j
    s'_w = sum_k e'_k psi'_wk
    n_jk = a_j t_jk (P_k - a_j / T_j Q_k)     P_k = sum_w c_w psi'_wk / s'_w     Q_k = sum_w c_w u_wk psi'_wk / s'_w

so a sweep costs O(words x topics + tags x topics), as it does for the others.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Floats
from tagtopic._core.intrinsics import AHEAD, prefetch_row, products_with_four
from tagtopic._core.jit import compiled_reordering
from tagtopic.inference.m_step import RUN, ColumnIndex, add_row

LEAST = 0.02
"""What is left of e_k at least: y may be more than the share that was counted, as both are still moving."""


@compiled_reordering
def pass_leaving_out(
    rows: Floats,
    counts: Floats,
    word_prior: Floats,
    topic_share: Floats,
    mix: Floats,
    own_mix: Floats,
    sums: Floats,
    inverses: Floats,
    pull: Floats,
    own_pull: Floats,
    left: Floats,
) -> None:
    """From e (``mix``) and h (``own_mix``) to s' (``sums``), 1 / s (``inverses``), P (``pull``), Q (``own_pull``).

    Four words at a time for the vector units; ``left`` is room for psi' of four. Helper functions for what is written
    four times here cost a third of the speed.
    """
    n_words, n_topics = rows.shape
    zero, one, least = mix.dtype.type(0), mix.dtype.type(1), mix.dtype.type(LEAST)
    pull[:] = 0
    own_pull[:] = 0
    quads = n_words - n_words % 4
    for i in range(0, quads, 4):
        s0, s1, s2, s3 = products_with_four(rows, i, mix)
        i0 = one / s0 if s0 > 0 else zero
        i1 = one / s1 if s1 > 0 else zero
        i2 = one / s2 if s2 > 0 else zero
        i3 = one / s3 if s3 > 0 else zero
        f0, f1, f2, f3 = word_prior[i], word_prior[i + 1], word_prior[i + 2], word_prior[i + 3]
        s0 = s1 = s2 = s3 = zero
        for k in range(n_topics):
            m, o, t = mix[k], own_mix[k], topic_share[k]
            mt, lm = m * t, least * m
            u0, u1, u2, u3 = rows[i, k] * i0, rows[i + 1, k] * i1, rows[i + 2, k] * i2, rows[i + 3, k] * i3
            p0 = rows[i, k] - mt * u0
            p1 = rows[i + 1, k] - mt * u1
            p2 = rows[i + 2, k] - mt * u2
            p3 = rows[i + 3, k] - mt * u3
            p0 = p0 if p0 > f0 * t else f0 * t
            p1 = p1 if p1 > f1 * t else f1 * t
            p2 = p2 if p2 > f2 * t else f2 * t
            p3 = p3 if p3 > f3 * t else f3 * t
            e0, e1, e2, e3 = m - o * u0, m - o * u1, m - o * u2, m - o * u3
            e0 = e0 if e0 > lm else lm
            e1 = e1 if e1 > lm else lm
            e2 = e2 if e2 > lm else lm
            e3 = e3 if e3 > lm else lm
            left[0, k], left[1, k], left[2, k], left[3, k] = p0, p1, p2, p3
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
            pull[k] += r0 * left[0, k] + r1 * left[1, k] + r2 * left[2, k] + r3 * left[3, k]
            first_two = q0 * left[0, k] * rows[i, k] + q1 * left[1, k] * rows[i + 1, k]
            own_pull[k] += first_two + q2 * left[2, k] * rows[i + 2, k] + q3 * left[3, k] * rows[i + 3, k]
        sums[i], sums[i + 1], sums[i + 2], sums[i + 3] = s0, s1, s2, s3
        inverses[i], inverses[i + 1], inverses[i + 2], inverses[i + 3] = i0, i1, i2, i3
    for i in range(quads, n_words):
        total = zero
        for k in range(n_topics):
            total += mix[k] * rows[i, k]
        inverse = one / total if total > 0 else zero
        floor = word_prior[i]
        total = zero
        for k in range(n_topics):
            u = rows[i, k] * inverse
            others = rows[i, k] - mix[k] * u * topic_share[k]
            prior = floor * topic_share[k]
            others = others if others > prior else prior
            e = mix[k] - own_mix[k] * u
            e = e if e > least * mix[k] else least * mix[k]
            left[0, k] = others
            total += e * others
        ratio = counts[i] / total if total > 0 else zero
        for k in range(n_topics):
            share = ratio * left[0, k]
            pull[k] += share
            own_pull[k] += share * (rows[i, k] * inverse)
        sums[i] = total
        inverses[i] = inverse


@compiled_reordering
def add_words_leaving_out(
    index: ColumnIndex,
    first: int,
    last: int,
    ratios: Floats,
    inverses: Floats,
    mix: Floats,
    own_mix: Floats,
    psi: Floats,
    word_prior: Floats,
    topic_share: Floats,
    sums: Floats,
) -> None:
    """For words number first:last, ``sums[w] += sum_d c e'_dk psi'_wk / s'``; ratios are c / s', inverses 1 / s."""
    n_topics = psi.shape[1]
    least = psi.dtype.type(LEAST)
    run = np.empty(n_topics, psi.dtype)
    total = np.empty(n_topics, np.float64)
    for i in range(first, last):
        word = index.columns[i]
        if i + AHEAD < last:
            prefetch_row(psi, index.columns[i + AHEAD])
            prefetch_row(sums, index.columns[i + AHEAD])
        floor = word_prior[word]
        p = index.starts[i]
        end = index.starts[i + 1]
        total[:] = 0
        while p < end:
            stop = min(end, p + RUN)
            run[:] = 0
            while p < stop:
                ratio, inverse, d = ratios[p], inverses[p], index.rows[p]
                for k in range(n_topics):
                    u = psi[word, k] * inverse
                    others = psi[word, k] - mix[d, k] * u * topic_share[k]
                    prior = floor * topic_share[k]
                    others = others if others > prior else prior
                    e = mix[d, k] - own_mix[d, k] * u
                    e = e if e > least * mix[d, k] else least * mix[d, k]
                    run[k] += ratio * e * others
                p += 1
            if end - index.starts[i] > RUN:
                for k in range(n_topics):
                    total[k] += run[k]
        if end - index.starts[i] > RUN:
            for k in range(n_topics):
                run[k] = total[k]
        add_row(sums, word, run)


@compiled_reordering
def add_tags_leaving_out(
    index: ColumnIndex,
    first: int,
    last: int,
    weights: Floats,
    pull: Floats,
    own_pull: Floats,
    theta: Floats,
    tag_share: Floats,
    sums: Floats,
) -> None:
    """For tags number first:last, ``sums[j] += theta_j sum_d a_dj (P_d - a_dj / T_j Q_d)``, each term at least 0."""
    n_topics = theta.shape[1]
    zero = theta.dtype.type(0)
    total = np.empty(n_topics, np.float64)
    part = np.empty(n_topics, sums.dtype)
    for i in range(first, last):
        tag = index.columns[i]
        total[:] = 0
        for p in range(index.starts[i], index.starts[i + 1]):
            weight, d = weights[p], index.rows[p]
            own = weight * tag_share[tag]
            for k in range(n_topics):
                others = pull[d, k] - own * own_pull[d, k]
                total[k] += weight * (others if others > 0 else zero)
        for k in range(n_topics):
            part[k] = theta[tag, k] * total[k]
        add_row(sums, tag, part)
