"""Evidence for the candidate tags of a document, from the training index: kernels.

Training documents are unit vectors x_i of weighted words. For a document q with similarities s_i = q . x_i, the tags of
its nearest neighbours and the tags whose names occur in it are candidates. The evidence for a candidate j is

    centroid_j         q . sum_{i has j} x_i / |sum_{i has j} x_i|: similarity to the centroid of the tag's documents
    knn_vote_j         sum of s_i^2 over those of the k nearest neighbours that have the tag
    fourth_powers_j    sum of s_i^4 over all documents that have the tag
    nearest_j          the largest s_i among them
    mean_j             the mean s_i among them
    frequency_j        the number of them
    name_overlap_j     the share of the words of the tag's name that the document has

all from one pass over the postings of the document's words: sum_{i has j} s_i is the product with the unscaled
centroid, so no matrix of tags by words is needed. Tags on many documents are an exception: their vector sums are
stored, and fourth_powers_j and nearest_j are over those of their documents that are among the nearest neighbours. The
tests compare everything with a NumPy twin.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Floats, Int32s, Int64s, read_only
from tagtopic._core.intrinsics import AHEAD, prefetch_entry
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import ThreadPool, cut_rows
from tagtopic.tagging.similarity import compute_similarities, kth_largest, largest_positions
from tagtopic.tagging.training_index import ABSENT, Queries, TrainingIndex

CENTROID, KNN_VOTE, FOURTH_POWERS, NEAREST, FREQUENCY, NAME_OVERLAP, MEAN = range(7)
"""Columns of the evidence."""

N_EVIDENCE = 7

BEST_CENTROID, BEST_KNN_VOTE, TOTAL_KNN_VOTE, OVERALL_MEAN = range(4)
"""Columns of the references: the largest centroid and k-NN vote of the tag's kind, the votes of all k neighbours
together, and the mean similarity of all training documents."""

N_REFERENCES = 4

MIN_BEST = np.float32(1e-6)
"""The best of a kind without evidence for any of its tags."""

N_VOTERS, N_NEIGHBOURS = 50, 100
"""Nearest neighbours that vote, and those whose tags are candidates."""

N_CANDIDATES = 100
"""Candidates whose probabilities are computed."""

CHUNK, GIVEN_CHUNK = 128, 16
"""Queries per task, for the best candidates and for given tags."""


class SearchLimits(NamedTuple):
    """Neighbours that vote, neighbours whose tags are candidates, and the least number of candidates.

    Where there are fewer candidates than ``min_candidates``, all other tags are candidates too.
    """

    n_voters: int
    n_neighbours: int
    min_candidates: int


class Evidence(NamedTuple):
    """Candidate tags of each query and the evidence for them.

    ``n_found`` (queries), ``tags`` (queries, most), ``values`` (queries, most, N_EVIDENCE) and ``references`` (queries,
    most, N_REFERENCES), which the values are compared with.
    """

    n_found: Int64s
    tags: Int32s
    values: Floats
    references: Floats


class Workspace(NamedTuple):
    """Arrays for one query at a time; each query leaves them as it found them.

    ``similarity`` (documents), ``tag_sums`` (common tags), ``positions`` (the nearest documents, then the rows of the
    chosen candidates), ``scratch`` (similarities of some documents, then the candidates' scores), ``row_of_tag`` (tags:
    row of each candidate, or ABSENT), ``candidates`` (the tag of each row), ``values`` (rows, N_EVIDENCE),
    ``references`` (kinds, N_REFERENCES); ``squared_norms`` and ``tag_counts`` are those of the index, without the
    document that is left out.
    """

    similarity: Floats
    tag_sums: Floats
    positions: Int32s
    scratch: Floats
    row_of_tag: Int32s
    candidates: Int32s
    values: Floats
    references: Floats
    squared_norms: Floats
    tag_counts: Floats


def new_workspace(index: TrainingIndex) -> Workspace:
    """Allocate the arrays for the queries of one task."""
    n_documents, n_tags = len(index.document_tag_starts) - 1, len(index.tag_counts)
    return Workspace(
        np.empty(n_documents, np.float32),
        np.empty(index.common_numbers.max() + 1, np.float32),
        np.empty(max(n_documents, n_tags), np.int32),
        np.empty(max(n_documents, n_tags), np.float32),
        np.full(n_tags, ABSENT, np.int32),
        np.empty(n_tags, np.int32),
        np.empty((n_tags, N_EVIDENCE), np.float32),
        np.empty((index.tag_kinds.max() + 1, N_REFERENCES), np.float32),
        index.squared_norms.copy(),
        index.tag_counts.copy(),
    )


@compiled
def _tag_product(index: TrainingIndex, work: Workspace, tag: int) -> float:
    """Return the sum of the similarities of the tag's documents."""
    number = index.common_numbers[tag]
    if number >= 0:
        return max(float(work.tag_sums[number]), 0.0)
    total = 0.0
    for p in range(index.tag_document_starts[tag], index.tag_document_starts[tag + 1]):
        total += work.similarity[np.uint32(index.tag_documents[p])]
    return total


