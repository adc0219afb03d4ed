"""One logistic regression for each tag, all learnt by stochastic gradient descent in one pass over the documents.

The same model as scikit-learn's ``OneVsRestClassifier(SGDClassifier(loss="log_loss"))``; with 11,474 tags that would
take hours, and this takes a minute. Weights are dense (words x tags), which is why it is a benchmark and no product.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, fastmath=True, cache=True)
def one_epoch(
    order: Any, starts: Any, words: Any, values: Any, tag_starts: Any, tags: Any, weights: Any, bias: Any, step: float,
    decay: float,
) -> None:  # fmt: skip
    """One step of each tag's regression for each document; ``decay`` is the L2 penalty."""
    n_tags = bias.shape[0]
    error = np.empty(n_tags, np.float32)
    for d in order:
        error[:] = bias
        for p in range(starts[d], starts[d + 1]):
            row, value = weights[words[p]], values[p]
            for j in range(n_tags):
                error[j] += value * row[j]
        for j in range(n_tags):
            error[j] = 1 / (1 + np.exp(-error[j]))
        for p in range(tag_starts[d], tag_starts[d + 1]):
            error[tags[p]] -= 1
        for j in range(n_tags):
            bias[j] -= 0.1 * step * error[j]
        for p in range(starts[d], starts[d + 1]):
            row, value = weights[words[p]], values[p]
            for j in range(n_tags):
                row[j] -= step * (value * error[j] + decay * row[j])


def fit(vectors: Any, tags: Any, *, step: float, epochs: int, seed: int, decay: float = 1e-6) -> tuple[Any, Any]:
    """Weights (words, tags) and intercepts; the step falls with the epochs."""
    random = np.random.default_rng(seed)
    share = np.bincount(tags.indices, minlength=tags.shape[1]) / tags.shape[0]
    bias = np.log((share + 1e-5) / (1 - share + 1e-5)).astype(np.float32)
    weights = np.zeros((vectors.shape[1], tags.shape[1]), np.float32)
    parts = (vectors.indptr, vectors.indices, vectors.data.astype(np.float32), tags.indptr, tags.indices)
    for epoch in range(epochs):
        now = step / (1 + epoch / 2)
        one_epoch(random.permutation(tags.shape[0]), *parts, weights, bias, np.float32(now), np.float32(decay))
    return weights, bias


def best_tags(vectors: Any, weights: Any, bias: Any, n: int) -> list[Any]:
    """The n likeliest tags of each document."""
    found: list[Any] = []
    for first in range(0, vectors.shape[0], 256):
        scores = vectors[first : first + 256] @ weights + bias
        near = np.argpartition(-scores, n, axis=1)[:, :n] if n < scores.shape[1] else np.argsort(-scores, axis=1)
        order = np.argsort(-np.take_along_axis(scores, near, axis=1), axis=1)
        found += list(np.take_along_axis(near, order, axis=1))
    return found
