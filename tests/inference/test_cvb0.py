"""The kernels of CVB0 against the equations of the module's docstring."""

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s
from tagtopic.inference.cvb0 import MIN_SHARE, add_tag_statistics_cvb0, add_word_statistics_cvb0, word_pass_cvb0
from tagtopic.inference.m_step import TERMS_IN_SINGLE, ColumnIndex


def some(random: np.random.Generator, *shape: int) -> Float64s:
    return random.uniform(0.05, 1.0, shape)


def left_out(
    row: Float64s, mix: Float64s, correction: Float64s, prior: float, inverse_totals: Float64s
) -> tuple[Float64s, ...]:
    """psi', e' and u of one word."""
    u = row / (mix @ row) if mix @ row > 0 else np.zeros_like(row)
    others = np.maximum(row - mix * u * inverse_totals, prior * inverse_totals)
    return others, np.maximum(mix - correction * u, MIN_SHARE * mix), u


@pytest.mark.parametrize("impossible", range(5))
@pytest.mark.parametrize("seed", range(4))
def test_word_pass(seed: int, impossible: int) -> None:
    random = np.random.default_rng(seed)
    psi, counts, prior = some(random, 5, 3), np.array([1.0, 2.0, 1.0, 7.0, 3.0]), some(random, 5) * 0.3
    psi[impossible] = 0.0  # a word without topics: among four, and the one after them
    share, mix, correction = some(random, 3), some(random, 3), some(random, 3) * random.choice([0.2, 5.0])
    probabilities, inverses, gradient, gradient_correction, scratch = (
        np.empty(5),
        np.empty(5),
        np.empty(3),
        np.empty(3),
        np.empty((4, 3)),
    )
    prior[impossible] = 0.0
    word_pass_cvb0(
        psi, counts, prior, share, mix, correction, probabilities, inverses, gradient, gradient_correction, scratch
    )
    expected_gradient, expected_correction = np.zeros(3), np.zeros(3)
    for i in range(5):
        others, e, u = left_out(psi[i], mix, correction, float(prior[i]), share)
        total = float(e @ others)
        assert probabilities[i] == pytest.approx(total, rel=1e-9)
        assert inverses[i] == pytest.approx(1 / (mix @ psi[i]) if i != impossible else 0.0, rel=1e-9)
        if total > 0:
            expected_gradient += counts[i] * others / total
            expected_correction += counts[i] * others * u / total
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9)
    np.testing.assert_allclose(gradient_correction, expected_correction, rtol=1e-9)


def index() -> ColumnIndex:
    """Column 2 in rows 0, 1 and 3, column 0 in row 2 (of an index that also has a column before and after)."""
    return ColumnIndex(
        np.array([1, 2, 0, 3], np.int32), np.array([0, 1, 4, 5, 6]), np.array([0, 0, 1, 3, 2, 1], np.int32),
        np.arange(6, dtype=np.int32),
    )  # fmt: skip


def test_word_statistics() -> None:
    random = np.random.default_rng(1)
    count_ratios, inverses = some(random, 6), some(random, 6)
    mix, correction, psi = some(random, 4, 3), some(random, 4, 3) * 2, some(random, 4, 3)
    prior, share = some(random, 4) * 0.5, some(random, 3)
    statistics = np.ones((4, 3))
    add_word_statistics_cvb0(index(), 1, 3, count_ratios, inverses, mix, correction, psi, prior, share, statistics)
    expected = np.ones((4, 3))
    for word, entries in ((2, (1, 2, 3)), (0, (4,))):
        for p in entries:
            d, u = index().rows[p], psi[word] * inverses[p]
            others = np.maximum(psi[word] - mix[d] * u * share, prior[word] * share)
            expected[word] += count_ratios[p] * np.maximum(mix[d] - correction[d] * u, MIN_SHARE * mix[d]) * others
    np.testing.assert_allclose(statistics, expected, rtol=1e-9)


@pytest.mark.parametrize("entries", [TERMS_IN_SINGLE, TERMS_IN_SINGLE + 1, 3 * TERMS_IN_SINGLE])
def test_word_statistics_of_a_frequent_word(entries: int) -> None:
    random = np.random.default_rng(entries)
    before = 5  # entries of other words
    count_ratios, inverses = some(random, before + entries), some(random, before + entries)
    mix, correction, psi = some(random, entries, 3), some(random, entries, 3) * 2, some(random, 1, 3)
    prior, share, statistics = some(random, 1) * 0.5, some(random, 3), np.ones((1, 3))
    rows = np.append(np.zeros(before, np.int32), np.arange(entries, dtype=np.int32))
    one_word = ColumnIndex(np.zeros(1, np.int32), np.array([before, before + entries]), rows, rows)
    add_word_statistics_cvb0(one_word, 0, 1, count_ratios, inverses, mix, correction, psi, prior, share, statistics)
    u = psi * inverses[before:, None]
    others = np.maximum(psi - mix * u * share, prior * share)
    added = count_ratios[before:, None] * np.maximum(mix - correction * u, MIN_SHARE * mix) * others
    np.testing.assert_allclose(statistics[0], 1 + added.sum(axis=0), rtol=1e-9)


def test_tag_statistics() -> None:
    random = np.random.default_rng(2)
    weights, gradient, gradient_correction, theta, share = (
        some(random, 6), some(random, 4, 3), some(random, 4, 3) * 4, some(random, 4, 3), some(random, 4),
    )  # fmt: skip
    statistics = np.ones((4, 3))
    add_tag_statistics_cvb0(index(), 1, 3, weights, gradient, gradient_correction, theta, share, statistics)
    expected = np.ones((4, 3))
    floored = 0
    for tag, entries in ((2, (1, 2, 3)), (0, (4,))):
        for p in entries:
            d = index().rows[p]
            others = gradient[d] - weights[p] * share[tag] * gradient_correction[d]
            floored += int((others < 0).sum())
            expected[tag] += theta[tag] * weights[p] * np.maximum(others, 0)
    assert floored  # the floor is in use
    np.testing.assert_allclose(statistics, expected, rtol=1e-9)


def test_word_statistics_without_a_prior() -> None:
    random = np.random.default_rng(3)
    n = 150
    rows = np.arange(n, dtype=np.int32)
    every = ColumnIndex(np.zeros(1, np.int32), np.array([0, n]), rows, rows)
    count_ratios, inverses, mix, correction, psi = (
        some(random, n), some(random, n), some(random, n, 2), some(random, n, 2), some(random, 1, 2),
    )  # fmt: skip
    statistics, share = np.zeros((1, 2)), np.array([0.5, 0.25])
    add_word_statistics_cvb0(every, 0, 1, count_ratios, inverses, mix, correction, psi, np.zeros(1), share, statistics)
    u = psi * inverses[:, None]
    others, e = np.maximum(psi - mix * u * share, 0), np.maximum(mix - correction * u, MIN_SHARE * mix)
    np.testing.assert_allclose(statistics[0], (count_ratios[:, None] * e * others).sum(axis=0), rtol=1e-9)
