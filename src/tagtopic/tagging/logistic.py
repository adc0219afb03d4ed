"""Logistic regression of a few features by Newton's method.

scikit-learn's gives the same coefficients; importing it takes longer than fitting the tag predictor of a small corpus.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats

MAX_STEPS = 100
TOLERANCE = 1e-6
"""Largest gradient per example at the end."""

RIDGE = 1e-10
"""Keeps the matrix of second derivatives invertible."""


def fit_logistic(features: Floats, labels: Any) -> Float64s:
    """Return slopes, and last the intercept, of a logistic regression with the penalty ``sum(slopes**2) / 2``.

    Parameters
    ----------
    features : ndarray of shape (n_examples, n_features)
        Features of about the same scale.
    labels : ndarray of bool, shape (n_examples,)
        Both values occur.

    Returns
    -------
    ndarray of shape (n_features + 1,)
    """
    inputs = np.column_stack([features, np.ones(len(features))]).astype(np.float64)
    penalty = np.append(np.ones(features.shape[1]), 0.0)
    signs = np.where(labels, 1.0, -1.0)

    def loss_of(weights: Float64s) -> float:
        return float(np.logaddexp(0.0, -signs * (inputs @ weights)).sum() + 0.5 * penalty @ weights**2)

    weights = np.zeros(inputs.shape[1])
    loss = loss_of(weights)
    for _ in range(MAX_STEPS):
        wrong = np.exp(-np.logaddexp(0.0, signs * (inputs @ weights)))  # probabilities of the other labels
        gradient = penalty * weights - inputs.T @ (signs * wrong)
        if np.abs(gradient).max() <= TOLERANCE * len(inputs):
            break
        curvature = (inputs * (wrong * (1.0 - wrong))[:, None]).T @ inputs + np.diag(penalty + RIDGE)
        step = np.linalg.solve(curvature, gradient)
        size, trial = 1.0, loss_of(weights - step)
        while size > RIDGE and trial > loss:
            size /= 2
            trial = loss_of(weights - size * step)
        if size <= RIDGE:
            break
        weights, loss = weights - size * step, trial
    return weights
