"""The kernels of stochastic variational inference ascalest the NumPy lines that they replace."""

import numpy as np

from tagtopic.inference.svi import estimate_topics, natural_gradient_step


def test_topics_are_estimated_for_selected_words() -> None:
    random = np.random.default_rng(0)
    statistics, prior, totals = random.random((6, 3)), random.random(6), np.array([2.0, 3.0, 50.0])
    words, psi = np.array([5, 0, 3, 1], np.int32), np.zeros((4, 3))
    estimate_topics(statistics, words, 1, 3, prior, totals, 0.02, psi)
    expected = np.zeros((4, 3))
    expected[1:3] = np.maximum((statistics[words[1:3]] + prior[words[1:3], None]) / totals, 0.02)
    assert (expected[1:3] == 0.02).any()
    np.testing.assert_allclose(psi, expected, rtol=1e-12)


def test_rows_move_by_their_own_step_sizes() -> None:
    random = np.random.default_rng(1)
    statistics, new = random.random((6, 3)), random.random((4, 3))
    rows, rates, scales = (
        np.array([5, 0, 3, 1], np.int32),
        np.array([0.1, 0.5, 0.9, 0.3]),
        np.array([2.0, 3.0, 5.0, 7.0]),
    )
    expected = statistics.copy()
    for i in (1, 2):
        expected[rows[i]] = (1 - rates[i]) * statistics[rows[i]] + rates[i] * scales[i] * new[i]
    increase = (expected - statistics).sum(axis=0)
    np.testing.assert_allclose(natural_gradient_step(statistics, rows, 1, 3, rates, scales, new), increase, rtol=1e-9)
    np.testing.assert_allclose(statistics, expected, rtol=1e-12)
