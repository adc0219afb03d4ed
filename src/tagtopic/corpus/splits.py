"""Splits of a corpus: documents into training and test, tokens into observed and held out.

The token split depends on a hash of the token (document id, word, occurrence) alone, not on its position or its batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
