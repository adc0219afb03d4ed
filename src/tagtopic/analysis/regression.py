"""Fractional logit: the mean of a share in [0, 1] as a logistic function of covariates, with weak normal priors.

The estimate of a topic's coefficients b solves

    sum_d w_d x_d (y_d - p_d) - (phi / s^2) b = 0 ,      p_d = 1 / (1 + exp(-x_d b)) ,

where y is the topic's share of a document, phi the dispersion (the variance of y over p (1 - p)) and s the standard
deviation of the prior of a coefficient (none for the intercept). It is consistent for the mean of y whatever the
distribution of y (Papke and Wooldridge 1996). The prior matters only for levels that have next to no documents of a
topic, where the estimate would run away.

The uncertainty of b given y is that of the perturbed equation: its first term has the covariance X' diag(v) X with

    v_d = w_d^2 (e_d^2 + h_d phi p_d (1 - p_d)) ,        e = y - p, h the leverage,

which is the robust covariance for documents of small leverage, and that of the model where a document determines its
own fit: the expected square of e_d is (1 - h_d) times the variance. Terms of documents in a cluster are added first.

References
----------
L. E. Papke and J. M. Wooldridge, "Econometric methods for fractional response variables", Journal of Applied
Econometrics 11, 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.special import expit

from tagtopic._core.arrays import Float64s, Floats, Int64s
from tagtopic._core.jit import compiled

PRIOR_SCALE = 2.5
"""The prior standard deviation of a coefficient: from even odds, 2.5 is a change to 92%."""

NEWTON_STEPS = 50
CHORD_STEPS, CHORD_TOLERANCE = 20, 1e-4
TOLERANCE = 1e-6
"""Coefficients have converged if a step changes none of them by more."""

MAX_LOGIT = 30.0
MAX_CG_STEPS, CG_TOLERANCE = 25, 1e-2
"""Steps of conjugate gradients at most, and the relative residual at which they end."""

MANY_COLUMNS = 200
LARGE_CG_STEPS, LARGE_CG_TOLERANCE = 8, 5e-2
"""The same for designs of more than ``MANY_COLUMNS``, and their coefficients are in single precision."""


class DistinctRows(NamedTuple):
    """The distinct rows of a design, and sums over the documents of each.

    Shares enter the estimate through these sums only: documents with the same covariates need one row.

    Parameters
    ----------
    matrix : csr_array of shape (rows, columns)
        The rows.
    rows : ndarray of int, shape (documents,)
        The row of each document.
    weights : ndarray of shape (rows,)
        The weights of the documents of each row, added up.
    membership : csr_array of float32, shape (rows, documents)
        1 where a document has a row.
    """

    matrix: Any
    rows: Int64s
    weights: Float64s
    membership: Any

    def sums(self, values: Float64s) -> Float64s:
        """Add up values of documents by row."""
        return np.bincount(self.rows, values, minlength=len(self.weights)).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Regression:
    """The design of a regression.

    Parameters
    ----------
    matrix : csr_array of shape (documents, columns)
        The design.
    weights : ndarray of shape (documents,)
        The documents' weights, of mean 1.
    penalised : ndarray of bool, shape (columns,)
        Columns whose coefficients have a prior: all but the intercept.
    clusters : ndarray of int, shape (documents,), or None
        The cluster of each document.
    """

    matrix: Any
    weights: Float64s
    penalised: Any
    clusters: Int64s | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.matrix.shape[1])

    def ridge(self, dispersion: float) -> Float64s:
        """Phi / s^2 of each column."""
        return np.where(self.penalised, dispersion / PRIOR_SCALE**2, 1e-10)

    @cached_property
    def distinct(self) -> DistinctRows:
        """The distinct rows of the design."""
        matrix = sp.csr_array(self.matrix)
        matrix.sort_indices()
        # equal rows have equal projections on random directions, to the last bit
        keys = matrix @ np.random.default_rng(0).standard_normal((self.n_columns, 2))
        _, first, rows = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        rows, kept = np.asarray(rows, np.int64).ravel(), sp.csr_array(matrix[first])
        if (kept[rows] != matrix).nnz:  # different rows with equal projections: improbable, not impossible
            rows, kept = np.arange(matrix.shape[0]), matrix
        n_documents = len(rows)
        membership = sp.csr_array(
            (np.ones(n_documents, np.float32), (rows, np.arange(n_documents))), shape=(kept.shape[0], n_documents)
        )
        return DistinctRows(kept, rows, np.bincount(rows, self.weights).astype(np.float64, copy=False), membership)

    def information(self, variances: Float64s) -> Float64s:
        """X' diag(variances) X, dense; variances are of documents."""
        return self.information_of_rows(self.distinct.sums(variances))

    def information_of_rows(self, variances: Float64s) -> Float64s:
        """The same with sums of variances over the documents of each distinct row."""
        matrix = self.distinct.matrix
        found = np.zeros((self.n_columns, self.n_columns))
        add_gram(matrix.indptr, matrix.indices, matrix.data, variances, found)
        return found

    def score_covariance(self, scores: Float64s) -> Float64s:
        """The covariance of the sum of x_d scores_d, by document or by cluster."""
        if self.clusters is None:
            return self.information(scores**2)
        n_clusters = int(self.clusters.max()) + 1
        by_cluster = sp.csr_array((scores, (self.clusters, np.arange(len(scores)))), shape=(n_clusters, len(scores)))
        sums = sp.csr_array(by_cluster @ self.matrix)
        correction = n_clusters / max(n_clusters - 1, 1)
        return np.asarray((sums.T @ sums).toarray()) * correction


