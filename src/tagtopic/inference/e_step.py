"""The E-step: infer each document's tag weights and topic mix, by sweeps over its words and tags.

One sweep, for a document with words w (count c_w), tags j and, where it has one, the latent tag:

    xi, rho -> weights a_j, rows t_jk -> mix e_k -> s_w = sum_k e_k psi_wk -> M_k = sum_w c_w psi_wk / s_w -> xi, rho

The ways differ in how a and e come from xi and rho, and in how xi is moved; the word pass, where most of the time goes,
is one, and another under "collapsed". gamma (words x topics) is never stored. The readable twin of all this is
``reference.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic.compiled import compiled, compiled_reordering
from tagtopic.inference.arrays import (
    COLLAPSED,
    MAP,
    MIXTURE,
    PAPER,
    Documents,
    Evaluation,
    Float64s,
    Floats,
    Int32s,
    Int64s,
    Model,
    State,
)
from tagtopic.inference.leave_out import pass_leaving_out
from tagtopic.inference.paper_weights import ascend_weights
from tagtopic.inference.prefetch import AHEAD, prefetch_row
from tagtopic.inference.products import product_with_row, products_with_four
from tagtopic.inference.special import digamma, dirichlet_divergence


class Sheet(NamedTuple):
    """One document's working arrays. The latent tag, where ``latent`` is true, is the last of prior, xi and weights."""

    tags: Int32s
    latent: bool
    prior: Float64s
    xi: Float64s
    rho: Float64s
    weights: Float64s
    latent_row: Float64s
    rows: Floats
    counts: Floats
    sums: Floats
    mix: Floats
    pull: Floats
    word_prior: Floats
    inverses: Floats
    own_mix: Floats
    own_pull: Floats


@compiled_reordering
def pass_over_words(rows: Floats, counts: Floats, mix: Floats, sums: Floats, pull: Floats) -> None:
    """``sums = rows @ mix; pull = rows.T @ (counts / sums)``, four words at a time for the vector units."""
    n_words, n_topics = rows.shape
    pull[:] = 0
    zero = pull[0]
    quads = n_words - n_words % 4
    for i in range(0, quads, 4):
        s0, s1, s2, s3 = products_with_four(rows, i, mix)
        sums[i], sums[i + 1], sums[i + 2], sums[i + 3] = s0, s1, s2, s3
        r0 = counts[i] / s0 if s0 > 0 else zero
        r1 = counts[i + 1] / s1 if s1 > 0 else zero
        r2 = counts[i + 2] / s2 if s2 > 0 else zero
        r3 = counts[i + 3] / s3 if s3 > 0 else zero
        for k in range(n_topics):
            pull[k] += r0 * rows[i, k] + r1 * rows[i + 1, k] + r2 * rows[i + 2, k] + r3 * rows[i + 3, k]
    for i in range(quads, n_words):
        s0 = zero
        for k in range(n_topics):
            s0 += mix[k] * rows[i, k]
        sums[i] = s0
        r0 = counts[i] / s0 if s0 > 0 else zero
        for k in range(n_topics):
            pull[k] += r0 * rows[i, k]


@compiled
def expect(way: int, sheet: Sheet) -> None:
    """The tag weights a and the latent tag's row from xi and rho: the line in which "mixture" and "map" differ."""
    total = sheet.xi.sum()
    if way != MIXTURE:
        for j in range(sheet.xi.shape[0]):
            sheet.weights[j] = sheet.xi[j] / total
    else:
        centre = digamma(total)
        for j in range(sheet.xi.shape[0]):
            sheet.weights[j] = math.exp(digamma(sheet.xi[j]) - centre)
    if not sheet.latent:
        return
    total = sheet.rho.sum()
    if way in (MAP, COLLAPSED):
        for k in range(sheet.rho.shape[0]):
            sheet.latent_row[k] = sheet.rho[k] / total
        return
    centre = digamma(total)
    for k in range(sheet.rho.shape[0]):
        expected_log = digamma(sheet.rho[k]) - centre
        sheet.latent_row[k] = expected_log if way == PAPER else math.exp(expected_log)