@compiled
def _leave_out(index: TrainingIndex, document: int, work: Workspace) -> None:
    """Take a document, whose similarities are filled in, out of the norms and counts of its tags."""
    for p in range(index.document_tag_starts[document], index.document_tag_starts[document + 1]):
        tag = index.document_tags[p]
        # |c - x|^2 where c . x = product + 1 and |x| = 1
        work.squared_norms[tag] -= 2 * _tag_product(index, work, tag) + 1
        work.tag_counts[tag] -= 1


@compiled
def _reset(index: TrainingIndex, document: int, n_rows: int, work: Workspace) -> None:
    """Restore the norms and counts of the document that was left out, and clear the candidates."""
    if document >= 0:
        for p in range(index.document_tag_starts[document], index.document_tag_starts[document + 1]):
            tag = index.document_tags[p]
            work.squared_norms[tag], work.tag_counts[tag] = index.squared_norms[tag], index.tag_counts[tag]
    for row in range(n_rows):
        work.row_of_tag[work.candidates[row]] = ABSENT


@compiled
def _add_candidate(tag: Any, n_rows: int, row_of_tag: Int32s, candidates: Int32s, values: Floats) -> int:
    """Add a tag to the candidates unless it is one; return their number."""
    if row_of_tag[tag] >= 0:
        return n_rows
    row_of_tag[tag], candidates[n_rows] = n_rows, tag
    for column in range(N_EVIDENCE):
        values[n_rows, column] = 0
    return n_rows + 1


@compiled
def _add_neighbour_tags(index: TrainingIndex, limits: SearchLimits, work: Workspace) -> int:
    """Add the tags of the nearest neighbours, with the evidence from these; return the number of candidates."""
    similarity, row_of_tag, candidates, values = work.similarity, work.row_of_tag, work.candidates, work.values
    starts, tags = index.document_tag_starts, index.document_tags
    neighbours, scratch = work.positions, work.scratch
    n_neighbours = largest_positions(similarity, limits.n_neighbours, neighbours, scratch)
    for a in range(n_neighbours):
        scratch[a] = similarity[neighbours[a]]
    least_of_voters = kth_largest(scratch, n_neighbours, limits.n_voters)
    total_vote, n_rows = 0.0, 0
    for a in range(n_neighbours):
        if a + AHEAD < n_neighbours:
            prefetch_entry(tags, starts[neighbours[a + AHEAD]])
        s = similarity[neighbours[a]]
        square = s * s
        vote = square if s >= least_of_voters else square * 0
        total_vote += vote
        for p in range(starts[neighbours[a]], starts[neighbours[a] + 1]):
            n_rows = _add_candidate(np.int64(tags[p]), n_rows, row_of_tag, candidates, values)
            row = row_of_tag[tags[p]]
            values[row, FOURTH_POWERS] += square * square
            values[row, NEAREST] = max(values[row, NEAREST], s)
            values[row, KNN_VOTE] += vote
    for kind in range(work.references.shape[0]):
        work.references[kind, TOTAL_KNN_VOTE] = total_vote
    return n_rows


@compiled
def _add_named_tags(index: TrainingIndex, queries: Queries, query: int, n_rows: int, work: Workspace) -> int:
    """Add the tags whose names share words with the query, with the overlap; return the number of candidates."""
    row_of_tag, candidates, values, words = work.row_of_tag, work.candidates, work.values, queries.words
    starts, tags, shares = index.name_starts, index.name_tags, index.name_shares
    for p in range(queries.starts[query], queries.starts[query + 1]):
        for entry in range(starts[words[p]], starts[words[p] + 1]):
            n_rows = _add_candidate(np.int64(tags[entry]), n_rows, row_of_tag, candidates, values)
            values[row_of_tag[tags[entry]], NAME_OVERLAP] += shares[entry]
    return n_rows


@compiled
def _add_tags_of_kind(index: TrainingIndex, kind: int, n_rows: int, work: Workspace) -> int:
    """Add all tags of a kind; return the number of candidates."""
    for tag in range(index.tag_kinds.shape[0]):
        if index.tag_kinds[tag] == kind:
            n_rows = _add_candidate(tag, n_rows, work.row_of_tag, work.candidates, work.values)
    return n_rows


