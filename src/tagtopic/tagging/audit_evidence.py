"""What speaks for a tag on a document, without the document itself: one row of figures a (document, tag) entry.

- documents alike, the tag's other documents together, and its name in the text, as in prediction
  (``tagging/evidence.py``);
- topics: how near the document is to the mean of the tag's other documents, each as a vector of topics;
- the document's other tags: how often other documents carry this tag together with one of them, against how often they
  would if tags met by chance, how near this tag's topics are to theirs, and how many of its kind there are.

Other tags may be wrong themselves, so both the best of them and their mean are asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, offsets_of, owners_of, read_only
from tagtopic._core.parallel import cut_evenly, cut_rows
from tagtopic._core.threads import ThreadPool
from tagtopic.corpus.matrices import keep_columns
from tagtopic.tagging.calibration import features
from tagtopic.tagging.evidence import N_COLUMNS, N_MEASURES, Evidence, Reach, gather_given
from tagtopic.tagging.predictor import ALIKE, NEAR, TagPredictor, queries_of
from tagtopic.tagging.training_index import NEW

CHUNK = 16
"""Documents that a thread asks about at a time."""

PAIRS = 1 << 20
"""Pairs of a document's tags that are looked at together: they bound the memory."""

STEADY = 2.0
"""Documents' worth of the corpus's own mean in a tag's mean, so that tags of one document do not look certain."""

NOWHERE = -3.0
"""The best meeting, in logarithms, of a tag with no other tag to meet."""


@dataclass(frozen=True)
class Asked:
    """Entries to judge: documents as vectors, where each stands in the memory (or NEW), the tags that are asked about
    and the tags that the documents carry (CSR, documents x tags).
    """

    vectors: Any
    rows: Any
    tags: Any
    carried: Any

    def __getitem__(self, part: slice) -> Asked:
        return Asked(self.vectors[part], self.rows[part], self.tags[part], self.carried[part])

    @property
    def owner(self) -> Any:
        """The document of each entry."""
        return owners_of(self.tags.indptr)


@dataclass(frozen=True)
class Remembered:
    """What the predictor remembers, by document: words, tags, topics (scaled by topic), and topic sums by tag."""

    predictor: TagPredictor
    documents: Any
    tags: Any
    tag_topics: Floats
    together: Any
    word_topics: Floats
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, predictor: TagPredictor, word_topics: Floats) -> Remembered:
        """Unpack the memory; ``word_topics`` (words, topics) is p(topic | word)."""
        memory = predictor.memory
        shape = (len(memory.tag_starts) - 1, len(predictor.scores))
        documents = sp.csr_array(sp.csc_array((memory.weights, memory.documents, memory.word_starts), shape=shape))
        ones = np.ones(len(memory.tags), np.float32)
        tags = sp.csr_array((ones, memory.tags, memory.tag_starts), shape=(shape[0], len(memory.sizes)))
        raw = topic_vectors(documents, word_topics)
        centre, scale = raw.mean(axis=0), raw.std(axis=0) + 1e-9
        together = sp.csr_array(tags.T @ tags)
        return cls(predictor, documents, tags, tags.T @ ((raw - centre) / scale), together, word_topics, centre, scale)

    @property
    def sizes(self) -> Floats:
        """On how many remembered documents each tag is."""
        return self.predictor.memory.sizes

    def rows_of(self, vectors: Any, tags: Any, seen: Any) -> Any:
        """Which remembered document each is: the first with the same words and tags, or if there is none the first
        with the same words; NEW if none has these.

        Only words that the model has ``seen`` count: it was not trained on those that were held out.
        """
        documents = self.documents if seen.all() else keep_columns(self.documents, seen)
        words_alone: dict[bytes, int] = {}
        with_tags: dict[tuple[bytes, bytes], int] = {}
        for row in range(documents.shape[0]):
            words = _key(documents, row)
            words_alone.setdefault(words, row)
            with_tags.setdefault((words, _key(self.tags, row)), row)
        found = np.empty(vectors.shape[0], np.int64)
        for row in range(len(found)):
            words = _key(vectors, row)
            found[row] = with_tags.get((words, _key(tags, row)), words_alone.get(words, NEW))
        return found

    def topics_of(self, vectors: Any) -> Floats:
        """Each document's topics by its words alone, as far from the corpus's as others are."""
        return np.asarray((topic_vectors(vectors, self.word_topics) - self.centre) / self.scale)

    def carries(self, rows: Any, owner: Any, tags: Any) -> Any:
        """Whether the remembered document behind each entry's document has the tag."""
        found = np.zeros(len(tags), bool)
        known = np.flatnonzero(rows[owner] >= 0)
        if len(known):
            found[known] = np.asarray(self.tags[rows[owner][known], tags[known]]).ravel() > 0
        return found

    def others(self, asked: Asked) -> Float64s:
        """On how many remembered documents, other than its own, each entry's tag is."""
        own = self.carries(asked.rows, asked.owner, asked.tags.indices)
        return np.asarray(self.sizes[asked.tags.indices] - own, np.float64)


def evidence(remembered: Remembered, asked: Asked, n_jobs: int | None) -> Float64s:
    """(entries, figures): all that speaks for or against each entry."""
    pairs = offsets_of(np.diff(asked.tags.indptr) * np.diff(asked.carried.indptr))
    parts = [asked[first:last] for first, last in cut_evenly(pairs, PAIRS)]
    rest = [
        np.hstack([_topics_alike(remembered, p), _meetings(remembered, p), _topics_of_others(remembered, p)])
        for p in parts
    ]
    return np.asarray(np.hstack([_documents_alike(remembered, asked, n_jobs), np.concatenate(rest)]), np.float64)


