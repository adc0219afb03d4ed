"""Words of tags' own: which words a tag can have beside its topics, and where they occur in documents.

A tag's own words are among those that occur in at least ``MIN_DOCUMENTS`` of its documents. Words of fewer documents
would only repeat these documents: on held-out words they are worse than none (docs/decisions/own-words.md). A word that
is a candidate of a tag is found by binary search among the tag's candidates, once per document; the sampler and the
E-step then take ``OwnWordEntries``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.jit import compiled
from tagtopic._core.parallel import Parallel, cut_evenly
from tagtopic.inference.types import Documents, OwnWordEntries, OwnWords

MIN_DOCUMENTS = 3
"""The number of a tag's documents in which one of its own words occurs at least."""

OWN_TOKENS = 0.2
"""Prior tokens of a tag's own words, beside those of its topics."""

OWN_WORD_SCALE = 2.0
"""The prior tokens of an own word, if it were all words of the corpus: they are spread by the words' frequencies."""

BATCH_PAIRS = 1 << 24
"""Occurrences of a word in a document of a tag that are counted at a time: bounds the memory of the search."""

CHUNK_ENTRIES = 1 << 14
"""Word entries per task."""


@dataclass(frozen=True)
class OwnWordCandidates:
    """The pairs of a tag and a word that may be one of its own, sorted by tag, then by word.

    Parameters
    ----------
    starts : array of shape (tags + 1,)
        Tag j has the pairs ``starts[j]:starts[j + 1]``.
    words : array of shape (pairs,)
        The word of each pair.
    tokens : array of shape (tags,)
        Prior tokens of each tag's own words: 0 for a tag without candidates.
    prior : array of shape (pairs,)
        Prior tokens of each word among the tag's own.
    """

    starts: Int64s
    words: Int32s
    tokens: Float64s
    prior: Float64s

    @property
    def tags(self) -> Int64s:
        """The tag of each pair."""
        return owners_of(self.starts)

    @property
    def totals(self) -> Float64s:
        """The sum of ``prior`` of each tag; 1 for a tag without candidates, which is divided by it."""
        sums = np.bincount(self.tags, weights=self.prior, minlength=len(self.tokens))
        return np.where(self.tokens > 0, sums, 1.0)


def own_word_candidates(
    counts: Any,
    tags: Any,
    *,
    min_documents: int = MIN_DOCUMENTS,
    tokens: float = OWN_TOKENS,
    scale: float = OWN_WORD_SCALE,
    batch_pairs: int = BATCH_PAIRS,
) -> OwnWordCandidates:
    """Find the words that occur in at least ``min_documents`` of a tag's documents.

    Parameters
    ----------
    counts : CSR array of shape (documents, words)
        The documents' words.
    tags : CSR array of shape (documents, tags)
        Their tags.
    min_documents : int, default=3
        The least number of a tag's documents that have the word.
    tokens : float, default=0.2
        Prior tokens of a tag's own words.
    scale : float, default=2.0
        The prior tokens of all words of the corpus as own words; candidates have their words' part of it.
    batch_pairs : int, default=16777216
        Bounds the memory: occurrences that are counted at a time.

    Returns
    -------
    OwnWordCandidates

    Examples
    --------
    >>> counts = sp.csr_array([[1, 2, 0], [0, 1, 1], [0, 3, 0], [1, 1, 1]])
    >>> tags = sp.csr_array([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> found = own_word_candidates(counts, tags)
    >>> found.words.tolist(), found.starts.tolist()
    ([1], [0, 1, 1])
    """
    words = sp.csr_array((np.ones(counts.nnz, np.int32), counts.indices, counts.indptr), shape=counts.shape)
    given = sp.csr_array((np.ones(tags.nnz, np.int32), tags.indices, tags.indptr), shape=tags.shape).T.tocsr()
    occurrences = np.asarray(given @ np.diff(counts.indptr).astype(np.int64))
    found, sizes = [np.empty(0, np.int32)], []
    for first, last in cut_evenly(offsets_of(occurrences), batch_pairs):
        pairs = sp.csr_array(given[first:last] @ words)
        pairs.data *= pairs.data >= min_documents
        pairs.eliminate_zeros()
        pairs.sort_indices()
        found.append(pairs.indices.astype(np.int32))
        sizes.append(np.diff(pairs.indptr))
    starts = offsets_of(np.concatenate(sizes)) if sizes else np.zeros(1, np.int64)
    columns = np.concatenate(found)
    frequencies = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
    return candidates_of(starts, columns, frequencies, tokens=tokens, scale=scale)


