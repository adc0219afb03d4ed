"""Updates of pi and mu."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import digamma

from tagtopic._core.arrays import Float64s
from tagtopic.inference.priors.latent_topics import latent_prior_objective, sum_log_latent, update_latent_prior
from tagtopic.inference.priors.tag_weights import (
    HyperPrior,
    TagKinds,
    WeightEvidence,
    fixed_point_pass,
    has_diverged,
    sum_log_weights,
    update_weight_prior,
    weight_prior_gradient,
    weight_prior_objective,
)


def evidence(seed: int = 0, n_documents: int = 400, n_tags: int = 6, pi: float | Float64s = 1.0) -> WeightEvidence:
    """Documents with two to four tags whose weights were drawn from Dir(pi) and are known."""
    prior = np.broadcast_to(pi, n_tags)
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 5, n_documents)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    tags = np.concatenate([np.sort(random.choice(n_tags, size, replace=False)) for size in sizes]).astype(np.int32)
    logs = np.concatenate([np.log(random.dirichlet(prior[some])) for some in np.split(tags, starts[1:-1])])
    sums = np.zeros(n_tags)
    np.add.at(sums, tags, logs)
    return WeightEvidence(starts, tags, sums, np.bincount(tags, minlength=n_tags).astype(float))


@pytest.mark.parametrize("hyper", [HyperPrior(), HyperPrior(strength=0.0)])
def test_gradient_of_pi_agrees_with_finite_differences(hyper: HyperPrior) -> None:
    given = evidence()
    pi = np.random.default_rng(1).gamma(2.0, 0.5, 6) + 0.1
    expected = approx_fprime(pi, weight_prior_objective, 1e-7, given, hyper)
    np.testing.assert_allclose(weight_prior_gradient(pi, given, hyper), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("hyper", [HyperPrior(), HyperPrior(strength=0.0)])
def test_fixed_point_is_a_stationary_point_and_no_pass_lowers_the_objective(hyper: HyperPrior) -> None:
    given = evidence()
    pi, values = np.full(6, 3.0), []
    for _ in range(300):
        values.append(weight_prior_objective(pi, given, hyper))
        pi = fixed_point_pass(pi, given, hyper)
    assert np.all(np.diff(values) >= -1e-9)
    np.testing.assert_allclose(weight_prior_gradient(pi, given, hyper), 0, atol=1e-3)


def test_acceleration_reaches_the_same_fixed_point_sooner() -> None:
    given, hyper = evidence(pi=8.0), HyperPrior(strength=0.5)
    plain = np.ones(6)
    for _ in range(5000):
        plain = fixed_point_pass(plain, given, hyper)
    np.testing.assert_allclose(update_weight_prior(np.ones(6), given, hyper, rounds=20), plain, rtol=1e-4)


@pytest.mark.parametrize("true_pi", [0.3, 1.0, 4.0])
def test_pi_of_known_weights_is_recovered(true_pi: float) -> None:
    given = evidence(n_documents=4000, pi=true_pi)
    pi = update_weight_prior(np.ones(6), given, HyperPrior(), rounds=100)
    np.testing.assert_allclose(pi, true_pi, rtol=0.1)


def alone(n_tokens: float, pi: Float64s) -> WeightEvidence:
    """One document whose two tags occur nowhere else, its words assigned to both equally."""
    starts, tags = np.array([0, 2]), np.array([0, 1], np.int32)
    xi = pi + n_tokens / 2
    return WeightEvidence(starts, tags, *sum_log_weights(starts, tags, xi, np.empty(0), 0, 1, 2, False))


def test_pi_diverges_without_a_hyper_prior() -> None:
    free = held = np.ones(2)
    for _ in range(100):
        free = update_weight_prior(free, alone(60.0, free), HyperPrior(strength=0.0), rounds=50)
        held = update_weight_prior(held, alone(60.0, held), HyperPrior(), rounds=50)
    assert np.isfinite(free).all()
    assert free.min() > 100
    assert held.max() < 2
    assert has_diverged(np.array([1.0, 1e6]))
    assert not has_diverged(held)


def test_only_learnt_priors_move_and_tags_without_documents_take_the_centre() -> None:
    given = evidence()
    wider = WeightEvidence(given.starts, given.tags, np.append(given.log_weights, 0.0), np.append(given.documents, 0.0))
    learnt = np.array([True, True, False, True, True, True, True])
    pi = update_weight_prior(np.full(7, 2.5), wider, HyperPrior(5.0, 1.2), learnt=learnt)
    assert pi[2] == 2.5
    assert pi[6] == pytest.approx(1.2)
    assert np.all(pi[:2] != 2.5)


def test_rare_tags_are_shrunk_towards_their_kind() -> None:
    """Two kinds, pi 3 and 0.3; each has common tags and one that is on a single document."""
    true = np.array([3.0, 3.0, 3.0, 0.3, 0.3, 0.3, 3.0, 0.3])
    numbers = np.array([0, 0, 0, 1, 1, 1, 0, 1], np.int32)
    common = evidence(n_documents=3000, pi=true[:6])
    documents = np.append(common.documents, [0.0, 0.0])
    given = WeightEvidence(common.starts, common.tags, np.append(common.log_weights, [0.0, 0.0]), documents)
    pi, hyper = np.ones(8), HyperPrior()
    for _ in range(20):
        pi = update_weight_prior(pi, given, hyper.centred_by_kind(pi, TagKinds(numbers, documents)), rounds=20)
    np.testing.assert_allclose(pi[:6], true[:6], rtol=0.15)
    assert pi[6] > 2
    assert pi[7] < 0.5


def test_a_kind_without_documents_stays_at_the_centre() -> None:
    kinds = TagKinds(np.zeros(2, np.int32), np.zeros(2))
    np.testing.assert_array_equal(HyperPrior().centred_by_kind(np.array([9.0, 20.0]), kinds).centre, [1.0, 1.0])


def test_mu_of_known_mixes_is_recovered_and_no_step_lowers_the_objective() -> None:
    random = np.random.default_rng(0)
    true = np.array([0.2, 0.5, 1.0, 3.0])
    logs = np.log(random.dirichlet(true, 3000)).sum(axis=0)
    mu, values = np.ones(4), []
    for _ in range(30):
        values.append(latent_prior_objective(mu, logs, 3000))
        mu = update_latent_prior(mu, logs, 3000, steps=1)
    assert np.all(np.diff(values) >= 0)
    np.testing.assert_allclose(mu, true, rtol=0.1)
    gradient = 3000 * (digamma(mu.sum()) - digamma(mu)) + logs
    np.testing.assert_allclose(gradient, 0, atol=1e-4 * 3000)
    soon = update_latent_prior(np.ones(4), logs, 3000, steps=9)  # quadratic convergence: Newton steps, not plain ascent
    np.testing.assert_allclose(3000 * (digamma(soon.sum()) - digamma(soon)) + logs, 0, atol=1e-6)


def test_sum_of_expected_log_latent_topics() -> None:
    rho = np.random.default_rng(0).gamma(1.0, size=(20, 5)) + 0.01
    expected = (digamma(rho) - digamma(rho.sum(axis=1, keepdims=True)))[2:17].sum(axis=0)
    np.testing.assert_allclose(sum_log_latent(rho, 2, 17), expected, rtol=1e-12)
