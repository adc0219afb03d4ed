"""mu, the Dirichlet prior of the latent tag's topics: its maximum over the corpus (the paper's eq. 10).

Newton's method in linear time, as in the LDA paper: the Hessian is a diagonal plus a constant, so a step costs
O(topics). Steps are halved until mu is positive and the objective rises.

References
----------
D. M. Blei, A. Y. Ng and M. I. Jordan, "Latent Dirichlet allocation", JMLR 3, 2003, Appendix A.4.2.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled
from tagtopic.inference.special import digamma as digamma_kernel

MIN_MU = 1e-6


@compiled
def sum_log_latent(rho: Floats, first: int, last: int) -> Float64s:
    """Return ``(digamma(rho) - digamma(rho.sum(1, keepdims=True)))[first:last].sum(0)``: the sum of E[log lambda]."""
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
    """Return L[mu] (the paper's eq. 10)."""
    normaliser = gammaln(mu.sum()) - gammaln(mu).sum()
    return float(n_documents * normaliser + ((mu - 1) * log_latent).sum())


def update_latent_prior(
    mu: Float64s, log_latent: Float64s, n_documents: float, *, steps: int = 50, tolerance: float = 1e-8
) -> Float64s:
    """Maximise L[mu] by Newton steps, starting from ``mu``."""
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
            if trial.min() > MIN_MU:
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
