"""Draws of tag weights from known posteriors."""

from itertools import pairwise

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s, read_only
from tagtopic.inference.own_words import no_own_words
from tagtopic.inference.types import Documents, KernelParameters, LeaveOneOut, OwnWordEntries
from tagtopic.inference.weight_draws import (
    GROUP,
    document_seed,
    draw_categorical,
    draw_dirichlet,
    draw_weights,
    entries_by_count,
    groups_of_equal_counts,
    shifted_log_likelihood,
)

EMPTY = LeaveOneOut(np.empty(0), np.empty(0), np.empty(0))
NONE, NO_ROWS = read_only(np.empty(0)), read_only(np.empty((0, 0)))
START = np.empty(0)
PSI = read_only(  # words x topics: they share none
    np.array([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
)
THETA = read_only(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))


def drawn(
    *, latent: bool, n: int = 4000, seed: int = 3, counts: tuple[float, ...] = (4, 5, 3, 6), start: Float64s = START
) -> Float64s:
    """Draw for two tags with a topic each, so that each word's tag is known; the third topic is the latent tag's."""
    count_type = np.float32 if any(count % 1 for count in counts) else np.int32
    arrays = (
        np.array([0, 1, 5]), np.array([3, 0, 1, 2, 3], np.int32), np.array([9, *counts], count_type),
        np.array([0, 1, 3]), np.array([1, 0, 1], np.int32),
    )  # fmt: skip
    documents = Documents(*map(read_only, arrays))
    pi, mu = read_only(np.array([1.0, 2.0])), read_only(np.array([1e-9, 1e-9, 2.0]))
    parameters = KernelParameters(PSI, THETA, pi, 3.0, mu, latent, EMPTY, NONE, NO_ROWS)
    draws = np.zeros((n, 3 if latent else 2))
    draw_weights(documents, 1, no_own_words(), parameters, seed, 20, start, draws)
    return draws


def test_weights_of_known_words_are_dirichlet() -> None:
    for latent, concentration in ((True, [1 + 9, 2 + 3, 3 + 6]), (False, [1 + 9, 2 + 3])):
        draws, xi = drawn(latent=latent), np.array(concentration, float)
        np.testing.assert_allclose(draws.sum(axis=1), 1.0)
        share = xi / xi.sum()
        error = np.sqrt(share * (1 - share) / (xi.sum() + 1))  # the standard deviation of one draw
        assert np.all(np.abs(draws.mean(axis=0) - share) < 8 * error / np.sqrt(len(draws)))  # draws are correlated
        np.testing.assert_allclose(draws.std(axis=0), error, rtol=0.15)


@pytest.mark.parametrize("smallest", [1e-3, 1e-40])  # the product of some words underflows in the second case
def test_log_likelihood_by_groups_of_equal_counts(smallest: float) -> None:
    random = np.random.default_rng(0)
    n = 3 * GROUP + 5
    counts = np.sort(random.choice([1.0, 1.0, 1.0, 2.0, 3.0, 0.5], n))
    probabilities = 10 ** random.uniform(np.log10(smallest), 0, n)
    shift = probabilities * random.uniform(-1, 1, n)
    probabilities[0], shift[0] = 1e-5, -2e-5  # rounding may make a probability negative
    groups = groups_of_equal_counts(counts)
    assert groups[0] == 0
    assert groups[-1] == n
    assert np.diff(groups).max() <= GROUP
    assert all(len(set(counts[a:b])) == 1 for a, b in pairwise(groups))
    expected = counts @ np.log(np.maximum(probabilities + 0.7 * shift, 1e-300))
    assert shifted_log_likelihood(0.7, groups, counts, probabilities, shift) == pytest.approx(expected, rel=1e-12)


def test_entries_are_in_the_order_of_their_counts() -> None:
    counts = np.array([9, 3, 1, 2, 1, 3], np.int32)
    documents = Documents(
        np.array([0, 1, 6]), np.arange(6, dtype=np.int32), counts, np.array([0, 0, 0]), np.empty(0, np.int32)
    )
    assert entries_by_count(documents, 1).tolist() == [2, 4, 3, 1, 5]


def test_a_start_does_not_change_the_distribution() -> None:
    start = np.array([1e-6, 1 - 3e-6, 2e-6])
    draws, again = drawn(latent=True), drawn(latent=True, start=start)
    assert not np.array_equal(draws, again)
    np.testing.assert_allclose(again.mean(axis=0), draws.mean(axis=0), atol=0.02)
    np.testing.assert_array_equal(start, [1e-6, 1 - 3e-6, 2e-6])


def test_draws_depend_on_the_seed_only() -> None:
    np.testing.assert_array_equal(drawn(latent=True, n=5), drawn(latent=True, n=5))
    assert not np.array_equal(drawn(latent=True, n=5), drawn(latent=True, n=5, seed=4))


def test_uninformative_words_leave_the_prior() -> None:
    """With a single topic words carry no information on the weights."""
    documents = Documents(
        np.array([0, 1]), np.array([0], np.int32), np.array([6], np.int32), np.array([0, 2]), np.array([0, 1], np.int32)
    )
    theta = np.ones((2, 1))
    parameters = KernelParameters(
        np.ones((1, 1)), theta, np.array([3.0, 6.0]), 1.0, np.ones(1), False, EMPTY, NONE, NO_ROWS
    )
    draws = np.zeros((3000, 2))
    draw_weights(documents, 0, no_own_words(), parameters, 1, 20, START, draws)
    np.testing.assert_allclose(draws.mean(axis=0), [1 / 3, 2 / 3], atol=0.04)


@pytest.mark.parametrize("own", [0.0, 0.25])
def test_posterior_of_a_latent_tag_that_is_confounded_with_a_tag(own: float) -> None:
    """One tag and the latent one, two topics, a long document: the posterior by a grid.

    The middle word is also one of the tag's own, with this probability.
    """
    psi, counts = np.array([[0.7, 0.1], [0.2, 0.2], [0.1, 0.7]]), np.array([300, 120, 180], np.int32)
    theta, pi, pi_latent, mu = np.array([[0.6, 0.4]]), 2.0, 1.5, np.array([0.8, 1.2])
    documents = Documents(
        np.array([0, 3]), np.arange(3, dtype=np.int32), counts, np.array([0, 1]), np.zeros(1, np.int32)
    )
    theta, omega = theta * (1 - own), np.array([0, own, 0])
    entries = OwnWordEntries(np.array([0, 0, 1, 1]), np.zeros(1, np.int32), np.zeros(1, np.int32))
    parameters = KernelParameters(psi, theta, np.array([pi]), pi_latent, mu, True, EMPTY, np.array([own]), NO_ROWS)
    draws = np.zeros((8000, 2))
    draw_weights(documents, 0, entries if own else no_own_words(), parameters, 1, 100, START, draws)

    points = (np.arange(2000) + 0.5) / 2000
    weight, share = points[:, None], points[None, :]
    log_density = (pi - 1) * np.log(weight) + (pi_latent - 1) * np.log(1 - weight)
    log_density = log_density + (mu[0] - 1) * np.log(share) + (mu[1] - 1) * np.log(1 - share)
    for word in range(3):
        of_latent = share * psi[word, 0] + (1 - share) * psi[word, 1]
        of_tag = theta[0] @ psi[word] + omega[word]
        log_density += counts[word] * np.log(weight * of_tag + (1 - weight) * of_latent)
    density = np.exp(log_density - log_density.max()).sum(axis=1)
    density /= density.sum()
    mean = density @ points
    assert draws[:, 0].mean() == pytest.approx(mean, abs=0.03)
    assert draws[:, 0].std() == pytest.approx(np.sqrt(density @ (points - mean) ** 2), rel=0.1)


def test_weights_near_zero_stay_finite() -> None:
    """Small priors give weights near 0, which must remain a distribution."""
    documents = Documents(
        np.array([0, 2]),
        np.array([0, 2], np.int32),
        np.array([40, 1], np.int32),
        np.array([0, 2]),
        np.arange(2, dtype=np.int32),
    )
    parameters = KernelParameters(
        PSI, THETA, np.array([0.01, 0.01]), 0.01, np.full(3, 0.01), True, EMPTY, NONE, NO_ROWS
    )
    draws = np.zeros((500, 3))
    draw_weights(documents, 0, no_own_words(), parameters, 1, 20, START, draws)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert draws.min() >= 0
    assert 0.8 < (draws[:, 0] + draws[:, 2]).mean() < 1.0


def test_categorical_draws_follow_their_weights() -> None:
    weights, total = np.array([1.0, 0.0, 3.0, 4.0]), 8.0
    counts = np.bincount([draw_categorical(weights, total) for _ in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(counts, weights / total, atol=0.04)
    assert counts[1] == 0


def test_dirichlet_draws_have_their_mean_and_spread() -> None:
    shape, out = np.array([2.0, 6.0]), np.empty(2)
    draws = np.array([[draw_dirichlet(shape, out), *out][1:] for _ in range(3000)])
    np.testing.assert_allclose(draws.mean(axis=0), [0.25, 0.75], atol=0.02)
    assert draws[:, 0].std() == pytest.approx(np.sqrt(0.25 * 0.75 / 9), rel=0.1)


def test_fractional_counts_count_in_full() -> None:
    halves = drawn(latent=False, n=4000, counts=(4.5, 5.5, 3.25, 0.75))
    assert halves.mean(axis=0) == pytest.approx(np.array([1 + 10.0, 2 + 3.25]) / 16.25, abs=0.01)


def test_seed_depends_on_the_document_and_not_on_its_position() -> None:
    documents = Documents(
        np.array([0, 2, 4, 6]), np.array([0, 2, 0, 3, 0, 2], np.int32), np.array([4, 5, 4, 5, 4, 5], np.int32),
        np.array([0, 2, 4, 6]), np.array([0, 1] * 3, np.int32),
    )  # fmt: skip
    assert document_seed(documents, 0, 3) == document_seed(documents, 2, 3)
    assert document_seed(documents, 0, 3) != document_seed(documents, 1, 3)
    assert document_seed(documents, 0, 3) != document_seed(documents, 0, 4)
