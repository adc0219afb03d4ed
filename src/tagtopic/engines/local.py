"""Inference on this machine: threads over a corpus in blocks."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.memmap import SPILL_AT, TemporaryArrays, release
from tagtopic._core.parallel import CHUNK_ROWS, Parallel, ThreadPool, cut_evenly, cut_rows
from tagtopic.corpus.interface import RemoteCorpus
from tagtopic.engines.base import Engine, Session
from tagtopic.engines.blocks import BLOCK_ENTRIES, KEPT_ENTRIES, Block, blocks_of
from tagtopic.engines.posterior import (
    SWEEPS,
    TOLERANCE,
    CorpusEvidence,
    DocumentPosteriors,
    block_posterior,
    initial_posterior,
    mean_topics,
    tag_shares,
)
from tagtopic.engines.sampler import BLOCKS, LocalSampler
from tagtopic.inference.cvb0 import add_tag_statistics_cvb0, add_word_statistics_cvb0
from tagtopic.inference.e_step import allocate_buffers, infer_documents
from tagtopic.inference.m_step import add_scaled_rows
from tagtopic.inference.own_words import OwnWordCandidates, no_own_words, own_word_entries
from tagtopic.inference.priors.latent_topics import sum_log_latent
from tagtopic.inference.priors.tag_weights import HyperPrior, update_weight_prior
from tagtopic.inference.types import (
    DocumentStatistics,
    KernelParameters,
    OwnWordEntries,
    Parameters,
    Statistics,
    VariationalPosterior,
    kernel_parameters,
)

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

CHUNK_ENTRIES = 1 << 13
"""Word entries in a unit of parallel work."""

INFER_ENTRIES = 1 << 20
"""Word entries of new documents that are inferred at a time."""

INDEX_NEXT = (-1, -1)
"""Among the chunks of a block's documents: the task to index the next block."""


class LocalEngine(Engine):
    """Inference on the cores of this machine.

    A memory-mapped corpus is streamed: beyond ``kept_entries`` word entries, only the documents' posteriors outlive a
    block's E-step, and large posteriors are kept in files.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads; None or -1 is one for each core. The result does not depend on it.
    block_entries : int, default=524288
        Entries of the count matrix in a block of documents. Statistics are rounded once for each block.
    kept_entries : int, default=16777216
        Up to this many entries in all, blocks keep their indices (8 bytes an entry) between E-steps.
    spill_at : int, default=134217728
        Bytes from which an array of posteriors or assignments is kept in a file.
    scratch : str or Path or None, default=None
        The folder for such files; None is the system's temporary folder.
    sampler_blocks : int, default=40
        Blocks of documents in a sweep of ``inference="gibbs"``. Counts are updated after each block; with one for each
        document, the sampler is exact.
    sampler_rounds : int or None, default=None
        Divide a sweep into this many interleaved rounds instead, as a ``SparkEngine`` does: the same number gives the
        same bits.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> from tagtopic.engines import LocalEngine
    >>> LDA(2, random_state=0).fit([[2, 0, 1], [0, 3, 1]], engine=LocalEngine(n_jobs=1)).components_.shape
    (2, 3)
    """

    supports_online = True
    supports_sampling = True

    def __init__(
        self,
        n_jobs: int | None = None,
        *,
        block_entries: int = BLOCK_ENTRIES,
        kept_entries: int = KEPT_ENTRIES,
        spill_at: int = SPILL_AT,
        scratch: str | Path | None = None,
        sampler_blocks: int = BLOCKS,
        sampler_rounds: int | None = None,
    ) -> None:
        self.n_jobs = n_jobs
        self.block_entries = block_entries
        self.kept_entries = kept_entries
        self.spill_at = spill_at
        self.scratch = scratch
        self.sampler_blocks = sampler_blocks
        self.sampler_rounds = sampler_rounds

    @classmethod
    def connect(cls, master: str | None, *, weight_update: str | None = None, n_jobs: int | None = None) -> LocalEngine:
        """Make an engine from the options of the command line; see ``Engine.connect``."""
        return cls(n_jobs)

    def session(
        self,
        corpus: Corpus | RemoteCorpus,
        parameters: Parameters,
        inference: str,
        *,
        posterior: VariationalPosterior | None = None,
    ) -> LocalSession:
        """Open a session over a corpus; see ``Engine.session``."""
        if isinstance(corpus, RemoteCorpus):
            raise ValueError("the documents are on a cluster: fit them with the engine that read them")
        return self._session(corpus, parameters, inference, posterior, self.block_entries)

    def sampler(
        self, corpus: Corpus | RemoteCorpus, n_topics: int, candidates: OwnWordCandidates | None = None
    ) -> LocalSampler:
        """Open a sampler over a corpus; see ``Engine.sampler``."""
        if isinstance(corpus, RemoteCorpus):
            raise ValueError("the documents are on a cluster: fit them with the engine that read them")
        resources = ExitStack()
        arrays = resources.enter_context(closing(TemporaryArrays(self.scratch, at=self.spill_at)))
        return LocalSampler(
            corpus, n_topics, self._threads(resources), arrays, resources, n_blocks=self.sampler_blocks,
            n_rounds=self.sampler_rounds, candidates=candidates,
        )  # fmt: skip

    def _session(
        self,
        corpus: Corpus,
        parameters: Parameters,
        inference: str,
        posterior: VariationalPosterior | None,
        block_entries: int,
    ) -> LocalSession:
        resources = ExitStack()
        blocks = list(blocks_of(corpus, block_entries))
        if posterior is None:
            spill = resources.enter_context(closing(TemporaryArrays(self.scratch, at=self.spill_at)))
            posterior = initial_posterior(corpus, parameters, spill.empty)
        streamed = corpus.counts.nnz > self.kept_entries
        return LocalSession(inference, self._threads(resources), blocks, posterior, resources, streamed=streamed)

    def infer(
        self,
        corpus: Corpus | RemoteCorpus,
        parameters: Parameters,
        inference: str,
        *,
        sweeps: int = SWEEPS,
        tolerance: float = TOLERANCE,
    ) -> DocumentPosteriors:
        """Infer documents under fixed parameters; see ``Engine.infer``. Documents do not depend on each other."""
        if isinstance(corpus, RemoteCorpus):
            raise ValueError("the documents are on a cluster: bring some here, as in corpus[rows]")
        dtype, tags = parameters.psi.dtype, corpus.tags
        topics = np.empty((corpus.n_documents, parameters.psi.shape[1]), dtype)
        latent = np.empty(corpus.n_documents, dtype)
        weights = np.empty(tags.nnz, dtype)
        objective = 0.0
        with self:
            for first, last in cut_evenly(corpus.counts.indptr, INFER_ENTRIES):
                part = corpus[first:last]
                with self._session(part, parameters, inference, None, INFER_ENTRIES) as session:
                    for value in session.infer(parameters, sweeps=sweeps, tolerance=tolerance):
                        objective += value
                    xi, xi_latent, rho = session.posterior
                    shares, latent[first:last] = tag_shares(part, xi, xi_latent)
                    topics[first:last] = mean_topics(part, shares, latent[first:last], rho, parameters.theta)
                weights[tags.indptr[first] : tags.indptr[last]] = shares
        table = sp.csr_array((weights, tags.indices, tags.indptr), shape=tags.shape)
        return DocumentPosteriors(topics, table, latent, objective)


