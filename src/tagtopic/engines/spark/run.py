"""A corpus under inference on a cluster.

The driver has the corpus and, after each E-step, where every document's inference stands; executors have copies. A
copy that is lost is sent again, so which executor does what, and how often, does not change the result.

A run over a corpus that executors have read: the driver has no documents, only where their inference stands.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of
from tagtopic._core.memmap import TemporaryArrays
from tagtopic._core.threads import ThreadPool
from tagtopic.engines.base import Statistics
from tagtopic.engines.blocks import Block, CorpusEvidence
from tagtopic.engines.distributed.placement import Placement, Scattered
from tagtopic.engines.distributed.scratch import FRESH, Parcel, Rooms, Scratch
from tagtopic.engines.distributed.tasks import (
    RANGE_BYTES,
    AddRows,
    AddUpAndBring,
    CompileKernels,
    CutSums,
    EStep,
    Ranges,
    Slot,
    StepAndBring,
    StepAndStay,
)
from tagtopic.engines.local import Extent, LocalRun, block_state
from tagtopic.engines.spark.cluster import WAVE_BYTES, Cluster
from tagtopic.engines.spark.corpus import SparkCorpus
from tagtopic.inference.priors.tag_weights import HyperPrior
from tagtopic.inference.types import Documents, Parameters, State

if TYPE_CHECKING:
    from pyspark import SparkContext

    from tagtopic.engines.distributed.weights import WeightUpdate

if TYPE_CHECKING:
    pass


BRING_BYTES = 3 << 26
"""Sums and states that are together no larger than this ride home on the E-step's own job."""