@compiled_reordering
def mix_rows(way: int, tag_rows: Floats, sheet: Sheet) -> float:
    """e_k = sum_j a_j t_jk, or under the paper's way exp of it; returns the logarithm of the scale taken out of e."""
    mix, tags = sheet.mix, sheet.tags
    n_topics = mix.shape[0]
    mix[:] = 0
    for j in range(tags.shape[0]):
        a = mix.dtype.type(sheet.weights[j])
        row = tags[j]
        for k in range(n_topics):
            mix[k] += a * tag_rows[row, k]
    if sheet.latent:
        a_latent = sheet.weights[tags.shape[0]]
        for k in range(n_topics):
            mix[k] += a_latent * sheet.latent_row[k]
    if way != PAPER:
        return 0.0
    scale = mix[0]
    for k in range(1, n_topics):
        scale = max(scale, mix[k])
    for k in range(n_topics):
        mix[k] = math.exp(mix[k] - scale)
    return float(scale)


@compiled
def move_by_ascent(model: Model, sheet: Sheet) -> None:
    """The paper's updates: xi by ascent, then rho at the new xi (at the old one the objective can fall)."""
    n_tags = sheet.tags.shape[0]
    gains = np.empty(sheet.xi.shape[0])
    for j in range(n_tags):
        gains[j] = product_with_row(model.tag_rows, sheet.tags[j], sheet.pull)
    if sheet.latent:
        gains[n_tags] = 0.0
        for k in range(sheet.rho.shape[0]):
            gains[n_tags] += sheet.latent_row[k] * sheet.pull[k]
    ascend_weights(sheet.xi, sheet.prior, gains)
    if sheet.latent:
        share = sheet.xi[n_tags] / sheet.xi.sum()
        for k in range(sheet.rho.shape[0]):
            sheet.rho[k] = model.mu[k] + share * sheet.pull[k]


@compiled
def move_by_credit(model: Model, sheet: Sheet) -> None:
    """The updates of "map" and "mixture": each tag's prior plus the words credited to it, n_jk = a_j t_jk M_k."""
    n_tags = sheet.tags.shape[0]
    for j in range(n_tags):
        credit = sheet.weights[j] * product_with_row(model.tag_rows, sheet.tags[j], sheet.pull)
        sheet.xi[j] = sheet.prior[j] + credit
    if sheet.latent:
        total = 0.0
        for k in range(sheet.rho.shape[0]):
            credit = sheet.weights[n_tags] * sheet.latent_row[k] * sheet.pull[k]
            sheet.rho[k] = model.mu[k] + credit
            total += credit
        sheet.xi[n_tags] = sheet.prior[n_tags] + total


@compiled_reordering
def mix_own_shares(model: Model, sheet: Sheet) -> None:
    """h_k = sum_j a_j^2 t_jk / T_j: how much of the mix one word of this document is (see ``leave_out``)."""
    own, tags = sheet.own_mix, sheet.tags
    own[:] = 0
    for j in range(tags.shape[0]):
        row = tags[j]
        share = own.dtype.type(sheet.weights[j] ** 2) * model.shares.tag[row]
        for k in range(own.shape[0]):
            own[k] += share * model.tag_rows[row, k]
    if sheet.latent:
        latent_share = sheet.weights[tags.shape[0]] ** 2 / sheet.rho.sum()
        for k in range(own.shape[0]):
            own[k] += latent_share * sheet.latent_row[k]


