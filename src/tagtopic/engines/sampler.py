"""Gibbs sampling on this machine: threads over blocks of documents."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from tagtopic._core.arrays import Int64s, offsets_of, owners_of
from tagtopic._core.memmap import TemporaryArrays, release
from tagtopic._core.parallel import ThreadPool, cut_evenly
from tagtopic.engines.base import Sampler
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.gibbs import (
    Assignments,
    SamplerPriors,
    TopicCounts,
    add_document_counts,
    count_assignments,
    draw_assignments,
    replace_assignments,
    sample_documents,
)
from tagtopic.inference.own_words import OwnWordCandidates, own_word_entries
from tagtopic.inference.types import Parameters, VariationalPosterior

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

BLOCKS = 40
"""Blocks per sweep. Counts are updated after each block: the more blocks, the nearer to an exact Gibbs sampler."""

MAX_BLOCK_TOKENS = 1 << 22
CHUNK_TOKENS = 1 << 12
"""Tokens in a unit of parallel work."""


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
    candidates : OwnWordCandidates or None, default=None
        The words that tags may have as their own.
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
        candidates: OwnWordCandidates | None = None,
    ) -> None:
        if corpus.counts.data.dtype.kind not in "iu":
            raise ValueError(
                'inference="gibbs" assigns whole tokens, and the counts have fractions: use inference="cvb0"'
            )
        super().__init__(pool, resources)
        self.n_documents = len(corpus)
        self.documents = documents_of(corpus, 0, len(corpus))
        self.token_starts: Int64s = offsets_of(corpus.lengths())
        self.n_tokens = n_tokens = int(self.token_starts[-1])
        most_tags = int(np.diff(corpus.tags.indptr).max(initial=0))
        self._tokens = Assignments(
            arrays.empty(n_tokens, np.uint16), arrays.empty(n_tokens, np.uint8 if most_tags < 255 else np.uint16)
        )
        self.counts = TopicCounts(
            np.zeros((corpus.n_words, n_topics), np.int32),
            np.zeros(n_topics, np.int64),
            np.zeros((corpus.n_tags, n_topics), np.int32),
            np.zeros(corpus.n_tags, np.int64),
            np.zeros(0 if candidates is None else len(candidates.words), np.int32),
            np.zeros(corpus.n_tags, np.int64),
        )
        self.own = own_word_entries(self.documents, candidates, pool, arrays.empty)
        block = min(max(1, -(-n_tokens // n_blocks)), MAX_BLOCK_TOKENS)
        self.blocks = cut_evenly(self.token_starts, block)
        self._log_probabilities = np.zeros(len(corpus))

    @property
    def tokens(self) -> Assignments:
        """The assignments: 3 bytes a token, 4 if a document has more than 254 tags."""
        return self._tokens

    def initialise(self, parameters: Parameters, seed: int, *, posterior: VariationalPosterior | None = None) -> None:
        """Draw the first assignments under fixed parameters; see ``Sampler.initialise``."""
        xi, xi_latent, rho = posterior or self._prior(parameters)

        def draw(chunk: tuple[int, int]) -> None:
            draw_assignments(
                self.documents, *chunk, self.token_starts, parameters.psi, parameters.theta, xi, xi_latent, rho,
                parameters.latent, seed, self.tokens,
            )  # fmt: skip

        self.pool.map(draw, cut_evenly(self.token_starts, CHUNK_TOKENS))
        self._count()

    def restore(self, tokens: Assignments) -> None:
        """Continue from saved assignments of the same documents."""
        for mine, saved in zip(self.tokens, tokens, strict=True):
            mine[:] = saved
        self._count()

    def sweep(self, priors: SamplerPriors, seed: int, sweep: int) -> float:
        """Draw all assignments anew, block after block; see ``Sampler.sweep``."""
        for first, last in self.blocks:
            start, end = self.token_starts[first], self.token_starts[last]
            after = Assignments(np.empty(end - start, np.uint16), np.empty(end - start, self.tokens.tags.dtype))
            chunks = [
                (first + one, first + other)
                for one, other in cut_evenly(self.token_starts[first : last + 1], CHUNK_TOKENS)
            ]

            def sample(chunk: tuple[int, int], after: Assignments = after, start: int = start) -> None:
                part = Assignments(*(values[self.token_starts[chunk[0]] - start :] for values in after))
                sample_documents(
                    self.documents, self.own, *chunk, self.token_starts, self.counts, priors, self.tokens, part, seed,
                    sweep, self._log_probabilities,
                )  # fmt: skip

            def replace(chunk: tuple[int, int], after: Assignments = after, start: int = start) -> None:
                part = Assignments(*(values[self.token_starts[chunk[0]] - start :] for values in after))
                replace_assignments(self.documents, self.own, *chunk, self.token_starts, self.counts, self.tokens, part)

            self.pool.map(sample, chunks)
            self.pool.map(replace, chunks)
            release(*(values[start:end] for values in self.tokens))
        return float(self._log_probabilities.sum())

    def document_counts(self, rows: Int64s, parameters: Parameters) -> VariationalPosterior:
        """Return the counts of some documents; see ``Sampler.document_counts``."""
        starts = self.documents.tag_starts
        lengths = starts[rows + 1] - starts[rows]
        offsets = offsets_of(lengths)
        entries = np.arange(offsets[-1]) - offsets[:-1][owners_of(offsets)] + starts[rows][owners_of(offsets)]
        xi = parameters.pi[self.documents.tags[entries]]
        has_latent = (lengths == 0) | parameters.latent
        xi_latent = np.where(has_latent, parameters.pi_latent, 0.0)
        rho = np.tile(parameters.mu, (len(rows), 1))
        add_document_counts(rows, offsets, self.token_starts, self.tokens, xi, xi_latent, rho)
        return VariationalPosterior(xi, xi_latent, rho)

    def _prior(self, parameters: Parameters) -> VariationalPosterior:
        xi = parameters.pi[self.documents.tags]
        has_latent = (np.diff(self.documents.tag_starts) == 0) | parameters.latent
        return VariationalPosterior(xi, has_latent * parameters.pi_latent, parameters.mu[None])

    def _count(self) -> None:
        for values in self.counts:
            values[:] = 0
        count_assignments(
            self.documents, self.own, 0, len(self.token_starts) - 1, self.token_starts, self.counts, self.tokens
        )
