"""A run over a corpus that executors have read: the driver has no documents, only where their inference stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagtopic.corpus.ragged import offsets_of
from tagtopic.engines.local import Extent, LocalRun, block_state
from tagtopic.engines.spark.corpus import SparkCorpus
from tagtopic.engines.spark.run import BRING_BYTES, SparkRun
from tagtopic.engines.spark.scratch import FRESH, Parcel, Scratch
from tagtopic.engines.spark.wrapping import Slot
from tagtopic.engines.spill import Spill
from tagtopic.engines.weight_evidence import CorpusEvidence
from tagtopic.engines.workers import Workers
from tagtopic.inference.arrays import Float64s, Int32s, Int64s, State
from tagtopic.inference.parameters import Parameters

if TYPE_CHECKING:
    from tagtopic.engines.spark.weights import WeightUpdate


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
        workers: Workers,
        weight_update: WeightUpdate,
        *,
        bring_bytes: int = BRING_BYTES,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.corpus = corpus
        tag_entries = corpus.document_sizes()[1]
        self.each_rho = bool(parameters.latent or (tag_entries == 0).any())
        spill, dtype = Spill(), parameters.psi.dtype
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
