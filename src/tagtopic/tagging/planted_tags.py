"""Wrong tags planted in training documents: examples from which the audit learns what an error looks like.

In a sample of the training documents a share of the tags gets a wrong one, either beside it or in its place. Wrong ones
are of two kinds: tags drawn at random (half uniformly, half by frequency), and siblings of the tag, with which it may
have been confused. The training index is then built again with them. Sums, co-occurrences and siblings of tags thus
include a planted tag just as they include an error that is already there, and all features treat both alike: a tag that
is only added to the question, and not to the index, differs from a document's own tags in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, owners_of
from tagtopic.tagging.audit_features import AuditEntries, TrainingDocuments, has_tags
from tagtopic.tagging.training_index import build_index

OWN, RANDOM, BESIDE, IN_PLACE = range(4)
"""What an example is: a document's own tag, a random one, or a sibling of its own, beside that or in its place."""

MAX_DOCUMENTS = 5000
"""Training documents in the sample."""

SHARE = 0.15
"""Tags of the sample that get a wrong one."""

MIN_PLANTED, MAX_ROUNDS = 5000, 20
"""Wrong tags to learn from: a small corpus is planted several times, with few wrong tags each time."""

REPLACED = 0.5
"""Wrong tags that are in place of the right one, not beside it."""

SINGLE_LABEL = 0.75
"""The share of documents with one tag from which a corpus has one tag per document: wrong tags are in its place."""


@dataclass(frozen=True)
class PlantedTags:
    """Training documents with planted tags.

    Attributes
    ----------
    training : TrainingDocuments
        All training documents, with the planted tags.
    entries : AuditEntries
        The tags of the sample.
    labels : array
        OWN, RANDOM, BESIDE or IN_PLACE for each entry.
    """

    training: TrainingDocuments
    entries: AuditEntries
    labels: Any

    @classmethod
    def rounds(
        cls, training: TrainingDocuments, n_jobs: int | None, random: np.random.Generator
    ) -> Iterator[PlantedTags]:
        """Plant wrong tags as often as it takes for enough of them, each time from the start."""
        n_rounds = n_planted = 0
        while n_rounds < MAX_ROUNDS and n_planted < MIN_PLANTED:
            planted = cls.plant(training, n_jobs, random)
            n_rounds, n_planted = n_rounds + 1, n_planted + int((planted.labels != OWN).sum())
            yield planted
            del planted  # before the next index is built

    @classmethod
    def plant(cls, training: TrainingDocuments, n_jobs: int | None, random: np.random.Generator) -> PlantedTags:
        """Plant wrong tags and build the index again."""
        own = sp.csr_array(training.tags)
        own.sort_indices()
        sample = np.sort(random.permutation(own.shape[0])[:MAX_DOCUMENTS])
        tags, labels = plant(training, own, sample, random)
        index = training.index
        names = sp.csr_array(
            (index.name_shares, index.name_tags, index.name_starts), shape=(training.documents.shape[1], own.shape[1])
        )
        planted = build_index(training.documents, tags, index.tag_kinds, names, n_jobs)
        asked = sp.csr_array(tags[sample])
        entries = AuditEntries(training.documents[sample], sample, asked, asked)
        return cls(
            training.with_index(planted), entries, np.asarray(labels[sample[entries.owner], asked.indices]).ravel()
        )


def plant(training: TrainingDocuments, own: Any, sample: Any, random: np.random.Generator) -> tuple[Any, Any]:
    """Return the tags of all documents with wrong ones, and the labels of the wrong ones: both CSR like ``own``."""
    rows = owners_of(own.indptr)
    among = np.flatnonzero(np.isin(rows, sample))
    chosen = random.permutation(among)[: round(SHARE * len(among))]
    is_sibling = random.random(len(chosen)) < 0.5
    known = np.flatnonzero(training.tag_counts)
    uniform, by_frequency = random.choice(known, len(chosen)), random.choice(own.indices, len(chosen))
    drawn = np.where(random.random(len(chosen)) < 0.5, uniform, by_frequency)
    siblings = training.siblings_of(own.indices[chosen]).numbers
    sibling = siblings[own.indices[chosen], random.integers(siblings.shape[1], size=len(chosen))]
    drawn = np.where(is_sibling, sibling, drawn).astype(np.int64)
    kept = (drawn >= 0) & ~has_tags(own, rows[chosen], drawn[:, None])[:, 0]
    _, first = np.unique(rows[chosen].astype(np.int64) * own.shape[1] + drawn, return_index=True)
    kept &= np.isin(np.arange(len(chosen)), first)
    chosen, drawn, is_sibling = chosen[kept], drawn[kept], is_sibling[kept]
    single_label = np.mean(np.diff(own.indptr) == 1) >= SINGLE_LABEL
    in_place = random.random(len(chosen)) < (1.0 if single_label else REPLACED)
    labels = np.where(is_sibling, np.where(in_place, IN_PLACE, BESIDE), RANDOM)
    data = np.ones(own.nnz, np.float32)
    data[chosen[in_place]] = 0
    left = sp.csr_array((data, own.indices.copy(), own.indptr.copy()), shape=own.shape)
    left.eliminate_zeros()
    wrong = sp.csr_array((labels.astype(np.int8), (rows[chosen], drawn)), shape=own.shape)
    tags = sp.csr_array(left + (wrong > 0).astype(np.float32))
    tags.sort_indices()
    return tags, wrong


def draw_ratios(tag_counts: Floats) -> tuple[Floats, Floats]:
    """Return how much more often a random tag is drawn uniformly, and by frequency, than it is planted: two arrays.

    Planted ones are drawn half in either way. A feature depends on the tag and not on how it was drawn, so that these
    are the likelihood ratios between random tags drawn in one way and planted ones.
    """
    used = tag_counts > 0
    uniform, by_frequency = used / max(used.sum(), 1), tag_counts / max(tag_counts.sum(), 1)
    mean = np.where(used, (uniform + by_frequency) / 2, 1.0)
    return uniform / mean, by_frequency / mean


def sibling_ratios(tag_counts: Floats, tag_kinds: Any, planted: Any) -> Floats:
    """Return how much more often a tag is the wrong sibling if common ones are chosen more often: an entry per tag.

    Siblings are planted uniformly (``planted`` are their numbers). Here they are chosen in proportion to the square
    root of their documents, relative to the mean of the planted ones of their kind.
    """
    roots = np.sqrt(tag_counts + 1.0)
    mean = np.full(int(tag_kinds.max(initial=0)) + 1, roots[planted].mean() if len(planted) else 1.0)
    kinds = tag_kinds[planted]
    n_planted = np.bincount(kinds, minlength=len(mean))
    sums = np.bincount(kinds, roots[planted], minlength=len(mean))
    mean[n_planted > 0] = sums[n_planted > 0] / n_planted[n_planted > 0]
    return np.asarray(roots / mean[tag_kinds])
