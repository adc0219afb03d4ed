"""The tags of the training documents together: how often a tag occurs with the other tags of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s, owners_of
from tagtopic.corpus.matrices import keep_columns
from tagtopic.tagging.training_index import ABSENT, TrainingIndex

NO_LIFT = -3.0
"""The largest log lift of a tag on a document without other tags."""

COOCCURRENCE_FEATURES = (
    "log_together",
    "share_together",
    "has_other_tags",
    "largest_lift",
    "total_lift",
    "mean_lift",
    "log_largest_share",
    "largest_cosine",
    "total_cosine",
    "log_tags_of_kind",
)
"""The columns of ``cooccurrence_features``."""


@dataclass(frozen=True)
class IndexedDocuments:
    """The documents of a training index by row, and how often their tags occur together.

    Attributes
    ----------
    documents, tags : CSR
        (documents, words) and (documents, tags).
    cooccurrences : CSR of shape (n_tags, n_tags)
        The number of documents with both tags.
    tag_counts, tag_kinds : array of shape (n_tags,)
        The number of documents with each tag, and the number of its kind.
    """

    documents: Any
    tags: Any
    cooccurrences: Any
    tag_counts: Floats
    tag_kinds: Int32s

    @classmethod
    def from_index(cls, index: TrainingIndex) -> IndexedDocuments:
        """Unpack a training index."""
        shape = (len(index.document_tag_starts) - 1, len(index.posting_starts) - 1)
        postings = (index.posting_weights, index.posting_documents, index.posting_starts)
        documents = sp.csr_array(sp.csc_array(postings, shape=shape))
        tags = tags_of_documents(index)
        return IndexedDocuments(documents, tags, sp.csr_array(tags.T @ tags), index.tag_counts, index.tag_kinds)

    def rows_of(self, vectors: Any, tags: Any, seen: Any) -> Any:
        """Return the row of each document in the training index, or ABSENT.

        It is the first training document with the same words and tags, or if there is none the first with the same
        words. Only the words ``seen`` in training are compared: others were held out.
        """
        documents = self.documents if seen.all() else keep_columns(self.documents, seen)
        by_words: dict[bytes, int] = {}
        by_words_and_tags: dict[tuple[bytes, bytes], int] = {}
        for row in range(documents.shape[0]):
            words = _key(documents, row)
            by_words.setdefault(words, row)
            by_words_and_tags.setdefault((words, _key(self.tags, row)), row)
        found = np.empty(vectors.shape[0], np.int64)
        for row in range(len(found)):
            words = _key(vectors, row)
            found[row] = by_words_and_tags.get((words, _key(tags, row)), by_words.get(words, ABSENT))
        return found

    def has_tag(self, training_rows: Any, owner: Any, tags: Any) -> Any:
        """Return for each entry whether its document is in the training index with the tag."""
        found = np.zeros(len(tags), bool)
        known = np.flatnonzero(training_rows[owner] >= 0)
        if len(known):
            found[known] = np.asarray(self.tags[training_rows[owner][known], tags[known]]).ravel() > 0
        return found


def tags_of_documents(index: TrainingIndex) -> Any:
    """Return the tags of the documents of an index: CSR (documents, tags)."""
    ones = np.ones(len(index.document_tags), np.float32)
    shape = (len(index.document_tag_starts) - 1, len(index.tag_counts))
    return sp.csr_array((ones, index.document_tags, index.document_tag_starts), shape=shape)


def pairs_with_other_tags(tags: Any, own_tags: Any) -> tuple[Any, Any]:
    """Return the entry of ``tags`` and the other tag for each pair of an entry with another tag of its document.

    ``tags`` and ``own_tags`` are CSR (documents, tags).
    """
    owner = owners_of(tags.indptr)
    n_own = np.diff(own_tags.indptr)[owner]
    entry = np.repeat(np.arange(tags.nnz), n_own)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(n_own) - n_own, n_own)
    other = own_tags.indices[np.repeat(own_tags.indptr[owner], n_own) + offset]
    different = np.flatnonzero(other != tags.indices[entry])
    return entry[different], other[different]


def cooccurrence_features(documents: IndexedDocuments, tags: Any, own_tags: Any, training_rows: Any) -> Float64s:
    """Return how often other documents have a tag together with a document's other tags: a row per entry of ``tags``.

    ``tags`` and ``own_tags`` are CSR (documents, tags), ``training_rows`` the rows of the documents in the index.

    For tags a and b on n_a, n_b and together n_ab of D other documents: lift = log((n_ab + 0.5) / (n_a n_b / D + 0.5))
    and cosine = n_ab / sqrt((n_a + 1) (n_b + 1)), summarised over b.
    """
    owner, n = owners_of(tags.indptr), tags.nnz
    entry, other = pairs_with_other_tags(tags, own_tags)
    tag = tags.indices[entry]
    has_tag, has_other = (documents.has_tag(training_rows, owner[entry], which) for which in (tag, other))
    together = np.asarray(documents.cooccurrences[tag, other], np.float64).ravel() if len(tag) else np.zeros(0)
    together -= has_tag & has_other
    count, other_count = documents.tag_counts[tag] - has_tag, documents.tag_counts[other] - has_other
    expected = count * other_count / documents.tags.shape[0]
    lift = np.log((together + 0.5) / (expected + 0.5))
    cosine = together / np.sqrt((count + 1.0) * (other_count + 1.0))

    def total(values: Any) -> Float64s:
        return np.bincount(entry, weights=values, minlength=n).astype(np.float64)

    def largest(values: Any, least: float) -> Float64s:
        found = np.full(n, least)
        np.maximum.at(found, entry, values)
        return found

    n_others = total(np.ones(len(entry)))
    n_together = total(together)
    kinds = documents.tag_kinds
    columns = [
        np.log1p(n_together),
        n_together / (documents.tag_counts[tags.indices] + 1.0),
        n_others > 0,
        largest(lift, NO_LIFT),
        total(lift),
        total(lift) / np.maximum(n_others, 1),
        np.log(largest(together / (other_count + 1.0), 0.0) + 1e-3),
        largest(cosine, 0.0),
        total(cosine),
        np.log1p(total(kinds[tag] == kinds[other])),
    ]
    return np.stack(columns, axis=1)


def _key(vectors: Any, row: int) -> bytes:
    start, end = vectors.indptr[row], vectors.indptr[row + 1]
    return np.asarray(vectors.indices[start:end], np.int32).tobytes()