def dispersion_of(shares: Float64s, means: Float64s, weights: Float64s) -> float:
    """phi: the variance of the shares over that of whole documents, p (1 - p)."""
    whole = float((weights * means * (1.0 - means)).sum())
    return float(np.clip((weights * (shares - means) ** 2).sum() / max(whole, 1e-12), 1e-4, 1.0))


def starting_coefficients(regression: Regression, shares: Floats) -> Float64s:
    """The coefficients at which Newton's method starts: those of the same mean for all documents (columns, topics)."""
    found = np.zeros((regression.n_columns, shares.shape[1]))
    intercept = np.flatnonzero(~regression.penalised)
    if len(intercept):
        mean = np.clip(np.average(shares, axis=0, weights=regression.weights), 1e-6, 1 - 1e-6)
        found[intercept[0]] = np.log(mean) - np.log1p(-mean)
    return found


def update_coefficients(
    regression: Regression, shares: Floats, coefficients: Floats, noise: Floats, prior_noise: Floats
) -> tuple[Float64s, Float64s]:
    """Take a Newton step of all topics at once, and draw coefficients around it.

    The linear systems are solved by conjugate gradients, roughly: the coefficients are those of the prior of documents.

    Parameters
    ----------
    regression : Regression
        The design.
    shares : ndarray of shape (documents, topics)
        The shares.
    coefficients : ndarray of shape (columns, topics)
        The last estimate.
    noise, prior_noise : ndarray of shape (documents, 1), (columns, topics)
        Standard normal draws.

    Returns
    -------
    estimate, draw : ndarray of shape (columns, topics)
    """
    matrix, rows, row_weights, membership = regression.distinct
    weights, row_weights = regression.weights[:, None], row_weights[:, None]
    limits = MAX_CG_STEPS, CG_TOLERANCE
    if regression.n_columns > MANY_COLUMNS:
        matrix, noise = matrix.astype(np.float32), noise.astype(np.float32)
        coefficients = coefficients.astype(np.float32)
        weights, row_weights = weights.astype(np.float32), row_weights.astype(np.float32)
        limits = LARGE_CG_STEPS, LARGE_CG_TOLERANCE
    means = expit(np.clip(matrix @ coefficients, -MAX_LOGIT, MAX_LOGIT))
    residuals = weights * (shares - means[rows])
    variances = row_weights * means * (1.0 - means)
    dispersion = np.clip((residuals**2).sum(axis=0) / np.maximum(variances.sum(axis=0), 1e-12), 1e-4, 1.0)
    ridge = np.where(regression.penalised[:, None], dispersion / PRIOR_SCALE**2, 1e-10)
    score = matrix.T @ (membership @ residuals) - ridge * coefficients
    perturbation = matrix.T @ (membership @ (residuals * noise)) + np.sqrt(ridge * dispersion) * prior_noise
    squared = matrix.multiply(matrix).T
    diagonal = np.maximum(squared @ variances + ridge, 1e-10)

    def product(values: Float64s) -> Float64s:
        return np.asarray(matrix.T @ (variances * (matrix @ values)) + ridge * values)

    step = _conjugate_gradients(product, diagonal, score, *limits)
    drawn = _conjugate_gradients(product, diagonal, perturbation, *limits)
    estimate = coefficients + np.clip(step, -2.0, 2.0)
    draw = estimate + np.clip(drawn, -3 * PRIOR_SCALE, 3 * PRIOR_SCALE)
    return np.asarray(estimate, np.float64), np.asarray(draw, np.float64)


