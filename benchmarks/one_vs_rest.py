"""One logistic regression per tag, all fitted by stochastic gradient descent in one pass over the documents.

The same model as scikit-learn's ``OneVsRestClassifier(SGDClassifier(loss="log_loss"))``; with 11,474 tags that would
take hours, and this takes minutes. The weights are a dense (words, tags) matrix.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, Int32s, Int64s, read_only
from tagtopic._core.jit import compiled_reordering
from tagtopic._core.parallel import ThreadPool, cut_rows

INTERCEPT_STEP = 0.1
"""Step of the intercepts, relative to that of the weights."""


@compiled_reordering
def sgd_epoch(
    order: Int64s,
    starts: Int64s,
    words: Int32s,
    values: Floats,
    tag_starts: Int64s,
    tags: Int32s,
    step: float,
    decay: float,
    weights: Floats,
    intercepts: Floats,
) -> None:
    """Take one step for each document in ``order``; ``weights`` (words, tags) and ``intercepts`` change in place."""
    n_tags = intercepts.shape[0]
    one = weights.dtype.type(1)
    pace, keep = weights.dtype.type(step), weights.dtype.type(1 - step * decay)
    intercept_pace = weights.dtype.type(INTERCEPT_STEP * step)
    errors = np.empty(n_tags, weights.dtype)
    for d in order:
        for j in range(n_tags):
            errors[j] = intercepts[j]
        for p in range(starts[d], starts[d + 1]):
            row, value = weights[words[p]], values[p]
            for j in range(n_tags):
                errors[j] += value * row[j]
        for j in range(n_tags):
            errors[j] = one / (one + math.exp(-errors[j]))
        for p in range(tag_starts[d], tag_starts[d + 1]):
            errors[tags[p]] -= one
        for j in range(n_tags):
            intercepts[j] -= intercept_pace * errors[j]
        for p in range(starts[d], starts[d + 1]):
            row, value = weights[words[p]], values[p] * pace
            for j in range(n_tags):
                row[j] = keep * row[j] - value * errors[j]


def fit(vectors: Any, tags: Any, *, step: float, epochs: int, seed: int, decay: float = 1e-6) -> tuple[Any, Any]:
    """Fit weights (words, tags) and intercepts; the step size decreases with the epochs."""
    random = np.random.default_rng(seed)
    share = np.bincount(tags.indices, minlength=tags.shape[1]) / tags.shape[0]
    bias = np.log((share + 1e-5) / (1 - share + 1e-5)).astype(np.float32)
    weights = np.zeros((vectors.shape[1], tags.shape[1]), np.float32)
    orders = [random.permutation(tags.shape[0]) for _ in range(epochs)]
    documents = (
        read_only(vectors.indptr, np.int64), read_only(vectors.indices, np.int32), read_only(vectors.data, np.float32),
    )  # fmt: skip

    def learn(block: tuple[int, int]) -> None:
        """Fit a block of tags, which are independent of the others and fit into the cache."""
        part = slice(*block)
        own = sp.csr_array(tags[:, part])
        chosen, intercepts = np.zeros((vectors.shape[1], own.shape[1]), np.float32), bias[part].copy()
        labels = read_only(own.indptr, np.int64), read_only(own.indices, np.int32)
        for epoch, order in enumerate(orders):
            sgd_epoch(order, *documents, *labels, step / (1 + epoch / 2), decay, chosen, intercepts)
        weights[:, part], bias[part] = chosen, intercepts

    with ThreadPool(None) as workers:
        workers.map(learn, cut_rows(tags.shape[1], 64))
    return weights, bias


def best_tags(vectors: Any, weights: Any, bias: Any, n: int) -> list[Any]:
    """Return the n most probable tags of each document."""
    found: list[Any] = []
    for first in range(0, vectors.shape[0], 256):
        scores = vectors[first : first + 256] @ weights + bias
        near = np.argpartition(-scores, n, axis=1)[:, :n] if n < scores.shape[1] else np.argsort(-scores, axis=1)
        order = np.argsort(-np.take_along_axis(scores, near, axis=1), axis=1)
        found += list(np.take_along_axis(near, order, axis=1))
    return found
