"""From evidence for a tag to the features of a logistic regression, and to its probability."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.jit import compiled
from tagtopic.tagging.evidence import (
    ALL_MEAN,
    ALL_NEAR,
    BEST_CENTROID,
    BEST_NEAR,
    CENTROID,
    CLOSE,
    DOCUMENTS,
    MEAN,
    NAMED,
    NEAR,
    NEAREST,
    Evidence,
)
from tagtopic.tagging.training_index import Queries

N_FEATURES = 16

N_INPUTS = N_FEATURES + 2
"""With what the tag's own regression says, and whether it has one."""

WHOLE = 0.999
"""A name all of whose words the document has."""

SURE = 8.0
"""Log odds beyond which a tag's own regression says nothing more."""


class TagRegressions(NamedTuple):
    """Regressions of some tags: for each word their ``numbers`` and ``weights``, and their intercepts.

    ``of_tag`` is the number of each tag's regression, or -1.
    """

    starts: Int64s
    numbers: Int32s
    weights: Floats
    intercepts: Floats
    of_tag: Int32s


class Mixes(NamedTuple):
    """What was learnt: ``coefficients`` (mixes, kinds, N_INPUTS + 1), ``offsets`` (mixes, tags) and ``tempering``
    (mixes, 3).
    """

    coefficients: Float64s
    offsets: Float64s
    tempering: Float64s


@compiled
def write_features(values: Floats, best: Floats, out: Floats) -> None:
    """The first N_FEATURES columns: the evidence in logarithms, and relative to the best of its kind, and that best.

    What a name in the text is worth depends on how common the tag is, how much the text says, and what speaks for the
    tag besides; without these products probabilities above 0.4 are a third too high on TMDB's keywords.
    """
    for row in range(values.shape[0]):
        centroid, near, named = values[row, CENTROID], values[row, NEAR], values[row, NAMED]
        best_centroid, best_near = best[row, BEST_CENTROID], best[row, BEST_NEAR]
        documents, alike = math.log(values[row, DOCUMENTS] + 0.5), math.log(best_centroid + 0.01)
        share = min(max(near / max(best[row, ALL_NEAR], 1e-9), 0.0), 1.0)
        out[row, 0] = math.log(centroid + 0.01)
        out[row, 1] = math.log(near + 0.001)
        out[row, 2] = math.log(values[row, CLOSE] + 1e-5)
        out[row, 3] = math.log(values[row, NEAREST] + 0.02)
        out[row, 4] = documents
        out[row, 5] = centroid / best_centroid
        out[row, 6] = near / best_near
        out[row, 7] = alike
        out[row, 8] = math.log(best_near + 0.001)
        out[row, 9] = named
        out[row, 10] = named > WHOLE
        out[row, 11] = named * documents
        out[row, 12] = named * alike
        out[row, 13] = named * centroid / best_centroid
        out[row, 14] = math.log((share + 0.01) / (1.01 - share))
        out[row, 15] = math.log((values[row, MEAN] + 1e-4) / (best[row, ALL_MEAN] + 1e-4))


@compiled
def write_regressions(queries: Queries, query: int, regressions: TagRegressions, tags: Int32s, out: Floats) -> None:
    """Two columns more for each tag: what its own regression says, up to SURE, and whether there is one."""
    starts, numbers, weights, of_tag = regressions.starts, regressions.numbers, regressions.weights, regressions.of_tag
    log_odds = regressions.intercepts.copy()
    for p in range(queries.starts[query], queries.starts[query + 1]):
        word, weight = queries.words[p], queries.weights[p]
        for entry in range(starts[word], starts[word + 1]):
            log_odds[numbers[entry]] += weight * weights[entry]
    for row in range(tags.shape[0]):
        number = of_tag[tags[row]]
        out[row, N_FEATURES] = min(max(log_odds[number], -SURE), SURE) if number >= 0 else 0.0
        out[row, N_FEATURES + 1] = number >= 0


@compiled
def write_inputs(queries: Queries, evidence: Evidence, regressions: TagRegressions, out: Floats) -> None:
    """(queries, tags, N_INPUTS): all that a mix sees of the tags found for each query."""
    for query in range(out.shape[0]):
        n = evidence.found[query]
        write_features(evidence.values[query, :n], evidence.best[query, :n], out[query])
        write_regressions(queries, query, regressions, evidence.tags[query, :n], out[query])


@compiled
def temper(log_odds: float, tempering: Float64s) -> float:
    """A probability: intercept, slope, and a further slope above even odds."""
    return 1 / (1 + math.exp(-(tempering[0] + tempering[1] * log_odds + tempering[2] * max(log_odds, 0.0))))


@compiled
def rank(
    queries: Queries, evidence: Evidence, regressions: TagRegressions, kinds: Int32s, mixes: Mixes, which: Int64s,
    tags: Int32s, probabilities: Float64s,
) -> None:  # fmt: skip
    """Fill (queries, n) with the most probable of the tags found, and how probable, by the mix that each query has."""
    inputs = np.empty((evidence.tags.shape[1], N_INPUTS), np.float32)
    for query in range(tags.shape[0]):
        found = evidence.tags[query, : evidence.found[query]]
        write_features(evidence.values[query, : found.shape[0]], evidence.best[query, : found.shape[0]], inputs)
        write_regressions(queries, query, regressions, found, inputs)
        mix, offsets, tempering = mixes.coefficients[which[query]], mixes.offsets[which[query]], mixes.tempering
        n_ranked = 0
        for row in range(found.shape[0]):
            coefficients = mix[kinds[found[row]]]
            log_odds = coefficients[N_INPUTS] + offsets[found[row]]
            for column in range(N_INPUTS):
                log_odds += coefficients[column] * inputs[row, column]
            probability = temper(log_odds, tempering[which[query]])
            n_ranked = enter(found[row], probability, n_ranked, tags[query], probabilities[query])


@compiled
def enter(tag: int, probability: float, n_ranked: int, tags: Int32s, probabilities: Float64s) -> int:
    """Put a tag after all that are as probable, if there is room; returns how many there are now."""
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
