"""Kernels equal their NumPy reference and results known in closed form."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from tagtopic.baselines import reference
from tagtopic.baselines.corr_lda import sweep_corr_document
from tagtopic.baselines.ctm_inference import fold_in_logistic_normal
from tagtopic.baselines.fold_in import _priors_of as priors_of
from tagtopic.baselines.fold_in import fold_in, fold_in_documents, words_of


def drawn(seed: int, n_words: int = 30, n_topics: int = 6) -> tuple[np.random.Generator, np.ndarray, sp.csr_array]:
    rng = np.random.default_rng(seed)
    topic_words = np.ascontiguousarray(rng.dirichlet(np.full(n_words, 0.3), n_topics).T)
    return rng, topic_words, sp.csr_array(rng.poisson(0.5, (12, n_words)))


@pytest.mark.parametrize("seed", range(3))
def test_fold_in_equals_the_reference(seed: int) -> None:
    rng, topic_words, counts = drawn(seed)
    prior = rng.gamma(1.0, 0.3, (12, 6)) + 1e-3
    prior[:, 2] = 0  # unavailable to all
    mixes = np.zeros((12, 6))
    fold_in_documents(words_of(counts), priors_of(sp.csr_array(prior), 12, 6), topic_words, 0, 12, mixes, 7, 0.0)
    for d, mix in enumerate(mixes):
        words, allowed = counts[[d]].indices, prior[d] > 0
        rows = topic_words[np.ix_(words, allowed)]
        expected = reference.fold_in_document(rows, counts[[d]].data.astype(float), prior[d, allowed], 7)
        np.testing.assert_allclose(mix[allowed], expected, rtol=1e-9)
        assert mix[~allowed] == 0


def test_fold_in_of_one_token_is_exact() -> None:
    """With a single token the posterior mean is known: its topic has probability proportional to prior times psi."""
    _, topic_words, _ = drawn(0)
    counts = sp.csr_array(([1], ([0], [4])), shape=(1, 30))
    prior = np.array([0.5, 0.1, 0.2, 0.05, 1.0, 0.3])
    share = prior * topic_words[4] / (prior @ topic_words[4])
    np.testing.assert_allclose(fold_in(counts, topic_words, prior)[0], (share + prior) / (1 + prior.sum()), rtol=1e-9)


def test_fold_in_of_a_fractional_count_is_exact() -> None:
    """The only word of a document subtracts all of its count, leaving prior times psi."""
    _, topic_words, _ = drawn(0)
    counts = sp.csr_array(([0.25], ([0], [4])), shape=(1, 30))
    prior = np.array([0.5, 0.1, 0.2, 0.05, 1.0, 0.3])
    share = prior * topic_words[4] / (prior @ topic_words[4])
    expected = (0.25 * share + prior) / (0.25 + prior.sum())
    np.testing.assert_allclose(fold_in(counts, topic_words, prior)[0], expected, rtol=1e-9)


def test_fold_in_of_fractional_counts_equals_the_reference() -> None:
    rng, topic_words, counts = drawn(3)
    parts, prior = counts * 0.3, rng.gamma(1.0, 0.3, 6)
    mixes = np.zeros((12, 6))
    fold_in_documents(words_of(parts), priors_of(prior, 12, 6), topic_words, 0, 12, mixes, 7, 0.0)
    for d, mix in enumerate(mixes):
        rows = topic_words[parts[[d]].indices]
        np.testing.assert_allclose(mix, reference.fold_in_document(rows, parts[[d]].data, prior, 7), rtol=1e-9)


def test_a_document_without_words_has_its_prior_mean() -> None:
    _, topic_words, _ = drawn(0)
    prior = np.arange(1.0, 7.0)
    nothing = sp.csr_array((2, 30), dtype=np.int32)
    np.testing.assert_allclose(fold_in(nothing, topic_words, prior), np.tile(prior / 21, (2, 1)))


def test_two_topics_under_a_logistic_normal_match_numerical_integration() -> None:
    _, topic_words, counts = drawn(3, n_topics=2)
    mean, covariance = np.array([0.5, -0.2]), np.array([[1.5, 0.4], [0.4, 0.8]])
    found = fold_in_logistic_normal(counts, topic_words, mean, covariance)
    # the mix depends on the difference of the two only: a one-dimensional integral
    centre, spread = mean[0] - mean[1], np.sqrt(1.5 + 0.8 - 0.8)
    grid = np.linspace(-12, 12, 4001)
    first = 1 / (1 + np.exp(-grid))
    likelihood = counts @ np.log(np.outer(topic_words[:, 0], first) + np.outer(topic_words[:, 1], 1 - first))
    weights = likelihood - 0.5 * ((grid - centre) / spread) ** 2
    exact = np.exp(weights - logsumexp(weights, axis=1, keepdims=True)) @ first
    # the mean of 200 correlated samples
    np.testing.assert_allclose(found[:, 0], exact, atol=0.08)
    assert abs((found[:, 0] - exact).mean()) < 0.02


def test_logistic_normal_mixes_do_not_depend_on_other_documents() -> None:
    _, topic_words, counts = drawn(4)
    mean, covariance = np.zeros(6), np.eye(6)
    alone = fold_in_logistic_normal(counts[[5]], topic_words, mean, covariance)
    np.testing.assert_array_equal(fold_in_logistic_normal(counts, topic_words, mean, covariance, 2)[[5]], alone)


def corr_problem(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    log_psi, log_tau = np.log(rng.dirichlet(np.ones(5), 9)), np.log(rng.dirichlet(np.ones(5), 4))
    return log_psi, rng.integers(1, 4, 9).astype(float), log_tau, rng.gamma(1.0, 0.5, 5), rng.dirichlet(np.ones(5), 4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sweeps", [0, 1, 6])
def test_corr_lda_equals_the_reference(seed: int, sweeps: int) -> None:
    log_psi, counts, log_tau, alpha, start = corr_problem(seed)
    phi, shares, log_topics = start.copy(), np.empty((9, 4)), np.empty(5)
    value = sweep_corr_document(log_psi, counts, log_tau, alpha, phi, shares, log_topics, sweeps, 0.0)
    expected = reference.corr_document(log_psi, counts, log_tau, alpha, start, sweeps)
    np.testing.assert_allclose(phi, expected[0], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(shares, expected[1], rtol=1e-9, atol=1e-14)
    assert value == pytest.approx(reference.corr_bound(log_psi, counts, log_tau, alpha, *expected), rel=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_corr_lda_sweeps_never_decrease_the_bound_and_end_at_a_maximum(seed: int) -> None:
    log_psi, counts, log_tau, alpha, start = corr_problem(seed)
    values = [
        reference.corr_bound(
            log_psi, counts, log_tau, alpha, *reference.corr_document(log_psi, counts, log_tau, alpha, start, n)
        )
        for n in range(60)
    ]
    assert np.diff(values).min() > -1e-10
    phi, shares, gamma = reference.corr_document(log_psi, counts, log_tau, alpha, start, 500)
    best = reference.corr_bound(log_psi, counts, log_tau, alpha, phi, shares, gamma)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        near_phi = 0.99 * phi + 0.01 * rng.dirichlet(np.ones(5), 4)
        near_shares = 0.99 * shares + 0.01 * rng.dirichlet(np.ones(4), 9)
        near_gamma = gamma * rng.uniform(0.95, 1.05, 5)
        for trial in ((near_phi, shares, gamma), (phi, near_shares, gamma), (phi, shares, near_gamma)):
            assert reference.corr_bound(log_psi, counts, log_tau, alpha, *trial) < best
