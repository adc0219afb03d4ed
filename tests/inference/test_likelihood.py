"""The log likelihood of a document's words, which takes one logarithm for many."""

import numpy as np
import pytest

from tagtopic._core.arrays import Float64s
from tagtopic._core.intrinsics import total_of
from tagtopic.inference.e_step import log_likelihood


def plain(counts: Float64s, sums: Float64s) -> float:
    return float(counts @ np.log(np.maximum(sums, 1e-300)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_words", [0, 1, 5, 400])
def test_it_is_the_numpy_line_that_it_replaces(n_words: int, dtype: str) -> None:
    random = np.random.default_rng(n_words)
    counts = random.choice([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 70.0], n_words).astype(dtype)
    sums = (10.0 ** random.uniform(-30, 0, n_words)).astype(dtype)
    assert log_likelihood(counts, sums) == pytest.approx(plain(counts.astype(float), sums.astype(float)), rel=1e-12)


@pytest.mark.parametrize("largest", [1e-299, 1e-99, 1e-60, 1.0, 1e80])
def test_products_neither_vanish_nor_overflow(largest: float) -> None:
    counts, sums = np.ones(300), np.full(300, largest)
    sums[::7] = 1e-90
    assert log_likelihood(counts, sums) == pytest.approx(plain(counts, sums), rel=1e-12)


def test_a_word_that_nothing_explains_counts_as_almost_impossible() -> None:
    assert log_likelihood(np.array([1.0, 1.0, 2.0]), np.array([0.5, 0.0, 0.0])) == pytest.approx(
        np.log(0.5) + 3 * np.log(1e-300)
    )


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_a_total_is_the_numpy_line_that_it_replaces(n: int) -> None:
    values = np.random.default_rng(n).random(n)
    assert total_of(values) == pytest.approx(values.sum(), rel=1e-12)
