"""The scale of the weights' prior, from counts of tokens by document and tag: a Dirichlet-multinomial likelihood.

A document with n_dj tokens of tag j, of N_d in all, has the probability, up to a factor that does not depend on pi,

    Gamma(A_d) / Gamma(A_d + N_d) prod_j Gamma(a_dj + n_dj) / Gamma(a_dj),    A_d = sum_j a_dj

with a_dj = f pi_j for its tags and a_d0 = g pi_0 for the latent tag. Of f and g the likelihood is maximised by the
fixed point of Minka (2000), which raises it in each step,

    f <- f sum_dj pi_j (Psi(a_dj + n_dj) - Psi(a_dj)) / sum_d (sum_j pi_j) (Psi(A_d + N_d) - Psi(A_d))

over tags, and g likewise over latent tags.

References
----------
T. P. Minka, "Estimating a Dirichlet distribution", 2000.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from tagtopic._core.arrays import Float64s, Int64s, owners_of


class WeightCounts(NamedTuple):
    """Tokens of some documents by tag, with the prior of each tag.

    Document d has the entries ``starts[d]:starts[d + 1]`` of ``prior`` and ``tokens``. ``latent_prior`` is 0 where a
    document has no latent tag.
    """

    starts: Int64s
    prior: Float64s
    tokens: Float64s
    latent_prior: Float64s
    latent_tokens: Float64s


def maximise_weight_scale(
    counts: WeightCounts, bounds: tuple[float, float], *, steps: int = 100, tolerance: float = 1e-4
) -> tuple[float, float]:
    """Return the factors of pi and of pi_latent that maximise the likelihood, each at least its bound.

    Parameters
    ----------
    counts : WeightCounts
        The documents. Those with one tag in all, the latent one included, say nothing of either factor.
    bounds : tuple of two floats
        The least factors; infinity keeps a factor at 1.
    steps : int, default=100
        At most so many.
    tolerance : float, default=1e-4
        The last relative step.

    Returns
    -------
    tuple of two floats

    Examples
    --------
    >>> counts = WeightCounts(np.array([0, 2, 4]), np.ones(4), np.array([30.0, 0, 0, 30]), np.zeros(2), np.zeros(2))
    >>> maximise_weight_scale(counts, (0.05, np.inf))
    (0.05, 1.0)
    """
    owner = owners_of(counts.starts)
    n_documents = len(counts.latent_prior)
    by_document = np.bincount(owner, weights=counts.prior, minlength=n_documents)
    lengths = np.bincount(owner, weights=counts.tokens, minlength=n_documents) + counts.latent_tokens
    latent = counts.latent_prior > 0
    latent_prior, latent_tokens = counts.latent_prior[latent], counts.latent_tokens[latent]
    tag_factor = latent_factor = 1.0
    for _ in range(steps):
        totals = tag_factor * by_document + latent_factor * counts.latent_prior
        totals = np.where(totals > 0, totals, 1.0)
        growth = digamma(totals + lengths) - digamma(totals)
        before = tag_factor, latent_factor
        for_tags = float(counts.prior @ _growth(tag_factor * counts.prior, counts.tokens))
        for_latent = float(latent_prior @ _growth(latent_factor * latent_prior, latent_tokens))
        tag_factor = _step(tag_factor, for_tags, float(by_document @ growth), bounds[0])
        latent_factor = _step(latent_factor, for_latent, float(counts.latent_prior @ growth), bounds[1])
        if max(abs(tag_factor / before[0] - 1), abs(latent_factor / before[1] - 1)) < tolerance:
            break
    return tag_factor, latent_factor


def _growth(prior: Float64s, tokens: Float64s) -> Float64s:
    """Psi(prior + tokens) - Psi(prior)."""
    found = np.zeros(len(prior))
    some = tokens > 0
    found[some] = digamma(prior[some] + tokens[some]) - digamma(prior[some])
    return found


def _step(factor: float, gained: float, expected: float, bound: float) -> float:
    """The next factor, at least ``bound``; the same one if there is no evidence, or the bound is infinite."""
    if expected <= 0 or np.isinf(bound):
        return factor
    return max(bound, factor * gained / expected)
