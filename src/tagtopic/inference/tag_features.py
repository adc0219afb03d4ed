"""From evidence for a tag to the features of a logistic regression, and to its log odds."""

from __future__ import annotations

import math

import numpy as np

from tagtopic.inference.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic.inference.compiled import compiled
from tagtopic.inference.tag_evidence import (
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
)
from tagtopic.inference.tag_memory import Queries

N_FEATURES = 16

WHOLE = 0.999
"""A name all of whose words the document has."""


@compiled
def write_features(values: Floats, best: Floats, out: Floats) -> None:
    """(rows, N_FEATURES): the evidence in logarithms, and relative to the best of its kind, and that best.

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
def write_regressions(
    queries: Queries, starts: Int64s, numbers: Int32s, weights: Floats, intercepts: Floats, of_tag: Int32s,
    tags: Int32s, sure: float, out: Floats,
) -> None:  # fmt: skip
    """(queries, tags, 2): what the tags' own regressions say, at most ``sure``, and whether there is one.

    Weights are by word: ``numbers`` says whose they are. ``of_tag`` is the number of each tag's regression, or -1.
    """
    log_odds = np.empty(intercepts.shape[0], weights.dtype)
    for query in range(tags.shape[0]):
        log_odds[:] = intercepts
        for p in range(queries.starts[query], queries.starts[query + 1]):
            word, weight = queries.words[p], queries.weights[p]
            for entry in range(starts[word], starts[word + 1]):
                log_odds[numbers[entry]] += weight * weights[entry]
        for c in range(tags.shape[1]):
            number = of_tag[tags[query, c]]
            out[query, c, 1] = number >= 0
            out[query, c, 0] = min(max(log_odds[number], -sure), sure) if number >= 0 else 0.0


@compiled
def write_log_odds(
    inputs: Floats, tags: Int32s, kinds: Int32s, which: Int64s, mix: Float64s, offsets: Float64s, out: Float64s
) -> None:
    """(queries, tags): features times coefficients, those of the tag's kind in the mix that each query has."""
    for query in range(inputs.shape[0]):
        for c in range(inputs.shape[1]):
            tag = tags[query, c]
            kind = kinds[tag]
            total = mix[which[query], kind, inputs.shape[2]] + offsets[which[query], tag]
            for feature in range(inputs.shape[2]):
                total += inputs[query, c, feature] * mix[which[query], kind, feature]
            out[query, c] = total
