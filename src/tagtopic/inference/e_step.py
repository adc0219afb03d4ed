"""The E-step: infer each document's tag weights and topic mix, by sweeps over its words and tags.

One sweep, for a document with words w (count c_w), tags j and, where it has one, the latent tag:

    xi, rho -> weights a_j, rows t_jk -> mix e_k -> s_w = sum_k e_k psi_wk -> M_k = sum_w c_w psi_wk / s_w -> xi, rho

The methods differ in how a and e come from xi and rho, and in how xi is moved; the word pass, where most of the
time goes, is one, and another under "cvb0". gamma (words x topics) is never stored. The readable twin of all this is
``reference.py``.

One document under inference: its working arrays, and how weights, topic mix, xi and rho come from each other.

The equations are those of the inference methods; their readable twin is ``reference.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s
from tagtopic._core.intrinsics import AHEAD, borrow, prefetch_row, product_with_row, products_with_four, total_of
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.cvb0 import pass_leaving_out
from tagtopic.inference.methods import CVB0, MAP, MIXTURE, PAPER
from tagtopic.inference.paper import ascend_weights
from tagtopic.inference.special import digamma, dirichlet_divergence
from tagtopic.inference.types import Documents, Evaluation, Model, Shares, State


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


@compiled
def expect(method: int, sheet: Sheet) -> None:
    """The tag weights a and the latent tag's row from xi and rho: the line in which "mixture" and "map" differ."""
    total = sheet.xi.sum()
    if method != MIXTURE:
        for j in range(sheet.xi.shape[0]):
            sheet.weights[j] = sheet.xi[j] / total
    else:
        centre = digamma(total)
        for j in range(sheet.xi.shape[0]):
            sheet.weights[j] = math.exp(digamma(sheet.xi[j]) - centre)
    if not sheet.latent:
        return
    total = total_of(sheet.rho)
    if method in (MAP, CVB0):
        for k in range(sheet.rho.shape[0]):
            sheet.latent_row[k] = sheet.rho[k] / total
        return
    centre = digamma(total)
    for k in range(sheet.rho.shape[0]):
        expected_log = digamma(sheet.rho[k]) - centre
        sheet.latent_row[k] = expected_log if method == PAPER else math.exp(expected_log)


@compiled_reordering
def mix_rows(method: int, tag_rows: Floats, sheet: Sheet) -> float:
    """e_k = sum_j a_j t_jk, or under "paper" exp of it; returns the logarithm of the scale taken out of e."""
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
    if method != PAPER:
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


@compiled_reordering
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
        latent_share = sheet.weights[tags.shape[0]] ** 2 / total_of(sheet.rho)
        for k in range(own.shape[0]):
            own[k] += latent_share * sheet.latent_row[k]


@compiled_reordering
def move_by_credit_of_others(model: Model, sheet: Sheet) -> None:
    """The updates of "cvb0": n_jk = a_j t_jk (P_k - a_j / T_j Q_k), at least 0."""
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
        share = weight / total_of(sheet.rho)
        total = 0.0
        for k in range(n_topics):
            credit = weight * sheet.latent_row[k] * max(sheet.pull[k] - share * sheet.own_pull[k], 0.0)
            sheet.rho[k] = model.mu[k] + credit
            total += credit
        sheet.xi[n_tags] = sheet.prior[n_tags] + total


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
def weighted_logs(prior: Float64s, values: Float64s) -> float:
    """Sum prior log values, where 0 log 0 is 0."""
    total = 0.0
    for i in range(prior.shape[0]):
        if prior[i] > 0:
            total += prior[i] * math.log(max(values[i], 1e-300))
    return total


@compiled
def log_likelihood(counts: Floats, sums: Floats) -> float:
    """Sum c log s, with one logarithm for many words. A word that nothing explains counts as probability 1e-300."""
    value, product = 0.0, 1.0
    for i in range(sums.shape[0]):
        count, probability = float(counts[i]), float(sums[i])
        if count != 1 or probability < 1e-100:
            value += count * math.log(max(probability, 1e-300))
            continue
        product *= probability
        if product < 1e-150 or product > 1e150:
            value += math.log(product)
            product = 1.0
    return value + math.log(product)