@compiled
def move_by_credit_of_others(model: Model, sheet: Sheet) -> None:
    """The updates of "collapsed": n_jk = a_j t_jk (P_k - a_j / T_j Q_k), at least 0."""
    n_tags = sheet.tags.shape[0]
    n_topics = sheet.pull.shape[0]
    for j in range(n_tags):
        row = sheet.tags[j]
        share = sheet.weights[j] * model.shares.tag[row]
        total = 0.0
        for k in range(n_topics):
            total += model.tag_rows[row, k] * max(sheet.pull[k] - share * sheet.own_pull[k], 0.0)
        sheet.xi[j] = sheet.prior[j] + sheet.weights[j] * total
    if sheet.latent:
        weight = sheet.weights[n_tags]
        share = weight / sheet.rho.sum()
        total = 0.0
        for k in range(n_topics):
            credit = weight * sheet.latent_row[k] * max(sheet.pull[k] - share * sheet.own_pull[k], 0.0)
            sheet.rho[k] = model.mu[k] + credit
            total += credit
        sheet.xi[n_tags] = sheet.prior[n_tags] + total


@compiled
def weighted_logs(prior: Float64s, values: Float64s) -> float:
    """Sum prior log values, where 0 log 0 is 0."""
    total = 0.0
    for i in range(prior.shape[0]):
        if prior[i] > 0:
            total += prior[i] * math.log(max(values[i], 1e-300))
    return total


@compiled
def objective(way: int, mu: Float64s, sheet: Sheet, scale: float) -> float:
    """The document's share of the bound (of the penalised likelihood under "map"), at the sheet's xi and rho.

    Under "collapsed" it is the log probability of each word by what all others say, which bounds nothing.
    A word that nothing explains counts as probability 1e-300.
    """
    value = 0.0
    for i in range(sheet.sums.shape[0]):
        value += sheet.counts[i] * (math.log(max(float(sheet.sums[i]), 1e-300)) + scale)
    if way == COLLAPSED:
        return value
    if way == MAP:
        value += weighted_logs(sheet.prior, sheet.weights)
        return value + weighted_logs(mu, sheet.latent_row) if sheet.latent else value
    value -= dirichlet_divergence(sheet.xi, sheet.prior)
    return value - dirichlet_divergence(sheet.rho, mu) if sheet.latent else value


@compiled
def sweep_document(way: int, model: Model, sheet: Sheet, sweeps: int, tolerance: float, before: Floats) -> float:
    """Sweep one document; returns its objective where the sheet's weights, mix and pull were evaluated.

    The last sweep still moves xi and rho, which is the M-step of the same EM, but not under the paper's way: there the
    sums for theta must be made at the xi that is kept.
    """
    value = 0.0
    left = np.empty((4, sheet.own_mix.shape[0]), sheet.own_mix.dtype)
    for sweep in range(sweeps):
        before[:] = sheet.mix
        expect(way, sheet)
        scale = mix_rows(way, model.tag_rows, sheet)
        if way == COLLAPSED:
            mix_own_shares(model, sheet)
            pass_leaving_out(
                sheet.rows, sheet.counts, sheet.word_prior, model.shares.topic, sheet.mix, sheet.own_mix, sheet.sums,
                sheet.inverses, sheet.pull, sheet.own_pull, left,
            )  # fmt: skip
        else:
            pass_over_words(sheet.rows, sheet.counts, sheet.mix, sheet.sums, sheet.pull)
        if way == PAPER:
            for k in range(before.shape[0]):
                sheet.pull[k] *= sheet.mix[k]
        final = sweep == sweeps - 1
        if tolerance > 0 and sweep > 0 and not final:
            moved = 0.0
            for k in range(before.shape[0]):
                moved += abs(sheet.mix[k] - before[k])
            final = moved <= tolerance * sheet.mix.sum()
        if final:
            value = objective(way, model.mu, sheet, scale)
        if way == COLLAPSED:
            move_by_credit_of_others(model, sheet)
        elif way != PAPER:
            move_by_credit(model, sheet)
        elif not final:
            move_by_ascent(model, sheet)
        if final:
            break
    return value


