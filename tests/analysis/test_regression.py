"""Updates of all topics' coefficients at once, for small and for large designs."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.analysis.regression import MANY_COLUMNS, Regression, fit_topic, starting_coefficients, update_coefficients


@pytest.mark.parametrize("n_columns", [6, MANY_COLUMNS + 20])
def test_repeated_updates_reach_the_fit_of_each_topic(n_columns: int) -> None:
    rng = np.random.default_rng(0)
    n = 3000
    level = rng.integers(0, n_columns - 1, n)
    design = sp.csr_array(
        (np.ones(2 * n), np.column_stack([np.zeros(n, int), 1 + level]).ravel(), 2 * np.arange(n + 1)), (n, n_columns)
    )
    regression = Regression(design, np.ones(n), np.arange(n_columns) > 0)
    effect = rng.normal(0, 1, n_columns - 1)
    shares = np.column_stack([rng.beta(1, 1 + np.exp(-effect[level])), rng.beta(1, 3, n)])
    coefficients = starting_coefficients(regression, shares)
    for _ in range(12):
        coefficients, drawn = update_coefficients(
            regression, shares, coefficients, np.zeros((n, 1)), np.zeros(coefficients.shape)
        )
        assert np.allclose(drawn, coefficients)
    means = 1 / (1 + np.exp(-(design @ coefficients)))
    for k in range(2):
        phi = float(((shares[:, k] - means[:, k]) ** 2).sum() / (means[:, k] * (1 - means[:, k])).sum())
        expected = design @ fit_topic(regression, shares[:, k], phi).coefficients
        assert np.allclose(design @ coefficients[:, k], expected, atol=0.05)