@compiled
def _aggregate_tag_documents(index: TrainingIndex, first: int, last: int, work: Workspace) -> None:
    """Fill in the evidence of candidates ``first:last`` that is over all documents of the tag."""
    similarity, values, tag_sums = work.similarity, work.values, work.tag_sums
    squared_norms, tag_counts = work.squared_norms, work.tag_counts
    common, starts, documents = index.common_numbers, index.tag_document_starts, index.tag_documents
    for row in range(first, last):
        tag = work.candidates[row]
        if row + AHEAD < last:
            prefetch_entry(documents, starts[work.candidates[row + AHEAD]])
        if common[tag] < 0:
            total = fourth_powers = nearest = values.dtype.type(0)
            for p in range(starts[tag], starts[tag + 1]):
                s = similarity[np.uint32(documents[p])]
                square = s * s
                total += s
                fourth_powers += square * square
                nearest = max(nearest, s)
            values[row, FOURTH_POWERS], values[row, NEAREST] = fourth_powers, nearest
        else:
            total = max(tag_sums[common[tag]], values.dtype.type(0))
        values[row, FREQUENCY] = tag_counts[tag]
        values[row, MEAN] = total / max(tag_counts[tag], 1.0)
        values[row, CENTROID] = total / math.sqrt(squared_norms[tag]) if squared_norms[tag] > 1e-6 else 0.0


@compiled
def _fill_best_of_kinds(index: TrainingIndex, n_rows: int, work: Workspace) -> None:
    """Fill in the largest centroid similarity and k-NN vote of each kind's candidates."""
    references, values, candidates, kinds = work.references, work.values, work.candidates, index.tag_kinds
    for kind in range(references.shape[0]):
        references[kind, BEST_CENTROID] = references[kind, BEST_KNN_VOTE] = MIN_BEST
    for row in range(n_rows):
        kind = kinds[candidates[row]]
        references[kind, BEST_CENTROID] = max(references[kind, BEST_CENTROID], values[row, CENTROID])
        references[kind, BEST_KNN_VOTE] = max(references[kind, BEST_KNN_VOTE], values[row, KNN_VOTE])


@compiled
def _collect_candidates(
    index: TrainingIndex, queries: Queries, query: int, limits: SearchLimits, work: Workspace
) -> int:
    """Fill in the candidates of a query, their evidence and its references; return the number of candidates."""
    itself, full_query = queries.training_rows[query], queries.full_queries[query]
    mean = compute_similarities(index, queries, full_query, work.similarity, work.tag_sums)
    if itself >= 0:
        _leave_out(index, itself, work)
    if full_query != query:
        mean = compute_similarities(index, queries, query, work.similarity, work.tag_sums)
    n_rows = _add_neighbour_tags(index, limits, work)
    n_rows = _add_named_tags(index, queries, query, n_rows, work)
    _aggregate_tag_documents(index, 0, n_rows, work)
    _fill_best_of_kinds(index, n_rows, work)
    for kind in range(work.references.shape[0]):
        work.references[kind, OVERALL_MEAN] = mean
    return n_rows


@compiled
def _select_candidates(index: TrainingIndex, n_rows: int, work: Workspace, allowed: NDArray[np.bool_], n: int) -> int:
    """Write the rows of the (at most n) allowed tags with the highest scores to ``positions``; return their number.

    The score is centroid / best centroid of the kind + k-NN vote / best vote of the kind + name overlap.
    """
    references, values, candidates, kinds = work.references, work.values, work.candidates, index.tag_kinds
    scores, chosen = work.scratch, work.positions
    for row in range(n_rows):
        tag = candidates[row]
        scores[row] = 0
        if allowed[tag] and values[row, FREQUENCY] > 0:
            scores[row] = values[row, CENTROID] / references[kinds[tag], BEST_CENTROID]
            scores[row] += values[row, KNN_VOTE] / references[kinds[tag], BEST_KNN_VOTE] + values[row, NAME_OVERLAP]
    limit = kth_largest(scores, n_rows, n)
    room = n  # for the first of those at the limit
    for row in range(n_rows):
        room -= scores[row] > limit
    n_chosen = 0
    for row in range(n_rows):
        tied = scores[row] == limit and room > 0
        if scores[row] > 0 and (scores[row] > limit or tied):
            room -= tied
            chosen[n_chosen] = row
            n_chosen += 1
    return n_chosen


@compiled
def _write_evidence(index: TrainingIndex, work: Workspace, n_chosen: int, query: int, out: Evidence) -> None:
    tags, values, references = out.tags[query], out.values[query], out.references[query]
    for c in range(n_chosen):
        row = work.positions[c]
        tags[c] = work.candidates[row]
        for column in range(N_EVIDENCE):
            values[c, column] = work.values[row, column]
        for column in range(N_REFERENCES):
            references[c, column] = work.references[index.tag_kinds[tags[c]], column]


