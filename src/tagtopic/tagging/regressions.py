"""One-vs-rest logistic regressions of common tags, fitted together by stochastic gradient descent.

Nearest neighbours are the best evidence for rare tags; a tag on many documents is identified better by the words that
set it apart, each with its own weight. The log odds of a tag's regression are one more feature of the tag predictor
(``features.py``), which learns how much to rely on them. The documents that the predictor is calibrated on are held out
here, because a document cannot be taken out of a regression afterwards.

A document x (a unit vector of weighted words) updates the weights w_j and intercept b_j of every tag j by its error:

    r_j = 1 / (1 + exp(-(w_j . x + b_j))) - [the document has tag j]
    w_j <- w_j - step (r_j x + decay w_j) on the document's words        b_j <- b_j - 0.1 step r_j

The tags are independent of each other, so that blocks of them are fitted in any order with the same result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, Int32s, Int64s, read_only
from tagtopic._core.jit import compiled_reordering
from tagtopic._core.parallel import ThreadPool, cut_rows
from tagtopic.corpus.matrices import is_nondecreasing
from tagtopic.tagging.features import RegressionArrays

INTERCEPT_STEP = 0.1
"""Step of the intercepts, relative to that of the weights."""

MIN_DOCUMENTS = 50
"""A tag on fewer documents has too few examples for a weight per word."""

EPOCHS, STEP, DECAY = 8, 4.0, 1e-6
"""Passes over the documents; the step falls from STEP to a fifth of it."""

MAX_ENTRIES = 1 << 22
"""(document, word) entries that are learnt from; more documents are sampled."""

MAX_UPDATES = 1 << 35
"""Entries x tags x epochs: some ten seconds on two cores. Of more tags the most common are taken."""

MAX_WORDS = 1000
"""Words that a tag keeps: those with the largest absolute weights."""

BLOCK_WEIGHTS, BLOCK_TAGS = 1 << 22, 64
"""Weights and tags that are fitted together."""


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


@dataclass(frozen=True, eq=False)
class TagRegressions:
    """Weights (words, regressions; CSR), intercepts, and for each tag the number of its regression or -1."""

    weights: Any
    intercepts: Floats
    number_of_tag: Int32s

    @classmethod
    def none(cls, n_words: int, n_tags: int) -> TagRegressions:
        """Return the regressions of no tag."""
        return cls(sp.csr_array((n_words, 0), dtype=np.float32), np.empty(0, np.float32), np.full(n_tags, -1, np.int32))

    @classmethod
    def fit(
        cls,
        vectors: Any,
        tags: Any,
        rows: Any,
        random: np.random.Generator,
        n_jobs: int | None,
        *,
        max_entries: int = MAX_ENTRIES,
        max_updates: int = MAX_UPDATES,
        max_words: int = MAX_WORDS,
        block_tags: int = BLOCK_TAGS,
    ) -> TagRegressions:
        """Fit on some rows of ``vectors`` (documents, words) and ``tags`` (documents, tags), both CSR."""
        rows = random.permutation(rows)
        rows = np.sort(rows[np.cumsum(np.diff(vectors.indptr)[rows]) <= max_entries])
        vectors, tags = vectors[rows], tags[rows]
        counts = np.bincount(tags.indices, minlength=tags.shape[1])
        most_common = np.argsort(-counts, kind="stable")[: max_updates // max(EPOCHS * vectors.nnz, 1)]
        chosen = np.sort(most_common[counts[most_common] >= MIN_DOCUMENTS])
        if not len(chosen):
            return cls.none(vectors.shape[1], tags.shape[1])
        number_of_tag = np.full(tags.shape[1], -1, np.int32)
        number_of_tag[chosen] = np.arange(len(chosen))
        orders = [random.permutation(len(rows)) for _ in range(EPOCHS)]
        fitting = _Fitting(vectors, sp.csr_array(tags)[:, chosen], orders, max_words)
        width = int(np.clip(BLOCK_WEIGHTS // vectors.shape[1], 8, block_tags))
        with ThreadPool(n_jobs) as pool:
            parts = pool.map(fitting.fit_block, cut_rows(len(chosen), width))
        weights, intercepts = zip(*parts, strict=True)
        return cls(sp.csr_array(sp.hstack(weights)), np.concatenate(intercepts), number_of_tag)

    def for_kernels(self) -> RegressionArrays:
        """Return the arrays as the kernels read them."""
        return RegressionArrays(
            read_only(self.weights.indptr, np.int64),
            read_only(self.weights.indices, np.int32),
            read_only(self.weights.data, np.float32),
            read_only(self.intercepts, np.float32),
            read_only(self.number_of_tag, np.int32),
        )

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that a model file stores."""
        return {
            "regression_starts": self.weights.indptr.astype(np.int64),
            "regression_numbers": self.weights.indices.astype(np.int32),
            "regression_weights": self.weights.data,
            "regression_intercepts": self.intercepts,
            "regression_tags": np.flatnonzero(self.number_of_tag >= 0).astype(np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any], n_words: int, n_tags: int) -> TagRegressions:
        """Return the regressions from ``to_arrays``; words that were added since have no weight."""
        starts, columns = arrays["regression_starts"], arrays["regression_numbers"]
        tags, intercepts = arrays["regression_tags"], arrays["regression_intercepts"]
        consistent = (
            0 < len(starts) <= n_words + 1
            and starts[0] == 0
            and starts[-1] == len(columns) == len(arrays["regression_weights"])
            and is_nondecreasing(starts)
            and len(tags) == len(intercepts)
            and (not len(columns) or 0 <= columns.min() <= columns.max() < len(tags))
            and (not len(tags) or 0 <= tags.min() <= tags.max() < n_tags)
        )
        if not consistent:
            raise ValueError("the regressions of its tag predictor do not fit together")
        starts = np.append(starts, np.full(n_words + 1 - len(starts), starts[-1]))
        number_of_tag = np.full(n_tags, -1, np.int32)
        number_of_tag[tags] = np.arange(len(tags))
        weights = sp.csr_array((arrays["regression_weights"], columns, starts), shape=(n_words, len(tags)))
        return cls(weights, intercepts, number_of_tag)


@dataclass(frozen=True)
class _Fitting:
    """Documents, their tags that have regressions, and the order of the documents in each epoch."""

    vectors: Any
    tags: Any
    orders: list[Any]
    max_words: int

    def fit_block(self, block: tuple[int, int]) -> tuple[Any, Floats]:
        """Return the weights and intercepts of tags ``block[0]:block[1]``."""
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
            sgd_epoch(order, *documents, STEP / (1 + epoch / 2), DECAY, weights, intercepts)
        return self._largest(weights), intercepts

    def _largest(self, weights: Floats) -> Any:
        """Keep the ``max_words`` largest absolute weights of each column."""
        size = np.abs(weights)
        if len(size) > self.max_words:
            least = np.partition(size, len(size) - self.max_words, axis=0)[len(size) - self.max_words]
            weights = np.where(size >= least, weights, 0)
        return sp.csr_array(weights)