class LocalSession(Session):
    """Blocks of documents and their posteriors on this machine.

    Parameters
    ----------
    inference : str
        The inference method.
    pool : ThreadPool
        Threads over the documents of a block, and over the rows of psi.
    blocks : list of Block
        The documents.
    posterior : VariationalPosterior
        Their posteriors, updated in place.
    resources : ExitStack or None, default=None
        What ``close`` releases.
    streamed : bool, default=False
        Whether only posteriors outlive a block's E-step.
    """

    def __init__(
        self,
        inference: str,
        pool: ThreadPool,
        blocks: list[Block],
        posterior: VariationalPosterior,
        resources: ExitStack | None = None,
        *,
        streamed: bool = False,
    ) -> None:
        super().__init__(inference, pool, resources or ExitStack())
        self.blocks = blocks
        self.streamed = streamed
        self._posterior = posterior

    @property
    def posterior(self) -> VariationalPosterior:
        """The variational parameters of all documents after the last E-step."""
        return self._posterior

    def e_step(
        self, parameters: Parameters, statistics: Statistics, *, sweeps: int, tolerance: float = 0.0
    ) -> Statistics:
        """Update posteriors and compute statistics, block after block; see ``Session.e_step``."""
        self.map(lambda rows: statistics.psi[slice(*rows)].fill(0), cut_rows(len(statistics.psi), CHUNK_ROWS))
        statistics.theta[:] = 0
        statistics.objective = 0.0
        given = kernel_parameters(parameters, self.method)
        self.blocks[0].index()
        for block, following in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            found = self._infer_block(
                block, given, no_own_words(), sweeps, tolerance, in_word_order=True, following=following
            )
            self._add_block(block, given, found, statistics)
            if self.streamed:
                block.forget()
                release(*block_posterior(self.posterior, block))
        return statistics

    def infer(self, parameters: Parameters, *, sweeps: int, tolerance: float = 0.0) -> list[float]:
        """Update posteriors only, for documents whose statistics are not needed.

        Returns
        -------
        list of float
            The objective of each block, summed over its documents.
        """
        given = kernel_parameters(parameters, self.method)
        own = (own_word_entries(block.documents, parameters.own_words, self) for block in self.blocks)
        found = (
            self._infer_block(block, given, words, sweeps, tolerance)
            for block, words in zip(self.blocks, own, strict=True)
        )
        return [float(block.objective.sum()) for block in found]

    def update_weight_prior(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """Maximise the objective over pi, from all documents at once; see ``Session.update_weight_prior``."""
        return update_weight_prior(parameters.all_pi, self.weight_evidence(parameters), hyper, learnt=learnt)

    def weight_evidence(self, parameters: Parameters) -> CorpusEvidence:
        """Return what pi is estimated from: sums over the documents' posteriors."""
        starts = np.concatenate([[0], *(block.documents.tag_starts[1:] for block in self.blocks)])
        return CorpusEvidence(starts, self.blocks[0].documents.tags, self.posterior, parameters, self.pool)

    def latent_log_expectations(self) -> tuple[Float64s, int]:
        """Return the sum over documents of E[log lambda], and the number of documents."""
        ranges = [(block.first, block.last) for block in self.blocks]
        return latent_log_expectations(self.posterior.rho, ranges, self.pool)

    def _infer_block(
        self,
        block: Block,
        parameters: KernelParameters,
        own_words: OwnWordEntries,
        sweeps: int,
        tolerance: float,
        *,
        in_word_order: bool = False,
        following: Block | None = None,
    ) -> DocumentStatistics:
        """Update the posteriors of a block's documents, in all threads; one first indexes the ``following`` block."""
        n_topics, dtype = parameters.psi.shape[1], parameters.psi.dtype
        first_tag, last_tag = block.tag_range
        corrected = int(self.method.is_leave_one_out)
        out = DocumentStatistics(
            mix=np.empty((block.n_documents, n_topics), dtype),
            gradient=np.empty((block.n_documents, n_topics), dtype),
            count_ratios=np.empty(block.word_entries, dtype),
            weights=np.empty(last_tag - first_tag, dtype),
            objective=np.empty(block.n_documents),
            mix_correction=np.empty((block.n_documents * corrected, n_topics), dtype),
            gradient_correction=np.empty((block.n_documents * corrected, n_topics), dtype),
            inverse_probabilities=np.empty(block.word_entries * corrected, dtype),
        )
        posterior = block_posterior(self.posterior, block)
        slots = block.by_word.slots if in_word_order else np.arange(block.word_entries, dtype=np.int32)

        def infer(documents: tuple[int, int]) -> None:
            if documents == INDEX_NEXT and following is not None:
                following.index()
                return
            which = block.documents, *documents
            buffers, code = allocate_buffers(*which, parameters.psi), self.method.code
            infer_documents(buffers, code, *which, own_words, parameters, posterior, out, slots, sweeps, tolerance)

        chunks = cut_evenly(block.documents.word_starts, CHUNK_ENTRIES)
        self.map(infer, chunks if following is None else [INDEX_NEXT, *chunks])
        return out

    def _add_block(
        self, block: Block, parameters: KernelParameters, found: DocumentStatistics, statistics: Statistics
    ) -> None:
        """Add a block's expected counts, word by word and tag by tag: no two threads write the same row."""
        by_word, by_tag = block.by_word, block.by_tag
        tag_weights = np.empty_like(found.weights)
        tag_weights[by_tag.slots] = found.weights
        tag_factors = parameters.tag_rows[:0] if self.method.is_geometric else parameters.tag_rows
        leave_one_out = parameters.leave_one_out

        def add_words(words: tuple[int, int]) -> None:
            if not self.method.is_leave_one_out:
                add_scaled_rows(by_word, *words, found.count_ratios, found.mix, parameters.psi, statistics.psi)
                return
            add_word_statistics_cvb0(
                by_word, *words, found.count_ratios, found.inverse_probabilities, found.mix, found.mix_correction,
                parameters.psi, leave_one_out.word_prior, leave_one_out.inverse_topic_totals, statistics.psi,
            )  # fmt: skip

        def add_tags(tags: tuple[int, int]) -> None:
            if not self.method.is_leave_one_out:
                add_scaled_rows(by_tag, *tags, tag_weights, found.gradient, tag_factors, statistics.theta)
                return
            add_tag_statistics_cvb0(
                by_tag, *tags, tag_weights, found.gradient, found.gradient_correction,
                parameters.tag_rows, leave_one_out.inverse_tag_totals, statistics.theta,
            )  # fmt: skip

        self.map(add_words, cut_evenly(by_word.starts, CHUNK_ENTRIES))
        self.map(add_tags, cut_evenly(by_tag.starts, CHUNK_ENTRIES))
        statistics.objective += float(found.objective.sum())


def latent_log_expectations(rho: Floats, ranges: list[tuple[int, int]], parallel: Parallel) -> tuple[Float64s, int]:
    """Return the sum over documents of E[log lambda], added range by range, and the number of documents.

    Where documents have no latent tag, they share one row of rho: none of them counts.
    """
    if len(rho) < max(last for _, last in ranges):
        return np.zeros(rho.shape[1]), 0

    def add_up(rows: tuple[int, int]) -> Float64s:
        sums = sum_log_latent(rho, *rows)
        release(rho[slice(*rows)])
        return sums

    return np.sum(parallel.map(add_up, ranges), axis=0), len(rho)
