"""Siblings of a tag: the tags of its kind whose documents have the most similar words.

Tags are compared by the sums of their documents' vectors, of which each keeps its largest entries only: what two
siblings share are their characteristic words, and the memory does not grow with the length of the documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, Int32s, offsets_of
from tagtopic.tagging.training_index import ABSENT

N_SIBLINGS = 8
"""Siblings of a tag."""

MAX_WORDS = 40
"""Words by which a tag is compared."""

CHUNK_ENTRIES = 1 << 22
"""Entries of sums of vectors that are computed together."""

CHUNK_TAGS = 64
"""Tags that are compared with all others together: with 150,000 others, up to 10 million products."""


@dataclass(frozen=True)
class Siblings:
    """For each tag its siblings, the most similar first, and how similar they are (cosine).

    ``numbers`` (tags, n) has ABSENT where there are fewer.
    """

    numbers: Int32s
    similarities: Floats

    @classmethod
    def find(cls, documents: Any, tags: Any, kinds: Any, n: int = N_SIBLINGS, of: Any = None) -> Siblings:
        """Find the siblings of all tags, from ``documents`` (documents, words) and ``tags`` (documents, tags), CSR.

        With ``of``, an array of numbers of tags, only those tags get siblings.
        """
        profiles = tag_profiles(documents, tags)
        by_word = sp.csr_array(profiles.T)
        numbers = np.full((profiles.shape[0], n), ABSENT, np.int32)
        similarities = np.zeros((profiles.shape[0], n), np.float32)
        chosen = np.arange(profiles.shape[0]) if of is None else np.unique(of)
        for first in range(0, len(chosen), CHUNK_TAGS):
            part = chosen[first : first + CHUNK_TAGS]
            products = sp.csr_array(profiles[part] @ by_word)
            for row, tag in enumerate(part.tolist()):
                entries = slice(products.indptr[row], products.indptr[row + 1])
                others, values = products.indices[entries], products.data[entries]
                same = (kinds[others] == kinds[tag]) & (others != tag)
                others, values = others[same], values[same]
                if len(values) > n:
                    near = values >= np.partition(values, -n)[-n]
                    others, values = others[near], values[near]
                best = np.lexsort((others, -values))[:n]
                numbers[tag, : len(best)] = others[best]
                similarities[tag, : len(best)] = values[best]
        return cls(numbers, similarities)


def tag_profiles(documents: Any, tags: Any, max_words: int = MAX_WORDS) -> Any:
    """Return the largest entries of the sum of each tag's document vectors, as unit vectors: CSR (tags, words)."""
    by_tag = sp.csr_array(sp.csr_array(tags, dtype=np.float32).T)
    sizes = offsets_of(np.asarray(by_tag @ np.diff(documents.indptr).astype(np.float32), np.int64))
    starts, words, weights = [np.zeros(1, np.int64)], [], []
    first = 0
    while first < by_tag.shape[0]:
        last = max(int(np.searchsorted(sizes, sizes[first] + CHUNK_ENTRIES)), first + 1)
        part = sp.csr_array(by_tag[first:last] @ documents)
        owner = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        order = np.lexsort((part.indices, -part.data, owner))
        rank = np.arange(len(order)) - np.repeat(part.indptr[:-1], np.diff(part.indptr))
        kept = order[rank < max_words]
        lengths = np.sqrt(np.bincount(owner[kept], part.data[kept].astype(np.float64) ** 2, part.shape[0]))
        words.append(part.indices[kept])
        weights.append((part.data[kept] / np.maximum(lengths, 1e-12)[owner[kept]]).astype(np.float32))
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(owner[kept], minlength=part.shape[0])))
        first = last
    shape = (by_tag.shape[0], documents.shape[1])
    found = sp.csr_array((np.concatenate(weights), np.concatenate(words), np.concatenate(starts)), shape=shape)
    found.sort_indices()
    return found
