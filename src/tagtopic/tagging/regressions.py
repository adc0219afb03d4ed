"""One-vs-rest linear classifiers of tags, learnt against the documents that are most easily confused.

Nearest neighbours and centroids weigh all words alike; a classifier learns which words set a tag apart. The margin of a
tag's classifier is one more feature of the tag predictor (``features.py``), which learns how much to rely on it.

Every tag on MIN_DOCUMENTS documents or more has one. Most documents are easily told from those of a tag and teach
nothing, so that a tag learns from few: the documents that have it, their nearest neighbours, and some random ones (all
documents, where there are few tags). The work then grows with the number of (document, tag) entries, and not with tags
x documents.

A classifier minimises the squared hinge loss of unit vectors x_i with labels y_i = 1 or -1 and a constant word of
weight 1 for the intercept,

    |w|^2 / 2 + C sum_i max(0, 1 - y_i w . x_i)^2,

by coordinate descent in the dual (Hsieh et al. 2008, as in liblinear): w = sum_i a_i y_i x_i, and for each i in turn

    a_i <- max(0, a_i - (y_i w . x_i - 1 + a_i / 2C) / (x_i . x_i + 1 / 2C)).

The tags are independent of each other, so that they are fitted in any order with the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, Int32s, Int64s, offsets_of, read_only
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic._core.parallel import ThreadPool, cut_evenly, cut_rows
from tagtopic.corpus.matrices import is_nondecreasing
from tagtopic.tagging.features import RegressionArrays
from tagtopic.tagging.similarity import compute_similarities, kth_largest, largest_positions
from tagtopic.tagging.training_index import ABSENT, Queries, TrainingIndex, queries_from_vectors

MIN_DOCUMENTS = 5
"""Documents from which a tag has a classifier."""

COST = 0.5
"""C: how much an error weighs against the length of w."""

N_NEIGHBOURS = 20
"""Nearest neighbours of each of a tag's documents that it learns from."""

N_RANDOM = 1000
"""Random documents that each tag learns from besides, at least; they are the same for all tags."""

MIN_RANDOM = 400_000
"""Random documents of all tags together, at least: where there are few tags, each learns from more documents."""

MAX_SWEEPS, TOLERANCE = 20, 0.3
"""Passes over a tag's documents: at most, and the largest change of a violated optimality condition that ends them."""

MAX_ENTRIES = 1 << 22
"""(document, word) entries that are learnt from; more documents are sampled."""

MAX_WORDS = 300
"""Words that a tag keeps: those with the largest absolute weights."""

MIN_WEIGHT = 1e-3
"""Smaller weights are dropped."""

CHUNK = 128
"""Documents per task of the neighbour search."""

CHUNK_ENTRIES = 1 << 16
"""(tag, document) entries per task."""


class Workspace(NamedTuple):
    """Arrays for one tag at a time: ``weights`` (words) is zero before and after; ``duals`` and ``active`` have room
    for the documents of any tag, ``touched`` and ``kept`` for every word.
    """

    weights: Floats
    duals: Floats
    active: Int32s
    touched: Int32s
    kept: Floats


class Fitted(NamedTuple):
    """For each tag its intercept, the number of words that it keeps, these words and their weights."""

    n_kept: Int64s
    words: Int32s
    weights: Floats
    intercepts: Floats


@compiled
def find_neighbours(index: TrainingIndex, queries: Queries, first: int, last: int, out: Int32s) -> None:
    """Write the nearest other training documents of queries ``first:last``, or ABSENT."""
    n_documents = index.document_tag_starts.shape[0] - 1
    similarity, scratch = np.empty(n_documents, np.float32), np.empty(n_documents, np.float32)
    tag_sums, positions = np.empty(index.common_numbers.max() + 1, np.float32), np.empty(n_documents, np.int32)
    for query in range(first, last):
        compute_similarities(index, queries, query, similarity, tag_sums)
        n_found = min(largest_positions(similarity, out.shape[1], positions, scratch), out.shape[1])
        for k in range(out.shape[1]):
            out[query, k] = positions[k] if k < n_found else ABSENT


@compiled_reordering
def margin_of(words: Int32s, values: Floats, weights: Floats) -> Any:
    """Return ``values @ weights[words]``."""
    total = np.float32(0)
    for entry in range(words.shape[0]):  # unsigned: signed indices may be negative, which takes longer
        total += weights[np.uint32(words[entry])] * values[entry]
    return total


