"""The kernel of the tags' regressions against the same steps in NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.tagging.regressions import INTERCEPT_PACE, learn_from_each


def documents(random: np.random.Generator, n: int, n_words: int, n_tags: int) -> tuple[Any, Any]:
    words = sp.csr_array(random.random((n, n_words)) * (random.random((n, n_words)) < 0.3), dtype=np.float32)
    return words, sp.csr_array(random.random((n, n_tags)) < 0.3, dtype=np.int8)


def test_steps_are_those_of_the_twin() -> None:
    random = np.random.default_rng(0)
    vectors, tags = documents(random, 12, 20, 5)
    order, step, decay = random.permutation(12), 0.7, 0.01
    weights, intercepts = random.normal(size=(20, 5)), random.normal(size=5)
    expected, expected_intercepts = weights.copy(), intercepts.copy()
    for d in order:
        x, y = vectors.toarray()[d].astype(float), tags.toarray()[d]
        error = 1 / (1 + np.exp(-(x @ expected + expected_intercepts))) - y
        touched = x > 0
        expected[touched] -= step * (np.outer(x, error) + decay * expected)[touched]
        expected_intercepts -= INTERCEPT_PACE * step * error
    parts = (
        vectors.indptr.astype(np.int64), vectors.indices.astype(np.int32), vectors.data,
        tags.indptr.astype(np.int64), tags.indices.astype(np.int32),
    )  # fmt: skip
    found, found_intercepts = weights.astype(np.float32), intercepts.astype(np.float32)
    learn_from_each(order, *parts, step, decay, found, found_intercepts)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert found_intercepts == pytest.approx(expected_intercepts, rel=1e-4, abs=1e-5)
