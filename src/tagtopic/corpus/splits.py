"""Splits of a corpus: documents into training and test, tokens into observed and held out; and near-duplicates.

The token split depends on a hash of the token (document id, word, occurrence) alone, not on its position or its batch.

Near-duplicates are documents that share most of their distinct words with an earlier one. A model predicts a document
well if it was fitted to a copy of it, so copies on both sides of a split measure memory and not generalisation.
Candidates are found by prefix filtering: if two documents share at least a share t of the distinct words of the longer
one, then they share ``SHARED`` of their ``n - ceil(t n) + SHARED`` rarest words, where n is a document's number of
distinct words. Few documents have several rare words in common, so few pairs are left to be compared.

References
----------
S. Chaudhuri, V. Ganti and R. Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE 2006.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagtopic._core.arrays import Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.hashing import GOLDEN_GAMMA, splitmix64
from tagtopic._core.jit import compiled
from tagtopic._core.strings import StringArray
from tagtopic.corpus.matrices import replace_data

if TYPE_CHECKING:
    from tagtopic.corpus.corpus import Corpus


def test_mask(
    n_documents: int,
    test_size: float | int,
    random_state: int | np.random.Generator | None,
    groups: ArrayLike | None,
) -> NDArray[np.bool_]:
    """Return which documents are in the test part; both parts have at least one document."""
    wanted = _wanted(n_documents, test_size)
    random = np.random.default_rng(random_state)
    if groups is None:
        mask = np.zeros(n_documents, dtype=bool)
        mask[random.permutation(n_documents)[:wanted]] = True
        return mask
    labels = np.asarray(groups)
    if labels.shape != (n_documents,):
        raise ValueError(f"groups must have one label for each of the {n_documents} documents, not {labels.shape}")
    _, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ValueError("all documents are in one group: it cannot be split without breaking the group")
    order = random.permutation(len(sizes))
    filled = np.cumsum(sizes[order])[:-1]  # one group at least stays for training
    n_groups = int(np.argmin(np.abs(filled - wanted))) + 1
    return np.isin(group, order[:n_groups])


def _wanted(n_documents: int, test_size: float | int) -> int:
    if n_documents < 2:
        raise ValueError(f"a corpus of {n_documents} documents cannot be split in two")
    if isinstance(test_size, int | np.integer) and not isinstance(test_size, bool):
        wanted = int(test_size)
        if not 0 < wanted < n_documents:
            raise ValueError(f"test_size={test_size} must leave documents in both parts of {n_documents}")
        return wanted
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size} must be a share between 0 and 1, or a number of documents")
    return min(max(round(n_documents * test_size), 1), n_documents - 1)


def held_out_counts(corpus: Corpus, random_state: int = 0) -> Any:
    """Return, for each entry of the count matrix, how many of its tokens are held out."""
    counts = corpus.counts
    seed = np.uint64(np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0])
    held_out = np.empty(counts.nnz, counts.data.dtype)
    _hold_out_tokens(
        np.asarray(counts.indptr), np.asarray(counts.indices), np.asarray(counts.data),
        corpus.ids.hashes() ^ seed, StringArray.of(corpus.words).hashes(),
        counts.data.dtype.kind != "f", held_out,
    )  # fmt: skip
    return held_out


def split_tokens(corpus: Corpus, random_state: int = 0) -> tuple[Any, Any]:
    """Return two count matrices that add up to the corpus's: observed tokens, and held-out tokens."""
    counts, held_out = corpus.counts, held_out_counts(corpus, random_state)
    return replace_data(counts, counts.data - held_out), replace_data(counts, held_out)


@compiled
def _hold_out_tokens(
    starts: Any, words: Any, counts: Any, document_keys: Any, word_keys: Any, whole: bool, out: Any
) -> None:
    for d in range(starts.shape[0] - 1):
        for p in range(starts[d], starts[d + 1]):
            key = document_keys[d] ^ word_keys[words[p]]
            held_out = 0
            # a fractional count is not divided
            n_tokens = int(counts[p]) if whole else 1
            for occurrence in range(n_tokens):
                h = splitmix64(key + np.uint64(occurrence + 1) * GOLDEN_GAMMA)
                held_out += h & np.uint64(1)
            out[p] = held_out if whole else held_out * counts[p]


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
