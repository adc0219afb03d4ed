"""Completion: further tags of documents that have some, from their words and from the tags they have.

Candidates are the tags that the words predict, and those that occur most often together with the given ones. A logistic
regression combines the log odds by the words (``features.py``) with how often each candidate occurs together with the
given tags (``cooccurrence.py``). It is fitted on training documents, each left out of the index, that hide one of their
tags: which one is to be found from the words and the other tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, owners_of
from tagtopic._core.parallel import cut_rows, one_blas_thread
from tagtopic.tagging.calibration import (
    IDENTITY,
    MIN_POSITIVES,
    ExampleDocuments,
    Stacking,
    fit_coefficients,
    fold_of,
    log_odds_of,
)
from tagtopic.tagging.cooccurrence import COOCCURRENCE_FEATURES, IndexedDocuments, cooccurrence_features
from tagtopic.tagging.evidence import (
    N_CANDIDATES,
    N_EVIDENCE,
    N_REFERENCES,
    Evidence,
    evidence_of_given_tags,
    gather_evidence,
)
from tagtopic.tagging.features import N_FEATURES, StackingArrays, write_features
from tagtopic.tagging.training_index import Queries, TrainingIndex, queries_from_vectors

if TYPE_CHECKING:
    from tagtopic.tagging.regressions import TagRegressions

N_RELATED = 50
"""Candidates that occur most often with the given tags."""

SMALLEST_COSINE = 1e-6

BATCH = 128
"""Documents whose candidates are processed together, which bounds the memory."""

N_COMPLETION_FEATURES = 1 + len(COOCCURRENCE_FEATURES)


@dataclass(frozen=True)
class WordModel:
    """Log odds of tags by words: the index, the classifiers and their combination."""

    index: TrainingIndex
    regressions: TagRegressions
    stacking: StackingArrays

    def features(self, queries: Queries, tags: Any, n_jobs: int | None) -> Any:
        """Return the features of each entry of ``tags`` (queries, tags; CSR): (entries, N_FEATURES)."""
        values, references = evidence_of_given_tags(self.index, queries, tags, n_jobs)
        sizes = np.diff(tags.indptr)
        shape = tags.shape[0], int(sizes.max(initial=0))
        there = np.arange(shape[1]) < sizes[:, None]
        evidence = Evidence(
            sizes.astype(np.int64),
            np.zeros(shape, np.int32),
            np.zeros((*shape, N_EVIDENCE), np.float32),
            np.ones((*shape, N_REFERENCES), np.float32),
        )
        evidence.tags[there] = tags.indices
        evidence.values[there], evidence.references[there] = np.maximum(values, 0), references
        out = np.zeros((*shape, N_FEATURES), np.float32)
        write_features(queries, evidence, self.regressions.for_kernels(), out)
        return out[there]

    def log_odds(self, queries: Queries, tags: Any, which: Any, n_jobs: int | None) -> Float64s:
        """Return the log odds of each entry of ``tags``, not yet calibrated.

        ``which`` is the number of each query's coefficients and offsets: 1 for queries that are short, else 0.
        """
        features = self.features(queries, tags, n_jobs)
        numbers = np.asarray(which, np.int64)[owners_of(tags.indptr)]
        kinds = self.index.tag_kinds[tags.indices]
        coefficients = self.stacking.coefficients[numbers, kinds]
        return np.asarray(log_odds_of(features, coefficients) + self.stacking.offsets[numbers, tags.indices])


def related_tags(documents: IndexedDocuments, given: Any, training_rows: Any, n: int = N_RELATED) -> Any:
    """Return the n tags that occur most often with the given ones: CSR (documents, tags) of sums of cosines.

    A document of the index is left out: a tag of its own that occurs with the given ones there only is not related.
    """
    scale = 1 / np.sqrt(np.maximum(documents.tag_counts, 1.0))
    cosines = sp.csr_array(documents.cooccurrences.multiply(scale[:, None]).multiply(scale[None, :]))
    given = sp.csr_array(given, dtype=np.float32)
    found = sp.csr_array(given @ cosines)
    known = training_rows >= 0
    if known.any():
        own = sp.csr_array(documents.tags[np.maximum(training_rows, 0)].multiply(known[:, None]))
        shared = given.multiply(own) @ scale
        found = sp.csr_array(found - own.multiply(shared[:, None]).multiply(scale[None, :]))
        found.data[found.data < SMALLEST_COSINE] = 0  # left by rounding
        found.eliminate_zeros()
    owner = owners_of(found.indptr)
    order = np.lexsort((found.indices, -found.data, owner))
    rank = np.arange(len(order)) - np.repeat(found.indptr[:-1], np.diff(found.indptr))
    kept = np.sort(order[rank < n])
    return sp.csr_array((found.data[kept], (owner[kept], found.indices[kept])), shape=found.shape)


def candidate_tags(
    words: WordModel, documents: IndexedDocuments, queries: Queries, given: Any, allowed: Any, n: int,
    n_jobs: int | None,
) -> Any:  # fmt: skip
    """Return the candidates of each query, none of them given: CSR (queries, tags)."""
    evidence = gather_evidence(words.index, queries, max(N_CANDIDATES, n), allowed, n, n_jobs)
    there = np.arange(evidence.tags.shape[1]) < evidence.n_found[:, None]
    owner = np.repeat(np.arange(len(evidence.n_found)), evidence.n_found)
    together = related_tags(documents, given, queries.training_rows)
    rows = np.concatenate([owner, owners_of(together.indptr)])
    tags = np.concatenate([evidence.tags[there], together.indices])
    kept = allowed[tags]
    found = sp.csr_array((np.ones(int(kept.sum()), np.float32), (rows[kept], tags[kept])), shape=given.shape)
    found.data[:] = 1
    own = sp.csr_array(given, dtype=np.float32)
    found = sp.csr_array(found - found.multiply(own > 0))
    found.eliminate_zeros()
    found.sort_indices()
    return found


def completion_features(
    words: WordModel, documents: IndexedDocuments, queries: Queries, given: Any, candidates: Any, which: Any,
    n_jobs: int | None,
) -> Float64s:  # fmt: skip
    """Return the features of each candidate: its log odds by the words, then COOCCURRENCE_FEATURES."""
    by_words = words.log_odds(queries, candidates, which, n_jobs)
    together = cooccurrence_features(documents, candidates, given, queries.training_rows)
    return np.column_stack([by_words, together])


def fit_completion(
    index: TrainingIndex, documents: IndexedDocuments, parts: Sequence[ExampleDocuments], folds: Sequence[Stacking],
    n_kinds: int, random: np.random.Generator, n_jobs: int | None,
) -> Float64s:  # fmt: skip
    """Return the coefficients (kinds, N_COMPLETION_FEATURES + 1) of the completion, the intercept last.

    The log odds by words of an example are those of the fold without it: coefficients and offsets that were fitted on
    the example itself would make the words look better than they are for new documents.
    """
    neutral = np.zeros((n_kinds, N_COMPLETION_FEATURES + 1))
    neutral[:, 0] = 1.0
    if not folds:
        return neutral
    coefficients, offsets = (np.stack(arrays) for arrays in zip(*folds, strict=True))
    stacking = StackingArrays(coefficients, offsets, np.tile(IDENTITY, (len(folds), 1)))
    found: list[tuple[Any, Any, Any]] = []
    everything = np.ones(len(index.tag_counts), bool)
    for part in parts:
        words = WordModel(index, part.regressions, stacking)
        several = np.flatnonzero(np.diff(index.document_tag_starts)[part.rows] > 1)
        for first, last in cut_rows(len(several), BATCH):
            chosen = several[first:last]
            rows = part.rows[chosen]
            queries = queries_from_vectors(part.vectors[chosen], rows)
            own = sp.csr_array(documents.tags[rows])
            hidden = own.indptr[:-1] + (random.random(len(rows)) * np.diff(own.indptr)).astype(np.int64)
            data = own.data.copy()
            data[hidden] = 0
            given = sp.csr_array((data, own.indices, own.indptr), shape=own.shape).copy()
            given.eliminate_zeros()
            candidates = candidate_tags(words, documents, queries, given, everything, N_CANDIDATES, n_jobs)
            labels = candidates.indices == own.indices[hidden][owners_of(candidates.indptr)]
            features = completion_features(words, documents, queries, given, candidates, fold_of(rows), n_jobs)
            found.append((features.astype(np.float32), labels, index.tag_kinds[candidates.indices]))
    if not found:
        return neutral
    features, labels, kinds = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    if min(labels.sum(), (~labels).sum()) < MIN_POSITIVES:
        return neutral
    with one_blas_thread():
        return fit_coefficients(features, labels, kinds, n_kinds)
