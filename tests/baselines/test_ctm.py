"""Variational CTM: the bound equals the reference, never decreases, and ends at a maximum."""

import numpy as np
import pytest

from tagtopic.baselines import CTM, reference
from tagtopic.baselines.ctm_inference import LogisticNormal, infer_document
from tagtopic.datasets import make_tagged_corpus

Problem = tuple[np.ndarray, np.ndarray, LogisticNormal]


def problem(seed: int, n_topics: int = 5) -> Problem:
    rng = np.random.default_rng(seed)
    root = rng.normal(0, 1, (n_topics, n_topics))
    precision = np.asarray(np.linalg.inv(root @ root.T + 0.3 * np.eye(n_topics)), np.float64)
    rows = np.ascontiguousarray(rng.dirichlet(np.full(9, 0.3), n_topics).T)
    model = LogisticNormal(rows, rng.normal(0, 1, n_topics), precision, float(np.linalg.slogdet(precision)[1]))
    return rows, rng.integers(1, 5, 9).astype(float), model


def inferred(given: Problem, sweeps: int) -> tuple[float, np.ndarray, np.ndarray]:
    rows, counts, model = given
    means, variances = np.zeros(5), np.ones(5)
    bound = infer_document(rows, counts, model, means, variances, sweeps, np.empty(5), np.empty(9))
    return bound, means, variances


def reference_bound(given: Problem, means: np.ndarray, variances: np.ndarray) -> float:
    rows, counts, model = given
    return reference.ctm_bound(rows, counts, model.mean, model.precision, means, variances)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sweeps", [0, 1, 5])
def test_the_bound_equals_the_reference(seed: int, sweeps: int) -> None:
    given = problem(seed)
    bound, means, variances = inferred(given, sweeps)
    assert bound == pytest.approx(reference_bound(given, means, variances), rel=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_sweeps_never_decrease_the_bound_and_end_at_a_maximum(seed: int) -> None:
    given = problem(seed)
    assert np.diff([inferred(given, n)[0] for n in range(25)]).min() > -1e-9
    best, means, variances = inferred(given, 500)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        nudge = rng.normal(0, 0.02, 5)
        assert reference_bound(given, means + nudge, variances) < best
        assert reference_bound(given, means, variances * np.exp(nudge)) < best


def test_sufficient_statistics_equal_the_reference() -> None:
    rows, counts, model = problem(1)
    means, variances, weights, ratios = np.zeros(5), np.ones(5), np.empty(5), np.empty(9)
    infer_document(rows, counts, model, means, variances, 4, weights, ratios)
    phi = rows * np.exp(means)
    phi /= phi.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rows * weights * ratios[:, None], counts[:, None] * phi, rtol=1e-10)


def test_the_bound_of_a_fit_never_decreases() -> None:
    corpus = make_tagged_corpus(300, 4, 10, 150, random_state=0).corpus
    model = CTM(4, max_iter=15, tol=0.0, dtype="float64", random_state=0).fit(corpus)
    assert np.diff(model.bound_).min() > 0
    again = CTM(4, max_iter=15, tol=0.0, dtype="float64", random_state=0, n_jobs=1).fit(corpus)
    np.testing.assert_array_equal(again.components_, model.components_)
