"""Documents that are remembered for their tags, indexed by word, and questions to them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tagtopic.compiled import compiled
from tagtopic.inference.arrays import Floats, Int32s, Int64s, UInt16s

NEW = -1

SATURATION = 0.4
"""A word that occurs c times weighs c (1 + SATURATION) / (c + SATURATION) times its score."""


class Memory(NamedTuple):
    """Remembered documents: postings of each word (documents and weights), tags of each document, sums by tag.

    ``holders`` are the documents that have each tag, in their order: the same as ``tags``, the other way round.
    ``lengths`` is |sum_{i has j} x_i|^2, ``sizes`` the number of documents and ``kinds`` the number of the kind, for
    each tag j. ``name_tags`` and ``name_shares`` are, for each word, the tags whose names have it and its share there.
    ``totals`` is sum_i x_i. ``common`` is a number for each tag on many documents, else NEW; by it, ``sum_weights`` are
    the entries of sum_{i has j} x_i, for each word. ``frequent`` is a number for each word that many documents have,
    else NEW; by it, ``frequent_rows`` (frequent words, documents) are the weights of its postings, in steps of
    ``frequent_scales``.
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
    totals: Floats
    common: Int32s
    sum_starts: Int64s
    sum_tags: Int32s
    sum_weights: Floats
    frequent: Int32s
    frequent_rows: UInt16s
    frequent_scales: Floats


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


@compiled
def weigh(starts: Int64s, words: Int32s, counts: Int32s | Floats, scores: Floats, weights: Floats) -> None:
    """Documents' words as entries of unit vectors: repeats count for little (see SATURATION)."""
    for i in range(starts.shape[0] - 1):
        squares = 0.0
        for p in range(starts[i], starts[i + 1]):
            count = np.float32(counts[p])
            weight = count * np.float32(1 + SATURATION) / (count + np.float32(SATURATION)) * scores[words[p]]
            weights[p] = weight
            squares += np.float64(weight) * np.float64(weight)
        length = max(math.sqrt(squares), 1e-12)
        for p in range(starts[i], starts[i + 1]):
            weights[p] = np.float64(weights[p]) / length


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
