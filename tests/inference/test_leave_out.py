"""The sums of the collapsed way against their equations, written out with every share in full."""

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s
from tagtopic.inference.cvb0 import LEAST, add_tags_leaving_out, add_words_leaving_out, pass_leaving_out
from tagtopic.inference.m_step import RUN, ColumnIndex


def some(random: np.random.Generator, *shape: int) -> Float64s:
    return random.uniform(0.05, 1.0, shape)


def left_of(
    row: Float64s, mix: Float64s, own_mix: Float64s, prior: float, topic_share: Float64s
) -> tuple[Float64s, ...]:
    """psi', e' and u of one word, as the module's docstring has them."""
    u = row / (mix @ row) if mix @ row > 0 else np.zeros_like(row)
    others = np.maximum(row - mix * u * topic_share, prior * topic_share)
    return others, np.maximum(mix - own_mix * u, LEAST * mix), u


@pytest.mark.parametrize("unexplained", range(5))
@pytest.mark.parametrize("seed", range(4))
def test_a_pass_is_its_equations(seed: int, unexplained: int) -> None:
    random = np.random.default_rng(seed)
    rows, counts, prior = some(random, 5, 3), np.array([1.0, 2.0, 1.0, 7.0, 3.0]), some(random, 5) * 0.3
    rows[unexplained] = 0.0  # a word that no topic has: among four, and the one after them
    share, mix, own_mix = some(random, 3), some(random, 3), some(random, 3) * random.choice([0.2, 5.0])
    sums, inverses, pull, own_pull, left = np.empty(5), np.empty(5), np.empty(3), np.empty(3), np.empty((4, 3))
    prior[unexplained] = 0.0
    pass_leaving_out(rows, counts, prior, share, mix, own_mix, sums, inverses, pull, own_pull, left)
    expected_pull, expected_own = np.zeros(3), np.zeros(3)
    for i in range(5):
        others, e, u = left_of(rows[i], mix, own_mix, float(prior[i]), share)
        total = float(e @ others)
        assert sums[i] == pytest.approx(total, rel=1e-9)
        assert inverses[i] == pytest.approx(1 / (mix @ rows[i]) if i != unexplained else 0.0, rel=1e-9)
        if total > 0:
            expected_pull += counts[i] * others / total
            expected_own += counts[i] * others * u / total
    np.testing.assert_allclose(pull, expected_pull, rtol=1e-9)
    np.testing.assert_allclose(own_pull, expected_own, rtol=1e-9)


def index() -> ColumnIndex:
    """Column 2 in rows 0, 1 and 3, column 0 in row 2 (of an index that also has a column before and after)."""
    return ColumnIndex(
        np.array([1, 2, 0, 3], np.int32), np.array([0, 1, 4, 5, 6]), np.array([0, 0, 1, 3, 2, 1], np.int32),
        np.arange(6, dtype=np.int32),
    )  # fmt: skip


def test_sums_of_words_are_their_equations() -> None:
    random = np.random.default_rng(1)
    ratios, inverses = some(random, 6), some(random, 6)
    mix, own_mix, psi = some(random, 4, 3), some(random, 4, 3) * 2, some(random, 4, 3)
    prior, share = some(random, 4) * 0.5, some(random, 3)
    sums = np.ones((4, 3))
    add_words_leaving_out(index(), 1, 3, ratios, inverses, mix, own_mix, psi, prior, share, sums)
    expected = np.ones((4, 3))
    for word, entries in ((2, (1, 2, 3)), (0, (4,))):
        for p in entries:
            d, u = index().rows[p], psi[word] * inverses[p]
            others = np.maximum(psi[word] - mix[d] * u * share, prior[word] * share)
            expected[word] += ratios[p] * np.maximum(mix[d] - own_mix[d] * u, LEAST * mix[d]) * others
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


@pytest.mark.parametrize("entries", [RUN, RUN + 1, 3 * RUN])
def test_a_frequent_word_is_summed_like_a_rare_one(entries: int) -> None:
    random = np.random.default_rng(entries)
    before = 5  # entries of other words
    ratios, inverses = some(random, before + entries), some(random, before + entries)
    mix, own_mix, psi = some(random, entries, 3), some(random, entries, 3) * 2, some(random, 1, 3)
    prior, share, sums = some(random, 1) * 0.5, some(random, 3), np.ones((1, 3))
    rows = np.append(np.zeros(before, np.int32), np.arange(entries, dtype=np.int32))
    one_word = ColumnIndex(np.zeros(1, np.int32), np.array([before, before + entries]), rows, rows)
    add_words_leaving_out(one_word, 0, 1, ratios, inverses, mix, own_mix, psi, prior, share, sums)
    u = psi * inverses[before:, None]
    others = np.maximum(psi - mix * u * share, prior * share)
    added = ratios[before:, None] * np.maximum(mix - own_mix * u, LEAST * mix) * others
    np.testing.assert_allclose(sums[0], 1 + added.sum(axis=0), rtol=1e-9)


def test_sums_of_tags_are_their_equations() -> None:
    random = np.random.default_rng(2)
    weights, pull, own_pull, theta, share = (
        some(random, 6), some(random, 4, 3), some(random, 4, 3) * 4, some(random, 4, 3), some(random, 4),
    )  # fmt: skip
    sums = np.ones((4, 3))
    add_tags_leaving_out(index(), 1, 3, weights, pull, own_pull, theta, share, sums)
    expected = np.ones((4, 3))
    floored = 0
    for tag, entries in ((2, (1, 2, 3)), (0, (4,))):
        for p in entries:
            d = index().rows[p]
            others = pull[d] - weights[p] * share[tag] * own_pull[d]
            floored += int((others < 0).sum())
            expected[tag] += theta[tag] * weights[p] * np.maximum(others, 0)
    assert floored  # so that the floor is seen
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


def test_a_common_word_is_summed_in_runs_to_the_same() -> None:
    random = np.random.default_rng(3)
    n = 150
    rows = np.arange(n, dtype=np.int32)
    every = ColumnIndex(np.zeros(1, np.int32), np.array([0, n]), rows, rows)
    ratios, inverses, mix, own_mix, psi = (
        some(random, n), some(random, n), some(random, n, 2), some(random, n, 2), some(random, 1, 2),
    )  # fmt: skip
    sums, share = np.zeros((1, 2)), np.array([0.5, 0.25])
    add_words_leaving_out(every, 0, 1, ratios, inverses, mix, own_mix, psi, np.zeros(1), share, sums)
    u = psi * inverses[:, None]
    others, e = np.maximum(psi - mix * u * share, 0), np.maximum(mix - own_mix * u, LEAST * mix)
    np.testing.assert_allclose(sums[0], (ratios[:, None] * e * others).sum(axis=0), rtol=1e-9)
