"""Gibbs sampling on this machine: threads over blocks of documents."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tagtopic._core.arrays import Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.memmap import TemporaryArrays, release
from tagtopic._core.parallel import ThreadPool, cut_evenly
from tagtopic.engines.base import Sampler
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.full_conditionals import draw_assignments, sample_documents
from tagtopic.inference.gibbs import (
    Assignments,
    SamplerPriors,
    TopicCounts,
    add_document_counts,
    count_assignments,
    replace_assignments,
)
from tagtopic.inference.own_words import OwnWordCandidates, own_word_entries
from tagtopic.inference.types import Parameters, VariationalPosterior
from tagtopic.inference.word_topics import (
    count_word_topics,
    empty_word_topics,
    no_word_topics,
    unpacked,
    update_word_topics,
    with_counts,
)

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

BLOCKS = 40
"""Blocks per sweep. Counts are updated after each block: the more blocks, the nearer to an exact Gibbs sampler."""

MAX_BLOCK_TOKENS = 1 << 22
SPARSE_TOPICS = 1_500
"""The number of topics from which the sparse draw is faster."""

TABLE_BYTES = 1 << 28
"""A larger table of words by topics is kept in sparse rows instead, if they take at most half of its memory."""

COUNT_BYTES, CELL_BYTES = 4, 6
"""Memory of a count in the table, and of one with its topic in a sparse row."""

CHUNK_TOKENS = 1 << 12
"""Tokens in a unit of parallel work."""

GROUP_DOCUMENTS, ROUND_GROUPS = 64, 16
"""Interleaved rounds consist of groups of up to 64 consecutive documents, fewer if a round had less than 16 groups."""

DocumentRange = tuple[int, int]


@dataclass(frozen=True)
class InterleavedRounds:
    """A corpus in rounds of a sweep, each of which has documents from everywhere in the corpus.

    Groups of consecutive documents belong to the rounds in turn. The round of a document depends on its number alone,
    so that it is the same however documents are divided among machines, and a round has work for all of them.

    Parameters
    ----------
    n_documents : int
        The size of the corpus.
    n_rounds : int
        The number of rounds; there are no more than documents.
    """

    n_documents: int
    n_rounds: int

    def __len__(self) -> int:
        return max(1, min(self.n_rounds, self.n_documents))

    def ranges(self, round_: int, first: int, last: int) -> list[DocumentRange]:
        """Return the ranges of documents of one round (counted from 0) among documents ``first:last``.

        Examples
        --------
        >>> InterleavedRounds(7, 3).ranges(1, 0, 7)
        [(1, 2), (4, 5)]
        """
        size = min(GROUP_DOCUMENTS, max(1, self.n_documents // (ROUND_GROUPS * len(self))))
        groups = np.arange(first // size, -(-last // size))
        starts = groups[groups % len(self) == round_] * size
        ends = np.minimum(starts + size, last)
        return list(zip(np.maximum(starts, first).tolist(), ends.tolist(), strict=True))


class LocalSampler(Sampler):
    """The assignments of a corpus's tokens, in blocks of documents on this machine.

    Parameters
    ----------
    corpus : Corpus
        The documents; counts must be whole numbers.
    n_topics : int
        The number of topics.
    pool : ThreadPool
        Threads over the documents of a block.
    arrays : TemporaryArrays
        Allocates the assignments, in files if they are large.
    resources : ExitStack
        What ``close`` releases.
    n_blocks : int, default=40
        Blocks per sweep, at most one per document.
    n_rounds : int or None, default=None
        Interleaved rounds per sweep, as on a cluster, in place of blocks of consecutive documents.
    candidates : OwnWordCandidates or None, default=None
        The words that tags may have as their own.
    sparse : bool or None, default=None
        Whether the draw is sparse in the topics of a word; None chooses by the number of topics, and the dense draw for
        interleaved rounds, which a cluster has. Both draw from the same distribution.
    rows : bool or None, default=None
        Whether the counts of words by topic are kept in sparse rows instead of a table; the sparse draw needs them, and
        None chooses by their memory for the dense one, whose assignments are the same from both.
    """

    def __init__(
        self,
        corpus: Corpus,
        n_topics: int,
        pool: ThreadPool,
        arrays: TemporaryArrays,
        resources: ExitStack,
        *,
        n_blocks: int = BLOCKS,
        n_rounds: int | None = None,
        candidates: OwnWordCandidates | None = None,
        sparse: bool | None = None,
        rows: bool | None = None,
    ) -> None:
        require_whole_counts(corpus)
        super().__init__(pool, resources)
        self.n_documents = len(corpus)
        self.documents = documents_of(corpus, 0, len(corpus))
        self.token_starts: Int64s = offsets_of(corpus.lengths())
        self.n_tokens = n_tokens = int(self.token_starts[-1])
        most_tags = int(np.diff(corpus.tags.indptr).max(initial=0))
        self._tokens = empty_assignments(n_tokens, most_tags, arrays)
        n_pairs = 0 if candidates is None else len(candidates.words)
        self._is_sparse = n_rounds is None and n_topics >= SPARSE_TOPICS if sparse is None else sparse
        self._capacities = np.minimum(corpus.word_counts().astype(np.int64), n_topics)
        self._has_rows = self._is_sparse or (rows_pay(self._capacities, n_topics) if rows is None else rows)
        self._word_topics = empty_word_topics(self._capacities) if self._has_rows else no_word_topics()
        self.counts = zero_counts(0 if self._has_rows else corpus.n_words, corpus.n_tags, n_topics, n_pairs)
        self.own = own_word_entries(self.documents, candidates, pool, arrays.empty)
        block = min(max(1, -(-n_tokens // n_blocks)), MAX_BLOCK_TOKENS)
        if n_rounds is None:
            ranges = [[part] for part in cut_evenly(self.token_starts, block)]
        else:
            rounds = InterleavedRounds(len(corpus), n_rounds)
            ranges = [rounds.ranges(i, 0, len(corpus)) for i in range(len(rounds))]
        self.rounds = [_Round(parts, *self._chunks(parts)) for parts in ranges]
        self._log_probabilities = np.zeros(len(corpus))

    @property
    def tokens(self) -> Assignments:
        """The assignments: 3 bytes a token, 4 if a document has more than 254 tags."""
        return self._tokens

    def word_topics(self, words: Any) -> Int32s:
        """Return the counts of some words by topic; see ``Sampler.word_topics``."""
        if not self._has_rows:
            return super().word_topics(words)
        chosen = np.arange(*words.indices(len(self._capacities))) if isinstance(words, slice) else words
        return unpacked(self._word_topics, chosen, len(self.counts.topics))

    def add_word_topics(self, words: Int64s, topics: Int64s, counts: Int64s) -> None:
        """Add counts of pairs of a word and a topic; see ``Sampler.add_word_topics``."""
        if self._has_rows:
            self._word_topics = with_counts(self._word_topics, words, topics, counts, len(self.counts.topics))
        else:
            super().add_word_topics(words, topics, counts)

    def initialise(self, parameters: Parameters, seed: int, *, posterior: VariationalPosterior | None = None) -> None:
        """Draw the first assignments under fixed parameters; see ``Sampler.initialise``."""
        xi, xi_latent, rho = posterior or self._prior(parameters)

        def draw(chunk: tuple[int, int]) -> None:
            draw_assignments(
                self.documents, *chunk, self.token_starts, parameters.psi, parameters.theta, xi, xi_latent, rho,
                parameters.latent, seed, self.tokens, 0,
            )  # fmt: skip

        self.pool.map(draw, cut_evenly(self.token_starts, CHUNK_TOKENS))
        self._count()

    def restore(self, tokens: Assignments) -> None:
        """Continue from saved assignments of the same documents."""
        for mine, saved in zip(self.tokens, tokens, strict=True):
            mine[:] = saved
        self._count()

    def sweep(self, priors: SamplerPriors, seed: int, sweep: int) -> float:
        """Draw all assignments anew, round after round; see ``Sampler.sweep``."""
        word_topics, n_parts = self._word_topics, self.pool.n_threads if self._has_rows else 0
        for ranges, chunks, n_tokens in self.rounds:
            after = Assignments(np.empty(n_tokens, np.uint16), np.empty(n_tokens, self.tokens.tags.dtype))

            def sample(chunk: _Chunk, after: Assignments = after) -> None:
                counts = self.counts
                if self._has_rows and not self._is_sparse:
                    counts = counts._replace(word_topics=np.zeros((1, len(counts.topics)), np.int32))
                sample_documents(
                    self.documents, self.own, chunk.first, chunk.last, self.token_starts, counts, word_topics,
                    self._is_sparse, priors, self.tokens, chunk.part(after), seed, sweep, self._log_probabilities, 0,
                )  # fmt: skip

            def replace(chunk: _Chunk, after: Assignments = after) -> None:
                replace_assignments(
                    self.documents, self.own, chunk.first, chunk.last, self.token_starts, self.counts, self.tokens,
                    chunk.part(after),
                )  # fmt: skip

            def update(part: int, chunks: list[_Chunk] = chunks, after: Assignments = after) -> None:
                for chunk in chunks:
                    update_word_topics(
                        self.documents, chunk.first, chunk.last, self.token_starts, len(self.counts.topics),
                        self.tokens, chunk.part(after), part, n_parts, word_topics,
                    )  # fmt: skip

            self.pool.map(sample, chunks)
            self.pool.map(update, range(n_parts))
            self.pool.map(replace, chunks)
            for first, last in ranges:
                release(*(values[self.token_starts[first] : self.token_starts[last]] for values in self.tokens))
        return float(self._log_probabilities.sum())

    def document_counts(self, rows: Int64s, parameters: Parameters) -> VariationalPosterior:
        """Return the counts of some documents; see ``Sampler.document_counts``."""
        tag_entries = self.documents.tag_starts, self.documents.tags
        return document_counts(rows, parameters, *tag_entries, self.token_starts, self.tokens)

    def _chunks(self, ranges: list[DocumentRange]) -> tuple[list[_Chunk], int]:
        """Divide a round into units of parallel work; also return the number of its tokens."""
        chunks, n_tokens = [], 0
        for start, end in ranges:
            for one, other in cut_evenly(self.token_starts[start : end + 1], CHUNK_TOKENS):
                first, last = start + one, start + other
                chunks.append(_Chunk(first, last, n_tokens))
                n_tokens += int(self.token_starts[last] - self.token_starts[first])
        return chunks, n_tokens

    def _prior(self, parameters: Parameters) -> VariationalPosterior:
        xi = parameters.pi[self.documents.tags]
        has_latent = (np.diff(self.documents.tag_starts) == 0) | parameters.latent
        return VariationalPosterior(xi, has_latent * parameters.pi_latent, parameters.mu[None])

    def _count(self) -> None:
        for values in self.counts:
            values[:] = 0
        count_assignments(self.documents, self.own, 0, self.n_documents, self.token_starts, self.counts, self.tokens)
        if self._has_rows:
            self._word_topics = rows = empty_word_topics(self._capacities)
            n_topics, n_parts = len(self.counts.topics), self.pool.n_threads

            def count(part: int) -> None:
                count_word_topics(
                    self.documents, 0, self.n_documents, self.token_starts, n_topics, self.tokens, part, n_parts, rows
                )

            self.pool.map(count, range(n_parts))


class _Chunk(NamedTuple):
    """Documents ``first:last``, and the position of their first token among those of the round."""

    first: int
    last: int
    offset: int

    def part(self, after: Assignments) -> Assignments:
        """The assignments of a round from the chunk's on."""
        return Assignments(*(values[self.offset :] for values in after))


