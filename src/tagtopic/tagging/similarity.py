"""Similarity of a document to all training documents, and the k largest similarities: its nearest neighbours.

Similarities are dot products of unit vectors, over the inverted index.

A few frequent words have most of the postings. The weights of each are stored as a dense row over all documents,
quantised, and the vector units add four rows at a time; all other words have postings. On ACL's abstracts this takes 52
microseconds a document where postings alone take 83.

The k largest values are found without sorting (np.partition takes six seconds to compile). Similarities are float32 and
not negative. The order of their bits, read as int32, is then their own order, and bits are compared and counted several
at a time by the vector units.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Floats, Int32s, UInt16s
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
    similarity[:] = 0
    _add_frequent_words(index, queries, query, similarity)
    _add_other_words(index, queries, query, similarity)
    total = _fill_tag_sums(index, queries, query, tag_sums)
    if queries.training_rows[query] >= 0:
        total -= _leave_out(index, queries.training_rows[query], similarity, tag_sums)
    return float(total / similarity.shape[0])


@compiled
def _add_frequent_words(index: TrainingIndex, queries: Queries, query: int, similarity: Floats) -> None:
    """Add the products of the frequent words, from their dense rows."""
    rows, scales = index.dense_weights, index.dense_scales
    chosen = np.zeros(4, np.int64)
    weights = np.zeros(4, np.float32)
    n = 0
    for p in range(queries.starts[query], queries.starts[query + 1]):
        row = index.frequent_numbers[queries.words[p]]
        if row >= 0:
            chosen[n], weights[n] = row, queries.weights[p] * scales[row]
            n += 1
            if n == 4:
                _add_four_rows(rows[chosen[0]], rows[chosen[1]], rows[chosen[2]], rows[chosen[3]], weights, similarity)
                n = 0
    if n > 0:
        weights[n:] = 0
        _add_four_rows(rows[chosen[0]], rows[chosen[1]], rows[chosen[2]], rows[chosen[3]], weights, similarity)


@compiled_reordering
def _add_four_rows(r0: UInt16s, r1: UInt16s, r2: UInt16s, r3: UInt16s, weights: Floats, out: Floats) -> None:
    """``out += weights @ [r0, r1, r2, r3]``."""
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    for i in range(out.shape[0]):
        first = w0 * np.float32(r0[i]) + w1 * np.float32(r1[i])
        out[i] += first + w2 * np.float32(r2[i]) + w3 * np.float32(r3[i])


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
    tag_sums[:] = 0
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
def kth_largest(values: Floats, k: int) -> float:
    """Return the k-th largest value, or 0 if there are fewer than k."""
    bits = np.array([_kth_largest_bits(values.view(np.int32), k)], np.int32)
    return float(bits.view(np.float32)[0])


@compiled
def largest_positions(values: Floats, k: int, positions: Int32s) -> int:
    """Write the positions of the k largest positive values, ascending, and return their number.

    Values equal to the k-th largest are all included. ``positions`` has room for every value.
    """
    bits = values.view(np.int32)
    n_found = _positions_at_least(bits, max(lower_bound_of_kth(bits, k), 1), positions)
    least = _kth_largest_bits(bits[positions[:n_found]], k)
    n_kept = 0
    for position in positions[:n_found]:
        if bits[position] >= least:
            positions[n_kept] = position
            n_kept += 1
    return n_kept


@compiled
def _kth_largest_bits(values: Int32s, k: int) -> int:
    """Return the k-th largest of non-negative values by bisection, or 0 if there are fewer than k."""
    if k > values.shape[0]:
        return 0
    low, high = 0, int(values.max()) + 1  # at least k values are >= low, fewer are >= high
    while high - low > 1:
        middle = (low + high) // 2
        n_reach = 0
        for i in range(values.shape[0]):
            n_reach += values[i] >= middle
        if n_reach >= k:
            low = middle
        else:
            high = middle
    return low


@compiled
def lower_bound_of_kth(values: Int32s, k: int) -> int:
    """Return a number that at least k values reach, or 0: the k-th largest maximum of interleaved strata.

    Stratum i has the values i, i + n_strata, i + 2 n_strata, ….
    """
    n_strata = min(STRATA * k, values.shape[0])
    largest = values[:n_strata].copy()
    for start in range(n_strata, values.shape[0], n_strata):
        part = values[start : start + n_strata]
        for i in range(part.shape[0]):
            largest[i] = max(largest[i], part[i])
    return _kth_largest_bits(largest, k)


@compiled
def _positions_at_least(values: Int32s, least: int, positions: Int32s) -> int:
    """Write the positions of the values that are at least ``least``, ascending, and return their number."""
    n_positions = 0
    for start in range(0, values.shape[0], STRIDE):
        part = values[start : start + STRIDE]
        most = part[0]
        for i in range(part.shape[0]):
            most = max(most, part[i])
        if most >= least:
            for i in range(part.shape[0]):
                if part[i] >= least:
                    positions[n_positions] = start + i
                    n_positions += 1
    return n_positions