@compiled
def objective(method: int, mu: Float64s, sheet: Sheet, scale: float) -> float:
    """The document's share of the bound (of the penalised likelihood under "map"), at the sheet's xi and rho.

    Under "cvb0" it is the log probability of each word by what all others say, which bounds nothing.
    """
    value = log_likelihood(sheet.counts, sheet.sums) + scale * float(total_of(sheet.counts))
    if method == CVB0:
        return value
    if method == MAP:
        value += weighted_logs(sheet.prior, sheet.weights)
        return value + weighted_logs(mu, sheet.latent_row) if sheet.latent else value
    value -= dirichlet_divergence(sheet.xi, sheet.prior)
    return value - dirichlet_divergence(sheet.rho, mu) if sheet.latent else value


@compiled
def sweep_document(
    method: int, model: Model, sheet: Sheet, sweeps: int, tolerance: float, before: Floats, left: Floats
) -> float:
    """Sweep one document; returns its objective where the sheet's weights, mix and pull were evaluated.

    The last sweep still moves xi and rho, which is the M-step of the same EM, but not under "paper": there the
    sums for theta must be made at the xi that is kept.
    """
    value = 0.0
    for sweep in range(sweeps):
        before[:] = sheet.mix
        expect(method, sheet)
        scale = mix_rows(method, model.tag_rows, sheet)
        if method == CVB0:
            mix_own_shares(model, sheet)
            pass_leaving_out(
                sheet.rows, sheet.counts, sheet.word_prior, model.shares.topic, sheet.mix, sheet.own_mix, sheet.sums,
                sheet.inverses, sheet.pull, sheet.own_pull, left,
            )  # fmt: skip
        else:
            pass_over_words(sheet.rows, sheet.counts, sheet.mix, sheet.sums, sheet.pull)
        if method == PAPER:
            for k in range(before.shape[0]):
                sheet.pull[k] *= sheet.mix[k]
        final = sweep == sweeps - 1
        if tolerance > 0 and sweep > 0 and not final:
            moved = 0.0
            for k in range(before.shape[0]):
                moved += abs(sheet.mix[k] - before[k])
            final = moved <= tolerance * total_of(sheet.mix)
        if final:
            value = objective(method, model.mu, sheet, scale)
        if method == CVB0:
            move_by_credit_of_others(model, sheet)
        elif method != PAPER:
            move_by_credit(model, sheet)
        elif not final:
            move_by_ascent(model, sheet)
        if final:
            break
    return value


class Room(NamedTuple):
    """Working arrays that documents use one after the other, as long as the longest of them needs."""

    rows: Floats
    by_word: Floats
    by_topic: Floats
    of_latent: Float64s
    by_tag: Float64s


def room_for(documents: Documents, first: int, last: int, psi: Floats) -> Room:
    """Room for each of the documents ``first:last``."""
    n_topics, dtype = psi.shape[1], psi.dtype
    most_words, most_tags = (
        int(np.diff(starts[first : last + 1]).max(initial=0))
        for starts in (documents.word_starts, documents.tag_starts)
    )
    return Room(
        np.empty((most_words, n_topics), dtype), np.empty((4, most_words), dtype), np.zeros((9, n_topics), dtype),
        np.empty((2, n_topics)), np.empty((3, most_tags + 1)),
    )  # fmt: skip


@compiled
def borrow_model(model: Model) -> Model:
    """The model, with all its arrays borrowed."""
    shares = Shares(borrow(model.shares.topic), borrow(model.shares.tag), borrow(model.shares.word_prior))
    return Model(
        borrow(model.psi), borrow(model.tag_rows), borrow(model.pi), model.pi_latent, borrow(model.mu), model.latent,
        shares,
    )  # fmt: skip


