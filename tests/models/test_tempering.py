"""How sure predicted tags may be: learnt on documents that the mix has not seen."""

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s
from tagtopic.tagging import calibration
from tagtopic.tagging.calibration import AS_IT_IS, Examples, learn_from, learn_tempering
from tagtopic.tagging.features import temper

COUNT, N_TAGS = 30_000, 30


def examples(seed: int = 0) -> Examples:
    """The first feature is the log odds; the other says nothing."""
    random = np.random.default_rng(seed)
    inputs = random.normal(0, 2, (COUNT, 2))
    right = random.random(COUNT) < 1 / (1 + np.exp(-inputs[:, 0]))
    tags = random.integers(0, N_TAGS, COUNT).astype(np.int32)
    return Examples(inputs, right, tags, np.zeros(COUNT, np.int32), np.arange(COUNT) // 10)


def test_a_mix_that_is_right_is_left_as_it_is() -> None:
    assert learn_tempering(examples(), 1, N_TAGS) == pytest.approx(AS_IT_IS, abs=0.2)


def test_a_mix_that_is_too_sure_is_made_less_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_sure(given: Examples, n_kinds: int, n_tags: int) -> tuple[Float64s, Float64s]:
        mix, offsets = learn_from(given, n_kinds, n_tags)
        return 3 * mix, 3 * offsets

    monkeypatch.setattr(calibration, "learn_from", too_sure)
    intercept, slope, bend = learn_tempering(examples(), 1, N_TAGS)
    assert intercept == pytest.approx(0, abs=0.2)
    assert slope == pytest.approx(1 / 3, abs=0.05)
    assert slope + bend == pytest.approx(1 / 3, abs=0.05)


def test_order_stays_whatever_is_learnt() -> None:
    odds = np.linspace(-8, 8, 50)
    assert [temper(one, AS_IT_IS) for one in odds] == pytest.approx(1 / (1 + np.exp(-odds)))
    backwards = examples()
    learnt = learn_tempering(
        Examples(backwards.inputs, ~backwards.right, backwards.tags, backwards.kinds, backwards.documents), 1, N_TAGS
    )
    for tempering in (learnt, np.array([0.3, calibration.LEAST_SLOPE, 0.0])):
        assert np.all(np.diff([temper(one, tempering) for one in odds]) > 0)


def test_examples_that_say_nothing_change_nothing() -> None:
    few = examples()[np.zeros(1, int)]
    assert learn_tempering(few, 1, N_TAGS) is AS_IT_IS
    never = examples()
    assert learn_tempering(
        Examples(never.inputs, np.zeros(COUNT, bool), never.tags, never.kinds, never.documents), 1, N_TAGS
    ) is AS_IT_IS  # fmt: skip
