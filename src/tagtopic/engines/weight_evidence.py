"""The evidence of documents on pi, the prior of the tag weights: of a whole corpus, or of one block.

Both have the interface of ``inference.priors.tag_weights.Evidence``: sums over documents, of which pi is a function.
"""

from __future__ import annotations

import numpy as np

from tagtopic._core.arrays import Float64s, Int32s, Int64s, offsets_of
from tagtopic._core.memmap import release
from tagtopic._core.parallel import Parallel, cut_evenly
from tagtopic.engines.blocks import Block
from tagtopic.inference.priors.tag_weights import (
    WeightEvidence,
    sum_log_weights,
    sum_prior_digammas,
    sum_prior_log_gammas,
)
from tagtopic.inference.types import Parameters, VariationalPosterior

PART_ENTRIES = 1 << 20
"""Tag entries in a unit of parallel work. Sums are added part by part: the bits of the result depend on it."""


class CorpusEvidence:
    """The evidence of all documents of a corpus, summed in parallel; nothing is copied.

    Parameters
    ----------
    starts : ndarray of shape (documents + 1,)
        Document d has the tags ``tags[starts[d]:starts[d + 1]]``.
    tags : ndarray
        The tag of each (document, tag) entry.
    posterior : VariationalPosterior
        The posteriors of the documents.
    parameters : Parameters
        The current parameters.
    parallel : Parallel
        Computes the parts of each sum.
    part_entries : int, default=1048576
        Entries in a part. Sums are added part by part: the bits of the result depend on it.
    """

    def __init__(
        self,
        starts: Int64s,
        tags: Int32s,
        posterior: VariationalPosterior,
        parameters: Parameters,
        parallel: Parallel,
        part_entries: int = PART_ENTRIES,
    ) -> None:
        self.starts = starts
        self.tags = tags
        self.latent = parameters.latent
        self._parallel = parallel
        self._parts = cut_evenly(starts, part_entries)
        xi, xi_latent = posterior.xi, posterior.xi_latent

        def add_up(part: tuple[int, int]) -> tuple[Float64s, Float64s]:
            found = sum_log_weights(starts, tags, xi, xi_latent, *part, len(parameters.pi), self.latent)
            release(xi[self._entries(part)])
            return found

        found = parallel.map(add_up, self._parts)
        self.log_weights: Float64s = np.sum([sums for sums, _ in found], axis=0)
        self.documents: Float64s = np.sum([documents for _, documents in found], axis=0)

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""

        def add_up(part: tuple[int, int]) -> Float64s:
            found = sum_prior_digammas(self.starts, self.tags, *part, pi, self.latent)
            release(self.tags[self._entries(part)])
            return found

        return np.asarray(np.sum(self._parallel.map(add_up, self._parts), axis=0))

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over documents of lgamma(sum pi_d)."""

        def add_up(part: tuple[int, int]) -> float:
            return sum_prior_log_gammas(self.starts, self.tags, *part, pi, self.latent)

        return float(np.sum(self._parallel.map(add_up, self._parts)))

    def _entries(self, part: tuple[int, int]) -> slice:
        return slice(int(self.starts[part[0]]), int(self.starts[part[1]]))


def block_evidence(block: Block, posterior: VariationalPosterior, *, latent: bool) -> WeightEvidence:
    """Return the evidence of one block, with the latent tag as an entry; documents with a single tag have none."""
    starts = block.documents.tag_starts - block.documents.tag_starts[0]
    tags = block.documents.tags[slice(*block.tag_range)]
    log_weights, documents = sum_log_weights(
        starts, tags, posterior.xi, posterior.xi_latent, 0, block.n_documents, block.n_tags, latent
    )
    sizes = np.diff(starts)
    if latent:
        tags = np.insert(tags, starts[1:], np.int32(block.n_tags))
        sizes = sizes + 1
    kept = sizes >= 2
    kept_starts = offsets_of(sizes[kept])
    kept_tags = np.ascontiguousarray(tags[np.repeat(kept, sizes)], np.int32)
    return WeightEvidence(kept_starts, kept_tags, log_weights, documents)
