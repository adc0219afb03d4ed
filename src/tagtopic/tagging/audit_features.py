"""Features of a tag on a document for the audit, computed without the document itself: a row per (document, tag) entry.

- the evidence of tag prediction: nearest neighbours, centroid of the tag's other documents, name (``evidence.py``);
- topics: how close the document is to the mean of the tag's other documents, each as a vector of topics;
- the document's other tags: co-occurrence with them in other documents against what independence predicts, how close
  the topics of this tag are to theirs, and how many of them are of its kind.

The other tags may be wrong themselves, so that both the best of them and their mean are used.

A tag may also be confused with a sibling (``siblings.py``); ``sibling_features`` compares the evidence for both, and
how often other documents have both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, offsets_of, owners_of
from tagtopic._core.parallel import cut_evenly
from tagtopic.tagging.calibration import log_odds_of
from tagtopic.tagging.cooccurrence import (
    IndexedDocuments,
    cooccurrence_features,
    pairs_with_other_tags,
    tags_of_documents,
)
from tagtopic.tagging.evidence import evidence_of_given_tags
from tagtopic.tagging.features import EVIDENCE_FEATURES, N_EVIDENCE_FEATURES, write_evidence_features
from tagtopic.tagging.siblings import Siblings
from tagtopic.tagging.training_index import ABSENT, OF_WORDS, TrainingIndex, queries_from_vectors

MAX_PAIRS = 1 << 20
"""Pairs of a document's tags that are processed together, which bounds the memory."""

PRIOR_DOCUMENTS = 2.0
"""Pseudo-documents with the corpus mean in a tag's mean, so that tags of one document do not look certain."""

NO_SIBLING = -12.0
"""The log odds of a sibling that is not there."""


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
class TrainingDocuments(IndexedDocuments):
    """The documents of a training index, with their topics.

    Attributes
    ----------
    index : TrainingIndex
        The index.
    tag_topics : array of shape (n_tags, n_topics)
        The sum of the standardised topic vectors of each tag's documents.
    word_topics : array of shape (n_words, n_topics)
        p(topic | word).
    mean, scale : array of shape (n_topics,)
        Mean and standard deviation of the topic vectors.
    """

    index: TrainingIndex
    tag_topics: Floats
    word_topics: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def from_training_index(cls, index: TrainingIndex, word_topics: Floats) -> TrainingDocuments:
        """Unpack a training index; ``word_topics`` (words, topics) is p(topic | word)."""
        indexed = IndexedDocuments.from_index(index)
        topics = _topic_vectors(indexed.documents, word_topics)
        mean, scale = topics.mean(axis=0, dtype=np.float64), topics.std(axis=0, dtype=np.float64) + 1e-9
        return cls(
            indexed.documents, indexed.tags, indexed.cooccurrences, indexed.tag_counts, indexed.tag_kinds,
            index, _sums_by_tag(indexed.tags, topics, mean, scale), word_topics, mean, scale,
        )  # fmt: skip

    def with_index(self, index: TrainingIndex) -> TrainingDocuments:
        """Return the same documents with the tags of another index; what depends on their words only is shared."""
        tags = tags_of_documents(index)
        topics = _topic_vectors(self.documents, self.word_topics)
        return replace(
            self,
            index=index._replace(**{name: getattr(self.index, name) for name in OF_WORDS}),
            tags=tags,
            cooccurrences=sp.csr_array(tags.T @ tags),
            tag_counts=index.tag_counts,
            tag_topics=_sums_by_tag(tags, topics, self.mean, self.scale),
        )

    def siblings_of(self, tags: Any) -> Siblings:
        """Return the tags that each of some tags is most easily confused with."""
        return Siblings.find(self.documents, self.tags, self.tag_kinds, of=tags)

    def topics_of(self, vectors: Any) -> Floats:
        """Return the topic vectors of documents, standardised by those of the training documents."""
        return np.asarray((_topic_vectors(vectors, self.word_topics) - self.mean) / self.scale)

    def other_documents(self, entries: AuditEntries) -> Float64s:
        """Return for each entry the number of other training documents with its tag."""
        own = self.has_tag(entries.training_rows, entries.owner, entries.tags.indices)
        return np.asarray(self.tag_counts[entries.tags.indices] - own, np.float64)


def audit_features(training: TrainingDocuments, entries: AuditEntries, n_jobs: int | None) -> Float64s:
    """Return the features of each entry without siblings: (entries, features)."""
    pairs = offsets_of(np.diff(entries.tags.indptr) * np.diff(entries.own_tags.indptr))
    parts = [entries[first:last] for first, last in cut_evenly(pairs, MAX_PAIRS)]
    rest = np.concatenate([_other_features(training, part) for part in parts])
    sizes = np.stack([training.other_documents(entries), np.diff(entries.vectors.indptr)[entries.owner]], axis=1)
    return np.asarray(np.hstack([word_features(training, entries, n_jobs), rest, np.log1p(sizes)]), np.float64)


