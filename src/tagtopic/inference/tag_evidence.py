"""What remembered documents say about the tags of a new one: a kernel over an inverted index.

The documents that are remembered are unit vectors x_i of weighted words, indexed by word. For a new document q, with
s_i = q . x_i its likeness to document i, each tag j has

    centroid_j    q . sum_{i has j} x_i / |sum_{i has j} x_i|: likeness to all of the tag's documents together
    near_j        sum of s_i^2 over those of the k most alike documents that have the tag
    close_j       sum of s_i^4 over all documents that have the tag
    nearest_j     the largest s_i among them
    mean_j        the mean s_i among them
    named_j       the share of the words of the tag's own name that the document has

all from one pass over the postings of the document's words: sum_{i has j} s_i is the centroid's product, so tags x
words is never made. The tests hold it to a readable twin in NumPy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic.inference.arrays import Floats, Int32s, Int64s
from tagtopic.inference.compiled import compiled

CENTROID, NEAR, CLOSE, NEAREST, DOCUMENTS, NAMED, MEAN = range(7)
"""Columns of the evidence; DOCUMENTS is how many remembered documents have the tag."""

N_COLUMNS = 7

BEST_CENTROID, BEST_NEAR, ALL_NEAR, ALL_MEAN = range(4)
"""What a tag's evidence is held against: the best of its kind, and near and mean over all remembered documents."""

N_MEASURES = 4

NEW = -1


class Memory(NamedTuple):
    """Remembered documents: postings of each word (documents and weights), tags of each document, sums by tag.

    ``holders`` are the documents that have each tag, in their order: the same as ``tags``, the other way round.
    ``lengths`` is |sum_{i has j} x_i|^2, ``sizes`` the number of documents and ``kinds`` the number of the kind, for
    each tag j. ``name_tags`` and ``name_shares`` are, for each word, the tags whose names have it and its share there.
    """

    word_starts: Int64s
    documents: Int32s
    weights: Floats
    tag_starts: Int64s
    tags: Int32s
    holder_starts: Int64s
    holders: Int32s
    lengths: Floats
    sizes: Floats
    kinds: Int32s
    name_starts: Int64s
    name_tags: Int32s
    name_shares: Floats


class Queries(NamedTuple):
    """New documents as rows of weighted words; ``rows`` is where each stands in the memory itself, or NEW.

    A document that is remembered is asked about as if it were not: it, and its part in its tags' sums, is left out. If
    only some of its words are asked about, ``whole`` is the query that has all of them; else the query itself.
    """

    starts: Int64s
    words: Int32s
    weights: Floats
    rows: Int64s
    whole: Int64s


class Evidence(NamedTuple):
    """How many tags each query has, which, what speaks for them (columns above), and the best of their kinds.

    ``found`` (queries), ``tags`` (queries, most), ``values`` (queries, most, columns), ``best`` (queries, most,
    measures): what they are held against.
    """

    found: Int64s
    tags: Int32s
    values: Floats
    best: Floats


@compiled
def likenesses(memory: Memory, queries: Queries, query: int, likeness: Floats, removed: Floats) -> None:
    """``likeness[i] = q . x_i``; 0 for documents left out, which ``removed`` counts by tag."""
    likeness[:] = 0
    removed[:] = 0
    for p in range(queries.starts[query], queries.starts[query + 1]):
        word, weight = queries.words[p], queries.weights[p]
        for entry in range(memory.word_starts[word], memory.word_starts[word + 1]):
            likeness[memory.documents[entry]] += weight * memory.weights[entry]
    itself = queries.rows[query]
    if itself >= 0:
        leave_out(memory, itself, likeness, removed)


@compiled
def leave_out(memory: Memory, document: int, likeness: Floats, removed: Floats) -> None:
    """Forget a document for now."""
    likeness[document] = 0
    for p in range(memory.tag_starts[document], memory.tag_starts[document + 1]):
        removed[memory.tags[p]] += 1


