"""Features of a tag on a document for the audit, computed without the document itself: a row per (document, tag) entry.

- the evidence of tag prediction: nearest neighbours, centroid of the tag's other documents, name (``evidence.py``);
- topics: how close the document is to the mean of the tag's other documents, each as a vector of topics;
- the document's other tags: co-occurrence with them in other documents against what independence predicts, how close
  the topics of this tag are to theirs, and how many of them are of its kind.

The other tags may be wrong themselves, so that both the best of them and their mean are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, offsets_of, owners_of, read_only
from tagtopic._core.parallel import ThreadPool, cut_evenly, cut_rows
from tagtopic.corpus.matrices import keep_columns
from tagtopic.tagging.evidence import (
    N_EVIDENCE,
    N_NEIGHBOURS,
    N_REFERENCES,
    N_VOTERS,
    SearchLimits,
    gather_given_tags,
)
from tagtopic.tagging.features import N_EVIDENCE_FEATURES, write_evidence_features
from tagtopic.tagging.predictor import TagPredictor
from tagtopic.tagging.training_index import ABSENT, queries_from_vectors

CHUNK = 16
"""Documents per task."""

MAX_PAIRS = 1 << 20
"""Pairs of a document's tags that are processed together, which bounds the memory."""

PRIOR_DOCUMENTS = 2.0
"""Pseudo-documents with the corpus mean in a tag's mean, so that tags of one document do not look certain."""

NO_LIFT = -3.0
"""The largest log lift of a tag on a document without other tags."""


@dataclass(frozen=True)
class AuditEntries:
    """(document, tag) entries to score.

    Attributes
    ----------
    vectors : CSR
        The documents, (documents, words).
    training_rows : array
        The row of each document in the training index, or ABSENT.
    tags : CSR
        The tags to score, (documents, tags): one entry each.
    own_tags : CSR
        All tags of the documents, (documents, tags).
    """

    vectors: Any
    training_rows: Any
    tags: Any
    own_tags: Any

    def __getitem__(self, part: slice) -> AuditEntries:
        return AuditEntries(self.vectors[part], self.training_rows[part], self.tags[part], self.own_tags[part])

    @property
    def owner(self) -> Any:
        """The document of each entry."""
        return owners_of(self.tags.indptr)


@dataclass(frozen=True)
class TrainingDocuments:
    """The documents of a predictor's training index by row, with their topics.

    Attributes
    ----------
    predictor : TagPredictor
        The predictor.
    documents, tags : CSR
        (documents, words) and (documents, tags).
    tag_topics : array of shape (n_tags, n_topics)
        The sum of the standardised topic vectors of each tag's documents.
    cooccurrences : CSR of shape (n_tags, n_tags)
        The number of documents with both tags.
    word_topics : array of shape (n_words, n_topics)
        p(topic | word).
    mean, scale : array of shape (n_topics,)
        Mean and standard deviation of the topic vectors.
    """

    predictor: TagPredictor
    documents: Any
    tags: Any
    tag_topics: Floats
    cooccurrences: Any
    word_topics: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def from_predictor(cls, predictor: TagPredictor, word_topics: Floats) -> TrainingDocuments:
        """Unpack the training index of a predictor."""
        index = predictor.index_
        shape = (len(index.document_tag_starts) - 1, len(predictor.idf_))
        postings = (index.posting_weights, index.posting_documents, index.posting_starts)
        documents = sp.csr_array(sp.csc_array(postings, shape=shape))
        ones = np.ones(len(index.document_tags), np.float32)
        entries = (ones, index.document_tags, index.document_tag_starts)
        tags = sp.csr_array(entries, shape=(shape[0], len(index.tag_counts)))
        topics = _topic_vectors(documents, word_topics)
        mean, scale = topics.mean(axis=0), topics.std(axis=0) + 1e-9
        tag_topics, cooccurrences = tags.T @ ((topics - mean) / scale), sp.csr_array(tags.T @ tags)
        return cls(predictor, documents, tags, tag_topics, cooccurrences, word_topics, mean, scale)

    @property
    def tag_counts(self) -> Floats:
        """The number of training documents with each tag."""
        return self.predictor.index_.tag_counts

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

    def topics_of(self, vectors: Any) -> Floats:
        """Return the topic vectors of documents, standardised by those of the training documents."""
        return np.asarray((_topic_vectors(vectors, self.word_topics) - self.mean) / self.scale)

    def has_tag(self, training_rows: Any, owner: Any, tags: Any) -> Any:
        """Return for each entry whether its document is in the training index with the tag."""
        found = np.zeros(len(tags), bool)
        known = np.flatnonzero(training_rows[owner] >= 0)
        if len(known):
            found[known] = np.asarray(self.tags[training_rows[owner][known], tags[known]]).ravel() > 0
        return found

    def other_documents(self, entries: AuditEntries) -> Float64s:
        """Return for each entry the number of other training documents with its tag."""
        own = self.has_tag(entries.training_rows, entries.owner, entries.tags.indices)
        return np.asarray(self.tag_counts[entries.tags.indices] - own, np.float64)


def audit_features(training: TrainingDocuments, entries: AuditEntries, n_jobs: int | None) -> Float64s:
    """Return the features of each entry: (entries, features)."""
    pairs = offsets_of(np.diff(entries.tags.indptr) * np.diff(entries.own_tags.indptr))
    parts = [entries[first:last] for first, last in cut_evenly(pairs, MAX_PAIRS)]
    rest = [
        np.hstack([_topic_features(training, p), _cooccurrence_features(training, p), _tag_topic_features(training, p)])
        for p in parts
    ]
    return np.asarray(np.hstack([_word_features(training, entries, n_jobs), np.concatenate(rest)]), np.float64)


