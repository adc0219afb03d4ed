"""The E-step on this machine: threads over a corpus in blocks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s
from tagtopic._core.memmap import SPILL_AT, TemporaryArrays, release
from tagtopic._core.parallel import CHUNK_ROWS, cut_evenly, cut_rows
from tagtopic._core.threads import ThreadPool
from tagtopic.corpus.collection import RemoteCorpus
from tagtopic.engines.base import Run, Statistics, as_model
from tagtopic.engines.blocks import BLOCK_ENTRIES, KEPT_ENTRIES, Block, CorpusEvidence, blocks_of
from tagtopic.inference.cvb0 import add_tags_leaving_out, add_words_leaving_out
from tagtopic.inference.e_step import infer_documents, room_for
from tagtopic.inference.m_step import add_scaled_rows
from tagtopic.inference.priors.latent_topics import sum_log_latent
from tagtopic.inference.priors.tag_weights import HyperPrior, update_weight_prior
from tagtopic.inference.types import Evaluation, Model, Parameters, State

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

CHUNK_ENTRIES = 1 << 13
"""Word entries that a thread takes at a time."""

START_ROWS = 1 << 14
"""Documents whose first state is made at a time."""

INDEX = (-1, -1)
"""Among the chunks of documents: the task to index the next block."""


class LocalEngine:
    """Runs on the cores of this machine. ``n_jobs`` None or -1 is all of them; it never changes the result.

    A memory-mapped corpus is streamed: beyond ``kept_entries`` word entries nothing of a block is kept in memory but
    where its documents' inference stands, and that goes to files in ``scratch`` (None: the system's temporary folder)
    where it is large.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> from tagtopic.engines import LocalEngine
    >>> LDA(2, random_state=0).fit([[2, 0, 1], [0, 3, 1]], engine=LocalEngine(n_jobs=1)).components_.shape
    (2, 3)
    """

    def __init__(
        self,
        n_jobs: int | None = None,
        *,
        block_entries: int = BLOCK_ENTRIES,
        kept_entries: int = KEPT_ENTRIES,
        spill_at: int = SPILL_AT,
        scratch: str | Path | None = None,
    ) -> None:
        self.n_jobs = n_jobs
        self.block_entries = block_entries
        self.kept_entries = kept_entries
        self.spill_at = spill_at
        self.scratch = scratch

    def start(self, corpus: Corpus | RemoteCorpus, parameters: Parameters, inference: str) -> LocalRun:
        """Make ready to fit or to infer on this corpus; use as a context manager."""
        if isinstance(corpus, RemoteCorpus):
            raise ValueError("the documents are on a cluster: fit them with the engine that read them")
        blocks = list(blocks_of(corpus, self.block_entries))
        spill = TemporaryArrays(self.scratch, at=self.spill_at)
        state = start_state(corpus, parameters, spill)
        streamed = corpus.counts.nnz > self.kept_entries
        return LocalRun(inference, ThreadPool(self.n_jobs), blocks, state, streamed=streamed, spill=spill)


class LocalRun(Run):
    """A corpus under inference: its blocks, and where each document's posterior stands."""

    def __init__(
        self,
        inference: str,
        workers: ThreadPool,
        blocks: list[Block],
        state: State,
        *,
        streamed: bool = False,
        spill: TemporaryArrays | None = None,
    ) -> None:
        super().__init__(inference, workers)
        self.blocks = blocks
        self.state = state
        self.streamed = streamed
        self._spill = spill

    def close(self) -> None:
        """Let go of threads and files."""
        super().close()
        if self._spill is not None:
            self._spill.close()

    def expect(self, parameters: Parameters, sums: Statistics, *, sweeps: int, tolerance: float = 0.0) -> Statistics:
        """The E-step: fill ``sums`` (its arrays are overwritten)."""
        self.workers.map(lambda rows: sums.psi[slice(*rows)].fill(0), cut_rows(len(sums.psi), CHUNK_ROWS))
        sums.theta[:] = 0
        sums.objective = 0.0
        model = as_model(parameters, self.method)
        self.blocks[0].index()
        for block, following in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            evaluation = self.infer_block(block, model, sweeps, tolerance, in_word_order=True, following=following)
            self._add_block(block, model, evaluation, sums)
            self._leave(block)
        return sums

    def _leave(self, block: Block) -> None:
        """Nothing more is needed of this block in this E-step."""
        if self.streamed:
            block.forget()
            release(*block_state(self.state, block))

    def infer_block(
        self,
        block: Block,
        model: Model,
        sweeps: int,
        tolerance: float,
        *,
        in_word_order: bool = False,
        following: Block | None = None,
    ) -> Evaluation:
        """Sweep the documents of one block, all threads at once; one of them first indexes the ``following`` block."""
        n_topics, dtype = model.psi.shape[1], model.psi.dtype
        first_tag, last_tag = block.tag_range
        leaving_out = int(self.method.is_leave_one_out)
        evaluation = Evaluation(
            mix=np.empty((block.n_documents, n_topics), dtype),
            pull=np.empty((block.n_documents, n_topics), dtype),
            ratios=np.empty(block.word_entries, dtype),
            weights=np.empty(last_tag - first_tag, dtype),
            objective=np.empty(block.n_documents),
            own_mix=np.empty((block.n_documents * leaving_out, n_topics), dtype),
            own_pull=np.empty((block.n_documents * leaving_out, n_topics), dtype),
            inverses=np.empty(block.word_entries * leaving_out, dtype),
        )
        state = block_state(self.state, block)
        slots = block.by_word.slots if in_word_order else np.arange(block.word_entries, dtype=np.int32)

        def infer(documents: tuple[int, int]) -> None:
            if documents == INDEX and following is not None:
                following.index()
                return
            which = block.documents, *documents
            room = room_for(*which, model.psi)
            infer_documents(room, self.method.code, *which, model, state, evaluation, slots, sweeps, tolerance)

        chunks = cut_evenly(block.documents.word_starts, CHUNK_ENTRIES)
        self.workers.map(infer, chunks if following is None else [INDEX, *chunks])
        return evaluation

    def _add_block(self, block: Block, model: Model, evaluation: Evaluation, sums: Statistics) -> None:
        by_word, by_tag = block.by_word, block.by_tag
        tag_weights = np.empty_like(evaluation.weights)
        tag_weights[by_tag.slots] = evaluation.weights
        tag_factor = model.tag_rows[:0] if self.method.is_geometric else model.tag_rows

        def add_words(words: tuple[int, int]) -> None:
            if not self.method.is_leave_one_out:
                add_scaled_rows(by_word, *words, evaluation.ratios, evaluation.mix, model.psi, sums.psi)
                return
            add_words_leaving_out(
                by_word, *words, evaluation.ratios, evaluation.inverses, evaluation.mix, evaluation.own_mix,
                model.psi, model.shares.word_prior, model.shares.topic, sums.psi,
            )  # fmt: skip

        def add_tags(tags: tuple[int, int]) -> None:
            if not self.method.is_leave_one_out:
                add_scaled_rows(by_tag, *tags, tag_weights, evaluation.pull, tag_factor, sums.theta)
                return
            add_tags_leaving_out(
                by_tag, *tags, tag_weights, evaluation.pull, evaluation.own_pull,
                model.tag_rows, model.shares.tag, sums.theta,
            )  # fmt: skip

        self.workers.map(add_words, cut_evenly(by_word.starts, CHUNK_ENTRIES))
        self.workers.map(add_tags, cut_evenly(by_tag.starts, CHUNK_ENTRIES))
        sums.objective += float(evaluation.objective.sum())

    def learn_weights(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """Pi (and last pi_latent, if there is a latent tag) from all documents: the paper's eq. 2."""
        return update_weight_prior(parameters.all_pi, self.weight_evidence(parameters), hyper, learnt=learnt)

    def weight_evidence(self, parameters: Parameters) -> CorpusEvidence:
        """What the documents, as they stand, say of pi."""
        starts = np.concatenate([[0], *(block.documents.tag_starts[1:] for block in self.blocks)])
        return CorpusEvidence(starts, self.blocks[0].documents.tags, self.state, parameters, self.workers)

    def log_latent(self) -> tuple[Float64s, int]:
        """The sum over documents of E[log lambda], and their number: what mu is made from."""
        rho = self.state.rho

        def add_up(block: Block) -> Float64s:
            sums = sum_log_latent(rho, block.first, block.last)
            release(rho[block.first : block.last])
            return sums

        return np.sum(self.workers.map(add_up, self.blocks), axis=0), len(rho)


def start_state(corpus: Corpus, parameters: Parameters, spill: TemporaryArrays | None = None) -> State:
    """Every document at its prior, with its words spread over tags and topics in the prior's proportions."""
    dtype, empty = parameters.psi.dtype, np.empty if spill is None else spill.empty
    untagged = np.diff(corpus.tags.indptr) == 0
    each = bool(parameters.latent or untagged.any())
    state = State(
        xi=empty(corpus.tags.nnz, dtype),
        xi_latent=empty(len(corpus), dtype),
        rho=empty((len(corpus) if each else 1, len(parameters.mu)), dtype),
    )
    lengths = corpus.lengths()
    for first, last in cut_rows(len(corpus), START_ROWS):
        entries = slice(int(corpus.tags.indptr[first]), int(corpus.tags.indptr[last]))
        rho = state.rho[first:last] if each else state.rho
        part = State(state.xi[entries], state.xi_latent[first:last], rho)
        starts, tags = corpus.tags.indptr[first : last + 1], corpus.tags.indices[entries]
        fill_state(part, starts, tags, lengths[first:last], parameters, each_rho=each)
        release(part.xi, part.rho)
    return state


def fill_state(
    state: State, tag_starts: Any, tags: Any, lengths: Any, parameters: Parameters, *, each_rho: bool
) -> None:
    """The first state of some documents, by their tags and lengths; without a rho for each there is one row for all."""
    sizes = np.diff(tag_starts)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    prior = parameters.pi[tags]
    latent = np.where(parameters.latent | (sizes == 0), parameters.pi_latent, 0.0)
    total = np.bincount(owner, weights=prior, minlength=len(sizes)) + latent
    growth = 1.0 + lengths / np.where(total > 0, total, 1.0)
    state.xi[:] = prior * growth[owner]
    state.xi_latent[:] = latent * growth
    if each_rho:
        rho = np.outer(np.maximum(latent * growth - latent, 0.0), parameters.mu / parameters.mu.sum())
        state.rho[:] = rho + parameters.mu
    else:
        state.rho[:] = 1.0


class Extent(Protocol):
    """Where a block's documents and their tags stand among the corpus's."""

    @property
    def first(self) -> int:
        """The first document."""
        ...

    @property
    def last(self) -> int:
        """The first document of the next block."""
        ...

    @property
    def tag_range(self) -> tuple[int, int]:
        """The block's tag entries."""
        ...


def block_state(state: State, block: Extent) -> State:
    """The block's part of the state, as views."""
    first_tag, last_tag = block.tag_range
    rho = state.rho if len(state.rho) == 1 else state.rho[block.first : block.last]
    return State(state.xi[first_tag:last_tag], state.xi_latent[block.first : block.last], rho)
