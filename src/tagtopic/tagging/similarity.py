"""Similarity of a document to all training documents, and the k largest similarities: its nearest neighbours.

Similarities are dot products of unit vectors, over the inverted index.

A few frequent words have most of the postings. The weights of each are stored as a dense row over all documents,
quantised, and the vector units add four rows at a time; all other words have postings. On ACL's abstracts this takes 52
microseconds a document where postings alone take 83.

The k largest values are found without sorting (np.partition takes six seconds to compile). Similarities are float32 and
not negative. The order of their bits, read as int32, is then their own order, so the k-th largest is found by bisection
of its bits, and the vector units count the values that reach a number several at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import Floats, Int32s, UInt16s
from tagtopic._core.intrinsics import bits_of, float_of
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.tagging.training_index import Queries, TrainingIndex

STRIDE = 64
"""Values compared at once: few are among the largest, so most strides are skipped after one comparison."""

STRATA = 4
"""Strata for each value asked for: the k-th largest of their maxima is a close lower bound of the k-th largest."""


@compiled
def compute_similarities(
    index: TrainingIndex, queries: Queries, query: int, similarity: Floats, tag_sums: Floats
) -> float:
    """Fill ``similarity`` with q . x_i and ``tag_sums`` with q . sum_{i has j} x_i, j a common tag; return the mean.

    A query that is itself in the index has similarity 0 with itself, and is left out of the sums.
    """
    for i in range(similarity.shape[0]):
        similarity[i] = 0
    _add_frequent_words(index, queries, query, similarity)
    _add_other_words(index, queries, query, similarity)
    total = _fill_tag_sums(index, queries, query, tag_sums)
    n_others = similarity.shape[0]
    if queries.training_rows[query] >= 0:
        total -= _leave_out(index, queries.training_rows[query], similarity, tag_sums)
        n_others -= 1
    return float(total / max(n_others, 1))


@compiled
def _add_frequent_words(index: TrainingIndex, queries: Queries, query: int, similarity: Floats) -> None:
    """Add the products of the frequent words, from their dense rows."""
    rows, scales = index.dense_weights, index.dense_scales
    none = np.float32(0)
    r0 = r1 = r2 = r3 = np.int64(0)
    w0 = w1 = w2 = w3 = none
    n = 0
    for p in range(queries.starts[query], queries.starts[query + 1]):
        row = index.frequent_numbers[queries.words[p]]
        if row < 0:
            continue
        weight = queries.weights[p] * scales[row]
        if n == 0:
            r0, w0 = np.int64(row), weight
        elif n == 1:
            r1, w1 = np.int64(row), weight
        elif n == 2:
            r2, w2 = np.int64(row), weight
        else:
            r3, w3 = np.int64(row), weight
        n += 1
        if n == 4:
            _add_four_rows(rows, r0, r1, r2, r3, w0, w1, w2, w3, similarity)
            w0 = w1 = w2 = w3 = none
            n = 0
    if n > 0:
        _add_four_rows(rows, r0, r1, r2, r3, w0, w1, w2, w3, similarity)


@compiled_reordering
def _add_four_rows(
    rows: UInt16s, r0: Any, r1: Any, r2: Any, r3: Any, w0: Any, w1: Any, w2: Any, w3: Any, out: Floats
) -> None:
    """``out += [w0, w1, w2, w3] @ rows[[r0, r1, r2, r3]]``."""
    for i in range(out.shape[0]):
        first = w0 * np.float32(rows[r0, i]) + w1 * np.float32(rows[r1, i])
        out[i] += first + w2 * np.float32(rows[r2, i]) + w3 * np.float32(rows[r3, i])


@compiled_reordering
def _add_other_words(index: TrainingIndex, queries: Queries, query: int, similarity: Floats) -> None:
    """Add the products of all other words, from their postings."""
    for p in range(queries.starts[query], queries.starts[query + 1]):
        word, weight = queries.words[p], queries.weights[p]
        if index.frequent_numbers[word] >= 0:
            continue
        first, last = index.posting_starts[word], index.posting_starts[word + 1]
        documents, weights = index.posting_documents[first:last], index.posting_weights[first:last]
        for entry in range(documents.shape[0]):  # unsigned: signed indices may be negative, which takes a third more
            similarity[np.uint32(documents[entry])] += weight * weights[entry]


@compiled
def _fill_tag_sums(index: TrainingIndex, queries: Queries, query: int, tag_sums: Floats) -> float:
    """Fill ``tag_sums`` for the common tags; return the product with the sum of all documents."""
    for j in range(tag_sums.shape[0]):
        tag_sums[j] = 0
    total = 0.0
    for p in range(queries.starts[query], queries.starts[query + 1]):
        word, weight = queries.words[p], queries.weights[p]
        total += weight * index.word_totals[word]
        for entry in range(index.centroid_starts[word], index.centroid_starts[word + 1]):
            tag_sums[index.centroid_tags[entry]] += weight * index.centroid_weights[entry]
    return total


@compiled
def _leave_out(index: TrainingIndex, document: int, similarity: Floats, tag_sums: Floats) -> float:
    """Take a document out of the products; return the product with it."""
    own = similarity[document]
    similarity[document] = 0
    for p in range(index.document_tag_starts[document], index.document_tag_starts[document + 1]):
        number = index.common_numbers[index.document_tags[p]]
        if number >= 0:
            tag_sums[number] -= own
    return float(own)


@compiled
def kth_largest(values: Floats, n: int, k: int) -> Any:
    """Return the k-th largest of the first n values by bisection of its bits, or 0 if there are fewer than k."""
    if k > n:
        return float_of(0)
    largest = values[0]
    for i in range(n):
        largest = max(largest, values[i])
    low, high = np.int64(0), np.int64(bits_of(largest)) + 1  # at least k values are >= low, fewer are >= high
    while high - low > 1:
        middle = (low + high) // 2
        least = float_of(middle)
        n_reach = 0
        for i in range(n):
            n_reach += values[i] >= least
        if n_reach >= k:
            low = middle
        else:
            high = middle
    return float_of(low)


@compiled
def largest_positions(values: Floats, k: int, positions: Int32s, scratch: Floats) -> int:
    """Write the positions of the k largest positive values, ascending, and return their number.

    Values equal to the k-th largest are all included. ``positions`` and ``scratch`` have room for every value.
    """
    least = max(lower_bound_of_kth(values, k, scratch), float_of(1))
    n_found = _positions_at_least(values, least, positions)
    for i in range(n_found):
        scratch[i] = values[positions[i]]
    least = kth_largest(scratch, n_found, k)
    n_kept = 0
    for i in range(n_found):
        if scratch[i] >= least:
            positions[n_kept] = positions[i]
            n_kept += 1
    return n_kept


@compiled
def lower_bound_of_kth(values: Floats, k: int, scratch: Floats) -> Any:
    """Return a number that at least k values reach, or 0: the k-th largest maximum of interleaved strata.

    Stratum i has the values i, i + n_strata, i + 2 n_strata, …. ``scratch`` has room for every value.
    """
    n_strata = min(STRATA * k, values.shape[0])
    for i in range(n_strata):
        scratch[i] = values[i]
    for start in range(n_strata, values.shape[0], n_strata):
        part = values[start : start + n_strata]
        for i in range(part.shape[0]):
            scratch[i] = max(scratch[i], part[i])
    return kth_largest(scratch, n_strata, k)


@compiled
def _positions_at_least(values: Floats, least: Any, positions: Int32s) -> int:
    """Write the positions of the values that are at least ``least``, ascending, and return their number."""
    n_positions = 0
    for start in range(0, values.shape[0], STRIDE):
        part = values[start : start + STRIDE]
        reached = False
        for i in range(part.shape[0]):
            reached |= part[i] >= least
        if reached:
            for i in range(part.shape[0]):
                if part[i] >= least:
                    positions[n_positions] = start + i
                    n_positions += 1
    return n_positions
