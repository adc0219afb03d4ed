"""A corpus in blocks of consecutive documents.

Where blocks begin depends on the corpus alone. Sums are made within each block and added in block order, so neither
threads nor partitions change a bit of them.

What documents say of pi: of a whole corpus where they lie, or of a few in arrays that can travel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of, read_only
from tagtopic._core.memmap import release
from tagtopic._core.parallel import cut_evenly
from tagtopic._core.threads import ThreadPool
from tagtopic.inference.m_step import ColumnIndex, index_columns
from tagtopic.inference.priors.tag_weights import (
    WeightEvidence,
    sum_log_weights,
    sum_prior_digammas,
    sum_prior_log_gammas,
)
from tagtopic.inference.types import Documents, Parameters, State

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus


BLOCK_ENTRIES = 1 << 19
"""Word entries (distinct words of a document) in a block: its topic mixes then stay in the cache."""

KEPT_ENTRIES = 1 << 24
"""Up to so many word entries in all, blocks keep their indices (8 bytes an entry) from one E-step to the next."""


@dataclass(frozen=True)
class Block:
    """Documents ``first:last`` of a corpus, with their entries indexed by word and by tag too."""

    first: int
    last: int
    documents: Documents
    n_words: int
    n_tags: int

    @cached_property
    def by_word(self) -> ColumnIndex:
        """The block's word entries in word order."""
        return index_columns(self.documents.word_starts, self.documents.words, self.n_words)

    @cached_property
    def by_tag(self) -> ColumnIndex:
        """The block's tag entries in tag order."""
        return index_columns(self.documents.tag_starts, self.documents.tags, self.n_tags)

    def index(self) -> None:
        """Make both indices, unless they are there."""
        _ = self.by_word, self.by_tag

    def forget(self) -> None:
        """Let go of the indices, and of a memory-mapped corpus's pages: they are made and read anew when needed."""
        for name in ("by_word", "by_tag"):
            self.__dict__.pop(name, None)
        words, tags = slice(*self.word_range), slice(*self.tag_range)
        release(self.documents.words[words], self.documents.counts[words], self.documents.tags[tags])

    @property
    def n_documents(self) -> int:
        """How many documents the block has."""
        return self.last - self.first

    @property
    def word_entries(self) -> int:
        """How many (document, word) entries the block has."""
        first, last = self.word_range
        return last - first

    @property
    def word_range(self) -> tuple[int, int]:
        """Where the block's (document, word) entries stand among the corpus's."""
        return int(self.documents.word_starts[0]), int(self.documents.word_starts[-1])

    @property
    def tag_range(self) -> tuple[int, int]:
        """Where the block's (document, tag) entries stand among the corpus's."""
        return int(self.documents.tag_starts[0]), int(self.documents.tag_starts[-1])


def documents_of(corpus: Corpus, first: int, last: int) -> Documents:
    """Documents first:last as the kernels take them; nothing is copied."""
    counts, tags = corpus.counts, corpus.tags
    count_type = np.int32 if counts.data.dtype == np.int32 else np.float32
    return Documents(
        read_only(counts.indptr[first : last + 1], np.int64),
        read_only(counts.indices, np.int32),
        read_only(counts.data, count_type),
        read_only(tags.indptr[first : last + 1], np.int64),
        read_only(tags.indices, np.int32),
    )


def blocks_of(corpus: Corpus, entries: int = BLOCK_ENTRIES) -> Iterator[Block]:
    """The corpus in blocks of about ``entries`` word entries."""
    for first, last in cut_evenly(corpus.counts.indptr, entries):
        yield Block(first, last, documents_of(corpus, first, last), corpus.n_words, corpus.n_tags)


PART_ENTRIES = 1 << 20
"""Tag entries that a thread goes through at a time. Sums are added part by part: it is in the bits of the result."""


class CorpusEvidence:
    """The evidence of all documents (see ``weight_prior.Evidence``): all threads go through them, nothing is copied.

    Document d has the tags ``tags[starts[d]:starts[d + 1]]``.
    """

    def __init__(self, starts: Int64s, tags: Int32s, state: State, parameters: Parameters, workers: ThreadPool) -> None:
        self.starts = starts
        self.tags = tags
        self.latent = parameters.latent
        self.workers = workers
        self._parts = cut_evenly(starts, PART_ENTRIES)

        def add_up(part: tuple[int, int]) -> tuple[Float64s, Float64s]:
            found = sum_log_weights(starts, tags, state.xi, state.xi_latent, *part, len(parameters.pi), self.latent)
            release(state.xi[self._entries(part)])
            return found

        found = workers.map(add_up, self._parts)
        self.log_weights: Float64s = np.sum([sums for sums, _ in found], axis=0)
        self.documents: Float64s = np.sum([documents for _, documents in found], axis=0)

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""

        def add_up(part: tuple[int, int]) -> Float64s:
            found = sum_prior_digammas(self.starts, self.tags, *part, pi, self.latent)
            release(self.tags[self._entries(part)])
            return found

        return np.asarray(np.sum(self.workers.map(add_up, self._parts), axis=0))

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over documents of lgamma(sum pi_d)."""

        def add_up(part: tuple[int, int]) -> float:
            return sum_prior_log_gammas(self.starts, self.tags, *part, pi, self.latent)

        return float(np.sum(self.workers.map(add_up, self._parts)))

    def _entries(self, part: tuple[int, int]) -> slice:
        return slice(int(self.starts[part[0]]), int(self.starts[part[1]]))


def evidence_of_block(block: Block, state: State, *, latent: bool) -> WeightEvidence:
    """The evidence of one block, the latent tag written out: documents with one tag in all are left out."""
    starts = block.documents.tag_starts - block.documents.tag_starts[0]
    tags = block.documents.tags[slice(*block.tag_range)]
    log_weights, documents = sum_log_weights(
        starts, tags, state.xi, state.xi_latent, 0, block.n_documents, block.n_tags, latent
    )
    sizes = np.diff(starts)
    if latent:
        tags = np.insert(tags, starts[1:], np.int32(block.n_tags))
        sizes = sizes + 1
    kept = sizes >= 2
    kept_starts = offsets_of(sizes[kept])
    kept_tags = np.ascontiguousarray(tags[np.repeat(kept, sizes)], np.int32)
    return WeightEvidence(kept_starts, kept_tags, log_weights, documents)