class SparkRun(LocalRun):
    """A local run whose E-step is made on executors.

    ``step`` is the number of the last step that was finished: ``state`` is as of then.
    """

    step = 0
    each_rho = True
    _newest = 0

    def __init__(
        self,
        context: SparkContext,
        inference: str,
        workers: ThreadPool,
        blocks: list[Block],
        state: State,
        weight_update: WeightUpdate,
        *,
        partitions: int | None = None,
        bring_bytes: int = BRING_BYTES,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(inference, workers, blocks, state)
        self.inference = inference
        self.weight_update = weight_update
        self.bring_bytes = bring_bytes
        self._sizes: dict[int, tuple[int, int]] = {}
        self._on_close = on_close
        placement = Scattered(len(blocks), partitions or context.defaultParallelism)
        self.cluster = self._cluster(context, placement, blocks[0].documents.counts.dtype.name)

    def _cluster(self, context: SparkContext, placement: Placement, counts: str, home: str = "") -> Cluster:
        prepare = CompileKernels(self.inference, self.state.xi.dtype.name, counts)
        run = uuid.uuid4().hex
        return Cluster(context, placement, Rooms(run, home or run), parcel=self._parcel, prepare=prepare)

    @property
    def state(self) -> State:
        """Where each document's inference stands. After the first step it is replaced, never written into."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        self._newest += 1
        self.step = self._newest  # what executors have is of another step now

    def restore(self, state: State) -> None:
        """Go on from this state; what executors have is then outdated."""
        self.state = state

    def close(self) -> None:
        """Let go of threads, of what stands on executors, and of the context if it is ours."""
        super().close()
        try:
            self.cluster.close()
        finally:
            self._on_close()

    def expect(self, parameters: Parameters, sums: Statistics, *, sweeps: int, tolerance: float = 0.0) -> Statistics:
        """The E-step: fill ``sums`` (its arrays are overwritten)."""
        if not self._sizes:
            numbers = range(len(self.blocks))
            self._sizes = self.cluster.send(numbers, self.step, documents=numbers)
        # a step that fails half-way may leave tasks behind that still write: its number is never used again
        self._newest += 1
        shared = self.cluster.context.broadcast(parameters)
        try:
            step = EStep(shared, self.inference, self.step, self._newest, sweeps, tolerance, self.each_rho)
            states = self._bring(step, sums)
        finally:
            shared.destroy()
        for number, state in states.items():
            for mine, new in zip(block_state(self.state, self._block(number)), state, strict=True):
                mine[:] = new
        self.step = self._newest
        return sums

    def learn_weights(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """Pi (and last pi_latent, if there is a latent tag), in the way that was chosen."""
        return self.weight_update(self, parameters, hyper, learnt)

    def learn_weights_here(self, parameters: Parameters, hyper: HyperPrior, learnt: NDArray[np.bool_]) -> Float64s:
        """The same on the driver, from all documents at once."""
        return super().learn_weights(parameters, hyper, learnt)

    def tag_frequencies(self, n_tags: int) -> Float64s:
        """How many documents have each tag."""
        return np.bincount(self.blocks[0].documents.tags, minlength=n_tags).astype(np.float64)

    def _block(self, number: int) -> Extent:
        return self.blocks[number]

    def _bring(self, step: EStep, sums: Statistics) -> dict[int, State]:
        """In the way that suits the size: block by block, partition by partition, or by ranges of rows."""
        row = sums.psi.shape[1] * sums.psi.itemsize
        left = self.bring_bytes - sum(array.nbytes for array in self.state)
        most = len(sums.psi) + len(sums.theta)
        parts = [sum(sum(self._sizes[number]) for number in slot.numbers) for slot in self.cluster.slots]
        if sum(parts) * row <= left:
            return self._bring_blocks(step, sums)
        if sum(min(rows, most) for rows in parts) * row <= left:
            return self._bring_partitions(step, sums)
        return self._bring_ranges(step, sums)

    def _bring_blocks(self, step: EStep, sums: Statistics) -> dict[int, State]:
        """Each block's sums come to the driver and are added in block order: the same bits as on one machine."""
        found = self.cluster.run(StepAndBring(step), self.step)
        _empty(sums)
        for _, part, _ in found:
            sums.psi[part.words] += part.psi
            sums.theta[part.tags] += part.theta
            sums.objective += float(part.objective)
        return {number: state for number, _, state in found}

    def _bring_partitions(self, step: EStep, sums: Statistics) -> dict[int, State]:
        """Each partition's sums come to the driver and are added in partition order."""
        found = self.cluster.run(AddUpAndBring(step), self.step)
        _empty(sums)
        for _, part, _ in found:
            sums.psi[part.words] += part.psi
            sums.theta[part.tags] += part.theta
            sums.objective += sum(part.objectives.tolist())
        return {number: state for numbers, _, states in found for number, state in zip(numbers, states, strict=True)}

    def _bring_ranges(self, step: EStep, sums: Statistics) -> dict[int, State]:
        """Sums are added on executors, by ranges of words; states come a few partitions at a time."""
        few = sum(array.nbytes for array in self.state) <= self.bring_bytes
        stay = StepAndStay(step, bring_states=few)
        found = self.cluster.run(stay, self.step)
        sums.objective = float(sum(objective for _, objective, _ in found))
        bring_sums(self.cluster, stay, sums)
        if not few:
            bring, slices = replace(stay, bring_states=True), self.cluster.slices(self._state_bytes)
            found = [part for slots in slices for part in self.cluster.run(bring, self.step, slots)]
        return {number: state for number, _, state in found}

    def _state_bytes(self, number: int) -> int:
        return sum(array.nbytes for array in block_state(self.state, self._block(number)))

    def _parcel(self, number: int, with_documents: bool) -> Parcel:
        """A block on its own, and its state after the last step that was finished."""
        block = self.blocks[number]
        state = block_state(self.state, block)
        if not with_documents:
            return Parcel(None, block.n_words, block.n_tags, state)
        whole = block.documents
        words = slice(whole.word_starts[0], whole.word_starts[-1])
        tags = slice(*block.tag_range)
        documents = Documents(
            whole.word_starts - words.start, whole.words[words], whole.counts[words],
            whole.tag_starts - tags.start, whole.tags[tags],
        )  # fmt: skip
        return Parcel(documents, block.n_words, block.n_tags, state)


def _empty(sums: Statistics) -> None:
    sums.psi[:] = 0
    sums.theta[:] = 0
    sums.objective = 0.0


@dataclass(frozen=True)
class BringTags:
    """Yields the tags of each block's documents."""

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[Int32s]:
        """Bring them."""
        scratch.require(slot.numbers)
        for number in slot.numbers:
            stored = scratch.block(number)
            yield stored.tags[stored.block.documents.tags]


class RemoteRun(SparkRun):
    """A run over a ``SparkCorpus``. Before the first step executors work out themselves where documents stand."""

    def __init__(
        self,
        corpus: SparkCorpus,
        parameters: Parameters,
        inference: str,
        workers: ThreadPool,
        weight_update: WeightUpdate,
        *,
        bring_bytes: int = BRING_BYTES,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.corpus = corpus
        tag_entries = corpus.document_sizes()[1]
        self.each_rho = bool(parameters.latent or (tag_entries == 0).any())
        spill, dtype = TemporaryArrays(), parameters.psi.dtype
        state = State(
            spill.empty(int(tag_entries.sum()), dtype),
            spill.empty(len(corpus), dtype),
            spill.empty((len(corpus) if self.each_rho else 1, len(parameters.mu)), dtype),
        )
        blocks: Any = corpus.blocks
        LocalRun.__init__(self, inference, workers, blocks, state, spill=spill)
        self.inference = inference
        self.weight_update = weight_update
        self.bring_bytes = bring_bytes
        self.step = FRESH
        self._sizes = {block.number: (block.n_words, block.n_tags) for block in corpus.blocks}
        self._by_number = {block.number: block for block in corpus.blocks}
        self._on_close = on_close
        self._tags: tuple[Int64s, Int32s] | None = None
        self.cluster = self._cluster(corpus.context, corpus.placement(), "int32", corpus.home)

    def weight_evidence(self, parameters: Parameters) -> CorpusEvidence:
        """What the documents, as they stand, say of pi: their tags come to the driver too, once."""
        if self._tags is None:
            starts = offsets_of(self.corpus.document_sizes()[1])
            self._tags = starts, np.concatenate([np.zeros(0, np.int32), *self.cluster.run(BringTags(), self.step)])
        return CorpusEvidence(*self._tags, self.state, parameters, self.workers)

    def tag_frequencies(self, n_tags: int) -> Float64s:
        """How many documents have each tag."""
        return self.corpus.tag_sizes().astype(np.float64)

    def _block(self, number: int) -> Extent:
        return self._by_number[number]

    def _parcel(self, number: int, with_documents: bool) -> Parcel:
        state = None if self.step == FRESH else block_state(self.state, self._block(number))
        return self.corpus.parcel(number, with_documents)._replace(state=state)


def bring_sums(cluster: Cluster, stay: StepAndStay, sums: Statistics) -> None:
    """Fill ``sums`` with the whole corpus's."""
    ranges = Ranges.of(sums)
    n_out = min(ranges.n_ranges, max(len(cluster.slots), ranges.n_ranges * RANGE_BYTES // WAVE_BYTES))
    n_jobs = max(1, ranges.n_ranges * RANGE_BYTES // WAVE_BYTES)
    found = cluster.shuffle(
        CutSums(stay, ranges), AddRows(ranges), stay.step.before, n_out=n_out, n_jobs=n_jobs, repair=stay
    )
    for key, rows in found:  # a range may come twice, with the same rows
        view = ranges.view(sums, key)
        view[:] = rows[: len(view)]