@compiled
def gather_candidates(
    index: TrainingIndex,
    queries: Queries,
    first: int,
    last: int,
    allowed: NDArray[np.bool_],
    limits: SearchLimits,
    work: Workspace,
    out: Evidence,
) -> None:
    """For queries ``first:last``, write the best allowed candidates and the evidence for them to ``out``."""
    most = out.tags.shape[1]
    for query in range(first, last):
        n_rows = _collect_candidates(index, queries, query, limits, work)
        n_chosen = _select_candidates(index, n_rows, work, allowed, most)
        if n_chosen < limits.min_candidates:
            n_before = n_rows
            for tag in range(allowed.shape[0]):
                if allowed[tag]:
                    n_rows = _add_candidate(tag, n_rows, work.row_of_tag, work.candidates, work.values)
            _aggregate_tag_documents(index, n_before, n_rows, work)
            _fill_best_of_kinds(index, n_rows, work)
            n_chosen = _select_candidates(index, n_rows, work, allowed, most)
        out.n_found[query] = n_chosen
        _write_evidence(index, work, n_chosen, query, out)
        _reset(index, queries.training_rows[query], n_rows, work)


@compiled
def gather_given_tags(
    index: TrainingIndex, queries: Queries, first: int, last: int, tag_starts: Int64s, tags: Int32s,
    limits: SearchLimits, work: Workspace, values: Floats, references: Floats,
) -> None:  # fmt: skip
    """For queries ``first:last``, write the evidence for the tags given with each: one row per entry of ``tags``.

    The references are over the candidates of the tag's kind; if it has none, over all its tags.
    """
    for query in range(first, last):
        n_candidates = _collect_candidates(index, queries, query, limits, work)
        n_rows = n_candidates
        for p in range(tag_starts[query], tag_starts[query + 1]):
            n_rows = _add_candidate(np.int64(tags[p]), n_rows, work.row_of_tag, work.candidates, work.values)
            kind = int(index.tag_kinds[tags[p]])
            if work.references[kind, BEST_CENTROID] <= MIN_BEST:
                n_rows = _add_tags_of_kind(index, kind, n_rows, work)
                work.references[kind, BEST_CENTROID] = 1.0  # add them once; the best is filled in below
        _aggregate_tag_documents(index, n_candidates, n_rows, work)
        _fill_best_of_kinds(index, n_rows, work)
        for p in range(tag_starts[query], tag_starts[query + 1]):
            for column in range(N_EVIDENCE):
                values[p, column] = work.values[work.row_of_tag[tags[p]], column]
            for column in range(N_REFERENCES):
                references[p, column] = work.references[index.tag_kinds[tags[p]], column]
        _reset(index, queries.training_rows[query], n_rows, work)


def gather_evidence(
    index: TrainingIndex, queries: Queries, most: int, allowed: Any, min_candidates: int, n_jobs: int | None
) -> Evidence:
    """Return the (at most ``most``) best candidates of each query and the evidence for them."""
    n_queries, most = len(queries.training_rows), min(most, len(index.tag_counts))
    evidence = Evidence(
        np.zeros(n_queries, np.int64),
        np.zeros((n_queries, most), np.int32),
        np.zeros((n_queries, most, N_EVIDENCE), np.float32),
        np.ones((n_queries, most, N_REFERENCES), np.float32),
    )
    limits = SearchLimits(N_VOTERS, max(N_NEIGHBOURS, min_candidates), min_candidates)

    def gather(part: tuple[int, int]) -> None:
        gather_candidates(index, queries, *part, allowed, limits, new_workspace(index), evidence)

    with ThreadPool(n_jobs) as pool:
        pool.map(gather, cut_rows(n_queries, CHUNK))
    return evidence


def evidence_of_given_tags(
    index: TrainingIndex, queries: Queries, tags: Any, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Return the evidence and the references of each entry of ``tags`` (queries, tags; CSR)."""
    starts, numbers = read_only(tags.indptr, np.int64), read_only(tags.indices, np.int32)
    values = np.zeros((len(numbers), N_EVIDENCE), np.float32)
    references = np.ones((len(numbers), N_REFERENCES), np.float32)
    limits = SearchLimits(N_VOTERS, N_NEIGHBOURS, 0)

    def gather(part: tuple[int, int]) -> None:
        gather_given_tags(index, queries, *part, starts, numbers, limits, new_workspace(index), values, references)

    with ThreadPool(n_jobs) as pool:
        pool.map(gather, cut_rows(tags.shape[0], GIVEN_CHUNK))
    return values, references
