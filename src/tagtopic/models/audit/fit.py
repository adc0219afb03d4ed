"""How well a tag fits a document, against tags drawn at random.

Three kinds of evidence, none of which sees the document itself:

- documents alike and the tag's other documents, as in prediction (``inference/tag_evidence.py``);
- topics: how near the document is to the mean of the tag's other documents, each as a vector of topics;
- the document's other tags: how many other documents carry this tag together with one of them.

On a sample of remembered documents a logistic regression learns to tell a document's own tags from as many tags drawn
at random. What it then says of a tag is the probability that it belongs, had the odds been even; its place among the
random ones is a p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tagtopic.engines.blocks import read_only
from tagtopic.engines.workers import Workers, cut_rows
from tagtopic.inference.arrays import Float64s, Floats
from tagtopic.inference.tag_evidence import N_COLUMNS, NEW, Evidence, gather_given
from tagtopic.models.prediction.memory import weighted_rows
from tagtopic.models.prediction.mixing import features, learn_mix, probabilities
from tagtopic.models.prediction.predictor import CHUNK, EXAMPLES, NEIGHBOURS, TagPredictor, queries_of

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus


@dataclass(frozen=True)
class Fit:
    """For each (document, tag) entry: the probability that the tag belongs, and the p-value of "it is random"."""

    probability: Float64s
    p_value: Float64s


@dataclass(frozen=True)
class Remembered:
    """What the predictor remembers, by document: words, tags, topics (scaled by topic), and topic sums by tag."""

    predictor: TagPredictor
    documents: Any
    tags: Any
    topics: Floats
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
        topics = (raw - centre) / scale
        together = sp.csr_array(tags.T @ tags)
        return cls(predictor, documents, tags, topics, tags.T @ topics, together, word_topics, centre, scale)

    def rows_of(self, vectors: Any) -> Any:
        """Which remembered document has just the same words as each vector; NEW if none has."""
        places = {_key(self.documents, row): row for row in range(self.documents.shape[0] - 1, -1, -1)}
        return np.array([places.get(_key(vectors, row), NEW) for row in range(vectors.shape[0])], np.int64)


def tag_fit(
    predictor: TagPredictor, word_topics: Floats, corpus: Corpus, n_jobs: int | None, random_state: int = 0
) -> Fit:
    """How well the tags of a corpus, in the model's columns, fit its documents."""
    random = np.random.default_rng(random_state)
    remembered = Remembered.of(predictor, word_topics)
    mix, chance = _learn(remembered, n_jobs, random)
    vectors = weighted_rows(corpus.counts, predictor.scores)
    tags = sp.csr_array(corpus.tags)
    inputs = _inputs(remembered, vectors, remembered.rows_of(vectors), tags, tags, n_jobs)
    values = probabilities(inputs, mix[predictor.memory.kinds[tags.indices]])
    at_least = len(chance) - np.searchsorted(chance, values, side="left")
    return Fit(values, (1 + at_least) / (1 + len(chance)))


def topic_vectors(vectors: Any, word_topics: Floats) -> Floats:
    """Each document's topics by its words alone: the mean of p(topic | word), as the words weigh."""
    mixed = vectors @ word_topics
    return np.asarray(mixed / np.maximum(mixed.sum(axis=1, keepdims=True), 1e-12))


def _learn(remembered: Remembered, n_jobs: int | None, random: np.random.Generator) -> tuple[Float64s, Float64s]:
    """The mix for each kind of tag, and what it says of the random tags, ascending."""
    memory = remembered.predictor.memory
    sample = np.sort(random.permutation(remembered.documents.shape[0])[:EXAMPLES])
    right = sp.csr_array(remembered.tags[sample])
    wrong = _random_tags(right, np.flatnonzero(memory.sizes), random)
    vectors = remembered.documents[sample]
    inputs = [_inputs(remembered, vectors, sample, tags, right, n_jobs) for tags in (right, wrong)]
    is_right = np.repeat([True, False], [right.nnz, wrong.nnz])
    kinds = memory.kinds[np.concatenate([right.indices, wrong.indices])]
    mix = learn_mix(np.concatenate(inputs), is_right, kinds, len(remembered.predictor.kind_names))
    return mix, np.sort(probabilities(inputs[1], mix[memory.kinds[wrong.indices]]))


