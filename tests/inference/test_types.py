"""Parameters, and their form for the kernels."""

import numpy as np
import pytest
from hypothesis import given
from tests.inference.documents import Case, cases

from tagtopic.inference.methods import E_STEP_METHODS, InferenceMethod, method_of
from tagtopic.inference.types import CountTotals, Parameters, kernel_parameters

PSI = np.array([[0.5, 0.1], [0.3, 0.1], [0.2, 0.8]], np.float32)
THETA = np.array([[0.25, 0.75], [0.6, 0.4]], np.float32)
TOTALS = CountTotals(np.array([4.0, 0.0]), np.array([2.0, 5.0]), np.array([0.1, 0.2, 0.3]))


def some(*, latent: bool = True, totals: CountTotals | None = None) -> Parameters:
    return Parameters(PSI, THETA, np.array([1.0, 2.0]), 5.0, np.array([0.1, 0.3]), latent, totals)


@pytest.mark.parametrize("latent", [True, False])
def test_pi_and_pi_latent_go_into_one_array_and_back(latent: bool) -> None:
    parameters = some(latent=latent)
    assert parameters.all_pi.tolist() == ([1, 2, 5] if latent else [1, 2])
    doubled = parameters.with_all_pi(parameters.all_pi * 2)
    assert doubled.pi.tolist() == [2, 4]
    assert doubled.pi_latent == (10.0 if latent else 5.0)
    assert doubled.totals is None


def test_expected_mix_of_a_tag_is_the_mean_over_weights_and_latent_topics() -> None:
    random = np.random.default_rng(0)
    weights = random.dirichlet([2.0, 5.0], 40_000)
    latent = random.dirichlet([0.1, 0.3], 40_000)
    drawn = (weights[:, :1] * THETA[1] + weights[:, 1:] * latent).mean(axis=0)
    np.testing.assert_allclose(some().expected_mix_by_tag()[1], drawn, atol=0.01)
    assert some(latent=False).expected_mix_by_tag() is THETA


@pytest.mark.parametrize("method", E_STEP_METHODS.values(), ids=lambda method: method.name)
def test_kernels_take_log_theta_if_the_mix_is_geometric(method: InferenceMethod) -> None:
    rows = kernel_parameters(some(), method).tag_rows
    np.testing.assert_array_equal(rows, np.log(THETA) if method.is_geometric else THETA)
    assert not rows.flags.writeable


@pytest.mark.parametrize("method", E_STEP_METHODS.values(), ids=lambda method: method.name)
def test_only_leave_one_out_methods_get_totals(method: InferenceMethod) -> None:
    given = kernel_parameters(some(totals=TOTALS), method).leave_one_out
    assert {array.dtype for array in given} == {np.dtype(np.float32)}
    if method.is_leave_one_out:
        assert given.inverse_topic_totals.tolist() == [0.25, 0.0]  # a topic without counts has none to subtract
        np.testing.assert_allclose(given.inverse_tag_totals, [0.5, 0.2])
        np.testing.assert_allclose(given.word_prior, [0.1, 0.2, 0.3])
    else:
        assert [len(array) for array in given] == [0, 0, 0]


def test_before_the_first_m_step_there_is_nothing_to_subtract() -> None:
    given = kernel_parameters(some(), method_of("cvb0")).leave_one_out
    assert [array.tolist() for array in given] == [[0, 0], [0, 0], [0, 0, 0]]


@given(cases())
def test_mu_of_documents_follows_their_tags(case: Case) -> None:
    found = case.parameters.latent_topic_priors(case.tag_starts, case.tags)
    np.testing.assert_allclose(np.broadcast_to(found, case.document_mus.shape), case.document_mus, rtol=1e-12)
