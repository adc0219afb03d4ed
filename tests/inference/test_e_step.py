"""The kernels of the E-step against their twins, and properties of every inference method."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.inference.documents import Case, cases, reference_document, run_kernel

from tagtopic._core.arrays import Float64s
from tagtopic.inference import reference
from tagtopic.inference.e_step import log_likelihood
from tagtopic.inference.methods import E_STEP_METHODS

MONOTONE = [method.name for method in E_STEP_METHODS.values() if method.is_monotone]


@pytest.mark.parametrize("method", E_STEP_METHODS)
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_kernels_agree_with_their_twins(method: str, case: Case) -> None:
    outcome = run_kernel(method, case, sweeps=3)
    # the ascent of "paper" stops by a criterion, which rounding may shift by a step: hence the wider tolerance
    tolerance: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-6} if method == "paper" else {"rtol": 1e-9, "atol": 1e-11}
    for d in range(case.n_documents):
        document, expected, _ = reference.sweep(method, reference_document(method, case, d), 3)
        tags = slice(case.tag_starts[d], case.tag_starts[d + 1])
        words = slice(case.word_starts[d], case.word_starts[d + 1])
        n_tags = tags.stop - tags.start
        np.testing.assert_allclose(outcome.posterior.xi[tags], document.xi[:n_tags], **tolerance)
        np.testing.assert_allclose(outcome.statistics.weights[tags], expected.weights[:n_tags], **tolerance)
        np.testing.assert_allclose(outcome.statistics.objective[d], expected.objective, rtol=1e-6, atol=1e-6)
        mix = outcome.statistics.mix[d]
        count_ratios = outcome.statistics.count_ratios[words]
        # under "paper" the kernel divides e by a factor, which cancels in the statistics: c / s times e
        np.testing.assert_allclose(
            np.outer(count_ratios, mix), np.outer(expected.count_ratios, expected.mix), **tolerance
        )
        if document.rho is not None:
            np.testing.assert_allclose(outcome.posterior.xi_latent[d], document.xi[-1], **tolerance)
            np.testing.assert_allclose(outcome.posterior.rho[d], document.rho, **tolerance)


@pytest.mark.parametrize("method", ["mixture", "map", "cvb0"])
@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_single_precision_stays_near_double(method: str, case: Case) -> None:
    single, double = run_kernel(method, case, 4, np.float32), run_kernel(method, case, 4)
    # leave-one-out counts are differences of numbers that may be nearly equal
    rtol, atol = (1e-2, 5e-4) if method == "cvb0" else (2e-4, 2e-5)
    np.testing.assert_allclose(single.posterior.xi, double.posterior.xi, rtol=rtol, atol=atol)
    np.testing.assert_allclose(single.statistics.objective, double.statistics.objective, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("method", MONOTONE)
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_no_sweep_lowers_the_objective(method: str, case: Case) -> None:
    objectives = np.array([run_kernel(method, case, sweeps).statistics.objective for sweeps in range(1, 8)])
    assert np.all(np.diff(objectives, axis=0) >= -1e-9 * (1 + np.abs(objectives[:-1])))


@pytest.mark.parametrize("method", MONOTONE)
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_expected_counts_add_up_to_the_document(method: str, case: Case) -> None:
    for d in range(case.n_documents):
        document = reference_document(method, case, d)
        _, expected, _ = reference.sweep(method, document, 2)
        own = np.sum(expected.own_counts)
        for found in (expected.tag_counts, expected.word_counts):
            np.testing.assert_allclose(found.sum() + own, document.counts.sum(), rtol=1e-8, atol=1e-10)


def test_a_word_without_topics_does_not_affect_the_others() -> None:
    random = np.random.default_rng(0)
    case = Case(
        word_starts=np.array([0, 3]), words=np.array([0, 1, 2], np.int32), counts=np.ones(3, np.int32),
        tag_starts=np.array([0, 1]), tags=np.array([0], np.int32), psi=random.random((3, 2)),
        theta=np.array([[0.4, 0.6]]), pi=np.ones(1), pi_latent=1.0, mu=np.full(2, 0.1), latent=True,
    )  # fmt: skip
    case.psi[1] = 0.0
    outcome = run_kernel("map", case, 3)
    assert np.isfinite(outcome.statistics.mix).all()
    assert outcome.statistics.count_ratios[1] == 0


def test_objective_of_the_paper_is_its_bound_term_by_term() -> None:
    """The bound of Appendix B, term by term with gamma in full, without the term of eta."""
    from scipy.special import digamma, gammaln

    random = np.random.default_rng(3)
    n_words, n_topics = 6, 3
    document = reference.Document(
        psi=random.dirichlet(np.ones(20), n_topics).T[:n_words], counts=np.ones(n_words),
        theta=random.dirichlet(np.ones(n_topics), 2), prior=np.array([0.5, 1.5, 2.0]), xi=np.array([1.2, 3.0, 0.7]),
        mu=np.full(n_topics, 0.3), rho=np.array([0.5, 2.0, 1.0]),
    )  # fmt: skip
    assert document.rho is not None
    assert document.mu is not None
    xi, rho, pi, mu = document.xi, document.rho, document.prior, document.mu
    rows = np.vstack([np.log(document.theta), digamma(rho) - digamma(rho.sum())])
    logs = (xi / xi.sum()) @ rows
    gamma = document.psi * np.exp(logs)
    gamma /= gamma.sum(axis=1, keepdims=True)
    log_eps, log_lambda = digamma(xi) - digamma(xi.sum()), digamma(rho) - digamma(rho.sum())
    bound = gammaln(pi.sum()) - gammaln(pi).sum() + ((pi - 1) * log_eps).sum()
    bound += gammaln(mu.sum()) - gammaln(mu).sum() + ((mu - 1) * log_lambda).sum()
    bound += (gamma * logs).sum() + (gamma * np.log(document.psi)).sum() - (gamma * np.log(gamma)).sum()
    bound -= gammaln(xi.sum()) - gammaln(xi).sum() + ((xi - 1) * log_eps).sum()
    bound -= gammaln(rho.sum()) - gammaln(rho).sum() + ((rho - 1) * log_lambda).sum()
    assert reference.evaluate("paper", document).objective == pytest.approx(bound, abs=1e-12)


def log_likelihood_in_numpy(counts: Float64s, probabilities: Float64s) -> float:
    return float(counts @ np.log(np.maximum(probabilities, 1e-300)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_words", [0, 1, 5, 400])
def test_log_likelihood_is_the_numpy_line_that_it_replaces(n_words: int, dtype: str) -> None:
    random = np.random.default_rng(n_words)
    counts = random.choice([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 70.0], n_words).astype(dtype)
    probabilities = (10.0 ** random.uniform(-30, 0, n_words)).astype(dtype)
    assert log_likelihood(counts, probabilities) == pytest.approx(
        log_likelihood_in_numpy(counts.astype(float), probabilities.astype(float)), rel=1e-12
    )


@pytest.mark.parametrize("largest", [1e-299, 1e-99, 1e-60, 1.0, 1e80])
def test_products_of_probabilities_neither_underflow_nor_overflow(largest: float) -> None:
    counts, probabilities = np.ones(300), np.full(300, largest)
    probabilities[::7] = 1e-90
    assert log_likelihood(counts, probabilities) == pytest.approx(
        log_likelihood_in_numpy(counts, probabilities), rel=1e-12
    )


def test_an_impossible_word_has_probability_1e_300() -> None:
    assert log_likelihood(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.0])) == pytest.approx(
        np.log(0.5) + 3 * np.log(1e-300)
    )