@compiled
def descend(
    starts: Int64s, words: Int32s, values: Floats, squares: Floats, documents: Int32s, labels: Floats, cost: float,
    max_sweeps: int, tolerance: float, work: Workspace,
) -> float:  # fmt: skip
    """Fit one tag on ``documents``: fill ``work.weights`` (words, zero before), and return the intercept.

    Documents without weight whose condition holds by more than the largest violation of the last sweep are left out
    of the sweeps (shrinking, as in liblinear) until the others have converged; then all are looked at again.
    """
    weights, duals, active = work.weights, work.duals, work.active
    diagonal = np.float32(0.5 / cost)
    one, none = np.float32(1), np.float32(0)
    intercept = none
    n = documents.shape[0]
    for p in range(n):
        duals[p], active[p] = none, p
    n_active, limit = n, np.float32(np.inf)
    for _sweep in range(max_sweeps):
        worst, n_left = none, 0
        for q in range(n_active):
            p = active[q]
            d, label, dual = documents[p], labels[p], duals[p]
            first, last = starts[d], starts[d + 1]
            product = intercept + margin_of(words[first:last], values[first:last], weights)
            gradient = label * product - one + diagonal * dual
            if dual == 0 and gradient >= 0:
                if gradient <= limit:
                    active[n_left] = p
                    n_left += 1
                continue
            active[n_left] = p
            n_left += 1
            worst = max(worst, abs(gradient))
            new = max(dual - gradient / (squares[d] + one + diagonal), none)
            change = (new - dual) * label
            duals[p] = new
            intercept += change
            for entry in range(first, last):
                weights[np.uint32(words[entry])] += change * values[entry]
        if worst >= tolerance:
            n_active, limit = n_left, worst
        elif n_active == n:
            break
        else:
            for p in range(n):
                active[p] = p
            n_active, limit = n, np.float32(np.inf)
    return float(intercept)


@compiled
def fit_tags(
    starts: Int64s, words: Int32s, values: Floats, squares: Floats, first: int, last: int, problem_starts: Int64s,
    documents: Int32s, labels: Floats, cost: float, max_sweeps: int, tolerance: float, work: Workspace, out: Fitted,
) -> None:  # fmt: skip
    """Fit the tags of problems ``first:last`` and keep the largest weights of each."""
    weights, duals, _, touched, kept = work
    for tag in range(first, last):
        begin, end = problem_starts[tag], problem_starts[tag + 1]
        row = tag - first
        out.intercepts[row] = descend(
            starts, words, values, squares, documents[begin:end], labels[begin:end], cost, max_sweeps, tolerance, work
        )
        n_touched = 0
        for p in range(begin, end):
            if duals[p - begin] > 0:
                for entry in range(starts[documents[p]], starts[documents[p] + 1]):
                    if weights[words[entry]] != 0:
                        touched[n_touched], kept[n_touched] = words[entry], weights[words[entry]]
                        weights[words[entry]] = 0
                        n_touched += 1
        for i in range(n_touched):
            weights[i] = abs(kept[i])
        least = max(kth_largest(weights, n_touched, out.words.shape[1]), np.float32(MIN_WEIGHT))
        n_kept = 0
        for i in range(n_touched):
            if weights[i] >= least and n_kept < out.words.shape[1]:
                out.words[row, n_kept], out.weights[row, n_kept] = touched[i], kept[i]
                n_kept += 1
            weights[i] = 0
        out.n_kept[row] = n_kept


