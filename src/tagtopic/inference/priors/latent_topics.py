"""mu, the Dirichlet prior of the latent tag's topics: the linear-time Newton of the LDA paper (its Appendix A.4.2).

The Hessian is a diagonal plus a constant, so a Newton step costs O(topics). Steps are halved until mu is positive and
the objective rises. The paper's eq. 10 is this with no hyper-prior.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled
from tagtopic.inference.special import digamma as digamma_kernel

SMALLEST = 1e-6


@compiled
def sum_log_latent(rho: Floats, first: int, last: int) -> Float64s:
    """``(digamma(rho) - digamma(rho.sum(1))).sum(0)`` over documents first:last."""
    sums = np.zeros(rho.shape[1])
    for d in range(first, last):
        total = 0.0
        for k in range(rho.shape[1]):
            total += rho[d, k]
        centre = digamma_kernel(total)
        for k in range(rho.shape[1]):
            sums[k] += digamma_kernel(max(float(rho[d, k]), 1e-8)) - centre
    return sums


def latent_prior_objective(mu: Float64s, log_latent: Float64s, n_documents: float) -> float:
    """L[mu], the paper's eq. 10."""
    normaliser = gammaln(mu.sum()) - gammaln(mu).sum()
    return float(n_documents * normaliser + ((mu - 1) * log_latent).sum())


def update_latent_prior(
    mu: Float64s, log_latent: Float64s, n_documents: float, *, steps: int = 50, tolerance: float = 1e-8
) -> Float64s:
    """Newton from ``mu`` to the maximum of L[mu]."""
    value = latent_prior_objective(mu, log_latent, n_documents)
    for _ in range(steps):
        gradient = n_documents * (digamma(mu.sum()) - digamma(mu)) + log_latent
        diagonal = -n_documents * polygamma(1, mu)
        constant = n_documents * polygamma(1, mu.sum())
        shift = (gradient / diagonal).sum() / (1.0 / constant + (1.0 / diagonal).sum())
        direction = -(gradient - shift) / diagonal
        step = 1.0
        while step > 1e-10:
            trial = mu + step * direction
            if trial.min() > SMALLEST:
                trial_value = latent_prior_objective(trial, log_latent, n_documents)
                if trial_value >= value:
                    break
            step *= 0.5
        else:
            break
        moved = float(np.max(np.abs(trial - mu) / mu))
        mu, value = trial, trial_value
        if moved <= tolerance:
            break
    return mu