def _conjugate_gradients(
    product: Any, diagonal: Float64s, right: Float64s, max_steps: int, tolerance: float
) -> Float64s:
    """Solve the systems of all topics at once, preconditioned by the diagonal."""
    found, residual = np.zeros_like(right), right.copy()
    direction = residual / diagonal
    inner = (residual * direction).sum(axis=0)
    target = tolerance**2 * inner
    for _ in range(max_steps):
        if (inner <= target).all():
            break
        image = product(direction)
        rate = inner / np.maximum((direction * image).sum(axis=0), 1e-300)
        found += rate * direction
        residual -= rate * image
        scaled = residual / diagonal
        following = (residual * scaled).sum(axis=0)
        direction = scaled + following / np.maximum(inner, 1e-300) * direction
        inner = following
    return found


@dataclass(frozen=True)
class TopicFit:
    """The fit of one topic to its mean shares over draws, from which those of single draws are found."""

    coefficients: Float64s
    inverse: Float64s
    factor: Float64s
    dispersion: float

    def spread(self, normal: Floats) -> Floats:
        """Turn standard normal draws (columns, samples) into draws of the coefficients' errors."""
        return np.asarray(self.inverse @ (self.factor @ normal))


def fit_topic(
    regression: Regression,
    shares: Float64s,
    dispersion: float,
    squares: Float64s | None = None,
    start: Float64s | None = None,
) -> TopicFit:
    """Fit one topic.

    Parameters
    ----------
    regression : Regression
        The design.
    shares : ndarray of shape (documents,)
        The topic's share of each document: the mean over draws.
    dispersion : float
        phi.
    squares : ndarray of shape (documents,) or None
        The variance of each share over draws, which is added to the squared residuals.
    start : ndarray of shape (columns,) or None
        Where Newton's method starts, if that is better than the same mean for all documents. The objective is concave:
        the start does not matter for the result.

    Returns
    -------
    TopicFit
    """
    matrix, rows, weights, _ = regression.distinct
    sums = regression.distinct.sums(regression.weights * shares)
    ridge = regression.ridge(dispersion)
    coefficients = starting_coefficients(regression, shares[:, None])[:, 0]

    def objective(values: Float64s) -> float:
        predictor = matrix @ values
        return float((sums * predictor - weights * np.logaddexp(0.0, predictor)).sum() - 0.5 * ridge @ values**2)

    value = objective(coefficients)
    if start is not None and (there := objective(start)) > value:
        coefficients, value = start.copy(), there
    for _ in range(NEWTON_STEPS):
        means = expit(matrix @ coefficients)
        information = regression.information_of_rows(weights * means * (1.0 - means))
        information[np.diag_indices_from(information)] += ridge
        score = matrix.T @ (sums - weights * means) - ridge * coefficients
        step = scipy.linalg.cho_solve(scipy.linalg.cho_factor(information, check_finite=False), score)
        size = 1.0
        while (after := objective(coefficients + size * step)) < value - 1e-9 * abs(value) and size > 1e-4:
            size *= 0.5
        coefficients, value = coefficients + size * step, after
        if np.abs(step).max() < TOLERANCE:
            break
    means = expit(matrix @ coefficients)
    whole = means * (1.0 - means)
    information = regression.information_of_rows(weights * whole)
    information[np.diag_indices_from(information)] += ridge
    inverse = _inverse(information)
    distances = row_leverages(matrix.indptr, matrix.indices, matrix.data, inverse)
    leverages = np.minimum(regression.weights * (distances * whole)[rows], 1.0)
    residuals = shares - means[rows]
    spread = residuals**2 + leverages * dispersion * whole[rows]
    if squares is not None:
        spread = spread + squares
    covariance = regression.score_covariance(regression.weights * np.copysign(np.sqrt(spread), residuals))
    covariance[np.diag_indices_from(covariance)] += ridge * dispersion
    factor = scipy.linalg.cholesky(covariance, lower=True, check_finite=False)
    return TopicFit(coefficients, inverse, factor, dispersion)


