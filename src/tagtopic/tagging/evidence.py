"""What remembered documents say about the tags of a new one: a kernel over an inverted index.

The documents that are remembered are unit vectors x_i of weighted words, indexed by word. For a new document q, with
s_i = q . x_i its likeness to document i, the tags of the most alike documents, and those whose names the document has,
are candidates. Each candidate j has

    centroid_j    q . sum_{i has j} x_i / |sum_{i has j} x_i|: likeness to all of the tag's documents together
    near_j        sum of s_i^2 over those of the k most alike documents that have the tag
    close_j       sum of s_i^4 over all documents that have the tag
    nearest_j     the largest s_i among them
    mean_j        the mean s_i among them
    named_j       the share of the words of the tag's own name that the document has

all from one pass over the postings of the document's words: sum_{i has j} s_i is the centroid's product, so tags x
words is never made. A tag on many documents is an exception: its vector sum is kept, and close_j and nearest_j are over
those of its documents that are among the most alike. The tests hold all of it to a readable twin in NumPy.

The largest of many numbers, without sorting them. (np.partition takes six seconds to compile.)

The numbers are float32s, none of them negative: the order of their bits is theirs, and bits are compared and counted
several at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Floats, Int32s, Int64s
from tagtopic._core.intrinsics import AHEAD, prefetch_entry
from tagtopic._core.jit import compiled
from tagtopic.tagging.similarity import compare
from tagtopic.tagging.training_index import NEW, Memory, Queries

STRIDE = 64
"""Numbers looked at together: few are among the largest, and these are compared in a few instructions."""

PARTS = 4
"""The largest number of each of so many parts for each number asked for says how large those are at least."""


@compiled
def threshold(values: Floats, n: int) -> float:
    """The n-th largest of the values, or 0 if there are not as many."""
    least = np.array([nth_largest(values.view(np.int32), n)], np.int32)
    return float(least.view(np.float32)[0])


@compiled
def largest_above_zero(values: Floats, n: int, places: Int32s) -> int:
    """Where the n largest of some values above 0 stand (more if some are equal); returns how many.

    ``places`` has room for all of them.
    """
    bits = values.view(np.int32)
    n_found = places_at_least(bits, max(nth_largest_at_least(bits, n), 1), places)
    least = nth_largest(bits[places[:n_found]], n)
    n_kept = 0
    for place in places[:n_found]:
        if bits[place] >= least:
            places[n_kept] = place
            n_kept += 1
    return n_kept


@compiled
def nth_largest(values: Int32s, n: int) -> int:
    """The n-th largest of the values, none of them negative, by halving; or 0 if there are not as many."""
    if n > values.shape[0]:
        return 0
    low, high = 0, int(values.max()) + 1  # n values reach low, fewer reach high
    while high - low > 1:
        middle = (low + high) // 2
        n_reach = 0
        for i in range(values.shape[0]):
            n_reach += values[i] >= middle
        if n_reach >= n:
            low = middle
        else:
            high = middle
    return low


@compiled
def nth_largest_at_least(values: Int32s, n: int) -> int:
    """A number that n of the values reach, or 0 if there are not as many: of the largest of each part, the n-th.

    Part i is the values i, i + n_parts, i + 2 n_parts and so on.
    """
    n_parts = min(PARTS * n, values.shape[0])
    largest = values[:n_parts].copy()
    for start in range(n_parts, values.shape[0], n_parts):
        some = values[start : start + n_parts]
        for i in range(some.shape[0]):
            largest[i] = max(largest[i], some[i])
    return nth_largest(largest, n)


@compiled
def places_at_least(values: Int32s, least: int, places: Int32s) -> int:
    """Where the values that reach ``least`` stand, in their order; returns how many."""
    n_places = 0
    for start in range(0, values.shape[0], STRIDE):
        part = values[start : start + STRIDE]
        most = part[0]
        for i in range(part.shape[0]):
            most = max(most, part[i])
        if most >= least:
            for i in range(part.shape[0]):
                if part[i] >= least:
                    places[n_places] = start + i
                    n_places += 1
    return n_places


CENTROID, NEAR, CLOSE, NEAREST, DOCUMENTS, NAMED, MEAN = range(7)
"""Columns of the evidence; DOCUMENTS is how many remembered documents have the tag."""

N_COLUMNS = 7

BEST_CENTROID, BEST_NEAR, ALL_NEAR, ALL_MEAN = range(4)
"""What a tag's evidence is held against: the best of its kind, and near and mean over all remembered documents."""

