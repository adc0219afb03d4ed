"""The "collapsed" way: a word is assigned to tag and topic by what all *other* words say, its own share left out.

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

from tagtopic.inference.accumulate import RUN, ColumnIndex
from tagtopic.inference.arrays import Floats
from tagtopic.inference.compiled import compiled_reordering

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
    """From e (``mix``) and h (``own_mix``) to s' (``sums``), 1 / s (``inverses``), P (``pull``), Q (``own_pull``)."""
    n_topics = mix.shape[0]
    zero = mix.dtype.type(0)
    one = mix.dtype.type(1)
    least = mix.dtype.type(LEAST)
    pull[:] = 0
    own_pull[:] = 0
    for i in range(rows.shape[0]):
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
            left[k] = others
            total += e * others
        ratio = counts[i] / total if total > 0 else zero
        for k in range(n_topics):
            share = ratio * left[k]
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
        floor = word_prior[word]
        total[:] = 0
        p = index.starts[i]
        end = index.starts[i + 1]
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
            for k in range(n_topics):
                total[k] += run[k]
        for k in range(n_topics):
            sums[word, k] += sums.dtype.type(total[k])


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
            sums[tag, k] += sums.dtype.type(theta[tag, k] * total[k])
