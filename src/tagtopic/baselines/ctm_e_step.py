"""The E-step of CTM: variational inference of a document's topics under a logistic normal prior.

The document's eta is normal(mu, P^-1) and its topics are softmax(eta). q(eta) is normal with means lambda and variances
nu; with the topics of the words and Blei and Lafferty's zeta at their best the bound is

    sum_w c_w log sum_k psi_wk exp(lambda_k) - N log sum_k exp(lambda_k + nu_k / 2)
    - 1/2 (lambda - mu)' P (lambda - mu) - 1/2 sum_k (P_kk nu_k - log nu_k - 1) + 1/2 log det P

and each step below raises it: the words' topics, lambda given those (concave: a Newton step by conjugate gradients,
shortened until it rises), nu given zeta (concave, each by itself: Newton's method in log nu).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.types import Documents

CONJUGATE_STEPS = 10
CONJUGATE_TOLERANCE = 0.05
HALVINGS = 12
NEWTON_STEPS = 6


class LogisticNormal(NamedTuple):
    """psi (words, topics), mu (topics), P (topics, topics) and its log determinant."""

    psi: Floats
    mean: Float64s
    precision: Float64s
    log_determinant: float


class CTMEvaluation(NamedTuple):
    """By document: exp(lambda), scaled to a maximum of 1, and the bound; by (document, word): c_w / s_w."""

    weights: Floats
    ratios: Floats
    bound: Float64s


@compiled_reordering
def _times(matrix: Float64s, vector: Float64s, out: Float64s) -> None:
    for k in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[k, j] * vector[j]
        out[k] = total


@compiled
def log_normaliser(means: Float64s, variances: Float64s, shares: Float64s) -> float:
    """Log sum_k exp(lambda_k + nu_k / 2); ``shares`` becomes the terms over their sum."""
    largest = -np.inf
    for k in range(means.shape[0]):
        shares[k] = means[k] + 0.5 * variances[k]
        largest = max(largest, shares[k])
    total = 0.0
    for k in range(means.shape[0]):
        shares[k] = math.exp(shares[k] - largest)
        total += shares[k]
    for k in range(means.shape[0]):
        shares[k] /= total
    return largest + math.log(total)


@compiled
def _newton_direction(
    gradient: Float64s, shares: Float64s, length: float, precision: Float64s, direction: Float64s, image: Float64s
) -> None:
    """Solve (P + N (diag p - p p')) direction = gradient, nearly; ``image`` becomes P direction."""
    n = gradient.shape[0]
    residual, product = gradient.copy(), np.empty(n)
    scaled = np.empty(n)
    direction[:] = 0.0
    image[:] = 0.0
    for k in range(n):
        scaled[k] = residual[k] / (precision[k, k] + length * shares[k])
    search = scaled.copy()
    now = (residual * scaled).sum()
    limit = CONJUGATE_TOLERANCE**2 * now
    for _ in range(CONJUGATE_STEPS):
        if now <= limit or now <= 1e-14:
            break
        _times(precision, search, product)
        inner = (shares * search).sum()
        curvature = 0.0
        for k in range(n):
            curvature += search[k] * (product[k] + length * shares[k] * (search[k] - inner))
        step = now / curvature
        for k in range(n):
            direction[k] += step * search[k]
            image[k] += step * product[k]
            residual[k] -= step * (product[k] + length * shares[k] * (search[k] - inner))
            scaled[k] = residual[k] / (precision[k, k] + length * shares[k])
        then = (residual * scaled).sum()
        for k in range(n):
            search[k] = scaled[k] + then / now * search[k]
        now = then


@compiled
def raise_means(
    counts: Float64s, length: float, model: LogisticNormal, means: Float64s, variances: Float64s, shares: Float64s
) -> None:
    """Lambda given how many words have each topic: one Newton step that does not lower the bound."""
    n = means.shape[0]
    away, pull = means - model.mean, np.empty(n)
    _times(model.precision, away, pull)
    before = (counts * means).sum() - length * log_normaliser(means, variances, shares) - 0.5 * (away * pull).sum()
    direction, image = np.empty(n), np.empty(n)
    _newton_direction(counts - length * shares - pull, shares, length, model.precision, direction, image)
    linear, square, cross = (away * pull).sum(), (direction * image).sum(), (direction * pull).sum()
    step, trial = 1.0, np.empty(n)
    for _ in range(HALVINGS):
        for k in range(n):
            trial[k] = means[k] + step * direction[k]
        value = (counts * trial).sum() - length * log_normaliser(trial, variances, shares)
        if value - 0.5 * (linear + 2 * step * cross + step * step * square) >= before:
            means[:] = trial
            return
        step *= 0.5
    log_normaliser(means, variances, shares)


@compiled
def raise_variances(length: float, model: LogisticNormal, means: Float64s, variances: Float64s, zeta: float) -> None:
    """Nu at its best while log zeta is held.

    The derivative times 2 nu is 1 - P_kk nu - N nu exp(lambda + nu / 2 - log zeta): falling and concave in log nu, so
    from below its root Newton's method goes above it once, at most to 1 / P_kk, and then stays there.
    """
    for k in range(means.shape[0]):
        own = model.precision[k, k]
        value = min(variances[k], 1.0 / own)
        for _ in range(NEWTON_STEPS):
            pressed = length * value * math.exp(means[k] + 0.5 * value - zeta)
            slope = -own * value - pressed * (1.0 + 0.5 * value)
            move = (1.0 - own * value - pressed) / slope
            value = min(value * math.exp(-move), 1.0 / own)
            if abs(move) < 1e-9:
                break
        variances[k] = value


@compiled_reordering
def count_topics(rows: Floats, counts: Floats, weights: Float64s, ratios: Floats, out: Float64s) -> float:
    """Expected words of each topic, sum_w c_w log s_w, and c_w / s_w, with s_w = sum_k psi_wk weights_k."""
    value = 0.0
    out[:] = 0.0
    for i in range(rows.shape[0]):
        total = 0.0
        for k in range(rows.shape[1]):
            total += rows[i, k] * weights[k]
        value += counts[i] * math.log(total)
        ratios[i] = counts[i] / total
        for k in range(rows.shape[1]):
            out[k] += rows[i, k] * (counts[i] / total)
    for k in range(rows.shape[1]):
        out[k] *= weights[k]
    return value


@compiled
def infer_document(
    rows: Floats,
    counts: Floats,
    model: LogisticNormal,
    means: Float64s,
    variances: Float64s,
    sweeps: int,
    weights: Float64s,
    ratios: Floats,
) -> float:
    """Raise lambda and nu in place ``sweeps`` times; the bound, with ``weights`` and ``ratios`` that belong to it."""
    n_topics = means.shape[0]
    expected, shares = np.empty(n_topics), np.empty(n_topics)
    length = float(counts.sum())
    value = 0.0
    for done in range(sweeps + 1):
        largest = means.max()
        for k in range(n_topics):
            weights[k] = math.exp(means[k] - largest)
        value = count_topics(rows, counts, weights, ratios, expected) + length * largest
        if done == sweeps:
            break
        raise_means(expected, length, model, means, variances, shares)
        raise_variances(length, model, means, variances, log_normaliser(means, variances, shares))
    away, pull = means - model.mean, np.empty(n_topics)
    _times(model.precision, away, pull)
    value -= length * log_normaliser(means, variances, shares) + 0.5 * (away * pull).sum()
    for k in range(n_topics):
        value -= 0.5 * (model.precision[k, k] * variances[k] - math.log(variances[k]) - 1.0)
    return float(value + 0.5 * model.log_determinant)


@compiled
def infer_documents(
    documents: Documents,
    first: int,
    last: int,
    model: LogisticNormal,
    means: Float64s,
    variances: Float64s,
    out: CTMEvaluation,
    sweeps: int,
) -> None:
    """Documents first:last of a block; ``means`` and ``variances`` (documents, topics) are raised in place."""
    base = documents.word_starts[0]
    n_topics = model.mean.shape[0]
    weights = np.empty(n_topics)
    for d in range(first, last):
        start, end = documents.word_starts[d], documents.word_starts[d + 1]
        rows = np.empty((end - start, n_topics), model.psi.dtype)
        for i in range(end - start):
            rows[i] = model.psi[documents.words[start + i]]
        counts = documents.counts[start:end].astype(model.psi.dtype)
        ratios = out.ratios[start - base : end - base]
        out.bound[d] = infer_document(rows, counts, model, means[d], variances[d], sweeps, weights, ratios)
        for k in range(n_topics):
            out.weights[d, k] = weights[k]
