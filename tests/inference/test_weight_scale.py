"""The scale of the weights' prior: the maximum of its likelihood, and planted values."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

from tagtopic._core.arrays import Float64s
from tagtopic.inference.priors.weight_scale import WeightCounts, maximise_weight_scale


def drawn(scale: tuple[float, float], *, n_documents: int = 600, seed: int = 0, latent: bool = True) -> WeightCounts:
    """Counts of documents with two to four tags, some of them without a latent tag unless all have one."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n_documents)
    starts = np.append(0, np.cumsum(sizes))
    prior = rng.choice([0.5, 1.5], starts[-1])
    latent_prior = np.where(rng.random(n_documents) < 0.7, 2.0, 0.0) if not latent else np.full(n_documents, 2.0)
    tokens, latent_tokens = np.zeros(starts[-1]), np.zeros(n_documents)
    for d in range(n_documents):
        concentration = np.append(scale[0] * prior[starts[d] : starts[d + 1]], scale[1] * latent_prior[d])
        weights = np.zeros(len(concentration))
        weights[concentration > 0] = rng.dirichlet(concentration[concentration > 0])
        counts = rng.multinomial(60, weights)
        tokens[starts[d] : starts[d + 1]], latent_tokens[d] = counts[:-1], counts[-1]
    return WeightCounts(starts, prior, tokens, latent_prior, latent_tokens)


def log_likelihood(counts: WeightCounts, factors: Float64s) -> float:
    """The twin: document by document."""
    value = 0.0
    for d, latent_prior in enumerate(counts.latent_prior):
        entries = slice(counts.starts[d], counts.starts[d + 1])
        prior = np.append(factors[0] * counts.prior[entries], factors[1] * latent_prior)
        tokens = np.append(counts.tokens[entries], counts.latent_tokens[d])
        prior, tokens = prior[prior > 0], tokens[prior > 0]
        value += gammaln(prior.sum()) - gammaln(prior.sum() + tokens.sum())
        value += float((gammaln(prior + tokens) - gammaln(prior)).sum())
    return value


@pytest.mark.parametrize("latent", [True, False])
def test_factors_maximise_the_likelihood(latent: bool) -> None:
    counts = drawn((0.6, 1.8), n_documents=60, latent=latent)
    best = minimize(lambda logs: -log_likelihood(counts, np.exp(logs)), np.zeros(2)).x
    found = maximise_weight_scale(counts, (0.0, 0.0), steps=2000, tolerance=1e-10)
    np.testing.assert_allclose(found, np.exp(best), rtol=1e-3)


def test_planted_factors_are_found() -> None:
    np.testing.assert_allclose(maximise_weight_scale(drawn((2.0, 0.5)), (0.0, 0.0)), (2.0, 0.5), rtol=0.1)


def test_factors_keep_their_bounds() -> None:
    counts = drawn((0.3, 3.0))
    assert maximise_weight_scale(counts, (0.8, np.inf)) == (0.8, 1.0)
