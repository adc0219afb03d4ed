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
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.full_conditionals import find_interval
from tagtopic.inference.gibbs import document_key, uniform
from tagtopic.inference.types import Documents

UNASSIGNED = np.uint16(0xFFFF)
"""The topic of a token before its first draw."""


@compiled_reordering
def _weigh(mix: Floats, psi: Floats, word: int, weights: Floats) -> Any:
    """``weights = mix * psi[word]``; return the sum."""
    total = np.float32(0)
    for k in range(mix.shape[0]):
        value = mix[k] * psi[word, k]
        weights[k] = value
        total += value
    return total


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
        The topics.
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
    n_topics = psi.shape[1]
    mix, weights = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
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
            for _ in range(int(documents.counts[e])):
                old = topics[t]
                if old < n_topics:
                    mix[old] -= one
                    size -= one
                total = _weigh(mix, psi, word, weights)
                own_weight = own[e] * size if own.shape[0] > 0 else np.float32(0)
                point = np.float32(uniform(key, t - start) * (total + own_weight))
                if point < own_weight:
                    topics[t] = n_topics
                else:
                    new = find_interval(weights, n_topics, point - own_weight)
                    topics[t] = new
                    mix[new] += one
                    size += one
                t += 1
        for k in range(n_topics):
            counts[d, k] = 0
        for t in range(start, token_starts[d + 1]):
            if topics[t] < n_topics:
                counts[d, topics[t]] += one
