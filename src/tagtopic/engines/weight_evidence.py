"""What documents say of pi: of a whole corpus where they lie, or of a few in arrays that can travel."""

from __future__ import annotations

import numpy as np

from tagtopic.corpus.mapped import release
from tagtopic.corpus.ragged import offsets_of
from tagtopic.engines.blocks import Block
from tagtopic.engines.workers import Workers, cut_evenly
from tagtopic.inference.arrays import Float64s, Int32s, Int64s, State
from tagtopic.inference.parameters import Parameters
from tagtopic.inference.weight_prior import (
    WeightEvidence,
    sum_log_weights,
    sum_prior_digammas,
    sum_prior_log_gammas,
)

PART_ENTRIES = 1 << 20
"""Tag entries that a thread goes through at a time. Sums are added part by part: it is in the bits of the result."""


class CorpusEvidence:
    """The evidence of all documents (see ``weight_prior.Evidence``): all threads go through them, nothing is copied.

    Document d has the tags ``tags[starts[d]:starts[d + 1]]``.
    """

    def __init__(self, starts: Int64s, tags: Int32s, state: State, parameters: Parameters, workers: Workers) -> None:
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
