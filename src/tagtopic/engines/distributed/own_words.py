"""Candidates for words of tags' own, among documents on executors.

Executors count in how many documents of a tag a word occurs. Counts are added in buckets, ranges of tags, on executors;
the driver receives the pairs that occur in enough documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of
from tagtopic._core.parallel import cut_evenly
from tagtopic.engines.distributed.components import RequireBlocks
from tagtopic.engines.distributed.scratch import INITIAL, Scratch
from tagtopic.engines.distributed.tasks import Cluster, Partition
from tagtopic.inference.own_words import BATCH_PAIRS, MIN_DOCUMENTS, OwnWordCandidates, candidates_of


class PairCounts(NamedTuple):
    """By tag of a bucket, the words that occur with it, and in how many documents, at most as many as are needed."""

    starts: Int64s
    words: Int32s
    documents: Any

    def matrix(self, n_words: int) -> Any:
        """The counts as a sparse matrix, tags of the bucket by words."""
        shape = len(self.starts) - 1, n_words
        return sp.csr_array((self.documents.astype(np.int32), self.words, self.starts), shape=shape)


@dataclass(frozen=True)
class CountPairsOfTags:
    """Yields (bucket, counts) for the pairs of tags and words of a partition.

    Bucket i has the tags ``bounds[i]:bounds[i + 1]``. A tag of fewer documents than are needed has no candidates.
    """

    bounds: tuple[int, ...]
    n_words: int
    min_documents: int

    def __call__(self, partition: Partition, scratch: Scratch) -> Iterator[tuple[int, PairCounts]]:
        """Count, bucket by bucket."""
        if not partition.blocks:
            return
        scratch.require(partition.blocks)
        words, tags = self._matrices(partition, scratch)
        for bucket, (first, last) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            pairs = sp.csr_array(tags[first:last] @ words)
            documents = np.minimum(pairs.data, self.min_documents).astype(np.uint8)
            yield bucket, PairCounts(pairs.indptr.astype(np.int64), pairs.indices.astype(np.int32), documents)

    def _matrices(self, partition: Partition, scratch: Scratch) -> tuple[Any, Any]:
        """Documents by words, and tags by documents, of a partition: ones."""
        words: list[Any] = []
        tags: list[Any] = []
        for number in partition.blocks:
            stored = scratch.block(number)
            documents = stored.block.documents
            for found, starts, columns, n_columns in (
                (words, documents.word_starts, stored.words[documents.words], self.n_words),
                (tags, documents.tag_starts, stored.tags[documents.tags], self.bounds[-1]),
            ):
                ones = np.ones(len(columns), np.int32)
                found.append(sp.csr_array((ones, columns, starts), shape=(len(starts) - 1, n_columns)))
        return sp.vstack(words, format="csr"), sp.vstack(tags, format="csr").T.tocsr()


@dataclass(frozen=True)
class SelectPairs:
    """Adds the partitions' counts of a bucket; returns (bucket, words of each tag, words in enough documents)."""

    n_words: int
    min_documents: int

    def __call__(self, key: int, parts: list[PairCounts]) -> tuple[int, Int64s, Int32s]:
        """Add and select."""
        total = parts[0].matrix(self.n_words)
        for part in parts[1:]:
            total = total + part.matrix(self.n_words)
        total.data *= total.data >= self.min_documents
        total.eliminate_zeros()
        total.sort_indices()
        return key, np.diff(total.indptr).astype(np.int64), total.indices.astype(np.int32)


def distributed_candidates(
    cluster: Cluster,
    tag_sizes: Int64s,
    frequencies: Float64s,
    words_per_document: float,
    *,
    min_documents: int = MIN_DOCUMENTS,
    batch_pairs: int = BATCH_PAIRS,
) -> OwnWordCandidates:
    """Find the candidates of a corpus on a cluster; see ``inference.own_words.own_word_candidates``.

    Parameters
    ----------
    cluster : Cluster
        The executors that hold the blocks.
    tag_sizes : array of shape (tags,)
        The number of documents of each tag.
    frequencies : array of shape (words,)
        The number of occurrences of each word.
    words_per_document : float
        The mean number of distinct words.
    min_documents : int, default=3
        The least number of a tag's documents that have the word.
    batch_pairs : int, default=16777216
        Bounds the memory: occurrences that are counted at a time.

    Returns
    -------
    OwnWordCandidates
    """
    n_tags, n_words = len(tag_sizes), len(frequencies)
    documents = offsets_of(tag_sizes)
    size = max(1.0, min(batch_pairs / max(words_per_document, 1.0), documents[-1] / len(cluster.partitions)))
    bounds = (0, *(last for _, last in cut_evenly(documents, int(size))))
    found = cluster.shuffle(
        CountPairsOfTags(bounds, n_words, min_documents), SelectPairs(n_words, min_documents), INITIAL,
        n_out=len(bounds) - 1, n_jobs=1, repair=RequireBlocks(INITIAL),
    )  # fmt: skip
    sizes, words = np.zeros(n_tags, np.int64), {}
    for key, of_tags, of_bucket in found:  # a bucket may come twice, with the same pairs
        sizes[bounds[key] : bounds[key + 1]] = of_tags
        words[key] = of_bucket
    columns = np.concatenate([np.empty(0, np.int32), *(words[key] for key in sorted(words))])
    return candidates_of(offsets_of(sizes), columns, frequencies)