@compiled
def infer_documents(
    room: Room,
    method: int,
    documents: Documents,
    first: int,
    last: int,
    owned_model: Model,
    state: State,
    out: Evaluation,
    slots: Int32s,
    sweeps: int,
    tolerance: float,
) -> None:
    """Sweep documents ``first:last`` from their state; leave the state moved on and ``out`` filled.

    A document stops after ``sweeps`` sweeps, or when its mix moves by no more than ``tolerance`` (relative, in sum).
    ``slots`` says where each word entry's ratio goes. A document with no tags gets a latent tag under any model.
    What is handed on or sliced for each document is borrowed from the caller.
    """
    model, leaving_out = borrow_model(owned_model), method == CVB0
    n_topics = model.psi.shape[1]
    rows, words, tags = borrow(room.rows), borrow(documents.words), borrow(documents.tags)
    by_word, by_topic, by_tag = borrow(room.by_word), borrow(room.by_topic), borrow(room.by_tag)
    mix, pull, before, own_mix, own_pull = by_topic[0], by_topic[1], by_topic[2], by_topic[3], by_topic[4]
    left, of_latent = by_topic[5:], borrow(room.of_latent)
    rho, latent_row = of_latent[0], of_latent[1]
    word_base, tag_base = documents.word_starts[0], documents.tag_starts[0]

    for d in range(first, last):
        word_start, n_words = documents.word_starts[d], documents.word_starts[d + 1] - documents.word_starts[d]
        tag_start, n_tags = documents.tag_starts[d], documents.tag_starts[d + 1] - documents.tag_starts[d]
        latent = model.latent or n_tags == 0
        size = n_tags + 1 if latent else n_tags
        counts, sums = by_word[0, :n_words], by_word[1, :n_words]
        word_prior, inverses = by_word[2, :n_words], by_word[3, :n_words]
        xi, prior, weights = by_tag[0, :size], by_tag[1, :size], by_tag[2, :size]
        for i in range(n_words):
            counts[i] = documents.counts[word_start + i]
            word = words[word_start + i]
            if word_start + i + AHEAD < words.shape[0]:
                prefetch_row(model.psi, words[word_start + i + AHEAD])
            for k in range(n_topics):
                rows[i, k] = model.psi[word, k]
            if leaving_out:
                word_prior[i] = model.shares.word_prior[word]
        for j in range(n_tags):
            xi[j] = state.xi[tag_start - tag_base + j]
            prior[j] = model.pi[tags[tag_start + j]]
        if latent:
            xi[n_tags] = state.xi_latent[d]
            prior[n_tags] = model.pi_latent
            for k in range(n_topics):
                rho[k] = state.rho[d, k]
        sheet = Sheet(
            tags[tag_start : tag_start + n_tags], latent, prior, xi, rho, weights, latent_row, rows[:n_words], counts,
            sums, mix, pull, word_prior, inverses, own_mix, own_pull,
        )  # fmt: skip
        out.objective[d] = sweep_document(method, model, sheet, sweeps, tolerance, before, left)
        for j in range(n_tags):
            state.xi[tag_start - tag_base + j] = xi[j]
            out.weights[tag_start - tag_base + j] = weights[j]
        if latent:
            state.xi_latent[d] = xi[n_tags]
            for k in range(n_topics):
                state.rho[d, k] = rho[k]
        for k in range(n_topics):
            out.mix[d, k] = mix[k]
            out.pull[d, k] = pull[k]
        for i in range(n_words):
            slot = slots[word_start - word_base + i]
            out.ratios[slot] = counts[i] / sums[i] if sums[i] > 0 else 0.0
            if leaving_out:
                out.inverses[slot] = inverses[i]
        if leaving_out:
            for k in range(n_topics):
                out.own_mix[d, k] = own_mix[k]
                out.own_pull[d, k] = own_pull[k]