def topic_vectors(vectors: Any, word_topics: Floats) -> Floats:
    """Each document's topics by its words alone: the mean of p(topic | word), as the words weigh."""
    mixed = vectors @ word_topics
    return np.asarray(mixed / np.maximum(mixed.sum(axis=1, keepdims=True), 1e-12))


def _documents_alike(remembered: Remembered, asked: Asked, n_jobs: int | None) -> Floats:
    queries = queries_of(asked.vectors, asked.rows)
    starts, indices = read_only(asked.tags.indptr, np.int64), read_only(asked.tags.indices, np.int32)
    values, best = np.zeros((len(indices), N_COLUMNS), np.float32), np.ones((len(indices), N_MEASURES), np.float32)
    reach = Reach(NEAR, ALIKE, 0)

    def ask(part: tuple[int, int]) -> None:
        gather_given(remembered.predictor.memory, queries, *part, starts, indices, reach, values, best)

    with ThreadPool(n_jobs) as workers:
        workers.map(ask, cut_rows(asked.vectors.shape[0], CHUNK))
    return features(Evidence(np.empty(0, np.int64), indices, np.maximum(values, 0), best))


def _topics_alike(remembered: Remembered, asked: Asked) -> Floats:
    """Cosine and distance between each document's topics and those of the tag's other documents."""
    topics, owner, tags = remembered.topics_of(asked.vectors), asked.owner, asked.tags.indices
    itself = remembered.carries(asked.rows, owner, tags).astype(np.float64)
    others = remembered.tag_topics[tags] - itself[:, None] * topics[owner]
    counts = remembered.sizes[tags] - itself
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(topics[owner], axis=1)
    cosine = np.einsum("ik,ik->i", others, topics[owner]) / np.maximum(lengths, 1e-9)
    profile = others / (counts[:, None] + STEADY)
    nearer = np.sqrt(((profile - topics[owner]) ** 2).mean(axis=1)) - np.sqrt((topics[owner] ** 2).mean(axis=1))
    return np.stack([cosine, nearer, cosine * np.log1p(counts)], axis=1)


def _meetings(remembered: Remembered, asked: Asked) -> Float64s:
    """How often other documents carry the tag together with one of the document's other tags."""
    owner, n = asked.owner, asked.tags.nnz
    spread = np.diff(asked.carried.indptr)[owner]
    entry = np.repeat(np.arange(n), spread)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(spread) - spread, spread)
    other = asked.carried.indices[np.repeat(asked.carried.indptr[owner], spread) + offset]
    different = np.flatnonzero(other != asked.tags.indices[entry])
    entry, other = entry[different], other[different]
    tag = asked.tags.indices[entry]
    mine, theirs = (remembered.carries(asked.rows, owner[entry], which) for which in (tag, other))
    met = np.asarray(remembered.together[tag, other], np.float64).ravel() if len(tag) else np.zeros(0)
    met -= mine & theirs
    size, other_size = remembered.sizes[tag] - mine, remembered.sizes[other] - theirs
    by_chance = size * other_size / remembered.tags.shape[0]
    lift = np.log((met + 0.5) / (by_chance + 0.5))
    cosine = met / np.sqrt((size + 1.0) * (other_size + 1.0))

    def total(values: Any) -> Float64s:
        return np.bincount(entry, weights=values, minlength=n).astype(np.float64)

    def largest(values: Any, least: float) -> Float64s:
        found = np.full(n, least)
        np.maximum.at(found, entry, values)
        return found

    n_others = total(np.ones(len(entry)))
    all_met = total(met)
    kinds = remembered.predictor.memory.kinds
    columns = [
        np.log1p(all_met),
        all_met / (remembered.sizes[asked.tags.indices] + 1.0),
        n_others > 0,
        largest(lift, NOWHERE),
        total(lift),
        total(lift) / np.maximum(n_others, 1),
        np.log(largest(met / (other_size + 1.0), 0.0) + 1e-3),
        largest(cosine, 0.0),
        total(cosine),
        np.log1p(total(kinds[tag] == kinds[other])),
    ]
    return np.stack(columns, axis=1)


def _topics_of_others(remembered: Remembered, asked: Asked) -> Float64s:
    """How near the tag's topics are to those of the document's other tags: their mean product, and their cosine."""
    topics = remembered.topics_of(asked.vectors)
    carried, tags = asked.carried, asked.tags
    sums = np.zeros_like(topics)
    np.add.at(sums, owners_of(carried.indptr), _profiles(remembered, asked.rows, topics, carried))
    own, owner = _profiles(remembered, asked.rows, topics, tags), asked.owner
    among = np.asarray(carried[owner, tags.indices]).ravel() > 0 if len(owner) else np.zeros(0, bool)
    others = sums[owner] - among[:, None] * own
    n_others = np.maximum(np.diff(carried.indptr)[owner] - among, 1)
    product = np.einsum("ik,ik->i", others, own)
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(own, axis=1)
    return np.stack([product / n_others, product / (lengths + 1e-6)], axis=1)


def _profiles(remembered: Remembered, rows: Any, topics: Floats, tags: Any) -> Floats:
    """The mean topics of the other documents of each entry's tag, nearly of length 1; shorter if nothing is special."""
    owner = owners_of(tags.indptr)
    itself = remembered.carries(rows, owner, tags.indices).astype(np.float64)
    sums = remembered.tag_topics[tags.indices] - itself[:, None] * topics[owner]
    means = sums / (remembered.sizes[tags.indices] - itself + STEADY)[:, None]
    return np.asarray(means / (np.linalg.norm(means, axis=1, keepdims=True) + 0.3))


def _key(vectors: Any, row: int) -> bytes:
    start, end = vectors.indptr[row], vectors.indptr[row + 1]
    return np.asarray(vectors.indices[start:end], np.int32).tobytes()
