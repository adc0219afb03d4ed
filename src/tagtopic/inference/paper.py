"""The paper's update of a document's tag weights (eq. 1 and 7).

Its second use of Jensen's inequality makes the topic mix geometric, e_k = exp(sum_j a_j C_jk) with C_jk = log theta_jk
(for the latent tag E[log lambda_k]). With the expected counts N_k = e_k M_k, xi maximises

    L[xi] = - KL(Dir(xi) || Dir(pi)) + sum_j (xi_j / sum xi) g_j,      g_j = sum_k N_k C_jk.

The Hessian is almost always indefinite, which rules out Newton's method. With F = diag(Psi'(xi)) - Psi'(sum xi) 1 1',
the Fisher information of Dir(xi), the gradient of the first term is F (pi - xi). A natural-gradient step is therefore
(pi - xi) + F^-1 h, with h the gradient of the second term, and costs O(tags). Steps are taken in log xi, which keeps xi
positive, and are halved until the objective rises.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic._core.intrinsics import product_with_row
from tagtopic._core.jit import compiled
from tagtopic.inference.special import dirichlet_divergence, trigamma
from tagtopic.inference.types import KernelParameters, Workspace

MAX_STEPS = 30
MAX_HALVINGS = 20
MAX_LOG_STEP = 2.0
MIN_XI = 1e-8


@compiled
def mean_gain(gains: Float64s, xi: Float64s) -> float:
    """Return ``gains @ xi / xi.sum()``. Loops compile in a fraction of the time of whole-array expressions."""
    total, weighted = 0.0, 0.0
    for j in range(xi.shape[0]):
        total += xi[j]
        weighted += xi[j] * gains[j]
    return weighted / total


@compiled
def xi_objective(xi: Float64s, pi: Float64s, gains: Float64s) -> float:
    """Return L[xi]."""
    return mean_gain(gains, xi) - dirichlet_divergence(xi, pi)


@compiled
def xi_gradient(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """Return dL / dxi (the paper's Appendix A)."""
    total, average = xi.sum(), mean_gain(gains, xi)
    centre = trigamma(total) * (pi.sum() - total)
    gradient = np.empty(xi.shape[0])
    for j in range(xi.shape[0]):
        gradient[j] = trigamma(xi[j]) * (pi[j] - xi[j]) - centre + (gains[j] - average) / total
    return gradient


@compiled
def natural_direction(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """Return F^-1 dL/dxi, by the Sherman-Morrison formula."""
    total, average = xi.sum(), mean_gain(gains, xi)
    inverse, direction = np.empty(xi.shape[0]), np.empty(xi.shape[0])
    inverse_sum, slope_sum = 0.0, 0.0
    for j in range(xi.shape[0]):
        inverse[j] = 1.0 / trigamma(xi[j])
        direction[j] = inverse[j] * (gains[j] - average) / total
        inverse_sum += inverse[j]
        slope_sum += direction[j]
    # F is positive definite, so this denominator is positive but for rounding
    spread = 1.0 - trigamma(total) * inverse_sum
    common = trigamma(total) * slope_sum / max(spread, 1e-12)
    for j in range(xi.shape[0]):
        direction[j] += pi[j] - xi[j] + inverse[j] * common
    return direction


@compiled
def maximise_xi(xi: Float64s, pi: Float64s, gains: Float64s) -> None:
    """Maximise L[xi] over xi, in place; the objective never falls."""
    size = xi.shape[0]
    if size == 1:
        xi[0] = pi[0]  # the weight of a single tag is 1 for any xi: only the divergence is left
        return
    value = xi_objective(xi, pi, gains)
    trial = np.empty(size)
    for _ in range(MAX_STEPS):
        direction = natural_direction(xi, pi, gains)
        largest = 0.0
        for j in range(size):
            direction[j] /= xi[j]
            largest = max(largest, abs(direction[j]))
        if largest < 1e-9:
            return
        step = min(1.0, MAX_LOG_STEP / largest)
        improved, trial_value = False, value
        for _halving in range(MAX_HALVINGS):
            for j in range(size):
                trial[j] = max(xi[j] * math.exp(step * direction[j]), MIN_XI)
            trial_value = xi_objective(trial, pi, gains)
            if trial_value > value:
                improved = True
                break
            step *= 0.5
        if not improved:
            return
        gain = trial_value - value
        for j in range(size):
            xi[j] = trial[j]
        value = trial_value
        if gain <= 1e-10 * (1.0 + abs(value)):
            return


@compiled
def update_posterior_paper(parameters: KernelParameters, document: Workspace) -> None:
    """Update xi by ``maximise_xi``, then rho at the new xi (at the old one the objective can fall).

    ``gains = rows @ gradient; rho = mu + xi[-1] / xi.sum() * gradient``, with rows = C and gradient = N
    """
    n_tags = document.tags.shape[0]
    gains = np.empty(document.xi.shape[0])
    for j in range(n_tags):
        gains[j] = product_with_row(parameters.tag_rows, document.tags[j], document.gradient)
    if document.latent:
        gains[n_tags] = 0.0
        for k in range(document.rho.shape[0]):
            gains[n_tags] += document.latent_row[k] * document.gradient[k]
    maximise_xi(document.xi, document.prior, gains)
    if document.latent:
        share = document.xi[n_tags] / document.xi.sum()
        for k in range(document.rho.shape[0]):
            document.rho[k] = document.mu[k] + share * document.gradient[k]
