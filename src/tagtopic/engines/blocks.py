"""A corpus in blocks of consecutive documents.

The division into blocks depends on the corpus alone. Statistics are computed for each block and added in block order,
so that their bits do not depend on the number of threads or partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagtopic._core.arrays import read_only
from tagtopic._core.memmap import release
from tagtopic._core.parallel import cut_evenly
from tagtopic.inference.m_step import ColumnIndex, index_columns
from tagtopic.inference.types import Documents

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus


BLOCK_ENTRIES = 1 << 19
"""Word entries (distinct words of a document) in a block: its topic mixes then fit into the cache."""

KEPT_ENTRIES = 1 << 24
"""Up to this many word entries in all, blocks keep their indices (8 bytes an entry) from one E-step to the next."""


@dataclass(frozen=True)
class Block:
    """Documents ``first:last`` of a corpus, with indices of their entries by word and by tag."""

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
        """Compute both indices, unless they are cached."""
        _ = self.by_word, self.by_tag

    def forget(self) -> None:
        """Drop the cached indices, and a memory-mapped corpus's pages."""
        for name in ("by_word", "by_tag"):
            self.__dict__.pop(name, None)
        words, tags = slice(*self.word_range), slice(*self.tag_range)
        release(self.documents.words[words], self.documents.counts[words], self.documents.tags[tags])

    @property
    def n_documents(self) -> int:
        """The number of documents."""
        return self.last - self.first

    @property
    def word_entries(self) -> int:
        """The number of (document, word) entries."""
        first, last = self.word_range
        return last - first

    @property
    def word_range(self) -> tuple[int, int]:
        """The block's (document, word) entries among the corpus's."""
        return int(self.documents.word_starts[0]), int(self.documents.word_starts[-1])

    @property
    def tag_range(self) -> tuple[int, int]:
        """The block's (document, tag) entries among the corpus's."""
        return int(self.documents.tag_starts[0]), int(self.documents.tag_starts[-1])


def documents_of(corpus: Corpus, first: int, last: int) -> Documents:
    """Return documents first:last as the kernels take them; nothing is copied. Kernels do not check bounds."""
    corpus.check()
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
    """Divide a corpus into blocks of about ``entries`` word entries."""
    for first, last in cut_evenly(corpus.counts.indptr, entries):
        yield Block(first, last, documents_of(corpus, first, last), corpus.n_words, corpus.n_tags)
