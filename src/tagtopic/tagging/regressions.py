"""What each common tag's own logistic regression says: a weight for each word.

Documents alike say most about rare tags. A tag on many documents is told better by the words that set it apart, each
with its own weight. The regressions are one more piece of evidence for the mix (``mixing.py``), which decides how far
to believe them. They do not see the documents that the mix is learnt on, since a document cannot be taken out of them.

One logistic regression for each of some tags, all learnt together by stochastic gradient descent.

A document x (a row of weighted words) moves every tag's weights w_j and intercept b_j by its error:

    r_j = 1 / (1 + exp(-(w_j . x + b_j))) - [the document has tag j]
    w_j <- w_j - step (r_j x + decay w_j) on the document's words        b_j <- b_j - 0.1 step r_j

Tags do not see each other, so blocks of them are learnt one by one or at once with the same result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, Int32s, Int64s, read_only
from tagtopic._core.jit import compiled_reordering
from tagtopic._core.parallel import cut_rows
from tagtopic._core.threads import ThreadPool
from tagtopic.tagging.features import TagRegressions

INTERCEPT_PACE = 0.1


@compiled_reordering
def learn_from_each(
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
    """One step for each document in ``order``; ``weights`` (words, tags) are changed in place."""
    n_tags = intercepts.shape[0]
    one = weights.dtype.type(1)
    pace, keep = weights.dtype.type(step), weights.dtype.type(1 - step * decay)
    intercept_pace = weights.dtype.type(INTERCEPT_PACE * step)
    errors = np.empty(n_tags, weights.dtype)
    for d in order:
        errors[:] = intercepts
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


LEAST_DOCUMENTS = 50
"""A tag on fewer has too few examples for a weight for each word."""

EPOCHS, STEP, DECAY = 8, 4.0, 1e-6
"""Passes over the documents; the step falls from STEP to a fifth of it."""

MOST_ENTRIES = 1 << 22
"""(document, word) entries that are learnt from; of more documents a random part."""

MOST_STEPS = 1 << 35
"""Entries by tags by passes: some ten seconds on two cores. Of more tags the commonest are taken."""

MOST_WORDS = 1000
"""Words that a tag keeps: those with the largest weights."""

BLOCK_WEIGHTS, MOST_TAGS_AT_ONCE = 1 << 22, 64


@dataclass(frozen=True, eq=False)
class Regressions:
    """Weights (words, regressions; CSR), intercepts, and for each tag its regression or -1."""

    weights: Any
    intercepts: Floats
    numbers: Int32s

    @classmethod
    def none(cls, n_words: int, n_tags: int) -> Regressions:
        """Of no tag."""
        return cls(sp.csr_array((n_words, 0), dtype=np.float32), np.empty(0, np.float32), np.full(n_tags, -1, np.int32))

    @classmethod
    def fit(cls, vectors: Any, tags: Any, rows: Any, random: np.random.Generator, n_jobs: int | None) -> Regressions:
        """Learn from some rows of documents as weighted words and of their tags (both CSR)."""
        rows = random.permutation(rows)
        rows = np.sort(rows[np.cumsum(np.diff(vectors.indptr)[rows]) <= MOST_ENTRIES])
        vectors, tags = vectors[rows], tags[rows]
        sizes = np.bincount(tags.indices, minlength=tags.shape[1])
        most = MOST_STEPS // max(EPOCHS * vectors.nnz, 1)
        commonest = np.argsort(-sizes, kind="stable")[:most]
        chosen = np.sort(commonest[sizes[commonest] >= LEAST_DOCUMENTS])
        if not len(chosen):
            return cls.none(vectors.shape[1], tags.shape[1])
        numbers = np.full(tags.shape[1], -1, np.int32)
        numbers[chosen] = np.arange(len(chosen))
        learner = _Learner(
            vectors, sp.csr_array(tags)[:, chosen], [random.permutation(len(rows)) for _ in range(EPOCHS)]
        )
        width = int(np.clip(BLOCK_WEIGHTS // vectors.shape[1], 8, MOST_TAGS_AT_ONCE))
        with ThreadPool(n_jobs) as workers:
            parts = workers.map(learner.learn, cut_rows(len(chosen), width))
        weights, intercepts = zip(*parts, strict=True)
        return cls(sp.csr_array(sp.hstack(weights)), np.concatenate(intercepts), numbers)

    def for_kernels(self) -> TagRegressions:
        """The same as the kernels take it."""
        return TagRegressions(
            read_only(self.weights.indptr, np.int64),
            read_only(self.weights.indices, np.int32),
            read_only(self.weights.data, np.float32),
            read_only(self.intercepts, np.float32),
            read_only(self.numbers, np.int32),
        )

    def to_arrays(self) -> dict[str, Any]:
        """All that a file must keep."""
        return {
            "regression_starts": self.weights.indptr.astype(np.int64),
            "regression_numbers": self.weights.indices.astype(np.int32),
            "regression_weights": self.weights.data,
            "regression_intercepts": self.intercepts,
            "regression_tags": np.flatnonzero(self.numbers >= 0).astype(np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_words: int, n_tags: int) -> Regressions:
        """The same from what ``to_arrays`` gave; words that came later have no weight. An error if they do not fit."""
        starts, columns = arrays["regression_starts"], arrays["regression_numbers"]
        tags, intercepts = arrays["regression_tags"], arrays["regression_intercepts"]
        sound = (
            0 < len(starts) <= n_words + 1
            and starts[0] == 0
            and starts[-1] == len(columns) == len(arrays["regression_weights"])
            and bool(np.all(np.diff(starts) >= 0))
            and len(tags) == len(intercepts)
            and (not len(columns) or 0 <= columns.min() <= columns.max() < len(tags))
            and (not len(tags) or 0 <= tags.min() <= tags.max() < n_tags)
        )
        if not sound:
            raise ValueError("the regressions of its tag predictor do not fit together")
        starts = np.append(starts, np.full(n_words + 1 - len(starts), starts[-1]))
        numbers = np.full(n_tags, -1, np.int32)
        numbers[tags] = np.arange(len(tags))
        weights = sp.csr_array((arrays["regression_weights"], columns, starts), shape=(n_words, len(tags)))
        return cls(weights, intercepts, numbers)


@dataclass(frozen=True)
class _Learner:
    vectors: Any
    tags: Any
    orders: list[Any]

    def learn(self, block: tuple[int, int]) -> tuple[Any, Floats]:
        """The weights and intercepts of some of the tags."""
        first, last = block
        tags = sp.csr_array(self.tags[:, first:last])
        share = np.bincount(tags.indices, minlength=last - first) / tags.shape[0]
        intercepts = np.log((share + 1e-5) / (1 - share + 1e-5)).astype(np.float32)
        weights = np.zeros((self.vectors.shape[1], last - first), np.float32)
        documents = (
            read_only(self.vectors.indptr, np.int64),
            read_only(self.vectors.indices, np.int32),
            read_only(self.vectors.data, np.float32),
            read_only(tags.indptr, np.int64),
            read_only(tags.indices, np.int32),
        )
        for epoch, order in enumerate(self.orders):
            learn_from_each(order, *documents, STEP / (1 + epoch / 2), DECAY, weights, intercepts)
        return _largest(weights), intercepts


def _largest(weights: Floats) -> Any:
    """Each column's largest weights only, whatever their sign."""
    size = np.abs(weights)
    if len(size) > MOST_WORDS:
        least = np.partition(size, len(size) - MOST_WORDS, axis=0)[len(size) - MOST_WORDS]
        weights = np.where(size >= least, weights, 0)
    return sp.csr_array(weights)
