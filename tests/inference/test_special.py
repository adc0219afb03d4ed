"""Special functions against SciPy."""

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from tagtopic.inference import reference
from tagtopic.inference.special import digamma, dirichlet_divergence, inverse_digamma, trigamma

positive = st.floats(1e-6, 1e6)


@given(positive)
def test_digamma_and_trigamma_agree_with_scipy(x: float) -> None:
    np.testing.assert_allclose(digamma(x), scipy.special.digamma(x), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(trigamma(x), scipy.special.polygamma(1, x), rtol=1e-11)


@pytest.mark.parametrize("x", [0.0, -1e30, float("nan")])
def test_digamma_and_trigamma_are_nan_outside_their_domain(x: float) -> None:
    assert np.isnan(digamma(x))
    assert np.isnan(trigamma(x))


@given(positive)
def test_inverse_digamma(x: float) -> None:
    np.testing.assert_allclose(inverse_digamma(digamma(x)), x, rtol=1e-7)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6))
def test_divergence_agrees_with_its_twin_and_is_not_negative(pairs: list[tuple[float, float]]) -> None:
    posterior, prior = np.array(pairs).T.copy()
    value = dirichlet_divergence(posterior, prior)
    scale = 1 + np.abs(posterior).sum() + np.abs(prior).sum() * np.log(1 + 1 / posterior.min())
    assert value >= -1e-9 * scale
    np.testing.assert_allclose(value, reference.dirichlet_divergence(posterior, prior), rtol=1e-8, atol=1e-8 * scale)