N_MEASURES = 4

LEAST_BEST = np.float32(1e-6)
"""The best of a kind that nothing speaks for."""


class Reach(NamedTuple):
    """How far to look: documents that are near, documents whose tags are candidates, and the fewest tags to find.

    Where the candidates are too few, all other tags are asked about too.
    """

    near: int
    alike: int
    fewest: int


class Evidence(NamedTuple):
    """How many tags each query has, which, what speaks for them (columns above), and the best of their kinds.

    ``found`` (queries), ``tags`` (queries, most), ``values`` (queries, most, columns), ``best`` (queries, most,
    measures): what they are held against.
    """

    found: Int64s
    tags: Int32s
    values: Floats
    best: Floats


class Desk(NamedTuple):
    """What one query is worked out on; the next finds it cleared.

    ``likeness`` (documents), ``sums`` (common tags), ``alike``: room for the most alike documents, ``rows`` (tags):
    where each tag stands in ``table``, or NEW; ``listed``: the tag of each row; ``best`` (kinds, measures);
    ``lengths`` and ``sizes``: those of the memory, without the document that is left out.
    """

    likeness: Floats
    sums: Floats
    alike: Int32s
    rows: Int32s
    listed: Int32s
    table: Floats
    best: Floats
    lengths: Floats
    sizes: Floats


@compiled
def desk_for(memory: Memory) -> Desk:
    """An empty one."""
    n_documents, n_tags = memory.tag_starts.shape[0] - 1, memory.sizes.shape[0]
    return Desk(
        np.empty(n_documents, np.float32),
        np.empty(memory.common.max() + 1, np.float32),
        np.empty(n_documents, np.int32),
        np.full(n_tags, NEW, np.int32),
        np.empty(n_tags, np.int32),
        np.empty((n_tags, N_COLUMNS), np.float32),
        np.empty((memory.kinds.max() + 1, N_MEASURES), np.float32),
        memory.lengths.copy(),
        memory.sizes.copy(),
    )


@compiled
def product(memory: Memory, desk: Desk, tag: int) -> float:
    """The sum of the likenesses of the tag's documents."""
    number = memory.common[tag]
    if number >= 0:
        return max(float(desk.sums[number]), 0.0)
    total = 0.0
    for p in range(memory.holder_starts[tag], memory.holder_starts[tag + 1]):
        total += desk.likeness[np.uint32(memory.holders[p])]
    return total


@compiled
def leave_out(memory: Memory, document: int, desk: Desk) -> None:
    """Take a document, which all were compared with, out of its tags' lengths and sizes."""
    for p in range(memory.tag_starts[document], memory.tag_starts[document + 1]):
        tag = memory.tags[p]
        # |c - x|^2 where c . x = product + 1 and |x| = 1
        desk.lengths[tag] -= 2 * product(memory, desk, tag) + 1
        desk.sizes[tag] -= 1


@compiled
def clear(memory: Memory, document: int, n_rows: int, desk: Desk) -> None:
    """Put back what was left out, and forget the rows."""
    if document >= 0:
        for p in range(memory.tag_starts[document], memory.tag_starts[document + 1]):
            tag = memory.tags[p]
            desk.lengths[tag], desk.sizes[tag] = memory.lengths[tag], memory.sizes[tag]
    for row in range(n_rows):
        desk.rows[desk.listed[row]] = NEW


@compiled
def enlist(tag: int, n_rows: int, rows: Int32s, listed: Int32s, table: Floats) -> int:
    """Give a tag a row, if it has none; returns the number of rows."""
    if rows[tag] >= 0:
        return n_rows
    rows[tag], listed[n_rows] = n_rows, tag
    for column in range(N_COLUMNS):
        table[n_rows, column] = 0
    return n_rows + 1


