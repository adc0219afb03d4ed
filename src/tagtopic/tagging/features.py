"""Features of a candidate tag from the evidence for it, and its probability from the features: kernels.

A candidate's log odds are

    b_kind + a_kind . features + offset_tag,

with coefficients for the kind of the tag and, where they differ, for short documents; calibration then maps them to a
probability (see ``calibration.py``, which fits all of it).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.jit import compiled
from tagtopic.tagging.evidence import (
    BEST_CENTROID,
    BEST_KNN_VOTE,
    CENTROID,
    FOURTH_POWERS,
    FREQUENCY,
    KNN_VOTE,
    MEAN,
    NAME_OVERLAP,
    NEAREST,
    OVERALL_MEAN,
    TOTAL_KNN_VOTE,
    Evidence,
)
from tagtopic.tagging.training_index import Queries

EVIDENCE_FEATURES = (
    "log_centroid",
    "log_knn_vote",
    "log_fourth_powers",
    "log_nearest",
    "log_frequency",
    "relative_centroid",  # to the best of the kind
    "relative_knn_vote",
    "log_best_centroid",
    "log_best_knn_vote",
    "name_overlap",
    "full_name",
    "name_overlap_x_log_frequency",
    "name_overlap_x_log_best_centroid",
    "name_overlap_x_relative_centroid",
    "logit_vote_share",
    "log_relative_mean",
)
"""Features from the evidence, in the order of the columns."""

FEATURES = (
    *EVIDENCE_FEATURES,
    "margin",
    "has_classifier",
    "squared_margin",  # of 1 + margin where that is positive
    "margin_x_log_frequency",
    "centroid",
    "vote_share",
)
"""All features of a candidate: those from the evidence, from the tag's linear classifier, and two without logarithms.

New ones are added at the end: model files of earlier versions have coefficients for the first of them only."""

N_EVIDENCE_FEATURES = 16
N_FEATURES = 22

FULL_NAME = 0.999
"""Name overlap from which the document has all words of the name."""

MAX_MARGIN = 8.0
"""Limit of the margin of a tag's classifier, in either direction."""


class RegressionArrays(NamedTuple):
    """Linear classifiers of some tags: for each word their ``numbers`` and ``weights``, and their intercepts.

    ``number_of_tag`` is the number of each tag's classifier, or -1.
    """

    starts: Int64s
    numbers: Int32s
    weights: Floats
    intercepts: Floats
    number_of_tag: Int32s


class StackingArrays(NamedTuple):
    """The learnt combination of the features, for long documents (0) and short ones (1).

    ``coefficients`` (2, kinds, N_FEATURES + 1; the intercept last), ``offsets`` (2, tags) and ``calibration`` (2, 3).
    """

    coefficients: Float64s
    offsets: Float64s
    calibration: Float64s


@compiled
def write_evidence_features(values: Floats, references: Floats, out: Floats) -> None:
    """Write the columns EVIDENCE_FEATURES of ``out`` from evidence and references (rows, columns).

    What a name in the text is worth depends on how common the tag is, how much the text says, and on the other evidence
    for the tag: without the products with ``name_overlap``, probabilities above 0.4 are a third too high on TMDB's
    keywords.
    """
    for row in range(values.shape[0]):
        centroid, vote, overlap = values[row, CENTROID], values[row, KNN_VOTE], values[row, NAME_OVERLAP]
        best_centroid, best_vote = references[row, BEST_CENTROID], references[row, BEST_KNN_VOTE]
        log_frequency, log_best = math.log(values[row, FREQUENCY] + 0.5), math.log(best_centroid + 0.01)
        share = min(max(vote / max(references[row, TOTAL_KNN_VOTE], 1e-9), 0.0), 1.0)
        out[row, 0] = math.log(centroid + 0.01)
        out[row, 1] = math.log(vote + 0.001)
        out[row, 2] = math.log(values[row, FOURTH_POWERS] + 1e-5)
        out[row, 3] = math.log(values[row, NEAREST] + 0.02)
        out[row, 4] = log_frequency
        out[row, 5] = centroid / best_centroid
        out[row, 6] = vote / best_vote
        out[row, 7] = log_best
        out[row, 8] = math.log(best_vote + 0.001)
        out[row, 9] = overlap
        out[row, 10] = overlap > FULL_NAME
        out[row, 11] = overlap * log_frequency
        out[row, 12] = overlap * log_best
        out[row, 13] = overlap * centroid / best_centroid
        out[row, 14] = math.log((share + 0.01) / (1.01 - share))
        out[row, 15] = math.log((values[row, MEAN] + 1e-4) / (references[row, OVERALL_MEAN] + 1e-4))


