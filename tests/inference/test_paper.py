"""The paper's update of xi."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from tagtopic._core.arrays import Float64s
from tagtopic.inference import reference
from tagtopic.inference.paper import maximise_xi, natural_direction, xi_gradient, xi_objective


@st.composite
def problems(draw: st.DrawFn) -> tuple[Float64s, Float64s, Float64s]:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 8))
    return random.gamma(1.0, 2.0, size) + 0.05, random.gamma(1.0, 1.0, size) + 0.05, -random.gamma(1.0, 100.0, size)


@given(problems())
def test_gradient_agrees_with_finite_differences(problem: tuple[Float64s, Float64s, Float64s]) -> None:
    xi, pi, gains = problem
    difference = check_grad(xi_objective, xi_gradient, xi, pi, gains, epsilon=1e-7 * xi.min())
    assert difference <= 1e-3 * (1 + np.linalg.norm(xi_gradient(xi, pi, gains)))


@given(problems())
def test_natural_direction_is_the_gradient_in_the_fisher_metric(problem: tuple[Float64s, Float64s, Float64s]) -> None:
    from scipy.special import polygamma

    xi, pi, gains = problem
    fisher = np.diag(polygamma(1, xi)) - polygamma(1, xi.sum())
    np.testing.assert_allclose(
        fisher @ natural_direction(xi, pi, gains), xi_gradient(xi, pi, gains), rtol=1e-6, atol=1e-6
    )


@given(problems())
def test_ascent_never_falls_and_ends_at_a_stationary_point(
    problem: tuple[Float64s, Float64s, Float64s],
) -> None:
    xi, pi, gains = problem
    after = xi_objective(xi, pi, gains)
    moved = xi.copy()
    for _ in range(50):  # as over sweeps: each ascent starts where the last one ended
        before = after
        maximise_xi(moved, pi, gains)
        after = xi_objective(moved, pi, gains)
        assert after >= before
    slope = np.abs(moved * xi_gradient(moved, pi, gains)).max()  # in log xi, as the steps
    assert slope <= 1e-2 * (1 + abs(after))


def test_xi_of_a_single_tag_is_its_prior() -> None:
    xi = np.array([3.0])
    maximise_xi(xi, np.array([0.7]), np.array([-5.0]))
    assert xi[0] == 0.7


@pytest.mark.parametrize("seed", range(5))
def test_ascent_agrees_with_its_twin(seed: int) -> None:
    random = np.random.default_rng(seed)
    xi, pi, gains = random.gamma(1.0, 2.0, 4) + 0.1, random.gamma(1.0, 1.0, 4) + 0.1, -random.gamma(1.0, 50.0, 4)
    expected = reference.maximise_xi(xi.copy(), pi, gains)
    maximise_xi(xi, pi, gains)
    np.testing.assert_allclose(xi, expected, rtol=1e-6)
