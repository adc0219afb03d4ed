"""Near-duplicates: documents that share most of their distinct words with an earlier one.

A model predicts a document well if it was fitted to a copy of it, so copies on both sides of a split measure memory and
not generalisation. Candidates are found by prefix filtering: if two documents share at least a share t of the distinct
words of the longer one, then they share ``SHARED`` of their ``n - ceil(t n) + SHARED`` rarest words, where n is a
document's number of distinct words. Few documents have several rare words in common, so few pairs are left to be
compared.

References
----------
S. Chaudhuri, V. Ganti and R. Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE 2006.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagtopic._core.arrays import Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.jit import compiled

ROUNDING = 1e-9
SHARED = 6
"""Rare words that candidates share; in short documents fewer."""


def first_copies(counts: Any, threshold: float) -> Int64s:
    """Return for each document the first earlier one that it nearly duplicates, or -1.

    Parameters
    ----------
    counts : CSR array of shape (documents, words)
        The word counts.
    threshold : float
        The least share of the distinct words of the longer document that both have.

    Returns
    -------
    ndarray of int64
        Rows; a document that has been found to be a copy is not compared with later ones.

    Raises
    ------
    ValueError
        If the threshold is not above 0 and at most 1.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> first_copies(sp.csr_array([[1, 1, 1, 0], [0, 0, 0, 5], [2, 1, 3, 0]]), 0.6).tolist()
    [-1, -1, 0]
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold={threshold!r}: expected a share above 0 and at most 1")
    starts, words = np.asarray(counts.indptr, np.int64), np.asarray(counts.indices, np.int32)
    sizes, owners = np.diff(starts), owners_of(starts)
    frequencies = np.bincount(words, minlength=counts.shape[1])
    keys: Any = [words, frequencies[words], owners]
    order = np.lexsort(keys)  # within each document, rarest words first
    ranks = np.arange(len(words)) - starts[:-1][owners]
    prefix = order[ranks < (sizes - np.ceil(threshold * sizes - ROUNDING) + SHARED)[owners]]
    prefix_starts = offsets_of(np.bincount(owners[prefix], minlength=len(sizes)))
    by_word = np.argsort(words[prefix], kind="stable")  # documents stay in order
    posting_starts = offsets_of(np.bincount(words[prefix], minlength=counts.shape[1]))
    postings = owners[prefix][by_word].astype(np.int32)
    found = np.full(len(sizes), -1, np.int64)
    _find_copies(starts, words, prefix_starts, words[prefix], posting_starts, postings, float(threshold), found)
    return found


@compiled
def _find_copies(
    starts: Int64s,
    words: Int32s,
    prefix_starts: Int64s,
    prefix: Int32s,
    posting_starts: Int64s,
    postings: Int32s,
    threshold: float,
    found: Int64s,
) -> None:
    """Compare each document with the earlier ones that share enough of the rare words in ``prefix``.

    ``postings`` are the documents in whose prefix a word is; the words of a document are sorted.
    """
    shared = np.zeros(found.shape[0], np.int32)
    candidates = np.empty(found.shape[0], np.int32)
    for d in range(found.shape[0]):
        n_candidates = 0
        for p in range(prefix_starts[d], prefix_starts[d + 1]):
            for q in range(posting_starts[prefix[p]], posting_starts[prefix[p] + 1]):
                other = postings[q]
                if other >= d:
                    break
                if shared[other] == 0:
                    candidates[n_candidates] = other
                    n_candidates += 1
                shared[other] += 1
        size = starts[d + 1] - starts[d]
        for c in range(n_candidates):
            other = candidates[c]
            n_shared = shared[other]
            shared[other] = 0
            needed = math.ceil(threshold * max(size, starts[other + 1] - starts[other]) - ROUNDING)
            if found[other] >= 0 or n_shared < min(SHARED, needed) or 0 <= found[d] <= other:
                continue
            if _count_shared(words, starts[d], starts[d + 1], starts[other], starts[other + 1]) >= needed:
                found[d] = other


@compiled
def _count_shared(words: Int32s, a: Any, a_end: Any, b: Any, b_end: Any) -> int:
    """Return how many words two documents have in common."""
    n = 0
    while a < a_end and b < b_end:
        if words[a] == words[b]:
            n += 1
            a += 1
            b += 1
        elif words[a] < words[b]:
            a += 1
        else:
            b += 1
    return n