def _inverse(information: Float64s) -> Float64s:
    """The inverse of a positive definite matrix, from its Cholesky factor."""
    factor = scipy.linalg.cholesky(information, lower=True, check_finite=False)
    inverse, failed = scipy.linalg.lapack.dpotri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the information of a regression is singular")
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


def fit_draws(regression: Regression, fit: TopicFit, shares: Float64s) -> Float64s:
    """Return the coefficients of draws of the shares, by chord steps from those of the mean shares.

    Parameters
    ----------
    regression : Regression
        The design.
    fit : TopicFit
        The fit to the mean shares.
    shares : ndarray of shape (draws, documents)
        The draws.

    Returns
    -------
    ndarray of shape (columns, draws)
    """
    matrix, _, weights, _ = regression.distinct
    sums = np.array([regression.distinct.sums(regression.weights * drawn) for drawn in shares]).T
    ridge = regression.ridge(fit.dispersion)[:, None]
    coefficients = np.repeat(fit.coefficients[:, None], len(shares), axis=1)
    open_draws = np.arange(len(shares))
    for _ in range(CHORD_STEPS):
        current = coefficients[:, open_draws]
        residuals = sums[:, open_draws] - weights[:, None] * expit(matrix @ current)
        step = fit.inverse @ (matrix.T @ residuals - ridge * current)
        largest = np.abs(step).max(axis=0)
        coefficients[:, open_draws] = current + step * np.minimum(1.0, 1.0 / np.maximum(largest, 1e-300))
        open_draws = open_draws[largest >= CHORD_TOLERANCE]
        if not len(open_draws):
            break
    return coefficients


@compiled
def add_gram(starts: Any, columns: Any, values: Any, weights: Float64s, found: Float64s) -> None:
    """``found += matrix.T @ diag(weights) @ matrix`` of a CSR matrix."""
    for row in range(starts.shape[0] - 1):
        for i in range(starts[row], starts[row + 1]):
            scaled = weights[row] * values[i]
            for j in range(starts[row], starts[row + 1]):
                found[columns[i], columns[j]] += scaled * values[j]


@compiled
def row_leverages(starts: Any, columns: Any, values: Any, inverse: Float64s) -> Float64s:
    """``(matrix @ inverse * matrix).sum(axis=1)`` of a CSR matrix, without the product."""
    found = np.zeros(starts.shape[0] - 1)
    for row in range(found.shape[0]):
        for i in range(starts[row], starts[row + 1]):
            for j in range(starts[row], starts[row + 1]):
                found[row] += values[i] * values[j] * inverse[columns[i], columns[j]]
    return found
