"""Where EM starts: topics that already say something.

Random topics recover planted truth in 1 run of 10; non-negative matrix factorisation under the Kullback-Leibler
divergence, from the singular vectors (Boutsidis and Gallopoulos's NNDSVD, zeros filled with the mean), in 10 of 10. Its
multiplicative updates are EM for topics without tags and without priors, so our own kernels make them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic.corpus import Corpus
from tagtopic.engines.base import Statistics
from tagtopic.engines.local import LocalEngine
from tagtopic.inference.arrays import Float64s, Floats
from tagtopic.inference.parameters import Parameters, Priors

SAMPLE = 20_000
"""Documents that the start looks at."""

UPDATES = 30
"""Multiplicative updates from the singular vectors."""

UNIGRAM_SHARE = 0.05
"""How much of the corpus's own word frequencies each starting topic has: no word may be impossible in a topic."""

STARTS = ("nmf", "random")


def word_frequencies(corpus: Corpus) -> Float64s:
    """p(w), with a little added ((n_w + 0.01) / (N + 0.01 V)) so that no word has probability zero."""
    sizes = np.bincount(corpus.counts.indices, weights=corpus.counts.data, minlength=corpus.n_words) + 0.01
    return np.asarray(sizes / sizes.sum())


def start_topics(
    corpus: Corpus, frequencies: Float64s, n_topics: int, init: str, random: np.random.Generator, n_jobs: int | None
) -> Float64s:
    """Topics (words, topics) to start from; columns sum to 1."""
    filled = np.flatnonzero(np.diff(corpus.counts.indptr))
    sample = corpus[np.sort(random.permutation(filled)[:SAMPLE])]
    columns = np.unique(sample.counts.indices)
    if init == "random" or n_topics >= min(len(sample), len(columns)):
        return random_topics(frequencies, n_topics, random)
    documents = Corpus.from_counts(sample.counts[:, columns], fractional=True)
    found = factor_topics(documents, n_topics, int(random.integers(2**31)), n_jobs)
    topics = np.repeat(UNIGRAM_SHARE * frequencies[:, None], n_topics, axis=1)
    topics[columns] += (1 - UNIGRAM_SHARE) * found
    return np.asarray(topics / topics.sum(axis=0))


def random_topics(frequencies: Float64s, n_topics: int, random: np.random.Generator) -> Float64s:
    """Topics that scatter around the corpus's word frequencies."""
    topics = frequencies[:, None] * random.gamma(1.0, size=(len(frequencies), n_topics))
    return np.asarray(topics / topics.sum(axis=0))


def factor_topics(corpus: Corpus, n_topics: int, seed: int, n_jobs: int | None) -> Floats:
    """Topics (words, topics) by matrix factorisation of the counts."""
    documents, topics = singular_start(corpus.counts, n_topics, seed)
    nothing = np.empty(0)
    parameters = Parameters(
        psi=(topics / topics.sum(axis=0)).astype(np.float32),
        theta=np.empty((0, n_topics), np.float32),
        pi=nothing,
        pi_latent=1.0,
        mu=np.full(n_topics, 1e-8),
        latent=True,
    )
    no_priors = Priors(alpha=np.zeros(n_topics), beta=np.zeros(corpus.n_words))
    spare = Statistics(np.empty_like(parameters.psi), np.empty_like(parameters.theta), 0.0)
    with LocalEngine(n_jobs).start(corpus, parameters, "map") as run:
        run.state.rho[:] = documents * topics.sum(axis=0)
        for _ in range(UPDATES):
            used = parameters
            psi, theta, _ = run.maximise(run.expect(used, spare, sweeps=1), no_priors)
            parameters = Parameters(psi, theta, nothing, 1.0, used.mu, latent=True)
            spare = Statistics(used.psi, used.theta, 0.0)
    return parameters.psi


def singular_start(counts: Any, n_topics: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """NNDSVD: non-negative (documents, topics) and (words, topics) from the leading singular vectors."""
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits

    # one BLAS thread: the vectors then do not depend on the machine's number of cores
    with threadpool_limits(1):
        left, values, right = randomized_svd(counts.astype(np.float32), n_topics, n_iter=2, random_state=seed)
    documents, topics = left * np.sqrt(values), right.T * np.sqrt(values)
    for k in range(n_topics):
        # of a singular pair's positive and negative parts, the one with the larger product is kept
        above = np.maximum(documents[:, k], 0), np.maximum(topics[:, k], 0)
        below = np.maximum(-documents[:, k], 0), np.maximum(-topics[:, k], 0)
        kept = max(above, below, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        documents[:, k], topics[:, k] = kept
    fill = counts.sum() / (counts.shape[0] * counts.shape[1])
    documents[documents < 1e-6] = fill
    topics[topics < 1e-6] = fill
    return documents, topics
