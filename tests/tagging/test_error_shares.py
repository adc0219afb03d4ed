"""The shares of errors are bounded by what own tags look like, each kind of error by its own score."""

import numpy as np
import pytest

from tagtopic.tagging.error_shares import MAX_ERRORS, bound_shares, combine, rescale_shares

N_OWN, N_WRONG = 20000, 2000


def examples(shares: tuple[float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw points in the plane: own tags at the origin, errors of two kinds far along either axis, some among the own.

    Return the log likelihood ratios of both kinds against the clean own tags, which are own, and which are of a kind.
    """
    random = np.random.default_rng(0)
    centres = np.array([[4.0, 0.0], [0.0, 4.0]])
    own = random.normal(0, 1, (N_OWN, 2))
    kind = random.choice(3, N_OWN, p=[1 - sum(shares), *shares])
    for number in range(2):
        own[kind == number + 1] += centres[number]
    wrong = [random.normal(0, 1, (N_WRONG, 2)) + centre for centre in centres]
    points = np.concatenate([own, *wrong])
    ratios = np.stack([points @ centre - centre @ centre / 2 for centre in centres])
    labels = np.repeat([0, 1, 2], [N_OWN, N_WRONG, N_WRONG])
    return ratios, labels == 0, np.stack([labels == 1, labels == 2]).astype(float)


@pytest.mark.parametrize("shares", [(0.08, 0.0), (0.0, 0.08), (0.05, 0.03), (0.0, 0.0)])
def test_planted_shares_are_recovered_kind_by_kind(shares: tuple[float, float]) -> None:
    assert bound_shares(*examples(shares)) == pytest.approx(shares, abs=0.012)


def test_errors_that_look_like_own_tags_are_bounded_by_the_maximum_only() -> None:
    random = np.random.default_rng(0)
    is_own = np.repeat([True, False], [N_OWN, N_WRONG])
    found = bound_shares(random.normal(0, 1, (1, len(is_own))), is_own, (~is_own)[None].astype(float))
    assert found == pytest.approx([MAX_ERRORS])


def test_kinds_that_explain_the_same_errors_share_their_bound() -> None:
    ratios, is_own, weights = examples((0.08, 0.0))
    twice = bound_shares(ratios[[0, 0]], is_own, weights[[0, 0]])
    assert twice.sum() == pytest.approx(0.08, abs=0.012)
    preferred = bound_shares(ratios[[0, 0]], is_own, weights[[0, 0]], [1.0, 0.1])
    assert preferred == pytest.approx([0.08, 0.0], abs=0.012)


def test_shares_are_rescaled_in_their_proportion() -> None:
    found = rescale_shares(*examples((0.05, 0.03)), np.array([0.5, 0.3]))
    assert found == pytest.approx([0.05, 0.03], abs=0.012)
    assert found[0] / found[1] == pytest.approx(5 / 3)


def test_too_few_examples_bound_nothing() -> None:
    ratios, is_own, weights = examples((0.08, 0.0))
    few = np.flatnonzero(is_own)[:5].tolist() + np.flatnonzero(~is_own).tolist()
    assert bound_shares(ratios[:, few], is_own[few], weights[:, few]).sum() == pytest.approx(MAX_ERRORS)
    weights[1, np.flatnonzero(weights[1])[5:]] = 0  # five examples of the second kind
    assert bound_shares(ratios, is_own, weights) == pytest.approx([0.08, 0.0], abs=0.012)


def test_the_combined_ratio_is_the_weighted_sum() -> None:
    ratios = np.log(np.array([[2.0, 1.0], [4.0, 3.0]]))
    np.testing.assert_allclose(np.exp(combine(ratios, np.array([0.5, 0.25]))), [2.0, 1.25])
    np.testing.assert_allclose(np.exp(combine(ratios, np.array([0.0, 1.0]))), [4.0, 3.0])