def _other_features(training: TrainingDocuments, part: AuditEntries) -> Float64s:
    """Return the features from topics and from the other tags."""
    together = cooccurrence_features(training, part.tags, part.own_tags, part.training_rows)
    return np.asarray(
        np.hstack([_topic_features(training, part), together, _tag_topic_features(training, part)]), np.float64
    )


def sibling_features(
    training: TrainingDocuments, siblings: Siblings, entries: AuditEntries, coefficients: Float64s, n_jobs: int | None
) -> tuple[Float64s, Any]:
    """Return how the evidence for each entry compares with that for the tag's siblings: (entries, features).

    ``coefficients`` (kinds, word features + 1) turn the word features of a tag into log odds. Also returns the best
    sibling of each entry that its document does not have, or ABSENT if none has higher log odds than the entry's tag.
    """
    counts = np.diff(entries.tags.indptr) * (1 + siblings.numbers.shape[1] + np.diff(entries.own_tags.indptr))
    parts = [entries[first:last] for first, last in cut_evenly(offsets_of(counts), MAX_PAIRS)]
    found = [_sibling_features(training, siblings, part, coefficients, n_jobs) for part in parts]
    features, best = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return features, best


def _sibling_features(
    training: TrainingDocuments, siblings: Siblings, entries: AuditEntries, coefficients: Float64s, n_jobs: int | None
) -> tuple[Float64s, Any]:
    tags, owner, n_tags = entries.tags.indices, entries.owner, entries.tags.shape[1]
    others = siblings.numbers[tags].astype(np.int64)
    similarity = siblings.similarities[tags]
    there = others >= 0
    every_tag = np.concatenate([tags, others[there]])
    every_owner = np.concatenate([owner, np.broadcast_to(owner[:, None], others.shape)[there]])
    asked = sp.csr_array((np.ones(len(every_tag), np.float32), (every_owner, every_tag)), shape=entries.tags.shape)
    asked.sum_duplicates()
    words = word_features(training, AuditEntries(entries.vectors, entries.training_rows, asked, asked), n_jobs)
    keys = owners_of(asked.indptr).astype(np.int64) * n_tags + asked.indices
    log_odds = np.asarray(log_odds_of(words, coefficients[training.tag_kinds[asked.indices]]))
    own = np.searchsorted(keys, owner.astype(np.int64) * n_tags + tags)
    other = np.searchsorted(keys, owner[:, None].astype(np.int64) * n_tags + np.maximum(others, 0))
    other = np.minimum(other, max(len(keys) - 1, 0))
    present = there & has_tags(entries.own_tags, owner, others)
    absent = there & ~present
    has_present, has_absent = present.any(axis=1), absent.any(axis=1)

    def best(values: Any, where: Any, least: float) -> Any:
        return np.where(where, values, least).max(axis=1, initial=least)

    score, of_siblings = log_odds[own], log_odds[other]
    rival, beside = best(of_siblings, absent, NO_SIBLING), best(of_siblings, present, NO_SIBLING)
    columns = [
        np.where(has_absent, score - rival, 0.0),
        np.where(has_absent, np.maximum(rival - score, 0.0), 0.0),
        (absent & (of_siblings > score[:, None])).sum(axis=1),
        np.where(has_present, score - beside, 0.0),
        has_present,
        present.sum(axis=1),
        best(similarity, present, 0.0),
        best(similarity, there, 0.0),
        score,
        *_joint_use(training, entries, *_pairs_of(others, present)),
        *_sibling_of_own_tags(training, siblings, entries),
    ]
    for name in COMPARED_FEATURES:
        column = words[:, EVIDENCE_FEATURES.index(name)].astype(np.float64)
        least = float(column.min(initial=0.0))
        columns.append(np.where(there.any(axis=1), column[own] - best(column[other], there, least), 0.0))
        columns.append(np.where(has_present, column[own] - best(column[other], present, least), 0.0))
    first = np.where(absent, of_siblings, NO_SIBLING).argmax(axis=1) if len(tags) else np.zeros(0, np.int64)
    suggested = np.where(has_absent & (rival > score), others[np.arange(len(tags)), first], ABSENT)
    return np.stack(columns, axis=1).astype(np.float64), suggested


def _pairs_of(siblings: Any, present: Any) -> tuple[Any, Any]:
    """Return the entry and the sibling of each sibling that is present."""
    entry, column = np.nonzero(present)
    return entry, siblings[entry, column]


