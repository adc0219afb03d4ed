"""The kernels of the E-step against their twin, and what must hold of any inference."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.inference.documents import Case, cases, reference_document, run_kernel

from tagtopic.inference import reference

WAYS = ["paper", "mixture", "map"]


@pytest.mark.parametrize("way", [*WAYS, "cvb0"])
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_kernel_and_twin_agree(way: str, case: Case) -> None:
    outcome = run_kernel(way, case, sweeps=3)
    # the paper's ascent stops by a criterion, which rounding may move by a step: hence its wider tolerance
    tolerance: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-6} if way == "paper" else {"rtol": 1e-9, "atol": 1e-11}
    for d in range(case.n_documents):
        document, evaluated, _ = reference.sweep(way, reference_document(way, case, d), 3)
        tags = slice(case.tag_starts[d], case.tag_starts[d + 1])
        words = slice(case.word_starts[d], case.word_starts[d + 1])
        n_tags = tags.stop - tags.start
        np.testing.assert_allclose(outcome.state.xi[tags], document.xi[:n_tags], **tolerance)
        np.testing.assert_allclose(outcome.evaluation.weights[tags], evaluated.weights[:n_tags], **tolerance)
        np.testing.assert_allclose(outcome.evaluation.objective[d], evaluated.objective, rtol=1e-6, atol=1e-6)
        mix = outcome.evaluation.mix[d]
        ratios = outcome.evaluation.ratios[words]
        # under the paper's way the kernel takes a scale out of e; what the M-step sees, r e, does not have it
        np.testing.assert_allclose(np.outer(ratios, mix), np.outer(evaluated.ratios, evaluated.mix), **tolerance)
        if document.rho is not None:
            np.testing.assert_allclose(outcome.state.xi_latent[d], document.xi[-1], **tolerance)
            np.testing.assert_allclose(outcome.state.rho[d], document.rho, **tolerance)


@pytest.mark.parametrize("way", ["mixture", "map", "cvb0"])
@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_single_precision_stays_near_double(way: str, case: Case) -> None:
    single, double = run_kernel(way, case, 4, np.float32), run_kernel(way, case, 4)
    # to leave a share out is to subtract what may be nearly equal
    rtol, atol = (1e-2, 5e-4) if way == "cvb0" else (2e-4, 2e-5)
    np.testing.assert_allclose(single.state.xi, double.state.xi, rtol=rtol, atol=atol)
    np.testing.assert_allclose(single.evaluation.objective, double.evaluation.objective, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_no_sweep_lowers_the_objective(way: str, case: Case) -> None:
    objectives = np.array([run_kernel(way, case, sweeps).evaluation.objective for sweeps in range(1, 8)])
    assert np.all(np.diff(objectives, axis=0) >= -1e-9 * (1 + np.abs(objectives[:-1])))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_credited_words_add_up_to_the_document(way: str, case: Case) -> None:
    for d in range(case.n_documents):
        document = reference_document(way, case, d)
        _, evaluated, _ = reference.sweep(way, document, 2)
        np.testing.assert_allclose(evaluated.credit.sum(), document.counts.sum(), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(evaluated.topic_words.sum(), document.counts.sum(), rtol=1e-8, atol=1e-10)


def test_a_word_that_nothing_explains_leaves_the_rest_alone() -> None:
    random = np.random.default_rng(0)
    case = Case(
        word_starts=np.array([0, 3]), words=np.array([0, 1, 2], np.int32), counts=np.ones(3, np.int32),
        tag_starts=np.array([0, 1]), tags=np.array([0], np.int32), psi=random.random((3, 2)),
        theta=np.array([[0.4, 0.6]]), pi=np.ones(1), pi_latent=1.0, mu=np.full(2, 0.1), latent=True,
    )  # fmt: skip
    case.psi[1] = 0.0
    outcome = run_kernel("map", case, 3)
    assert np.isfinite(outcome.evaluation.mix).all()
    assert outcome.evaluation.ratios[1] == 0


def test_the_objective_of_the_paper_is_its_bound_written_out() -> None:
    """The bound of Appendix B, term by term with gamma in full, without the term of eta."""
    from scipy.special import digamma, gammaln

    random = np.random.default_rng(3)
    n_words, n_topics = 6, 3
    document = reference.Document(
        rows=random.dirichlet(np.ones(20), n_topics).T[:n_words], counts=np.ones(n_words),
        theta=random.dirichlet(np.ones(n_topics), 2), prior=np.array([0.5, 1.5, 2.0]), xi=np.array([1.2, 3.0, 0.7]),
        mu=np.full(n_topics, 0.3), rho=np.array([0.5, 2.0, 1.0]),
    )  # fmt: skip
    assert document.rho is not None
    assert document.mu is not None
    xi, rho, pi, mu = document.xi, document.rho, document.prior, document.mu
    rows = np.vstack([np.log(document.theta), digamma(rho) - digamma(rho.sum())])
    logs = (xi / xi.sum()) @ rows
    gamma = document.rows * np.exp(logs)
    gamma /= gamma.sum(axis=1, keepdims=True)
    log_eps, log_lambda = digamma(xi) - digamma(xi.sum()), digamma(rho) - digamma(rho.sum())
    bound = gammaln(pi.sum()) - gammaln(pi).sum() + ((pi - 1) * log_eps).sum()
    bound += gammaln(mu.sum()) - gammaln(mu).sum() + ((mu - 1) * log_lambda).sum()
    bound += (gamma * logs).sum() + (gamma * np.log(document.rows)).sum() - (gamma * np.log(gamma)).sum()
    bound -= gammaln(xi.sum()) - gammaln(xi).sum() + ((xi - 1) * log_eps).sum()
    bound -= gammaln(rho.sum()) - gammaln(rho).sum() + ((rho - 1) * log_lambda).sum()
    assert reference.evaluate("paper", document).objective == pytest.approx(bound, abs=1e-12)
