"""Logistic regression by Newton's method, compared with scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tagtopic.tagging.logistic import fit_logistic


@pytest.mark.parametrize("share", [0.5, 0.01])
@pytest.mark.parametrize("strength", [0.0, 1.0, 30.0])
def test_coefficients_are_those_of_scikit_learn(share: float, strength: float) -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(2_000, 6)).astype(np.float32)
    odds = np.log(share / (1 - share)) + strength * features @ [1.0, -0.5, 0.2, 0.0, 0.0, 2.0]
    labels = random.random(2_000) < 1 / (1 + np.exp(-odds))
    expected = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-6).fit(features, labels)
    found = fit_logistic(features, labels)
    np.testing.assert_allclose(found[:-1], expected.coef_[0], rtol=1e-3, atol=1e-3)
    assert found[-1] == pytest.approx(expected.intercept_[0], rel=1e-3, abs=1e-3)


def test_a_weight_is_as_many_examples() -> None:
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(200, 3)).astype(np.float32), random.random(200) < 0.5
    counts = random.integers(0, 4, 200)
    found = fit_logistic(features, labels, weights=counts.astype(np.float64))
    expected = fit_logistic(np.repeat(features, counts, axis=0), np.repeat(labels, counts))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_features_that_do_not_vary_have_no_slope() -> None:
    labels = np.arange(20) % 4 == 0
    found = fit_logistic(np.zeros((20, 2)), labels)
    np.testing.assert_allclose(found, [0.0, 0.0, np.log(1 / 3)], atol=1e-4)


def test_labels_that_a_feature_separates_give_finite_slopes() -> None:
    feature = np.linspace(-3, 3, 40)[:, None]
    found = fit_logistic(feature, feature[:, 0] > 0)
    assert np.isfinite(found).all()
    assert found[0] > 1