def _sibling_of_own_tags(training: TrainingDocuments, siblings: Siblings, entries: AuditEntries) -> list[Float64s]:
    """Return how the tag is a sibling of the document's other tags, with which it may have been confused.

    That is another relation than having them as siblings: a common tag is a sibling of many rare ones.
    """
    tags, n_siblings = entries.tags.indices, siblings.numbers.shape[1]
    entry, other = pairs_with_other_tags(entries.tags, entries.own_tags)
    same = training.tag_kinds[tags[entry]] == training.tag_kinds[other]
    entry, other = entry[same], other[same]
    matches = siblings.numbers[other] == tags[entry][:, None]
    related = matches.any(axis=1)
    entry, other, rank = entry[related], other[related], matches[related].argmax(axis=1)
    first, most_similar = np.full(len(tags), float(n_siblings)), np.zeros(len(tags))
    np.minimum.at(first, entry, rank)
    np.maximum.at(most_similar, entry, siblings.similarities[other, rank])
    n_siblings_of = np.bincount(siblings.numbers[siblings.numbers >= 0], minlength=len(siblings.numbers))
    return [
        np.bincount(entry, minlength=len(tags)).astype(np.float64),
        first,
        most_similar,
        np.log1p(n_siblings_of[tags]),
        *_joint_use(training, entries, entry, other),
    ]


def _joint_use(training: TrainingDocuments, entries: AuditEntries, entry: Any, sibling: Any) -> list[Float64s]:
    """Return how often other documents have the tag of an entry together with siblings of it; 0 without siblings.

    For a tag on n_a and a sibling on n_b other documents, n_ab of which have both: the largest and the smallest share
    n_ab / n_b, the largest n_ab / n_a, and the largest ratio to what independence predicts, in logarithms.
    """
    owner, tags = entries.owner, entries.tags.indices
    has_tag = training.has_tag(entries.training_rows, owner[entry], tags[entry])
    has_sibling = training.has_tag(entries.training_rows, owner[entry], sibling)
    together = np.asarray(training.cooccurrences[tags[entry], sibling], np.float64).ravel() if len(entry) else 0.0
    together = together - (has_tag & has_sibling)
    count, other_count = training.tag_counts[tags[entry]] - has_tag, training.tag_counts[sibling] - has_sibling
    of_sibling, of_tag = (np.log((together + 0.5) / (n + 2.0)) for n in (other_count, count))
    lift = np.log((together + 0.5) / (count * other_count / training.tags.shape[0] + 0.5))

    def extreme(values: Any, ufunc: Any, start: float) -> Float64s:
        found = np.full(len(tags), start)
        ufunc.at(found, entry, values)
        return np.where(np.isfinite(found), found, 0.0)

    return [
        extreme(of_sibling, np.maximum, -np.inf), extreme(of_sibling, np.minimum, np.inf),
        extreme(of_tag, np.maximum, -np.inf), extreme(lift, np.maximum, -np.inf),
    ]  # fmt: skip


COMPARED_FEATURES = (
    "log_centroid",
    "log_knn_vote",
    "log_fourth_powers",
    "log_nearest",
    "name_overlap",
    "log_relative_mean",
)
"""Word features of a tag that are compared with the largest among its siblings."""


def has_tags(own_tags: Any, owner: Any, tags: Any) -> Any:
    """Return whether each entry's document has the tags in its row; ABSENT is no tag."""
    n_tags = own_tags.shape[1]
    keys = owners_of(own_tags.indptr).astype(np.int64) * n_tags + own_tags.indices
    asked = owner[:, None].astype(np.int64) * n_tags + np.maximum(tags, 0)
    place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
    return (keys[place] == asked) & (tags >= 0) if len(keys) else np.zeros(tags.shape, bool)


def _topic_vectors(vectors: Any, word_topics: Floats) -> Floats:
    """Return the topics of each document by its words alone: the mean of p(topic | word), by the words' weights."""
    mixed = vectors @ word_topics
    return np.asarray(mixed / np.maximum(mixed.sum(axis=1, keepdims=True), 1e-12))


def _sums_by_tag(tags: Any, topics: Floats, mean: Floats, scale: Floats) -> Floats:
    """Return the sum of the standardised topic vectors of each tag's documents: (tags, topics)."""
    sums = tags.T.astype(np.float64) @ topics
    sums -= tags.sum(axis=0)[:, None] * mean
    sums /= scale
    return np.asarray(sums, np.float32)


def word_features(training: TrainingDocuments, entries: AuditEntries, n_jobs: int | None) -> Floats:
    """Return the features of tag prediction."""
    queries = queries_from_vectors(entries.vectors, entries.training_rows)
    values, references = evidence_of_given_tags(training.index, queries, entries.tags, n_jobs)
    features = np.empty((len(values), N_EVIDENCE_FEATURES), np.float32)
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