class _Round(NamedTuple):
    """The documents of a round, also in units of parallel work, and the number of their tokens."""

    ranges: list[DocumentRange]
    chunks: list[_Chunk]
    n_tokens: int


def rows_pay(capacities: Int64s, n_topics: int, *, table_bytes: int = TABLE_BYTES) -> bool:
    """Return whether the counts of words by topic are better kept in sparse rows.

    Parameters
    ----------
    capacities : ndarray of shape (words,)
        The most topics that each word can have.
    n_topics : int
        The number of topics.
    table_bytes : int, default=268435456
        The table is kept if it is no larger.

    Returns
    -------
    bool

    Examples
    --------
    >>> rows_pay(np.full(10_000, 300), 1_000, table_bytes=1 << 20)
    True
    >>> rows_pay(np.full(10_000, 400), 1_000, table_bytes=1 << 20)
    False
    """
    table = COUNT_BYTES * len(capacities) * n_topics
    return table > table_bytes and 2 * CELL_BYTES * int(capacities.sum()) <= table


def require_whole_counts(corpus: Corpus) -> None:
    """Raise if counts have fractions."""
    if corpus.counts.data.dtype.kind not in "iu":
        raise ValueError('inference="gibbs" assigns whole tokens, and the counts have fractions: use inference="cvb0"')


