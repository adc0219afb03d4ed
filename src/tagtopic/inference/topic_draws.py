"""Draws of the topics of a document's tokens under fixed topics, with a prior of its own for each document.

The mix of a document, theta_d ~ Dir(prior_d), is integrated out. With counts that leave the token itself out, the
probability of topic k for a token of word w is proportional to

    (n_dk + prior_dk) psi_wk ,

and own_dw (n_d + sum_k prior_dk) is that of being one of the words of the tags' own, which no topic counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import Floats, Int64s, UInt16s
from tagtopic._core.intrinsics import prefetch_row
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.gibbs import document_key, uniform
from tagtopic.inference.types import Documents

UNASSIGNED = np.uint16(0xFFFF)
"""The topic of a token before its first draw."""


GROUP = 16
"""Topics that are weighed together: arrays have a multiple of as many columns, so that no loop has a remainder."""

AHEAD = 4
"""Word entries between the one in use and the one whose topics are prefetched."""


def padded(array: Floats) -> Floats:
    """Return the rows as float32 with columns of zeros appended, up to a multiple of ``GROUP``."""
    found = np.zeros((len(array), -(-array.shape[1] // GROUP) * GROUP), np.float32)
    found[:, : array.shape[1]] = array
    return found


@compiled_reordering
def _weigh(mix: Floats, psi: Floats, word: int, weights: Floats, sums: Floats) -> Any:
    """``weights = mix * psi[word]; sums = weights.reshape(-1, GROUP).sum(axis=1)``; return the sum."""
    total = np.float32(0)
    for group in range(sums.shape[0]):
        start = group * GROUP
        part = np.float32(0)
        for k in range(start, start + GROUP):
            value = mix[k] * psi[word, k]
            weights[k] = value
            part += value
        sums[group] = part
        total += part
    return total


@compiled
def _find_topic(weights: Floats, sums: Floats, n_topics: int, point: Any) -> int:
    """Return in whose interval the point is, if the intervals of the weights follow each other from 0."""
    group = 0
    while group < sums.shape[0] - 1 and point >= sums[group]:
        point -= sums[group]
        group += 1
    k, last = group * GROUP, min((group + 1) * GROUP, n_topics) - 1
    while k < last and point >= weights[k]:
        point -= weights[k]
        k += 1
    while k > 0 and weights[k] <= 0:  # the sums are rounded: the point may be past the last weight
        k -= 1
    while weights[k] <= 0 and k < n_topics - 1:
        k += 1
    return k


@compiled
def draw_token_topics(
    documents: Documents,
    first: int,
    last: int,
    token_starts: Int64s,
    psi: Floats,
    prior: Floats,
    own: Floats,
    topics: UInt16s,
    seed: int,
    sweep: int,
    counts: Floats,
) -> None:
    """Draw the topics of the tokens of documents ``first:last`` anew, and set their counts by topic.

    Parameters
    ----------
    documents : Documents
        The documents.
    first, last : int
        Which of them.
    token_starts : ndarray of shape (documents + 1,)
        The first token of each document; a word entry has as many tokens as its count, fractions dropped.
    psi : ndarray of float32, shape (words, topics)
        The topics, padded.
    prior : ndarray of float32, shape (documents, topics)
        The Dirichlet prior of each document.
    own : ndarray of float32, shape (word entries,) or (0,)
        The probability of each entry as an own word of the document's tags.
    topics : ndarray of uint16, shape (tokens,)
        The topic of each token, or ``UNASSIGNED``; replaced. The number of topics stands for an own word.
    seed, sweep : int
        The random numbers are a function of them and of the document.
    counts : ndarray of float32, shape (documents, topics)
        Set to the tokens by topic.
    """
    n_topics = counts.shape[1]
    mix, weights = np.zeros(psi.shape[1], np.float32), np.empty(psi.shape[1], np.float32)
    sums = np.empty(psi.shape[1] // GROUP, np.float32)
    end = documents.word_starts[last]
    one = np.float32(1)
    for d in range(first, last):
        size = np.float32(0)
        for k in range(n_topics):
            mix[k] = prior[d, k]
            size += prior[d, k]
        start = token_starts[d]
        for t in range(start, token_starts[d + 1]):
            if topics[t] < n_topics:
                mix[topics[t]] += one
                size += one
        key = document_key(seed, sweep, d)
        t = start
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = documents.words[e]
            if e + AHEAD < end:
                prefetch_row(psi, documents.words[e + AHEAD])
            for _ in range(int(documents.counts[e])):
                old = topics[t]
                if old < n_topics:
                    mix[old] -= one
                    size -= one
                total = _weigh(mix, psi, word, weights, sums)
                own_weight = own[e] * size if own.shape[0] > 0 else np.float32(0)
                point = np.float32(uniform(key, t - start) * (total + own_weight))
                if point < own_weight:
                    topics[t] = n_topics
                else:
                    new = _find_topic(weights, sums, n_topics, point - own_weight)
                    topics[t] = new
                    mix[new] += one
                    size += one
                t += 1
        for k in range(n_topics):
            counts[d, k] = 0
        for t in range(start, token_starts[d + 1]):
            if topics[t] < n_topics:
                counts[d, topics[t]] += one