def candidates_of(
    starts: Int64s,
    words: Int32s,
    frequencies: NDArray[Any],
    *,
    tokens: float = OWN_TOKENS,
    scale: float = OWN_WORD_SCALE,
) -> OwnWordCandidates:
    """Return the candidates that are these pairs, with their priors.

    Parameters
    ----------
    starts, words : array
        The pairs, as in ``OwnWordCandidates``.
    frequencies : array of shape (words of the corpus,)
        The number of occurrences of each word.
    tokens, scale : float
        As in ``own_word_candidates``.

    Returns
    -------
    OwnWordCandidates
    """
    prior = np.asarray(scale * frequencies[words] / max(float(frequencies.sum()), 1.0), np.float64)
    return OwnWordCandidates(starts, words, np.where(np.diff(starts) > 0, tokens, 0.0), prior)


def no_own_words() -> OwnWordEntries:
    """Return entries without any candidates."""
    return OwnWordEntries(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


def own_word_entries(
    documents: Documents,
    own_words: OwnWords | OwnWordCandidates | None,
    parallel: Parallel,
    empty: Callable[..., Any] = np.empty,
) -> OwnWordEntries:
    """Find the own words of the documents' tags among their words.

    Parameters
    ----------
    documents : Documents
        The documents.
    own_words : OwnWords, OwnWordCandidates or None
        The pairs; without any, the entries are empty.
    parallel : Parallel
        Threads over documents.
    empty : callable, default=numpy.empty
        Allocates an array of a length and type, for example in a file.

    Returns
    -------
    OwnWordEntries
    """
    if own_words is None or not len(own_words.words):
        return no_own_words()
    given = own_words.starts, own_words.words
    n_entries = int(documents.word_starts[-1] - documents.word_starts[0])
    sizes = np.zeros(n_entries, np.int64)
    parts = cut_evenly(documents.word_starts, CHUNK_ENTRIES)
    parallel.map(lambda part: find_own_words(documents, *part, *given, sizes, no_own_words()), parts)
    starts = offsets_of(sizes)
    found = OwnWordEntries(starts, empty(int(starts[-1]), np.int32), empty(int(starts[-1]), np.int32))
    parallel.map(lambda part: find_own_words(documents, *part, *given, sizes, found), parts)
    return found


@compiled
def find_own_words(
    documents: Documents,
    first: int,
    last: int,
    tag_starts: Int64s,
    tag_words: Int32s,
    sizes: Int64s,
    out: OwnWordEntries,
) -> None:
    """Count the candidates of each word entry of documents ``first:last``, or write them to ``out`` if it has room."""
    base = documents.word_starts[0]
    for d in range(first, last):
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            if out.starts.shape[0] > 0 and sizes[e - base] == 0:
                continue  # most entries: they need no second search
            found = 0
            for t in range(documents.tag_starts[d], documents.tag_starts[d + 1]):
                pair = find_pair(tag_starts, tag_words, documents.tags[t], documents.words[e])
                if pair < 0:
                    continue
                if out.starts.shape[0] > 0:
                    out.positions[out.starts[e - base] + found] = t - documents.tag_starts[d]
                    out.pairs[out.starts[e - base] + found] = pair
                found += 1
            sizes[e - base] = found


@compiled
def find_pair(tag_starts: Int64s, tag_words: Int32s, tag: int, word: int) -> int:
    """Return the number of the pair of a tag and a word, -1 if the word is not one of the tag's own."""
    low, end = tag_starts[tag], tag_starts[tag + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if tag_words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and tag_words[low] == word else -1


def own_word_probabilities(entries: OwnWordEntries, documents: Documents, shares: Floats, omega: Floats) -> Float64s:
    """Return sum_j a_j omega_jw of each word entry; empty if there are no own words.

    Parameters
    ----------
    entries : OwnWordEntries
        The documents' own words.
    documents : Documents
        The documents.
    shares : ndarray
        The weight a_j of each (document, tag) entry.
    omega : ndarray
        By pair.

    Returns
    -------
    ndarray of shape (word entries,)
    """
    if not len(entries.starts):
        return np.empty(0)
    owner = owners_of(entries.starts)
    document = owners_of(documents.word_starts - documents.word_starts[0])[owner]
    tag_entries = (documents.tag_starts - documents.tag_starts[0])[document] + entries.positions
    weights = np.asarray(shares, np.float64)[tag_entries] * omega[entries.pairs]
    return np.asarray(np.bincount(owner, weights=weights, minlength=len(entries.starts) - 1), np.float64)
