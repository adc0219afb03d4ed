"""One document under inference: its working arrays, and how weights, topic mix, xi and rho come from each other.

The equations are those of the ways of inference; their readable twin is ``reference.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic.compiled import compiled, compiled_reordering
from tagtopic.inference.arrays import COLLAPSED, MAP, MIXTURE, PAPER, Float64s, Floats, Int32s, Model
from tagtopic.inference.paper_weights import ascend_weights
from tagtopic.inference.products import product_with_row, total_of
from tagtopic.inference.special import digamma


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
    total = total_of(sheet.rho)
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
        share = weight / total_of(sheet.rho)
        total = 0.0
        for k in range(n_topics):
            credit = weight * sheet.latent_row[k] * max(sheet.pull[k] - share * sheet.own_pull[k], 0.0)
            sheet.rho[k] = model.mu[k] + credit
            total += credit
        sheet.xi[n_tags] = sheet.prior[n_tags] + total
