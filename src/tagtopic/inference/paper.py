"""The paper's update of a document's tag weights (its eq. 1 and 7): maximise, over xi,

    L[xi] = - KL(Dir(xi) || Dir(pi)) + sum_j (xi_j / sum xi) g_j,      g_j = sum_k N_k C_jk.

The Hessian is almost always indefinite, so Newton is out. With F = diag(Psi'(xi)) - Psi'(sum xi) 1 1', the Fisher
information of Dir(xi), the gradient of the first term is F (pi - xi): a natural-gradient step is therefore
(pi - xi) + F^-1 h with h the second term's gradient, and costs O(tags). Steps are taken in log xi, so that xi stays
positive, and only where the objective rises.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.jit import compiled
from tagtopic.inference.special import dirichlet_divergence, trigamma

MAX_STEPS = 30
MAX_HALVINGS = 20
LARGEST_LOG_STEP = 2.0
SMALLEST_XI = 1e-8


@compiled
def mean_of(gains: Float64s, xi: Float64s) -> float:
    """``gains @ xi / xi.sum()``. Loops compile in a fraction of the time that expressions of whole arrays take."""
    total, weighted = 0.0, 0.0
    for j in range(xi.shape[0]):
        total += xi[j]
        weighted += xi[j] * gains[j]
    return weighted / total


@compiled
def weight_objective(xi: Float64s, pi: Float64s, gains: Float64s) -> float:
    """L[xi] as above."""
    return mean_of(gains, xi) - dirichlet_divergence(xi, pi)


@compiled
def weight_gradient(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """DL / dxi: the paper's Appendix A."""
    total, mean_gain = xi.sum(), mean_of(gains, xi)
    centre = trigamma(total) * (pi.sum() - total)
    gradient = np.empty(xi.shape[0])
    for j in range(xi.shape[0]):
        gradient[j] = trigamma(xi[j]) * (pi[j] - xi[j]) - centre + (gains[j] - mean_gain) / total
    return gradient


@compiled
def natural_direction(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """F^-1 dL/dxi, by Sherman-Morrison."""
    total, mean_gain = xi.sum(), mean_of(gains, xi)
    inverse, direction = np.empty(xi.shape[0]), np.empty(xi.shape[0])
    sum_of_inverses, sum_of_slopes = 0.0, 0.0
    for j in range(xi.shape[0]):
        inverse[j] = 1.0 / trigamma(xi[j])
        direction[j] = inverse[j] * (gains[j] - mean_gain) / total
        sum_of_inverses += inverse[j]
        sum_of_slopes += direction[j]
    # F is positive definite, so this denominator is positive but for rounding
    spread = 1.0 - trigamma(total) * sum_of_inverses
    shared = trigamma(total) * sum_of_slopes / max(spread, 1e-12)
    for j in range(xi.shape[0]):
        direction[j] += pi[j] - xi[j] + inverse[j] * shared
    return direction


@compiled
def ascend_weights(xi: Float64s, pi: Float64s, gains: Float64s) -> None:
    """Move xi, in place, to a maximum of L[xi]; the objective never falls."""
    size = xi.shape[0]
    if size == 1:
        xi[0] = pi[0]  # one tag has weight 1 whatever xi is: the divergence alone decides
        return
    value = weight_objective(xi, pi, gains)
    trial = np.empty(size)
    for _ in range(MAX_STEPS):
        direction = natural_direction(xi, pi, gains)
        largest = 0.0
        for j in range(size):
            direction[j] /= xi[j]
            largest = max(largest, abs(direction[j]))
        if largest < 1e-9:
            return
        step = min(1.0, LARGEST_LOG_STEP / largest)
        risen, trial_value = False, value
        for _halving in range(MAX_HALVINGS):
            for j in range(size):
                trial[j] = max(xi[j] * math.exp(step * direction[j]), SMALLEST_XI)
            trial_value = weight_objective(trial, pi, gains)
            if trial_value > value:
                risen = True
                break
            step *= 0.5
        if not risen:
            return
        gained = trial_value - value
        for j in range(size):
            xi[j] = trial[j]
        value = trial_value
        if gained <= 1e-10 * (1.0 + abs(value)):
            return
