"""The topic mixes of new documents under CTM: the posterior mean where the mix is softmax of a normal vector.

By elliptical slice sampling (Murray, Adams and MacKay 2010), which has no step size to choose: a circle through the
present point and a draw from the prior is shrunk until a point on it is likely enough. Each document's random numbers
come from its own words, so the result depends neither on the other documents nor on their order. (Numba can seed the
old generator of NumPy inside a kernel, one for each thread, and no other.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagtopic.baselines.fold_in import CHUNK_ENTRIES, Words, words_of
from tagtopic.compiled import compiled
from tagtopic.engines.workers import Workers, cut_evenly
from tagtopic.inference.arrays import Float64s, Floats

BURN_IN = 50
SAMPLES = 200


@compiled
def softmax(values: Float64s, out: Float64s) -> None:
    """``out = exp(values) / exp(values).sum()``."""
    largest = values.max()
    total = 0.0
    for k in range(values.shape[0]):
        out[k] = math.exp(values[k] - largest)
        total += out[k]
    for k in range(values.shape[0]):
        out[k] /= total


@compiled
def log_likelihood(rows: Float64s, counts: Floats, mix: Float64s) -> float:
    """``counts @ log(rows @ mix)``."""
    value = 0.0
    for i in range(rows.shape[0]):
        total = 0.0
        for k in range(mix.shape[0]):
            total += rows[i, k] * mix[k]
        value += counts[i] * math.log(max(total, 1e-300))
    return value


@compiled
def sample_mean_mix(
    rows: Float64s, counts: Floats, mean: Float64s, root: Float64s, burn_in: int, samples: int, out: Float64s
) -> None:
    """The mean of softmax(mean + x) over draws of x from its posterior; the prior of x has covariance root root'."""
    n_topics = mean.shape[0]
    at, mix = np.zeros(n_topics), np.empty(n_topics)
    softmax(mean, mix)
    now = log_likelihood(rows, counts, mix)
    out[:] = 0
    for draw in range(burn_in + samples):
        other = root @ np.random.standard_normal(n_topics)  # noqa: NPY002
        threshold = now + math.log(1.0 - np.random.random())  # noqa: NPY002
        angle = np.random.random() * 2 * math.pi  # noqa: NPY002
        low, high = angle - 2 * math.pi, angle
        while True:
            trial = at * math.cos(angle) + other * math.sin(angle)
            softmax(mean + trial, mix)
            value = log_likelihood(rows, counts, mix)
            if value > threshold or high - low < 1e-12:
                break
            if angle < 0:
                low = angle
            else:
                high = angle
            angle = low + np.random.random() * (high - low)  # noqa: NPY002
        at, now = trial, value
        if draw >= burn_in:
            for k in range(n_topics):
                out[k] += mix[k] / samples


@compiled
def sample_documents(
    documents: Words, topic_words: Floats, mean: Float64s, root: Float64s, first: int, last: int, mixes: Float64s
) -> None:
    """Fill ``mixes[first:last]``."""
    n_topics = mean.shape[0]
    for d in range(first, last):
        start, n_words = documents.starts[d], documents.starts[d + 1] - documents.starts[d]
        rows = np.empty((n_words, n_topics))
        seed = np.uint64(n_words)
        for i in range(n_words):
            word = documents.words[start + i]
            rows[i] = topic_words[word]
            seed = (seed ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(documents.counts[start + i])
        np.random.seed(np.int64(seed >> np.uint64(33)))  # noqa: NPY002
        sample_mean_mix(rows, documents.counts[start : start + n_words], mean, root, BURN_IN, SAMPLES, mixes[d])


def logistic_normal_fold_in(
    counts: Any, topic_words: Floats, mean: Float64s, covariance: Float64s, n_jobs: int | None = 1
) -> Float64s:
    """Mixes (documents, topics) of documents given as CSR counts; ``topic_words`` is (words, topics)."""
    values, vectors = np.linalg.eigh(covariance)
    root = np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    documents = words_of(counts)
    mixes = np.empty((counts.shape[0], len(mean)))
    with Workers(n_jobs) as workers:
        workers.map(
            lambda part: sample_documents(documents, topic_words, mean, root, *part, mixes),
            cut_evenly(documents.starts, CHUNK_ENTRIES),
        )
    return mixes
