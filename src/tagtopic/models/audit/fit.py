"""How well a tag fits a document, against tags drawn at random.

On a sample of remembered documents, each judged as if it were new, a logistic regression on all that speaks for a tag
(``evidence.py``) learns to tell the document's own tags from tags drawn at random and put on it too: at most as many as
it has, since nobody knows how noisy a corpus is. What it then says of a tag is the probability that it belongs, had the
odds been even; its place among the random ones is a p-value. See docs/decisions/tag-audit.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic.inference.arrays import Float64s, Floats
from tagtopic.models.audit.evidence import Asked, Remembered, evidence
from tagtopic.models.prediction.memory import weighted_rows
from tagtopic.models.prediction.mixing import learn_mix, probabilities

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.models.prediction import TagPredictor

EXAMPLES = 1000
"""Documents that the mix is learnt on."""


@dataclass(frozen=True)
class Fit:
    """For each (document, tag) entry: the probability that the tag belongs, and the p-value of "it is random"."""

    probability: Float64s
    p_value: Float64s


def tag_fit(
    predictor: TagPredictor, word_topics: Floats, seen: Any, corpus: Corpus, n_jobs: int | None, random_state: int = 0
) -> Fit:
    """How well the tags of a corpus, in the model's columns and the words that it has ``seen``, fit its documents.

    Nothing is known of a tag that no other document has: it belongs with even odds, and its p-value is 1.
    """
    random = np.random.default_rng(random_state)
    remembered = Remembered.of(predictor, word_topics)
    mix, chance = _learn(remembered, n_jobs, random)
    vectors, tags = weighted_rows(corpus.counts, predictor.scores), sp.csr_array(corpus.tags)
    asked = Asked(vectors, remembered.rows_of(vectors, tags, seen), tags, tags)
    values = probabilities(evidence(remembered, asked, n_jobs), mix[predictor.memory.kinds[tags.indices]])
    at_least = len(chance) - np.searchsorted(chance, values, side="left")
    unknown = remembered.others(asked) == 0
    return Fit(np.where(unknown, 0.5, values), np.where(unknown, 1.0, (1 + at_least) / (1 + len(chance))))


def _learn(remembered: Remembered, n_jobs: int | None, random: np.random.Generator) -> tuple[Float64s, Float64s]:
    """The mix for each kind of tag, and what it says of the random tags, ascending."""
    memory = remembered.predictor.memory
    sample = np.sort(random.permutation(remembered.documents.shape[0])[:EXAMPLES])
    own = sp.csr_array(remembered.tags[sample])
    drawn = _random_tags(own, np.flatnonzero(memory.sizes), random)
    # each is judged among all of them, as in a corpus with noise
    asked = Asked(remembered.documents[sample], sample, sp.csr_array(own + drawn), sp.csr_array(own + drawn))
    is_own = np.asarray(own[asked.owner, asked.tags.indices]).ravel() > 0
    # a new document's tag is known from others: one that only this document has is no example of that
    known = remembered.others(asked) > 0
    inputs, kinds = evidence(remembered, asked, n_jobs), memory.kinds[asked.tags.indices]
    random_ones = known & ~is_own
    mix = learn_mix(inputs[known], is_own[known], kinds[known], len(remembered.predictor.kind_names))
    mix[:, -1] -= np.log((1 + (known & is_own).sum()) / (1 + random_ones.sum()))  # even odds
    return mix, np.sort(probabilities(inputs[random_ones], mix[kinds[random_ones]]))


def _random_tags(own: Any, known: Any, random: np.random.Generator) -> Any:
    """For each document tags drawn at random, one at least and at most as many as it has, less those that it has."""
    sizes = np.diff(own.indptr)
    rows = np.repeat(np.arange(own.shape[0]), np.ceil(random.random(len(sizes)) * sizes).astype(np.int64))
    drawn = sp.csr_array((np.ones(len(rows), np.float32), (rows, random.choice(known, len(rows)))), shape=own.shape)
    drawn.data[:] = 1
    others = sp.csr_array(drawn - drawn.multiply(own))
    others.eliminate_zeros()
    others.sort_indices()
    return others