@dataclass(frozen=True, eq=False)
class TagRegressions:
    """Weights (words, classifiers; CSR), intercepts, and for each tag the number of its classifier or -1."""

    weights: Any
    intercepts: Floats
    number_of_tag: Int32s

    @classmethod
    def none(cls, n_words: int, n_tags: int) -> TagRegressions:
        """Return the classifiers of no tag."""
        return cls(sp.csr_array((n_words, 0), dtype=np.float32), np.empty(0, np.float32), np.full(n_tags, -1, np.int32))

    @classmethod
    def fit(
        cls,
        vectors: Any,
        tags: Any,
        rows: Any,
        neighbours: Int32s,
        random: np.random.Generator,
        n_jobs: int | None,
        *,
        min_documents: int = MIN_DOCUMENTS,
        max_entries: int = MAX_ENTRIES,
        max_words: int = MAX_WORDS,
        min_random: int = MIN_RANDOM,
        max_sweeps: int = MAX_SWEEPS,
        tolerance: float = TOLERANCE,
        chunk_entries: int = CHUNK_ENTRIES,
    ) -> TagRegressions:
        """Fit on some rows of ``vectors`` (documents, words) and ``tags`` (documents, tags), both CSR.

        ``neighbours`` are the nearest documents of each document, or ABSENT.
        """
        rows = random.permutation(rows)
        rows = np.sort(rows[np.cumsum(np.diff(vectors.indptr)[rows]) <= max_entries])
        counts = np.bincount(sp.csr_array(tags[rows]).indices, minlength=tags.shape[1])
        chosen = np.flatnonzero((counts >= min_documents) & (counts < len(rows)))
        if not len(chosen):
            return cls.none(vectors.shape[1], tags.shape[1])
        number_of_tag = np.full(tags.shape[1], -1, np.int32)
        number_of_tag[chosen] = np.arange(len(chosen))
        n_random = max(N_RANDOM, min_random // len(chosen))
        squares = read_only(vectors.multiply(vectors).sum(axis=1), np.float32)
        order = random.permutation(vectors.shape[0]).astype(np.int32)
        places = np.argsort(order)
        allowed = np.isin(order, rows)
        common = allowed & (np.cumsum(allowed) <= n_random)
        by_tag = sp.csc_array(tags)
        fitting = _Fitting(
            vectors,
            squares,
            order,
            places,
            allowed,
            common,
            by_tag,
            chosen,
            neighbours,
            max_words,
            max_sweeps,
            tolerance,
        )
        with ThreadPool(n_jobs) as pool:
            sizes = offsets_of(counts[chosen] * (1 + neighbours.shape[1]) + min(n_random, len(rows)))
            parts = pool.map(fitting.fit_part, cut_evenly(sizes, chunk_entries))
        weights, intercepts = zip(*parts, strict=True)
        return cls(sp.csr_array(sp.vstack(weights, format="csr").T), np.concatenate(intercepts), number_of_tag)

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
    """What the tags are fitted on.

    ``squares`` are the squared lengths of the documents, ``order`` all of them in random order and ``places`` their
    places in it; by place, ``allowed`` are those that may be learnt from, and ``common`` those that every tag learns
    from. ``chosen`` are the tags to fit.
    """

    vectors: Any
    squares: Floats
    order: Int32s
    places: Any
    allowed: Any
    common: Any
    tags: Any
    chosen: Any
    neighbours: Int32s
    max_words: int
    max_sweeps: int
    tolerance: float

    def fit_part(self, part: tuple[int, int]) -> tuple[Any, Floats]:
        """Return the weights (classifiers, words) and intercepts of the chosen tags ``part[0]:part[1]``."""
        first, last = part
        problems = [self._problem(number) for number in range(first, last)]
        problem_starts = offsets_of(np.array([len(documents) for documents, _ in problems], np.int64))
        documents, labels = (np.concatenate(arrays) for arrays in zip(*problems, strict=True))
        n_words, n = self.vectors.shape[1], last - first
        most = min(self.max_words, n_words)
        out = Fitted(
            np.zeros(n, np.int64), np.zeros((n, most), np.int32), np.zeros((n, most), np.float32),
            np.zeros(n, np.float32),
        )  # fmt: skip
        room = int(np.diff(problem_starts).max())
        work = Workspace(
            np.zeros(n_words, np.float32), np.empty(room, np.float32), np.empty(room, np.int32),
            np.empty(n_words, np.int32), np.empty(n_words, np.float32),
        )  # fmt: skip
        fit_tags(
            read_only(self.vectors.indptr, np.int64), read_only(self.vectors.indices, np.int32),
            read_only(self.vectors.data, np.float32), self.squares, 0, n, problem_starts, documents, labels, COST,
            self.max_sweeps, self.tolerance, work, out,
        )  # fmt: skip
        kept = np.arange(most) < out.n_kept[:, None]
        weights = sp.csr_array((out.weights[kept], out.words[kept], offsets_of(out.n_kept)), shape=(n, n_words))
        weights.sort_indices()
        return weights, out.intercepts

    def _problem(self, number: int) -> tuple[Int32s, Floats]:
        """Return the documents that a tag learns from, in random order, and their labels."""
        tag = self.chosen[number]
        positive = self.tags.indices[self.tags.indptr[tag] : self.tags.indptr[tag + 1]]
        near = self.neighbours[positive].ravel()
        learns_from = self.common.copy()
        learns_from[self.places[near[near >= 0]]] = True
        learns_from[self.places[positive]] = True
        documents = self.order[np.flatnonzero(learns_from & self.allowed)]
        labels = np.full(len(learns_from), -1, np.float32)
        labels[positive] = 1
        return documents, labels[documents]


def nearest_neighbours(index: TrainingIndex, vectors: Any, n_jobs: int | None, n: int = N_NEIGHBOURS) -> Int32s:
    """Return the nearest other documents of each document of the index, (documents, n); ABSENT where there are none."""
    queries = queries_from_vectors(vectors, np.arange(vectors.shape[0]))
    out = np.empty((vectors.shape[0], n), np.int32)
    with ThreadPool(n_jobs) as pool:
        pool.map(lambda part: find_neighbours(index, queries, *part, out), cut_rows(len(out), CHUNK))
    return out