def empty_assignments(n_tokens: int, most_tags: int, arrays: TemporaryArrays) -> Assignments:
    """Allocate assignments: 3 bytes a token, 4 if a document has more than 254 tags."""
    tag_type = np.uint8 if most_tags < 255 else np.uint16
    return Assignments(arrays.empty(n_tokens, np.uint16), arrays.empty(n_tokens, tag_type))


def zero_counts(n_words: int, n_tags: int, n_topics: int, n_pairs: int) -> TopicCounts:
    """Allocate counts of no tokens; ``n_pairs`` is the number of candidates for own words."""
    return TopicCounts(
        np.zeros((n_words, n_topics), np.int32),
        np.zeros(n_topics, np.int64),
        np.zeros((n_tags, n_topics), np.int32),
        np.zeros(n_tags, np.int64),
        np.zeros(n_pairs, np.int32),
        np.zeros(n_tags, np.int64),
    )


def document_counts(
    rows: Int64s, parameters: Parameters, tag_starts: Int64s, tags: Any, token_starts: Int64s, tokens: Assignments
) -> VariationalPosterior:
    """Return the counts of some documents, priors included; see ``Sampler.document_counts``."""
    lengths = tag_starts[rows + 1] - tag_starts[rows]
    offsets = offsets_of(lengths)
    entries = np.arange(offsets[-1]) - offsets[:-1][owners_of(offsets)] + tag_starts[rows][owners_of(offsets)]
    xi = parameters.pi[tags[entries]]
    has_latent = (lengths == 0) | parameters.latent
    xi_latent = np.where(has_latent, parameters.pi_latent, 0.0)
    rho = np.tile(parameters.mu, (len(rows), 1))
    add_document_counts(rows, offsets, token_starts, tokens, xi, xi_latent, rho)
    return VariationalPosterior(xi, xi_latent, rho)
