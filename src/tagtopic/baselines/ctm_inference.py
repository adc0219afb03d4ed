"""Inference in CTM, where the topic mix of a document is the softmax of a normal vector.

**E-step** (``infer_documents``): the document's eta is normal(mu, P^-1) and its topics are softmax(eta). q(eta) is
normal with means lambda and variances nu; maximised over the words' topics and Blei and Lafferty's zeta the bound is

    sum_w c_w log sum_k psi_wk exp(lambda_k) - N log sum_k exp(lambda_k + nu_k / 2)
    - 1/2 (lambda - mu)' P (lambda - mu) - 1/2 sum_k (P_kk nu_k - log nu_k - 1) + 1/2 log det P

and each step below increases it: the words' topics, lambda given those (concave: a Newton step by conjugate gradients,
halved until the bound rises), nu given zeta (concave in each coordinate: Newton's method in log nu).

**New documents** (``fold_in_logistic_normal``): the posterior mean of the mix by elliptical slice sampling (Murray,
Adams and MacKay 2010), which has no step size to tune: an ellipse through the current point and a draw from the prior
is shrunk until a point on it is likely enough. The random numbers of a document are seeded by its own words, so the
result depends neither on the other documents nor on their order. (Inside a kernel Numba can seed only NumPy's legacy
generator, one per thread.)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic._core.parallel import ThreadPool, cut_evenly
from tagtopic.baselines.fold_in import CHUNK_ENTRIES as FOLD_IN_ENTRIES
from tagtopic.baselines.fold_in import Words, words_of
from tagtopic.inference.types import Documents

BURN_IN, SAMPLES = 50, 200
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


class CTMPosteriors(NamedTuple):
    """Per document exp(lambda), scaled to a maximum of 1, and the bound; per (document, word) entry c_w / s_w."""

    weights: Floats
    ratios: Floats
    bound: Float64s


@compiled_reordering
def _multiply(matrix: Float64s, vector: Float64s, out: Float64s) -> None:
    for k in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[k, j] * vector[j]
        out[k] = total


@compiled
def log_normaliser(means: Float64s, variances: Float64s, shares: Float64s) -> float:
    """Return log sum_k exp(lambda_k + nu_k / 2); fill ``shares`` with the normalised terms."""
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
    """Solve (P + N (diag p - p p')) direction = gradient approximately; fill ``image`` with P direction."""
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
        _multiply(precision, search, product)
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
def update_means(
    counts: Float64s, length: float, model: LogisticNormal, means: Float64s, variances: Float64s, shares: Float64s
) -> None:
    """Update lambda given the expected topic counts by one Newton step that does not decrease the bound."""
    n = means.shape[0]
    deviation, prior_gradient = means - model.mean, np.empty(n)
    _multiply(model.precision, deviation, prior_gradient)
    before = (
        (counts * means).sum()
        - length * log_normaliser(means, variances, shares)
        - 0.5 * (deviation * prior_gradient).sum()
    )
    direction, image = np.empty(n), np.empty(n)
    _newton_direction(counts - length * shares - prior_gradient, shares, length, model.precision, direction, image)
    linear, square, cross = (
        (deviation * prior_gradient).sum(),
        (direction * image).sum(),
        (direction * prior_gradient).sum(),
    )
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
def update_variances(length: float, model: LogisticNormal, means: Float64s, variances: Float64s, zeta: float) -> None:
    """Maximise the bound over nu at fixed log zeta.

    The derivative times 2 nu is 1 - P_kk nu - N nu exp(lambda + nu / 2 - log zeta): decreasing and concave in log nu,
    so Newton's method started below the root overshoots it once, at most to 1 / P_kk, and then converges from above.
    """
    for k in range(means.shape[0]):
        precision = model.precision[k, k]
        value = min(variances[k], 1.0 / precision)
        for _ in range(NEWTON_STEPS):
            expected = length * value * math.exp(means[k] + 0.5 * value - zeta)
            slope = -precision * value - expected * (1.0 + 0.5 * value)
            move = (1.0 - precision * value - expected) / slope
            value = min(value * math.exp(-move), 1.0 / precision)
            if abs(move) < 1e-9:
                break
        variances[k] = value


@compiled_reordering
def expected_topic_counts(rows: Floats, counts: Floats, weights: Float64s, ratios: Floats, out: Float64s) -> float:
    """Return sum_w c_w log s_w, s_w = psi_w weights; fill ``out`` with expected counts, ``ratios`` with c_w / s_w."""
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
    """Update lambda and nu in place ``sweeps`` times; return the bound, and fill ``weights`` and ``ratios`` at it."""
    n_topics = means.shape[0]
    expected, shares = np.empty(n_topics), np.empty(n_topics)
    length = float(counts.sum())
    value = 0.0
    for done in range(sweeps + 1):
        largest = means.max()
        for k in range(n_topics):
            weights[k] = math.exp(means[k] - largest)
        value = expected_topic_counts(rows, counts, weights, ratios, expected) + length * largest
        if done == sweeps:
            break
        update_means(expected, length, model, means, variances, shares)
        update_variances(length, model, means, variances, log_normaliser(means, variances, shares))
    deviation, prior_gradient = means - model.mean, np.empty(n_topics)
    _multiply(model.precision, deviation, prior_gradient)
    value -= length * log_normaliser(means, variances, shares) + 0.5 * (deviation * prior_gradient).sum()
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
    out: CTMPosteriors,
    sweeps: int,
) -> None:
    """Infer documents first:last of a block; ``means`` and ``variances`` (documents, topics) are updated in place."""
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


@compiled
def fill_softmax(values: Float64s, out: Float64s) -> None:
    """Compute ``out = exp(values) / exp(values).sum()``."""
    largest = values.max()
    total = 0.0
    for k in range(values.shape[0]):
        out[k] = math.exp(values[k] - largest)
        total += out[k]
    for k in range(values.shape[0]):
        out[k] /= total


@compiled
def log_likelihood(rows: Float64s, counts: Floats, mix: Float64s) -> float:
    """Compute ``counts @ log(rows @ mix)``."""
    value = 0.0
    for i in range(rows.shape[0]):
        total = 0.0
        for k in range(mix.shape[0]):
            total += rows[i, k] * mix[k]
        value += counts[i] * math.log(max(total, 1e-300))
    return value


@compiled
def sample_mean_mix(
    rows: Float64s, counts: Floats, mean: Float64s, root: Float64s, burn_in: int, samples: int, out: Float64s
) -> None:
    """Average softmax(mean + x) over posterior draws of x; the prior of x is normal with covariance root root'."""
    n_topics = mean.shape[0]
    point, mix = np.zeros(n_topics), np.empty(n_topics)
    fill_softmax(mean, mix)
    now = log_likelihood(rows, counts, mix)
    out[:] = 0
    for draw in range(burn_in + samples):
        direction = root @ np.random.standard_normal(n_topics)  # noqa: NPY002
        threshold = now + math.log(1.0 - np.random.random())  # noqa: NPY002
        angle = np.random.random() * 2 * math.pi  # noqa: NPY002
        low, high = angle - 2 * math.pi, angle
        while True:
            trial = point * math.cos(angle) + direction * math.sin(angle)
            fill_softmax(mean + trial, mix)
            value = log_likelihood(rows, counts, mix)
            if value > threshold or high - low < 1e-12:
                break
            if angle < 0:
                low = angle
            else:
                high = angle
            angle = low + np.random.random() * (high - low)  # noqa: NPY002
        point, now = trial, value
        if draw >= burn_in:
            for k in range(n_topics):
                out[k] += mix[k] / samples


@compiled
def sample_documents(
    documents: Words, topic_words: Floats, mean: Float64s, root: Float64s, first: int, last: int, mixes: Float64s
) -> None:
    """Fill ``mixes[first:last]`` with posterior means."""
    n_topics = mean.shape[0]
    for d in range(first, last):
        start, n_words = documents.starts[d], documents.starts[d + 1] - documents.starts[d]
        rows = np.empty((n_words, n_topics))
        seed = np.uint64(n_words)
        for i in range(n_words):
            word = documents.words[start + i]
            rows[i] = topic_words[word]
            seed = (seed ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(documents.counts[start + i])
        np.random.seed(np.int64(seed >> np.uint64(33)))  # noqa: NPY002
        sample_mean_mix(rows, documents.counts[start : start + n_words], mean, root, BURN_IN, SAMPLES, mixes[d])


def fold_in_logistic_normal(
    counts: Any, topic_words: Floats, mean: Float64s, covariance: Float64s, n_jobs: int | None = 1
) -> Float64s:
    """Infer the topic mixes (documents, topics) of CSR counts; ``topic_words`` is (words, topics)."""
    values, vectors = np.linalg.eigh(covariance)
    root = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    documents = words_of(counts)
    mixes = np.empty((counts.shape[0], len(mean)))
    with ThreadPool(n_jobs) as workers:
        workers.map(
            lambda part: sample_documents(documents, topic_words, mean, root, *part, mixes),
            cut_evenly(documents.starts, FOLD_IN_ENTRIES),
        )
    return mixes
