"""Logistic regression of a few features by Newton's method.

scikit-learn's gives the same coefficients; importing it takes longer than fitting the tag predictor of a small corpus.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats

MAX_STEPS = 100
TOLERANCE = 1e-10
"""Loss per example that the last step may still gain, as the quadratic approximation predicts it."""

RIDGE = 1e-10
"""Keeps the matrix of second derivatives invertible."""


def fit_logistic(
    features: Floats, labels: Any, start: Float64s | None = None, weights: Floats | None = None
) -> Float64s:
    """Return slopes, and last the intercept, of a logistic regression with the penalty ``sum(slopes**2) / 2``.

    Parameters
    ----------
    features : ndarray of shape (n_examples, n_features)
        Features of about the same scale; they are used in single precision.
    labels : ndarray of bool, shape (n_examples,)
        Both values occur.
    start : ndarray of shape (n_features + 1,), optional
        Coefficients to start from, such as those of similar examples; by default 0.
    weights : ndarray of shape (n_examples,), optional
        How much each example counts; by default 1.

    Returns
    -------
    ndarray of shape (n_features + 1,)
    """
    inputs = np.ones((len(features), features.shape[1] + 1), np.float32)
    inputs[:, :-1] = features
    penalty = np.append(np.ones(features.shape[1]), 0.0)
    signs = np.where(labels, np.float32(1), np.float32(-1))
    counted = np.float32(1) if weights is None else weights.astype(np.float32)

    def evaluate(coefficients: Float64s) -> tuple[float, Any]:
        """Return the loss, and the probability of the other label of each example."""
        margins = signs * (inputs @ coefficients.astype(np.float32))
        small = np.exp(-np.abs(margins))
        losses = counted * (np.log1p(small) - np.minimum(margins, 0))
        loss = losses.sum(dtype=np.float64) + 0.5 * penalty @ coefficients**2
        return float(loss), np.where(margins > 0, small, np.float32(1)) / (1 + small)

    coefficients = np.zeros(inputs.shape[1]) if start is None else start.astype(np.float64)
    loss, wrong = evaluate(coefficients)
    for _ in range(MAX_STEPS):
        gradient = penalty * coefficients - (counted * signs * wrong) @ inputs
        scaled = inputs * np.sqrt(counted * wrong * (1 - wrong))[:, None]
        step = np.linalg.solve(np.asarray(scaled.T @ scaled, np.float64) + np.diag(penalty + RIDGE), gradient)
        size = 1.0
        trial, trial_wrong = evaluate(coefficients - step)
        while size > RIDGE and trial > loss:
            size /= 2
            trial, trial_wrong = evaluate(coefficients - size * step)
        if size <= RIDGE:
            break
        coefficients, loss, wrong = coefficients - size * step, trial, trial_wrong
        if gradient @ step <= 2 * TOLERANCE * len(inputs):
            break
    return coefficients
