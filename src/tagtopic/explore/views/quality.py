"""How well a model tells the words of documents."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagtopic.corpus.halves import split_tokens
from tagtopic.evaluation.perplexity import perplexity

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.models.base import TagTopicModel

SAMPLE = 500
"""Documents on which quality is measured, evenly spread: enough for two digits, and quick for any corpus."""


@dataclass(frozen=True)
class Quality:
    """How well half of each document's words tell the other half.

    ``perplexity`` is how many words the model hesitates between, ``by_frequency`` how many one would who knows only how
    often words are used; ``explained_by_tags`` is the share of all words that tags account for.
    """

    perplexity: float
    by_frequency: float
    explained_by_tags: float
    documents: int


def quality(model: TagTopicModel, corpus: Corpus) -> Quality | None:
    """Document completion on a sample; None if no document has two words."""
    if not len(corpus):
        return None
    sample = corpus[np.unique(np.linspace(0, len(corpus) - 1, min(SAMPLE, len(corpus))).astype(np.int64))]
    try:
        found = perplexity(model, sample)
    except ValueError:  # no document has words left to score
        return None
    _, latent = model.tag_weights(sample, return_latent=True)
    lengths = np.asarray(sample.lengths(), np.float64)
    return Quality(
        perplexity=found.value,
        by_frequency=_by_frequency(model, sample),
        explained_by_tags=1.0 - float(np.asarray(latent, np.float64) @ lengths / lengths.sum()),
        documents=len(sample) - found.skipped_documents,
    )


def _by_frequency(model: TagTopicModel, corpus: Corpus) -> float:
    """The perplexity of the same half words for someone who knows only how often words are used."""
    observed, scored = split_tokens(corpus)
    used = np.repeat(np.diff(observed.indptr) > 0, np.diff(scored.indptr))
    counts = np.asarray(model.word_counts_, np.float64) + 0.5
    logs = np.log(counts / counts.sum())[scored.indices[used]]
    values = scored.data[used].astype(np.float64)
    return math.exp(-float(values @ logs) / float(values.sum()))