@compiled
def longest(starts: Int64s, first: int, last: int) -> int:
    """The most entries that a document has."""
    most = 0
    for d in range(first, last):
        most = max(most, starts[d + 1] - starts[d])
    return most


@compiled
def infer_documents(
    way: int,
    documents: Documents,
    first: int,
    last: int,
    model: Model,
    state: State,
    out: Evaluation,
    slots: Int32s,
    sweeps: int,
    tolerance: float,
) -> None:
    """Sweep documents ``first:last`` from their state; leave the state moved on and ``out`` filled.

    A document stops after ``sweeps`` sweeps, or when its mix moves by no more than ``tolerance`` (relative, in sum).
    ``slots`` says where each word entry's ratio goes. A document with no tags gets a latent tag under any model.
    """
    n_topics = model.psi.shape[1]
    dtype = model.psi.dtype
    most_words = longest(documents.word_starts, first, last)
    most_tags = longest(documents.tag_starts, first, last)
    rows = np.empty((most_words, n_topics), dtype)
    counts, sums = np.empty(most_words, dtype), np.empty(most_words, dtype)
    mix, pull, before = np.empty(n_topics, dtype), np.empty(n_topics, dtype), np.empty(n_topics, dtype)
    leaving_out = way == COLLAPSED
    word_prior, inverses = np.empty(most_words, dtype), np.empty(most_words, dtype)
    own_mix, own_pull = np.empty(n_topics, dtype), np.empty(n_topics, dtype)
    rho, latent_row = np.empty(n_topics), np.empty(n_topics)
    xi, prior, weights = np.empty(most_tags + 1), np.empty(most_tags + 1), np.empty(most_tags + 1)
    word_base, tag_base = documents.word_starts[0], documents.tag_starts[0]

    for d in range(first, last):
        word_start, n_words = documents.word_starts[d], documents.word_starts[d + 1] - documents.word_starts[d]
        tag_start, n_tags = documents.tag_starts[d], documents.tag_starts[d + 1] - documents.tag_starts[d]
        latent = model.latent or n_tags == 0
        size = n_tags + 1 if latent else n_tags
        for i in range(n_words):
            counts[i] = documents.counts[word_start + i]
            word = documents.words[word_start + i]
            if word_start + i + AHEAD < documents.words.shape[0]:
                prefetch_row(model.psi, documents.words[word_start + i + AHEAD])
            for k in range(n_topics):
                rows[i, k] = model.psi[word, k]
            if leaving_out:
                word_prior[i] = model.shares.word_prior[word]
        for j in range(n_tags):
            xi[j] = state.xi[tag_start - tag_base + j]
            prior[j] = model.pi[documents.tags[tag_start + j]]
        if latent:
            xi[n_tags] = state.xi_latent[d]
            prior[n_tags] = model.pi_latent
            rho[:] = state.rho[d]
        sheet = Sheet(
            documents.tags[tag_start : tag_start + n_tags], latent, prior[:size], xi[:size], rho, weights[:size],
            latent_row, rows[:n_words], counts[:n_words], sums[:n_words], mix, pull,
            word_prior[:n_words], inverses[:n_words], own_mix, own_pull,
        )  # fmt: skip
        out.objective[d] = sweep_document(way, model, sheet, sweeps, tolerance, before)
        for j in range(n_tags):
            state.xi[tag_start - tag_base + j] = xi[j]
            out.weights[tag_start - tag_base + j] = weights[j]
        if latent:
            state.xi_latent[d] = xi[n_tags]
            state.rho[d] = rho
        out.mix[d] = mix
        out.pull[d] = pull
        for i in range(n_words):
            out.ratios[slots[word_start - word_base + i]] = counts[i] / sums[i] if sums[i] > 0 else 0.0
        if leaving_out:
            out.own_mix[d] = own_mix
            out.own_pull[d] = own_pull
            for i in range(n_words):
                out.inverses[slots[word_start - word_base + i]] = inverses[i]
