"""``as_published``: the article's Algorithm 1, against a plain NumPy twin of the whole EM."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from tagtopic import TWDA, TWTM, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.posterior import initial_posterior
from tagtopic.inference import reference
from tagtopic.models._settings import initial_parameters

FLOOR = 1e-10
ITERATIONS, SWEEPS = 3, 4


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_tagged_corpus(40, 3, 5, 30, model="twda", tags_per_document=(2, 3), random_state=0).corpus


def expected_logs(parameter: Any) -> Any:
    return digamma(parameter) - digamma(parameter.sum())


def maximum(objective: Any, start: Any) -> Any:
    """The maximum of a concave function of positive numbers, searched in their logarithms."""
    found = minimize(lambda logs: -objective(np.exp(logs)), np.log(start), method="BFGS", options={"gtol": 1e-9})
    return np.exp(found.x)


def published_em(model: Any, corpus: Corpus) -> dict[str, Any]:
    """Algorithm 1 in NumPy: E-steps of ``SWEEPS`` updates, then pi, mu, theta and psi of maximum likelihood."""
    latent = isinstance(model, TWDA)
    start, _ = initial_parameters(model, corpus)
    posterior = initial_posterior(corpus, start)
    psi, theta, pi, mu = (np.asarray(value, np.float64) for value in (start.psi, start.theta, start.all_pi, start.mu))
    tags, counts = corpus.tags, corpus.counts
    documents = []
    for d in range(len(corpus)):
        entries = slice(tags.indptr[d], tags.indptr[d + 1])
        xi = np.array(posterior.xi[entries], np.float64)
        own = tags.indices[entries]
        if latent:
            xi, own = np.append(xi, posterior.xi_latent[d]), np.append(own, corpus.n_tags)
        documents.append([own, xi, np.array(posterior.rho[d], np.float64) if latent else None])
    bounds = []
    for _ in range(ITERATIONS):
        new_psi, new_theta, bound = np.zeros_like(psi), np.zeros_like(theta), 0.0
        for d, (own, xi, rho) in enumerate(documents):
            words = slice(counts.indptr[d], counts.indptr[d + 1])
            names = own[:-1] if latent else own
            given = reference.Document(
                psi[counts.indices[words]], counts.data[words].astype(float), theta[names], pi[own], xi,
                mu if latent else None, rho,
            )  # fmt: skip
            done, found, _ = reference.sweep("paper", given, SWEEPS)
            documents[d][1:] = done.xi, done.rho
            new_psi[counts.indices[words]] += found.word_counts
            new_theta[names] += found.tag_counts[: len(names)]
            bound += found.objective
        bounds.append(bound)
        psi = np.maximum(new_psi / new_psi.sum(axis=0), FLOOR)
        theta = np.maximum(new_theta / new_theta.sum(axis=1, keepdims=True), FLOOR)
        logs = [expected_logs(xi) for _, xi, _ in documents]
        owners = [own for own, _, _ in documents]

        def weight_objective(pi: Any, logs: Any = logs, owners: Any = owners) -> float:
            return float(
                sum(
                    gammaln(pi[own].sum()) - gammaln(pi[own]).sum() + (pi[own] - 1) @ log
                    for own, log in zip(owners, logs, strict=True)
                )
            )

        pi = maximum(weight_objective, pi)
        if latent:
            total = sum(expected_logs(rho) for _, _, rho in documents)

            def latent_objective(mu: Any, total: Any = total) -> float:
                return float(len(corpus) * (gammaln(mu.sum()) - gammaln(mu).sum()) + (mu - 1) @ total)

            mu = maximum(latent_objective, mu)
    return {"psi": psi, "theta": theta, "pi": pi, "mu": mu, "bound": np.array(bounds)}


@pytest.mark.filterwarnings("ignore:the prior of the tag weights ran away")
@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_a_fit_is_algorithm_1(kind: Any, corpus: Corpus) -> None:
    settings = {"sweeps": SWEEPS, "sweep_tol": 0.0, "tol": 0.0, "dtype": "float64", "tag_predictor": False}
    model = kind.as_published(3, max_iter=ITERATIONS, random_state=0, **settings)
    expected = published_em(model, corpus)
    model.fit(corpus)
    assert model.prior_updates_ == (1, 2, 3)
    np.testing.assert_allclose(model.bound_, expected["bound"], rtol=1e-7)
    np.testing.assert_allclose(model.components_.T, expected["psi"], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(model.tag_topics_, expected["theta"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.parameters_.all_pi, expected["pi"], rtol=2e-3)
    if kind is TWDA:
        np.testing.assert_allclose(model.latent_topic_prior_, expected["mu"], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:the prior of the tag weights ran away")
@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_updates_of_priors_in_every_iteration_raise_the_same_bound_until_it_converges(
    kind: Any, corpus: Corpus
) -> None:
    model = kind.as_published(3, random_state=1, tag_predictor=False).fit(corpus)
    assert np.diff(model.bound_).min() > -1e-4 * abs(model.bound_[-1])
    assert model.converged_
    assert model.n_iter_ < 100
    assert model.prior_updates_ == tuple(range(1, model.n_iter_ + 1))


def test_e_steps_to_convergence_are_those_with_many_sweeps(corpus: Corpus) -> None:
    """They reach a higher bound than two updates from the same start."""
    common = {"max_iter": 1, "sweep_tol": 1e-8, "random_state": 0, "tag_predictor": False, "dtype": "float64"}
    two, many, converged = (
        TWTM.as_published(3, **{**common, **settings}).fit(corpus)
        for settings in (
            {"sweeps": 2, "sweep_tol": 0.0},
            {"sweeps": 200, "sweep_tol": 0.0},
            {"sweeps": 200, "sweep_tol": 1e-8},
        )
    )
    assert converged.bound_[0] == pytest.approx(many.bound_[0], rel=1e-9)
    assert converged.bound_[0] > two.bound_[0]


def test_tags_are_random_at_the_start_and_settings_can_be_replaced(corpus: Corpus) -> None:
    start, _ = initial_parameters(TWDA.as_published(3, random_state=0), corpus)
    np.testing.assert_allclose(start.theta.sum(axis=1), 1.0, rtol=1e-6)
    assert start.theta.std(axis=1).min() > 0.01
    assert start.pi_latent == 1.0
    flat, _ = initial_parameters(TWDA.as_published(3, init="random", random_state=0), corpus)
    assert np.ptp(flat.theta) == 0.0
    np.testing.assert_array_equal(flat.psi, start.psi)
    assert TWTM.as_published(3, tag_topic_prior=1.0).tag_topic_prior == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sweep_tol": -1.0}, "sweep_tol=-1.0: expected a number from 0"),
        ({"prior_every": 0}, "prior_every=0: expected a whole number from 1"),
        ({"prior_warm_up": -1}, "prior_warm_up=-1: expected a whole number from 0"),
    ],
)
def test_invalid_schedules_are_reported(settings: dict[str, Any], message: str, corpus: Corpus) -> None:
    with pytest.raises(ValueError, match=message):
        TWDA(3, **settings).fit(corpus)