@compiled
def enlist_alike(memory: Memory, reach: Reach, desk: Desk) -> int:
    """Rows for the tags of the most alike documents, and what these documents say; returns how many rows."""
    likeness, rows, listed, table = desk.likeness, desk.rows, desk.listed, desk.table
    starts, tags = memory.tag_starts, memory.tags
    alike = desk.alike[: largest_above_zero(likeness, reach.alike, desk.alike)]
    limit = threshold(likeness[alike], reach.near)
    all_near, n_rows = 0.0, 0
    for a in range(alike.shape[0]):
        if a + AHEAD < alike.shape[0]:
            prefetch_entry(tags, starts[alike[a + AHEAD]])
        s = likeness[alike[a]]
        square = s * s
        near = square if s >= limit else square * 0
        all_near += near
        for p in range(starts[alike[a]], starts[alike[a] + 1]):
            n_rows = enlist(tags[p], n_rows, rows, listed, table)
            row = rows[tags[p]]
            table[row, CLOSE] += square * square
            table[row, NEAREST] = max(table[row, NEAREST], s)
            table[row, NEAR] += near
    desk.best[:, ALL_NEAR] = all_near
    return n_rows


@compiled
def enlist_named(memory: Memory, queries: Queries, query: int, n_rows: int, desk: Desk) -> int:
    """Rows for the tags whose names the query has, and how much of them; returns how many rows there are."""
    rows, listed, table, words = desk.rows, desk.listed, desk.table, queries.words
    starts, tags, shares = memory.name_starts, memory.name_tags, memory.name_shares
    for p in range(queries.starts[query], queries.starts[query + 1]):
        for entry in range(starts[words[p]], starts[words[p] + 1]):
            n_rows = enlist(tags[entry], n_rows, rows, listed, table)
            table[rows[tags[entry]], NAMED] += shares[entry]
    return n_rows


@compiled
def enlist_kind(memory: Memory, kind: int, n_rows: int, desk: Desk) -> int:
    """Rows for all tags of a kind; returns how many rows there are."""
    for tag in range(memory.kinds.shape[0]):
        if memory.kinds[tag] == kind:
            n_rows = enlist(tag, n_rows, desk.rows, desk.listed, desk.table)
    return n_rows


@compiled
def sum_up(memory: Memory, first: int, last: int, desk: Desk) -> None:
    """What all of its documents say about the tags in rows ``first:last``."""
    likeness, table, lengths, sizes, sums = desk.likeness, desk.table, desk.lengths, desk.sizes, desk.sums
    common, starts, holders = memory.common, memory.holder_starts, memory.holders
    for row in range(first, last):
        tag = desk.listed[row]
        if row + AHEAD < last:
            prefetch_entry(holders, starts[desk.listed[row + AHEAD]])
        if common[tag] < 0:
            total = close = nearest = table.dtype.type(0)
            for p in range(starts[tag], starts[tag + 1]):
                s = likeness[np.uint32(holders[p])]
                square = s * s
                total += s
                close += square * square
                nearest = max(nearest, s)
            table[row, CLOSE], table[row, NEAREST] = close, nearest
        else:
            total = max(sums[common[tag]], table.dtype.type(0))
        table[row, DOCUMENTS] = sizes[tag]
        table[row, MEAN] = total / max(sizes[tag], 1.0)
        table[row, CENTROID] = total / math.sqrt(lengths[tag]) if lengths[tag] > 1e-6 else 0.0


@compiled
def find_best(memory: Memory, n_rows: int, desk: Desk) -> None:
    """For each kind of tag the largest centroid and near score of those that have a row."""
    best, table, listed, kinds = desk.best, desk.table, desk.listed, memory.kinds
    best[:, BEST_CENTROID] = best[:, BEST_NEAR] = LEAST_BEST
    for row in range(n_rows):
        kind = kinds[listed[row]]
        best[kind, BEST_CENTROID] = max(best[kind, BEST_CENTROID], table[row, CENTROID])
        best[kind, BEST_NEAR] = max(best[kind, BEST_NEAR], table[row, NEAR])


@compiled
def fill(memory: Memory, queries: Queries, query: int, reach: Reach, desk: Desk) -> int:
    """All that speaks for each candidate, and what it is held against; returns how many candidates there are."""
    itself, whole = queries.rows[query], queries.whole[query]
    mean = compare(memory, queries, whole, desk.likeness, desk.sums)
    if itself >= 0:
        leave_out(memory, itself, desk)
    if whole != query:
        mean = compare(memory, queries, query, desk.likeness, desk.sums)
    n_rows = enlist_alike(memory, reach, desk)
    n_rows = enlist_named(memory, queries, query, n_rows, desk)
    sum_up(memory, 0, n_rows, desk)
    find_best(memory, n_rows, desk)
    desk.best[:, ALL_MEAN] = mean
    return n_rows


