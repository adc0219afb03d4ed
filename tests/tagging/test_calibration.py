"""Calibration of predicted probabilities, by cross-validation."""

from dataclasses import replace

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s
from tagtopic.tagging.calibration import IDENTITY, MIN_SLOPE, Examples, fit_calibration, fit_folds, fit_stacking
from tagtopic.tagging.features import calibrate

COUNT, N_TAGS = 30_000, 30


def examples(seed: int = 0) -> Examples:
    """Return examples whose first feature is the log odds; the other is noise."""
    random = np.random.default_rng(seed)
    features = random.normal(0, 2, (COUNT, 2))
    labels = random.random(COUNT) < 1 / (1 + np.exp(-features[:, 0]))
    tags = random.integers(0, N_TAGS, COUNT).astype(np.int32)
    return Examples(features, labels, tags, np.zeros(COUNT, np.int32), np.arange(COUNT) // 10)


def test_calibrated_log_odds_are_left_unchanged() -> None:
    assert fit_calibration(examples(), fit_folds(examples(), 1, N_TAGS)) == pytest.approx(IDENTITY, abs=0.2)


def test_overconfident_log_odds_are_shrunk() -> None:
    def overconfident(given: Examples, n_kinds: int, n_tags: int) -> tuple[Float64s, Float64s]:
        coefficients, offsets = fit_stacking(given, n_kinds, n_tags)
        return 3 * coefficients, 3 * offsets

    intercept, slope, bend = fit_calibration(examples(), fit_folds(examples(), 1, N_TAGS, overconfident))
    assert intercept == pytest.approx(0, abs=0.2)
    assert slope == pytest.approx(1 / 3, abs=0.05)
    assert slope + bend == pytest.approx(1 / 3, abs=0.05)


def test_calibration_keeps_the_order() -> None:
    odds = np.linspace(-8, 8, 50)
    assert [calibrate(one, IDENTITY) for one in odds] == pytest.approx(1 / (1 + np.exp(-odds)))
    backwards = examples()
    backwards = replace(backwards, labels=~backwards.labels)
    learnt = fit_calibration(backwards, fit_folds(backwards, 1, N_TAGS))
    for calibration in (learnt, np.array([0.3, MIN_SLOPE, 0.0])):
        assert np.all(np.diff([calibrate(one, calibration) for one in odds]) > 0)


def test_uninformative_examples_give_the_identity() -> None:
    few = examples()[np.zeros(1, int)]
    never = replace(examples(), labels=np.zeros(COUNT, bool))
    for one in (few, never):
        assert fit_calibration(one, fit_folds(one, 1, N_TAGS)) is IDENTITY
