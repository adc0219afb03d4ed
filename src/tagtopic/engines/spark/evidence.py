"""What documents on executors say of pi, in a form that travels and adds up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tagtopic.corpus.ragged import offsets_of
from tagtopic.engines.spark.scratch import Scratch
from tagtopic.engines.weight_evidence import evidence_of_block
from tagtopic.inference.arrays import Int32s
from tagtopic.inference.weight_prior import WeightEvidence


class NamedEvidence(NamedTuple):
    """Evidence whose tag i is number ``names[i]`` of the corpus, ascending; the latent tag, if any, is the last."""

    names: Int32s
    evidence: WeightEvidence


@dataclass(frozen=True)
class Whose:
    """Which documents: as they stood after ``step``; ``size`` is the length of ``all_pi``."""

    step: int
    latent: bool
    size: int

    def of_block(self, number: int, scratch: Scratch) -> NamedEvidence:
        """The evidence of a block, which must be in scratch."""
        stored = scratch.block(number)
        evidence = evidence_of_block(stored.block, scratch.state(number, self.step), latent=self.latent)
        names = np.append(stored.tags, np.int32(self.size - 1)) if self.latent else np.asarray(stored.tags)
        return NamedEvidence(names, evidence)


def merged(parts: list[NamedEvidence]) -> NamedEvidence:
    """The evidence of several sets of documents together."""
    names = np.unique(np.concatenate([part.names for part in parts]))
    log_weights, documents = np.zeros(len(names)), np.zeros(len(names))
    tags, sizes = [], []
    for part in parts:
        place = np.searchsorted(names, part.names).astype(np.int32)
        log_weights[place] += part.evidence.log_weights
        documents[place] += part.evidence.documents
        tags.append(place[part.evidence.tags])
        sizes.append(np.diff(part.evidence.starts))
    starts = offsets_of(np.concatenate(sizes))
    return NamedEvidence(names, WeightEvidence(starts, np.concatenate(tags), log_weights, documents))