@compiled
def choose(memory: Memory, n_rows: int, desk: Desk, allowed: NDArray[np.bool_], n: int) -> Int64s:
    """The (at most n) rows with the best sum of centroid and near (relative to the best of their kind) and named."""
    best, table, listed, kinds = desk.best, desk.table, desk.listed, memory.kinds
    score = np.zeros(n_rows, table.dtype)
    for row in range(n_rows):
        tag = listed[row]
        if allowed[tag] and table[row, DOCUMENTS] > 0:
            score[row] = table[row, CENTROID] / best[kinds[tag], BEST_CENTROID]
            score[row] += table[row, NEAR] / best[kinds[tag], BEST_NEAR] + table[row, NAMED]
    limit = threshold(score, n)
    room = n - np.count_nonzero(score > limit)  # for the first of those at the limit
    chosen = np.empty(n, np.int64)
    found = 0
    for row in range(n_rows):
        tied = score[row] == limit and room > 0
        if score[row] > 0 and (score[row] > limit or tied):
            room -= tied
            chosen[found] = row
            found += 1
    return chosen[:found]


@compiled
def note(memory: Memory, desk: Desk, chosen: Int64s, query: int, out: Evidence) -> None:
    """Write the chosen rows down."""
    tags, values, against = out.tags[query], out.values[query], out.best[query]
    best, table, listed, kinds = desk.best, desk.table, desk.listed, memory.kinds
    for c in range(chosen.shape[0]):
        tags[c] = listed[chosen[c]]
        for column in range(N_COLUMNS):
            values[c, column] = table[chosen[c], column]
        for measure in range(N_MEASURES):
            against[c, measure] = best[kinds[tags[c]], measure]


@compiled
def gather_evidence(
    memory: Memory,
    queries: Queries,
    first: int,
    last: int,
    allowed: NDArray[np.bool_],
    reach: Reach,
    out: Evidence,
) -> None:
    """For queries ``first:last``, the most promising of the allowed tags and what speaks for them."""
    desk = desk_for(memory)
    most = out.tags.shape[1]
    for query in range(first, last):
        n_rows = fill(memory, queries, query, reach, desk)
        chosen = choose(memory, n_rows, desk, allowed, most)
        if chosen.shape[0] < reach.fewest:
            n_candidates = n_rows
            for tag in range(allowed.shape[0]):
                if allowed[tag]:
                    n_rows = enlist(tag, n_rows, desk.rows, desk.listed, desk.table)
            sum_up(memory, n_candidates, n_rows, desk)
            find_best(memory, n_rows, desk)
            chosen = choose(memory, n_rows, desk, allowed, most)
        out.found[query] = chosen.shape[0]
        note(memory, desk, chosen, query, out)
        clear(memory, queries.rows[query], n_rows, desk)


@compiled
def gather_given(
    memory: Memory, queries: Queries, first: int, last: int, tag_starts: Int64s, tags: Int32s, reach: Reach,
    values: Floats, best: Floats,
) -> None:  # fmt: skip
    """For queries ``first:last``, what speaks for the tags that each is given: one row an entry of ``tags``.

    They are held against the candidates of their kind; where it has none, against all of it.
    """
    desk = desk_for(memory)
    for query in range(first, last):
        n_candidates = fill(memory, queries, query, reach, desk)
        n_rows = n_candidates
        for p in range(tag_starts[query], tag_starts[query + 1]):
            n_rows = enlist(tags[p], n_rows, desk.rows, desk.listed, desk.table)
            kind = int(memory.kinds[tags[p]])
            if desk.best[kind, BEST_CENTROID] <= LEAST_BEST:
                n_rows = enlist_kind(memory, kind, n_rows, desk)
                desk.best[kind, BEST_CENTROID] = 1.0  # not again; the best is found below
        sum_up(memory, n_candidates, n_rows, desk)
        find_best(memory, n_rows, desk)
        for p in range(tag_starts[query], tag_starts[query + 1]):
            values[p] = desk.table[desk.rows[tags[p]]]
            best[p] = desk.best[memory.kinds[tags[p]]]
        clear(memory, queries.rows[query], n_rows, desk)
