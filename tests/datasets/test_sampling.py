"""Draws have the distribution they claim."""

import numpy as np
import pytest

from tagtopic.datasets.sampling import alias_tables, dirichlet_rows, draw_distinct, draw_tokens, ragged_dirichlet, zipf


def test_alias_tables_hold_the_probabilities_exactly() -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.full(37, 0.2), size=4)
    keep, alias = alias_tables(probabilities)
    recovered = keep.copy()
    for row in range(4):
        np.add.at(recovered[row], alias[row], 1.0 - keep[row])
    np.testing.assert_allclose(recovered / 37, probabilities, atol=1e-12)


def test_tokens_follow_the_mixture_of_topics() -> None:
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(20, 0.3), size=3)
    mixes = rng.dirichlet(np.ones(3), size=2)
    words = draw_tokens(rng, mixes, np.array([200_000, 100_000]), *alias_tables(topics))
    for document, drawn in enumerate((words[:200_000], words[200_000:])):
        expected = mixes[document] @ topics * drawn.size
        observed = np.bincount(drawn, minlength=20)
        frequent = expected > 5
        chi_square = np.sum((observed - expected)[frequent] ** 2 / expected[frequent])
        assert chi_square < frequent.sum() + 5 * np.sqrt(2 * frequent.sum())


def test_dirichlet_rows_have_the_mean_of_their_prior_even_when_it_is_tiny() -> None:
    rng = np.random.default_rng(2)
    rows = dirichlet_rows(rng, 20_000, np.array([0.001, 0.003]), 2)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    np.testing.assert_allclose(rows.mean(axis=0), [0.25, 0.75], atol=0.02)


def test_ragged_dirichlet_gives_each_owner_one_draw() -> None:
    rng = np.random.default_rng(3)
    owner = np.repeat(np.arange(30_000), 3)
    draws = ragged_dirichlet(rng, np.tile([1.0, 2.0, 5.0], 30_000), owner, 30_000).reshape(-1, 3)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    np.testing.assert_allclose(draws.mean(axis=0), [1 / 8, 2 / 8, 5 / 8], atol=0.01)
    np.testing.assert_allclose(draws.var(axis=0), np.array([7, 12, 15]) / (64 * 9), rtol=0.05)


@pytest.mark.parametrize("size", [1, 4, 10])
def test_distinct_items_are_distinct_and_follow_popularity(size: int) -> None:
    popularity = zipf(10, 1.0)
    items = draw_distinct(np.random.default_rng(4), np.full(20_000, size), popularity).reshape(-1, size)
    assert (np.diff(np.sort(items, axis=1), axis=1) > 0).all()
    if size == 1:
        np.testing.assert_allclose(np.bincount(items[:, 0]) / 20_000, popularity, atol=0.015)
    if size == 4:
        assert (np.diff(np.bincount(items.ravel(), minlength=10)) < 100).all()