def _topic_vectors(vectors: Any, word_topics: Floats) -> Floats:
    """Return the topics of each document by its words alone: the mean of p(topic | word), by the words' weights."""
    mixed = vectors @ word_topics
    return np.asarray(mixed / np.maximum(mixed.sum(axis=1, keepdims=True), 1e-12))


def _word_features(training: TrainingDocuments, entries: AuditEntries, n_jobs: int | None) -> Floats:
    """Return the features of tag prediction."""
    queries = queries_from_vectors(entries.vectors, entries.training_rows)
    starts, tags = read_only(entries.tags.indptr, np.int64), read_only(entries.tags.indices, np.int32)
    values, references = np.zeros((len(tags), N_EVIDENCE), np.float32), np.ones((len(tags), N_REFERENCES), np.float32)
    limits = SearchLimits(N_VOTERS, N_NEIGHBOURS, 0)

    def gather(part: tuple[int, int]) -> None:
        gather_given_tags(training.predictor.index_, queries, *part, starts, tags, limits, values, references)

    with ThreadPool(n_jobs) as pool:
        pool.map(gather, cut_rows(entries.vectors.shape[0], CHUNK))
    features = np.empty((len(tags), N_EVIDENCE_FEATURES), np.float32)
    write_evidence_features(np.maximum(values, 0), references, features)
    return features


def _topic_features(training: TrainingDocuments, entries: AuditEntries) -> Floats:
    """Return cosine and distance between each document's topics and those of the tag's other documents."""
    topics, owner, tags = training.topics_of(entries.vectors), entries.owner, entries.tags.indices
    itself = training.has_tag(entries.training_rows, owner, tags).astype(np.float64)
    others = training.tag_topics[tags] - itself[:, None] * topics[owner]
    counts = training.tag_counts[tags] - itself
    norms = np.linalg.norm(others, axis=1) * np.linalg.norm(topics[owner], axis=1)
    cosine = np.einsum("ik,ik->i", others, topics[owner]) / np.maximum(norms, 1e-9)
    mean = others / (counts[:, None] + PRIOR_DOCUMENTS)
    # root mean square distance to the tag's mean, less that to the corpus mean
    distance = np.sqrt(((mean - topics[owner]) ** 2).mean(axis=1)) - np.sqrt((topics[owner] ** 2).mean(axis=1))
    return np.stack([cosine, distance, cosine * np.log1p(counts)], axis=1)


def _cooccurrence_features(training: TrainingDocuments, entries: AuditEntries) -> Float64s:
    """Return how often other documents have the tag together with the document's other tags.

    For tags a and b on n_a, n_b and together n_ab of D other documents: lift = log((n_ab + 0.5) / (n_a n_b / D + 0.5))
    and cosine = n_ab / sqrt((n_a + 1) (n_b + 1)), summarised over b.
    """
    owner, n = entries.owner, entries.tags.nnz
    n_own = np.diff(entries.own_tags.indptr)[owner]
    entry = np.repeat(np.arange(n), n_own)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(n_own) - n_own, n_own)
    other = entries.own_tags.indices[np.repeat(entries.own_tags.indptr[owner], n_own) + offset]
    different = np.flatnonzero(other != entries.tags.indices[entry])
    entry, other = entry[different], other[different]
    tag = entries.tags.indices[entry]
    has_tag, has_other = (training.has_tag(entries.training_rows, owner[entry], which) for which in (tag, other))
    together = np.asarray(training.cooccurrences[tag, other], np.float64).ravel() if len(tag) else np.zeros(0)
    together -= has_tag & has_other
    count, other_count = training.tag_counts[tag] - has_tag, training.tag_counts[other] - has_other
    expected = count * other_count / training.tags.shape[0]
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
    kinds = training.predictor.index_.tag_kinds
    columns = [
        np.log1p(n_together),
        n_together / (training.tag_counts[entries.tags.indices] + 1.0),
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


def _tag_topic_features(training: TrainingDocuments, entries: AuditEntries) -> Float64s:
    """Return how close the tag's topics are to those of the document's other tags: mean product, and cosine."""
    topics = training.topics_of(entries.vectors)
    own_tags, tags, rows = entries.own_tags, entries.tags, entries.training_rows
    sums = np.zeros_like(topics)
    np.add.at(sums, owners_of(own_tags.indptr), _tag_profiles(training, rows, topics, own_tags))
    own, owner = _tag_profiles(training, rows, topics, tags), entries.owner
    among = np.asarray(own_tags[owner, tags.indices]).ravel() > 0 if len(owner) else np.zeros(0, bool)
    others = sums[owner] - among[:, None] * own
    n_others = np.maximum(np.diff(own_tags.indptr)[owner] - among, 1)
    product = np.einsum("ik,ik->i", others, own)
    norms = np.linalg.norm(others, axis=1) * np.linalg.norm(own, axis=1)
    return np.stack([product / n_others, product / (norms + 1e-6)], axis=1)


def _tag_profiles(training: TrainingDocuments, training_rows: Any, topics: Floats, tags: Any) -> Floats:
    """Return the mean topics of the other documents of each entry's tag, shrunk to a length below 1."""
    owner = owners_of(tags.indptr)
    itself = training.has_tag(training_rows, owner, tags.indices).astype(np.float64)
    sums = training.tag_topics[tags.indices] - itself[:, None] * topics[owner]
    means = sums / (training.tag_counts[tags.indices] - itself + PRIOR_DOCUMENTS)[:, None]
    return np.asarray(means / (np.linalg.norm(means, axis=1, keepdims=True) + 0.3))


def _key(vectors: Any, row: int) -> bytes:
    start, end = vectors.indptr[row], vectors.indptr[row + 1]
    return np.asarray(vectors.indices[start:end], np.int32).tobytes()
