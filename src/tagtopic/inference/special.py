"""Digamma and related functions for the kernels: scipy.special cannot be called from Numba without the GIL."""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.jit import compiled


@compiled
def digamma(x: float) -> float:
    """Return ``scipy.special.digamma(x)`` for x > 0, to 1e-13: recurrence up to 8, then the asymptotic series."""
    if x <= 0.0:
        return math.nan
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = square * (
        1 / 12
        - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * 691 / 32760))))
    )
    return shift + math.log(x) - 0.5 * inverse - series


@compiled
def trigamma(x: float) -> float:
    """Return ``scipy.special.polygamma(1, x)`` for x > 0, to 1e-12."""
    if x <= 0.0:
        return math.nan
    shift = 0.0
    while x < 8.0:
        shift += 1.0 / (x * x)
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square * (1 / 30 - square * 5 / 66))))
    return shift + inverse + 0.5 * square + series


@compiled
def inverse_digamma(y: float) -> float:
    """Return the x with digamma(x) = y, by Newton steps from Minka's initial value."""
    x = math.exp(y) + 0.5 if y >= -2.22 else -1.0 / (y + 0.5772156649015329)
    for _ in range(6):
        step = (digamma(x) - y) / trigamma(x)
        x = x - step if step < x else 0.5 * x
        if abs(step) <= 1e-14 * x:
            break
    return x


@compiled
def inverse_digamma_of(values: Float64s) -> Float64s:
    """Return the inverse of digamma at each value."""
    out = np.empty(values.shape[0])
    for i in range(values.shape[0]):
        out[i] = inverse_digamma(values[i])
    return out


@compiled
def dirichlet_divergence(posterior: Float64s, prior: Float64s) -> float:
    """Return KL(Dir(posterior) || Dir(prior))."""
    posterior_total, prior_total = 0.0, 0.0
    for i in range(posterior.shape[0]):
        posterior_total += posterior[i]
        prior_total += prior[i]
    value = math.lgamma(posterior_total) - math.lgamma(prior_total)
    centre = digamma(posterior_total)
    for i in range(posterior.shape[0]):
        value -= math.lgamma(posterior[i]) - math.lgamma(prior[i])
        value += (posterior[i] - prior[i]) * (digamma(posterior[i]) - centre)
    return value
