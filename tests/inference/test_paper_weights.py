import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from tagtopic._core.arrays import Float64s
from tagtopic.inference import reference
from tagtopic.inference.paper import ascend_weights, natural_direction, weight_gradient, weight_objective


@st.composite
def problems(draw: st.DrawFn) -> tuple[Float64s, Float64s, Float64s]:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 8))
    return random.gamma(1.0, 2.0, size) + 0.05, random.gamma(1.0, 1.0, size) + 0.05, -random.gamma(1.0, 100.0, size)


@given(problems())
def test_gradient_agrees_with_finite_differences(problem: tuple[Float64s, Float64s, Float64s]) -> None:
    xi, pi, gains = problem
    difference = check_grad(weight_objective, weight_gradient, xi, pi, gains, epsilon=1e-7 * xi.min())
    assert difference <= 1e-3 * (1 + np.linalg.norm(weight_gradient(xi, pi, gains)))


@given(problems())
def test_natural_direction_is_the_gradient_in_the_fisher_metric(problem: tuple[Float64s, Float64s, Float64s]) -> None:
    from scipy.special import polygamma

    xi, pi, gains = problem
    fisher = np.diag(polygamma(1, xi)) - polygamma(1, xi.sum())
    np.testing.assert_allclose(
        fisher @ natural_direction(xi, pi, gains), weight_gradient(xi, pi, gains), rtol=1e-6, atol=1e-6
    )


@given(problems())
def test_ascents_never_fall_and_end_where_it_is_level(
    problem: tuple[Float64s, Float64s, Float64s],
) -> None:
    xi, pi, gains = problem
    after = weight_objective(xi, pi, gains)
    moved = xi.copy()
    for _ in range(50):  # as over sweeps: each ascent goes on from where the last one stood
        before = after
        ascend_weights(moved, pi, gains)
        after = weight_objective(moved, pi, gains)
        assert after >= before
    slope = np.abs(moved * weight_gradient(moved, pi, gains)).max()  # in log xi, in which the steps are taken
    assert slope <= 1e-2 * (1 + abs(after))


def test_one_tag_takes_its_prior() -> None:
    xi = np.array([3.0])
    ascend_weights(xi, np.array([0.7]), np.array([-5.0]))
    assert xi[0] == 0.7


@pytest.mark.parametrize("seed", range(5))
def test_ascent_is_the_twins(seed: int) -> None:
    random = np.random.default_rng(seed)
    xi, pi, gains = random.gamma(1.0, 2.0, 4) + 0.1, random.gamma(1.0, 1.0, 4) + 0.1, -random.gamma(1.0, 50.0, 4)
    expected = reference.ascend_weights(xi.copy(), pi, gains)
    ascend_weights(xi, pi, gains)
    np.testing.assert_allclose(xi, expected, rtol=1e-6)
