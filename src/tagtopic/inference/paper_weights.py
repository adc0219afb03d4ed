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

from tagtopic.compiled import compiled
from tagtopic.inference.arrays import Float64s
from tagtopic.inference.special import dirichlet_divergence, trigamma

MAX_STEPS = 30
MAX_HALVINGS = 20
LARGEST_LOG_STEP = 2.0
SMALLEST_XI = 1e-8


@compiled
def weight_objective(xi: Float64s, pi: Float64s, gains: Float64s) -> float:
    """L[xi] as above."""
    value: float = -dirichlet_divergence(xi, pi) + (xi * gains).sum() / xi.sum()
    return value


@compiled
def weight_gradient(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """DL / dxi: the paper's Appendix A."""
    total = xi.sum()
    mean_gain = (xi * gains).sum() / total
    centre = trigamma(total) * (pi - xi).sum()
    gradient = np.empty(xi.shape[0])
    for j in range(xi.shape[0]):
        gradient[j] = trigamma(xi[j]) * (pi[j] - xi[j]) - centre + (gains[j] - mean_gain) / total
    return gradient


@compiled
def natural_direction(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """F^-1 dL/dxi, by Sherman-Morrison."""
    total = xi.sum()
    mean_gain = (xi * gains).sum() / total
    size = xi.shape[0]
    inverse = np.empty(size)
    slope = np.empty(size)
    for j in range(size):
        inverse[j] = 1.0 / trigamma(xi[j])
        slope[j] = inverse[j] * (gains[j] - mean_gain) / total
    # F is positive definite, so this denominator is positive but for rounding
    spread = 1.0 - trigamma(total) * inverse.sum()
    shared = trigamma(total) * slope.sum() / max(spread, 1e-12)
    direction: Float64s = pi - xi + slope + inverse * shared
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
        direction = natural_direction(xi, pi, gains) / xi
        largest = np.abs(direction).max()
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
        xi[:] = trial
        value = trial_value
        if gained <= 1e-10 * (1.0 + abs(value)):
            return