@compiled
def threshold(values: Floats, n: int) -> float:
    """The n-th largest of the values, or 0 if there are not as many."""
    if n >= values.shape[0]:
        return 0.0
    largest = values[:n].copy()  # as a heap: the least of them comes first
    for node in range(n // 2 - 1, -1, -1):
        sink(largest, node)
    for i in range(n, values.shape[0]):
        if values[i] > largest[0]:
            largest[0] = values[i]
            sink(largest, 0)
    return float(largest[0])


@compiled
def sink(heap: Floats, node: int) -> None:
    """Let a value go down until none below it is less. (np.partition takes six seconds to compile.)"""
    value, child = heap[node], 2 * node + 1
    while child < heap.shape[0]:
        if child + 1 < heap.shape[0] and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[node] = heap[child]
        node, child = child, 2 * child + 1
    heap[node] = value


@compiled
def sum_by_tag(memory: Memory, likeness: Floats, limit: float, table: Floats) -> tuple[float, float]:
    """Fill the table (tags, columns): sums over documents by tag; near and mean over all documents are returned.

    Tag by tag: to look likenesses up takes half of the time that adding each document to its tags takes.
    """
    all_near = total = 0.0
    for i in range(likeness.shape[0]):
        s = likeness[i]
        total += s
        if s >= limit:
            all_near += s * s
    zero = table.dtype.type(0)
    for j in range(table.shape[0]):
        centroid = near = close = nearest = zero
        for p in range(memory.holder_starts[j], memory.holder_starts[j + 1]):
            s = likeness[memory.holders[p]]
            square = s * s
            centroid += s
            close += square * square
            nearest = max(nearest, s)
            if s >= limit:
                near += square
        table[j, CENTROID], table[j, NEAR], table[j, CLOSE], table[j, NEAREST] = centroid, near, close, nearest
        table[j, DOCUMENTS] = table[j, NAMED] = table[j, MEAN] = zero
    return all_near, total / likeness.shape[0]


@compiled
def finish_table(memory: Memory, removed: Floats, products: Floats, table: Floats) -> None:
    """Divide the centroids' products by their lengths, and count documents, without those that were left out.

    ``products`` are those of the centroids, without the document that was left out, with that document; for the whole
    document these are the table's own, and each is read before it is divided.
    """
    for j in range(table.shape[0]):
        m = removed[j]
        table[j, DOCUMENTS] = memory.sizes[j] - m
        table[j, MEAN] = table[j, CENTROID] / max(table[j, DOCUMENTS], 1.0)
        # |c - m x|^2 where c . x = product + m and |x| = 1
        length = memory.lengths[j] - m * (2 * products[j] + m)
        table[j, CENTROID] = table[j, CENTROID] / math.sqrt(length) if length > 1e-6 else 0.0


@compiled
def add_names(memory: Memory, queries: Queries, query: int, table: Floats) -> None:
    """How much of each tag's name the query has."""
    for p in range(queries.starts[query], queries.starts[query + 1]):
        word = queries.words[p]
        for entry in range(memory.name_starts[word], memory.name_starts[word + 1]):
            table[memory.name_tags[entry], NAMED] += memory.name_shares[entry]


@compiled
def fill_table(
    memory: Memory, queries: Queries, query: int, n_near: int, likeness: Floats, removed: Floats, table: Floats,
    best: Floats,
) -> None:  # fmt: skip
    """All that speaks for each tag, and what it is held against in each kind, for one query."""
    whole = queries.whole[query]
    if whole == query:
        likenesses(memory, queries, query, likeness, removed)
        overall = sum_by_tag(memory, likeness, threshold(likeness, n_near), table)
        finish_table(memory, removed, table[:, CENTROID], table)
    else:
        likenesses(memory, queries, whole, likeness, removed)
        sum_by_tag(memory, likeness, 0.0, table)
        products = table[:, CENTROID].copy()
        likenesses(memory, queries, query, likeness, removed)
        overall = sum_by_tag(memory, likeness, threshold(likeness, n_near), table)
        finish_table(memory, removed, products, table)
    add_names(memory, queries, query, table)
    best_by_kind(memory, table, best)
    best[:, ALL_NEAR], best[:, ALL_MEAN] = overall


@compiled
def best_by_kind(memory: Memory, table: Floats, best: Floats) -> None:
    """For each kind of tag the largest centroid and near score: ``best`` (kinds, measures)."""
    best[:] = 1e-6
    for j in range(table.shape[0]):
        kind = memory.kinds[j]
        best[kind, BEST_CENTROID] = max(best[kind, BEST_CENTROID], table[j, CENTROID])
        best[kind, BEST_NEAR] = max(best[kind, BEST_NEAR], table[j, NEAR])


@compiled
def choose(memory: Memory, table: Floats, best: Floats, allowed: NDArray[np.bool_], n: int) -> Int64s:
    """The (at most n) tags with the best sum of centroid and near (relative to the best of their kind) and named."""
    score = np.zeros(table.shape[0], table.dtype)
    for j in range(table.shape[0]):
        if allowed[j] and table[j, DOCUMENTS] > 0:
            kind = memory.kinds[j]
            score[j] = table[j, CENTROID] / best[kind, BEST_CENTROID] + table[j, NEAR] / best[kind, BEST_NEAR]
            score[j] += table[j, NAMED]
    limit = threshold(score, n)
    room = n - np.count_nonzero(score > limit)  # for the first of those at the limit
    chosen = np.empty(n, np.int64)
    found = 0
    for j in range(table.shape[0]):
        tied = score[j] == limit and room > 0
        if score[j] > 0 and (score[j] > limit or tied):
            room -= tied
            chosen[found] = j
            found += 1
    return chosen[:found]


@compiled
def gather_evidence(
    memory: Memory,
    queries: Queries,
    first: int,
    last: int,
    allowed: NDArray[np.bool_],
    n_near: int,
    out: Evidence,
) -> None:
    """For queries ``first:last``, the most promising of the allowed tags and what speaks for them."""
    likeness = np.empty(memory.tag_starts.shape[0] - 1, np.float32)
    table = np.empty((memory.sizes.shape[0], N_COLUMNS), np.float32)
    best = np.empty((memory.kinds.max() + 1, N_MEASURES), np.float32)
    removed = np.empty(memory.sizes.shape[0], np.float32)
    for query in range(first, last):
        fill_table(memory, queries, query, n_near, likeness, removed, table, best)
        chosen = choose(memory, table, best, allowed, out.tags.shape[1])
        out.found[query] = chosen.shape[0]
        for c in range(chosen.shape[0]):
            out.tags[query, c] = chosen[c]
            for column in range(N_COLUMNS):
                out.values[query, c, column] = table[chosen[c], column]
            out.best[query, c] = best[memory.kinds[chosen[c]]]


@compiled
def gather_given(
    memory: Memory, queries: Queries, first: int, last: int, tag_starts: Int64s, tags: Int32s, n_near: int,
    values: Floats, best_values: Floats,
) -> None:  # fmt: skip
    """For queries ``first:last``, what speaks for the tags that each is given: one row an entry of ``tags``."""
    likeness = np.empty(memory.tag_starts.shape[0] - 1, np.float32)
    table = np.empty((memory.sizes.shape[0], N_COLUMNS), np.float32)
    best = np.empty((memory.kinds.max() + 1, N_MEASURES), np.float32)
    removed = np.empty(memory.sizes.shape[0], np.float32)
    for query in range(first, last):
        fill_table(memory, queries, query, n_near, likeness, removed, table, best)
        for p in range(tag_starts[query], tag_starts[query + 1]):
            values[p] = table[tags[p]]
            best_values[p] = best[memory.kinds[tags[p]]]


@compiled
def squared_lengths(
    by_tag_starts: Int64s, by_tag_documents: Int32s, starts: Int64s, words: Int32s, weights: Floats, n_words: int,
    first: int, last: int, lengths: Floats,
) -> None:  # fmt: skip
    """For tags ``first:last``, the squared length of the sum of their documents' vectors."""
    total = np.zeros(n_words)
    for j in range(first, last):
        length = 0.0
        for p in range(by_tag_starts[j], by_tag_starts[j + 1]):
            i = by_tag_documents[p]
            for entry in range(starts[i], starts[i + 1]):
                # (t + x)^2 - t^2, so that no second pass is needed
                length += weights[entry] * (2 * total[words[entry]] + weights[entry])
                total[words[entry]] += weights[entry]
        lengths[j] = length
        for p in range(by_tag_starts[j], by_tag_starts[j + 1]):
            i = by_tag_documents[p]
            for entry in range(starts[i], starts[i + 1]):
                total[words[entry]] = 0.0