def _random_tags(own: Any, known: Any, random: np.random.Generator) -> Any:
    """As many tags drawn at random for each document as it has, less those that it has."""
    rows = np.repeat(np.arange(own.shape[0]), np.diff(own.indptr))
    drawn = sp.csr_array((np.ones(own.nnz, np.float32), (rows, random.choice(known, own.nnz))), shape=own.shape)
    drawn.data[:] = 1
    others = sp.csr_array(drawn - drawn.multiply(own))
    others.eliminate_zeros()
    others.sort_indices()
    return others


def _inputs(remembered: Remembered, vectors: Any, rows: Any, tags: Any, carried: Any, n_jobs: int | None) -> Floats:
    """All features of each entry of ``tags``; ``carried`` are the tags that the documents carry."""
    parts = [
        _documents_alike(remembered, vectors, rows, tags, n_jobs),
        _topics_alike(remembered, vectors, rows, tags),
        _other_tags(remembered, rows, tags, carried),
    ]
    return np.hstack(parts)


def _documents_alike(remembered: Remembered, vectors: Any, rows: Any, tags: Any, n_jobs: int | None) -> Floats:
    queries = queries_of(vectors, rows)
    starts, indices = read_only(tags.indptr, np.int64), read_only(tags.indices, np.int32)
    values, best = np.zeros((len(indices), N_COLUMNS), np.float32), np.ones((len(indices), 2), np.float32)

    def ask(part: tuple[int, int]) -> None:
        gather_given(remembered.predictor.memory, queries, *part, starts, indices, NEIGHBOURS, values, best)

    with Workers(n_jobs) as workers:
        workers.map(ask, cut_rows(vectors.shape[0], CHUNK))
    return features(Evidence(np.empty(0, np.int64), indices, np.maximum(values, 0), best))


def _topics_alike(remembered: Remembered, vectors: Any, rows: Any, tags: Any) -> Floats:
    """Cosine and distance between each document's topics and those of the tag's other documents."""
    topics = (topic_vectors(vectors, remembered.word_topics) - remembered.centre) / remembered.scale
    owner = _owners(tags)
    itself = _carries(remembered, rows, owner, tags.indices).astype(np.float64)
    others = remembered.tag_topics[tags.indices] - itself[:, None] * topics[owner]
    counts = remembered.predictor.memory.sizes[tags.indices] - itself
    lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(topics[owner], axis=1)
    cosine = np.einsum("ik,ik->i", others, topics[owner]) / np.maximum(lengths, 1e-9)
    # two documents' worth of the corpus's own mean, so that tags of one document do not look certain
    profile = others / (counts[:, None] + 2.0)
    nearer = np.sqrt(((profile - topics[owner]) ** 2).mean(axis=1)) - np.sqrt((topics[owner] ** 2).mean(axis=1))
    return np.stack([cosine, nearer, cosine * np.log1p(counts)], axis=1)


def _other_tags(remembered: Remembered, rows: Any, tags: Any, carried: Any) -> Floats:
    """How many other documents carry the tag together with one of the document's other tags."""
    owner = _owners(tags)
    spread = np.diff(carried.indptr)[owner]
    entry = np.repeat(np.arange(len(owner)), spread)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(spread) - spread, spread)
    other = carried.indices[np.repeat(carried.indptr[owner], spread) + offset]
    tag = tags.indices[entry]
    different = np.flatnonzero(other != tag)
    entry, other, tag = entry[different], other[different], tag[different]
    counts = np.asarray(remembered.together[tag, other]).ravel() if len(tag) else np.zeros(0)
    both = _carries(remembered, rows, owner[entry], tag) & _carries(remembered, rows, owner[entry], other)
    total = np.bincount(entry, weights=counts - both, minlength=len(owner))
    has_others = np.bincount(entry, minlength=len(owner)) > 0
    sizes = remembered.predictor.memory.sizes[tags.indices]
    return np.stack([np.log1p(total), total / (sizes + 1.0), has_others], axis=1)


def _owners(tags: Any) -> Any:
    return np.repeat(np.arange(tags.shape[0]), np.diff(tags.indptr))


def _carries(remembered: Remembered, rows: Any, owner: Any, tags: Any) -> Any:
    """Whether the remembered document behind each entry's document has the tag."""
    found = np.zeros(len(tags), bool)
    known = np.flatnonzero(rows[owner] >= 0)
    if len(known):
        found[known] = np.asarray(remembered.tags[rows[owner][known], tags[known]]).ravel() > 0
    return found


def _key(vectors: Any, row: int) -> bytes:
    start, end = vectors.indptr[row], vectors.indptr[row + 1]
    return np.asarray(vectors.indices[start:end], np.int32).tobytes()
