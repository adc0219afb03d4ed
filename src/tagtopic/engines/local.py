"""The E-step on this machine: threads over a corpus in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tagtopic.engines.base import Run, Statistics, as_model
from tagtopic.engines.blocks import BLOCK_ENTRIES, Block, blocks_of
from tagtopic.engines.workers import Workers, cut_evenly
from tagtopic.inference.accumulate import add_scaled_rows
from tagtopic.inference.arrays import COLLAPSED, PAPER, Evaluation, Float64s, Model, State
from tagtopic.inference.e_step import infer_documents
from tagtopic.inference.latent_prior import sum_log_latent
from tagtopic.inference.leave_out import add_tags_leaving_out, add_words_leaving_out
from tagtopic.inference.parameters import Parameters
from tagtopic.inference.weight_prior import HyperPrior, WeightEvidence, sum_log_weights, update_weight_prior

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

CHUNK_ENTRIES = 1 << 13
"""Word entries that a thread takes at a time."""


class LocalEngine:
    """Runs on the cores of this machine. ``n_jobs`` None or -1 is all of them; it never changes the result."""

    def __init__(self, n_jobs: int | None = None, *, block_entries: int = BLOCK_ENTRIES) -> None:
        self.n_jobs = n_jobs
        self.block_entries = block_entries

    def start(self, corpus: Corpus, parameters: Parameters, inference: str) -> LocalRun:
        """Make ready to fit or to infer on this corpus; use as a context manager."""
        blocks = list(blocks_of(corpus, self.block_entries))
        return LocalRun(inference, Workers(self.n_jobs), blocks, start_state(corpus, parameters))


class LocalRun(Run):
    """A corpus under inference: its blocks, and where each document's posterior stands."""

    def __init__(self, inference: str, workers: Workers, blocks: list[Block], state: State) -> None:
        super().__init__(inference, workers)
        self.blocks = blocks
        self.state = state

    def expect(self, parameters: Parameters, sums: Statistics, *, sweeps: int, tolerance: float = 0.0) -> Statistics:
        """The E-step: fill ``sums`` (its arrays are overwritten)."""
        sums.psi[:] = 0
        sums.theta[:] = 0
        sums.objective = 0.0
        model = as_model(parameters, self.way)
        for block in self.blocks:
            evaluation = self.infer_block(block, model, sweeps, tolerance, in_word_order=True)
            self._add_block(block, model, evaluation, sums)
        return sums

    def infer_block(
        self, block: Block, model: Model, sweeps: int, tolerance: float, *, in_word_order: bool = False
    ) -> Evaluation:
        """Sweep the documents of one block, all threads at once."""
        n_topics, dtype = model.psi.shape[1], model.psi.dtype
        first_tag, last_tag = block.tag_range
        leaving_out = int(self.way == COLLAPSED)
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
            infer_documents(self.way, block.documents, *documents, model, state, evaluation, slots, sweeps, tolerance)

        self.workers.map(infer, cut_evenly(block.documents.word_starts, CHUNK_ENTRIES))
        return evaluation

    def _add_block(self, block: Block, model: Model, evaluation: Evaluation, sums: Statistics) -> None:
        by_word, by_tag = block.by_word, block.by_tag
        tag_weights = np.empty_like(evaluation.weights)
        tag_weights[by_tag.slots] = evaluation.weights
        no_factor = np.empty((0, model.psi.shape[1]), model.psi.dtype)
        tag_factor = no_factor if self.way == PAPER else model.tag_rows

        def add_words(words: tuple[int, int]) -> None:
            if self.way != COLLAPSED:
                add_scaled_rows(by_word, *words, evaluation.ratios, evaluation.mix, model.psi, sums.psi)
                return
            add_words_leaving_out(
                by_word, *words, evaluation.ratios, evaluation.inverses, evaluation.mix, evaluation.own_mix,
                model.psi, model.shares.word_prior, model.shares.topic, sums.psi,
            )  # fmt: skip

        def add_tags(tags: tuple[int, int]) -> None:
            if self.way != COLLAPSED:
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
        evidence = gather_weight_evidence(self.blocks, self.state, latent=parameters.latent)
        return update_weight_prior(parameters.all_pi, evidence, hyper, learnt=learnt)

    def log_latent(self) -> tuple[Float64s, int]:
        """The sum over documents of E[log lambda], and their number: what mu is made from."""
        parts = self.workers.map(lambda block: sum_log_latent(self.state.rho, block.first, block.last), self.blocks)
        return np.sum(parts, axis=0), len(self.state.rho)


def start_state(corpus: Corpus, parameters: Parameters) -> State:
    """Every document at its prior, with its words spread over tags and topics in the prior's proportions."""
    dtype = parameters.psi.dtype
    tags, starts = corpus.tags.indices, corpus.tags.indptr
    owner = np.repeat(np.arange(corpus.n_documents), np.diff(starts))
    prior = parameters.pi[tags]
    total = np.bincount(owner, weights=prior, minlength=corpus.n_documents)
    untagged = np.diff(starts) == 0
    latent = np.where(parameters.latent | untagged, parameters.pi_latent, 0.0)
    total = total + latent
    growth = 1.0 + corpus.lengths() / np.where(total > 0, total, 1.0)
    xi, xi_latent = prior * growth[owner], latent * growth
    if not parameters.latent and not untagged.any():
        rho = np.ones((1, len(parameters.mu)), dtype)
    else:
        rho = np.outer(np.maximum(xi_latent - latent, 0.0), parameters.mu / parameters.mu.sum())
        rho += parameters.mu
    return State(xi.astype(dtype), xi_latent.astype(dtype), rho.astype(dtype))


def block_state(state: State, block: Block) -> State:
    """The block's part of the state, as views."""
    first_tag, last_tag = block.tag_range
    rho = state.rho if len(state.rho) == 1 else state.rho[block.first : block.last]
    return State(state.xi[first_tag:last_tag], state.xi_latent[block.first : block.last], rho)


def gather_weight_evidence(blocks: list[Block], state: State, *, latent: bool) -> WeightEvidence:
    """Tag sets and expected log weights of the documents with two tags or more, the latent one included."""
    starts = np.concatenate([[0], *(block.documents.tag_starts[1:] for block in blocks)])
    n_tags = blocks[0].n_tags
    tags = blocks[0].documents.tags
    sizes = np.diff(starts)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    xi = np.asarray(state.xi, np.float64)
    if latent:
        place = np.arange(len(tags)) + owner
        ends = starts[1:] + np.arange(len(sizes))
        all_tags = np.full(len(tags) + len(sizes), n_tags, np.int32)
        all_tags[place] = tags
        all_xi = np.empty(len(all_tags))
        all_xi[place], all_xi[ends] = xi, state.xi_latent
        tags, xi, sizes = all_tags, all_xi, sizes + 1
        owner = np.repeat(np.arange(len(sizes)), sizes)
    kept = sizes >= 2
    entries = kept[owner]
    tags, xi = np.ascontiguousarray(tags[entries]), xi[entries]
    kept_starts = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
    size = n_tags + int(latent)
    log_weights = sum_log_weights(kept_starts, tags, xi, size)
    return WeightEvidence(kept_starts, tags, log_weights, np.bincount(tags, minlength=size).astype(np.float64))
