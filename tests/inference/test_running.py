"""The kernels of online learning against the NumPy lines that they replace."""

import numpy as np

from tagtopic.inference.svi import blend_rows, take_topics


def test_topics_of_some_words_are_taken() -> None:
    random = np.random.default_rng(0)
    sums, prior, totals = random.random((6, 3)), random.random(6), np.array([2.0, 3.0, 50.0])
    words, psi = np.array([5, 0, 3, 1], np.int32), np.zeros((4, 3))
    take_topics(sums, words, 1, 3, prior, totals, 0.02, psi)
    expected = np.zeros((4, 3))
    expected[1:3] = np.maximum((sums[words[1:3]] + prior[words[1:3], None]) / totals, 0.02)
    assert (expected[1:3] == 0.02).any()
    np.testing.assert_allclose(psi, expected, rtol=1e-12)


def test_rows_move_by_their_own_rates_and_the_rise_is_told() -> None:
    random = np.random.default_rng(1)
    sums, new = random.random((6, 3)), random.random((4, 3))
    rows, rates, gains = (
        np.array([5, 0, 3, 1], np.int32),
        np.array([0.1, 0.5, 0.9, 0.3]),
        np.array([2.0, 3.0, 5.0, 7.0]),
    )
    expected = sums.copy()
    for i in (1, 2):
        expected[rows[i]] = (1 - rates[i]) * sums[rows[i]] + rates[i] * gains[i] * new[i]
    rise = (expected - sums).sum(axis=0)
    np.testing.assert_allclose(blend_rows(sums, rows, 1, 3, rates, gains, new), rise, rtol=1e-9)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