@compiled
def _write_regression_features(
    queries: Queries, query: int, regressions: RegressionArrays, tags: Int32s, values: Floats, references: Floats,
    margins: Floats, out: Floats,
) -> None:  # fmt: skip
    """Write the last columns: those from the clipped margin w_j . q + b_j of the tag's classifier, and plain scores.

    ``margins`` is scratch memory, with an entry per classifier.
    """
    starts, numbers, weights = regressions.starts, regressions.numbers, regressions.weights
    number_of_tag = regressions.number_of_tag
    for number in range(margins.shape[0]):
        margins[number] = regressions.intercepts[number]
    for p in range(queries.starts[query], queries.starts[query + 1]):
        word, weight = queries.words[p], queries.weights[p]
        for entry in range(starts[word], starts[word + 1]):
            margins[numbers[entry]] += weight * weights[entry]
    first = N_EVIDENCE_FEATURES
    for row in range(tags.shape[0]):
        own = number_of_tag[tags[row]]
        margin = min(max(margins[own], -MAX_MARGIN), MAX_MARGIN) if own >= 0 else 0.0
        above = max(1 + margin, 0.0) if own >= 0 else 0.0
        out[row, first] = margin
        out[row, first + 1] = own >= 0
        out[row, first + 2] = above * above
        out[row, first + 3] = margin * math.log(values[row, FREQUENCY] + 0.5)
        out[row, first + 4] = values[row, CENTROID]
        out[row, first + 5] = values[row, KNN_VOTE] / max(references[row, TOTAL_KNN_VOTE], 1e-9)


def write_features(queries: Queries, evidence: Evidence, regressions: RegressionArrays, out: Floats) -> None:
    """Write ``out`` (queries, candidates, N_FEATURES) for all candidates of all queries."""
    _write_features(queries, evidence, regressions, np.empty_like(regressions.intercepts), out)


@compiled
def _write_features(
    queries: Queries, evidence: Evidence, regressions: RegressionArrays, margins: Floats, out: Floats
) -> None:
    for query in range(out.shape[0]):
        n = evidence.n_found[query]
        values, references = evidence.values[query, :n], evidence.references[query, :n]
        write_evidence_features(values, references, out[query])
        _write_regression_features(
            queries, query, regressions, evidence.tags[query, :n], values, references, margins, out[query]
        )


@compiled
def calibrate(log_odds: float, calibration: Float64s) -> float:
    """Return the probability 1 / (1 + exp(-(c_0 + c_1 x + c_2 max(x, 0)))) of log odds x."""
    return 1 / (1 + math.exp(-(calibration[0] + calibration[1] * log_odds + calibration[2] * max(log_odds, 0.0))))


def rank_candidates(
    queries: Queries, evidence: Evidence, regressions: RegressionArrays, kinds: Int32s, stacking: StackingArrays,
    which: Int64s, tags: Int32s, probabilities: Float64s,
) -> None:  # fmt: skip
    """Fill ``tags`` and ``probabilities`` (queries, n) with the most probable candidates, most probable first.

    ``which`` is 1 for queries that are short, else 0.
    """
    features = np.empty((evidence.tags.shape[1], N_FEATURES), np.float32)
    margins = np.empty_like(regressions.intercepts)
    _rank_candidates(
        queries, evidence, regressions, kinds, stacking, which, features, margins, tags, probabilities
    )  # fmt: skip


@compiled
def _rank_candidates(
    queries: Queries, evidence: Evidence, regressions: RegressionArrays, kinds: Int32s, stacking: StackingArrays,
    which: Int64s, features: Floats, margins: Floats, tags: Int32s, probabilities: Float64s,
) -> None:  # fmt: skip
    for query in range(tags.shape[0]):
        found = evidence.tags[query, : evidence.n_found[query]]
        values, references = evidence.values[query, : found.shape[0]], evidence.references[query, : found.shape[0]]
        write_evidence_features(values, references, features)
        _write_regression_features(queries, query, regressions, found, values, references, margins, features)
        by_kind, offsets = stacking.coefficients[which[query]], stacking.offsets[which[query]]
        n_ranked = 0
        for row in range(found.shape[0]):
            coefficients = by_kind[kinds[found[row]]]
            log_odds = coefficients[N_FEATURES] + offsets[found[row]]
            for column in range(N_FEATURES):
                log_odds += coefficients[column] * features[row, column]
            probability = calibrate(log_odds, stacking.calibration[which[query]])
            n_ranked = insert_ranked(found[row], probability, n_ranked, tags[query], probabilities[query])


@compiled
def insert_ranked(tag: int, probability: float, n_ranked: int, tags: Int32s, probabilities: Float64s) -> int:
    """Insert a tag after all that are at least as probable, if there is room; return the number of ranked tags."""
    place = n_ranked
    while place > 0 and probabilities[place - 1] < probability:
        place -= 1
    if place == tags.shape[0]:
        return n_ranked
    n_ranked = min(n_ranked + 1, tags.shape[0])
    for later in range(n_ranked - 1, place, -1):
        tags[later], probabilities[later] = tags[later - 1], probabilities[later - 1]
    tags[place], probabilities[place] = tag, probability
    return n_ranked
