"""Initial topics, found without tags on a sample of the documents.

Random topics recover planted truth in 1 run of 10. The failure is always the same: two true topics share an initial
one, and another is split in two. ``"merged"`` therefore seeds too many topics (by k-means++ on documents), fits them
briefly, merges the most similar until the number asked for is left, and takes the best of three such attempts: 10 of 10
on planted corpora (docs/decisions/initialisation.md). ``"nmf"`` starts from the singular vectors instead.

The updates are those of non-negative matrix factorisation under the Kullback-Leibler divergence, which are EM for
topics without tags and priors, so that the kernels of the models compute them. Of a small corpus NumPy computes them,
because to compile the kernels would take longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.parallel import cut_rows, one_blas_thread
from tagtopic.corpus import Corpus
from tagtopic.corpus.interface import CorpusLike
from tagtopic.engines import LocalEngine
from tagtopic.inference.m_step import m_step
from tagtopic.inference.types import Parameters, Priors, Statistics

MAX_DOCUMENTS = 10_000
"""Documents in the sample."""

MAX_WORDS = 4_000
"""The most frequent words, which are used: rare ones have little effect and would take most of the memory."""

TOPIC_MULTIPLES = (2, 3, 2)
"""Seeds per topic in each attempt of "merged"."""

UPDATES_BEFORE, UPDATES_AFTER = 8, 10
"""Updates of the topics before and after merging; their sum for "nmf"."""

SWEEPS = 3
"""Updates of the documents per update of the topics: to gather a document's words costs about as much as a sweep."""

BLOCK_ENTRIES = 1 << 17
"""Entries per block, fewer than in a fit: there are more topics, and memory should not be larger."""

SMALL = 1 << 20
"""Word entries times topics up to which NumPy factorises: about a second."""

FLAT_PRIOR = 1e-8
"""Prior counts of the topics of documents, so that none is zero."""

TINY = 1e-300

UNIGRAM_SHARE = 0.05
"""The share of the corpus's word frequencies in each initial topic: no word may have probability zero in a topic."""


@dataclass(frozen=True)
class Factorisation:
    """Topics (words, topics), documents (documents, topics), topic sizes, and the objective of the factorisation."""

    topics: Floats
    documents: Floats
    sizes: Float64s
    objective: float


def word_frequencies(corpus: CorpusLike) -> Float64s:
    """The smoothed frequencies of the words of a corpus."""
    return smoothed_frequencies(corpus.word_counts())


def smoothed_frequencies(counts: Float64s) -> Float64s:
    """p(w), smoothed as (n_w + 0.01) / (N + 0.01 V) so that no word has probability zero."""
    sizes = counts + 0.01
    return np.asarray(sizes / sizes.sum())


@one_blas_thread()  # idle threads of BLAS spin after each product: up to half of the CPU time of a small fit
def initial_topics(
    corpus: CorpusLike, frequencies: Float64s, n_topics: int, init: str, random: np.random.Generator, n_jobs: int | None
) -> Floats:
    """Initial topics (words, topics); columns sum to 1."""
    filled = np.flatnonzero(corpus.document_sizes()[0])
    sample = corpus[np.sort(random.permutation(filled)[:MAX_DOCUMENTS])]
    columns = most_frequent_words(sample)
    documents = Corpus.from_counts(sample.counts[:, columns], fractional=True)
    documents = documents[np.diff(documents.counts.indptr) > 0]
    if init in ("random", "paper") or n_topics == 1 or n_topics >= min(len(documents), len(columns)):
        return random_topics(frequencies, n_topics, random)
    find = merged_topics if init == "merged" else nmf_topics
    # other words have their frequency in the corpus; the sampled words have the rest of each topic
    share = 1 - UNIGRAM_SHARE * frequencies[columns].sum() - np.delete(frequencies, columns).sum()
    found = find(documents, n_topics, random, n_jobs)
    topics = np.repeat(frequencies[:, None].astype(np.float32), n_topics, axis=1)
    topics[columns] = UNIGRAM_SHARE * topics[columns] + share * found
    topics /= topics.sum(axis=0)
    return topics


def initial_tags(n_tags: int, n_topics: int, init: str, random: np.random.Generator) -> Floats:
    """Initial tags (tags, topics): flat, or random as in the article; rows sum to 1."""
    if init != "paper":
        return np.full((n_tags, n_topics), 1.0 / n_topics)
    tags = random.random((n_tags, n_topics)) + 1e-6
    return np.asarray(tags / tags.sum(axis=1, keepdims=True))


def most_frequent_words(corpus: Corpus) -> Int32s:
    """The columns of the most frequent words, at most ``MAX_WORDS``, in ascending order."""
    sizes = corpus.word_counts()
    return np.sort(np.argsort(-sizes, kind="stable")[: min(MAX_WORDS, np.count_nonzero(sizes))]).astype(np.int32)


def random_topics(frequencies: Float64s, n_topics: int, random: np.random.Generator) -> Floats:
    """Random topics around the corpus's word frequencies."""
    topics = random.standard_gamma(1.0, size=(len(frequencies), n_topics), dtype=np.float32)
    topics *= frequencies[:, None].astype(np.float32)
    topics /= topics.sum(axis=0)
    return topics


def merged_topics(corpus: Corpus, n_topics: int, random: np.random.Generator, n_jobs: int | None) -> Floats:
    """The best of a few attempts: too many seeds, a few updates, a merge of the most similar, more updates."""
    attempts = (
        _attempt(corpus, n_topics, min(multiple * n_topics, len(corpus)), random, n_jobs)
        for multiple in TOPIC_MULTIPLES
    )
    return max(attempts, key=lambda found: found.objective).topics


def _attempt(
    corpus: Corpus, n_topics: int, n_seeds: int, random: np.random.Generator, n_jobs: int | None
) -> Factorisation:
    few = merge_topics(factorise(corpus, seed_topics(corpus, n_seeds, random), None, UPDATES_BEFORE, n_jobs), n_topics)
    return factorise(corpus, few.topics, few.documents, UPDATES_AFTER, n_jobs)


def nmf_topics(corpus: Corpus, n_topics: int, random: np.random.Generator, n_jobs: int | None) -> Floats:
    """Topics by updates from the leading singular vectors."""
    start = nndsvd(corpus.counts, n_topics, int(random.integers(2**31)))
    return factorise(corpus, start.topics, start.documents, UPDATES_BEFORE + UPDATES_AFTER, n_jobs).topics


def seed_topics(corpus: Corpus, n_seeds: int, random: np.random.Generator) -> Floats:
    """The words of the documents nearest to each of some distant documents (k-means++, Hellinger distance)."""
    counts = corpus.counts
    profiles = sp.csr_array(counts, dtype=np.float64, copy=True)
    profiles.data = np.sqrt(profiles.data / np.repeat(corpus.lengths(), np.diff(counts.indptr)))
    chosen = distant_rows(profiles, n_seeds, np.random.RandomState(int(random.integers(2**31))))
    seeds = profiles[chosen].T.tocsr()
    nearest = np.concatenate(
        [
            np.asarray((profiles[first:last] @ seeds).argmax(axis=1)).ravel()
            for first, last in cut_rows(len(corpus), 1000)
        ]
    )
    members = sp.csr_array((np.ones(len(nearest)), (nearest, np.arange(len(nearest)))), shape=(n_seeds, len(corpus)))
    topics = np.asarray((members @ counts).toarray(), dtype=np.float32).T
    # and half as much of the corpus's frequencies: a seed has few words and must be able to get others
    topics += np.float32(0.5) * np.outer(word_frequencies(corpus).astype(np.float32), topics.sum(axis=0))
    return np.ascontiguousarray(topics / np.maximum(topics.sum(axis=0), 1e-12))


def distant_rows(matrix: Any, n: int, random: np.random.RandomState) -> Int64s:
    """Draw rows with probabilities proportional to their squared distance from the nearest that is drawn (k-means++).

    scikit-learn's ``kmeans_plusplus`` draws the same rows; its import takes as long as the fit of a small corpus.
    """
    norms = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    chosen = np.empty(n, np.int64)
    chosen[0] = random.choice(len(norms), p=np.full(len(norms), 1.0 / len(norms)))
    nearest = np.full(len(norms), np.inf)
    for i in range(1, n):
        last = chosen[i - 1]
        products = matrix @ matrix[[last]].toarray().ravel()
        np.minimum(nearest, np.maximum(norms - 2.0 * products + norms[last], 0.0), out=nearest)
        nearest[last] = 0.0
        drawn = np.searchsorted(np.cumsum(nearest), random.uniform() * nearest.sum())
        chosen[i] = min(int(drawn), len(norms) - 1)
    return chosen


def merge_topics(factors: Factorisation, n_topics: int) -> Factorisation:
    """Merge the most similar topics (average linkage, Hellinger distance) until ``n_topics`` are left."""
    from scipy.cluster.hierarchy import fcluster, linkage

    roots = np.sqrt(factors.topics)
    similarity = (roots.T @ roots).astype(np.float64)
    distance = np.sqrt(np.maximum(2.0 - 2.0 * similarity, 0.0))
    tree = linkage(distance[np.triu_indices(len(distance), 1)], "average")
    group = fcluster(tree, n_topics, "maxclust") - 1
    together = np.zeros((len(group), n_topics), np.float32)
    together[np.arange(len(group)), group] = 1.0
    topics = (factors.topics * factors.sizes.astype(np.float32)) @ together + np.float32(1e-12)
    documents = factors.documents @ together + np.float32(1e-6)
    return Factorisation(
        topics=topics / topics.sum(axis=0),
        documents=documents,
        sizes=factors.sizes @ together,
        objective=factors.objective,
    )


def factorise(
    corpus: Corpus,
    topics: Floats,
    documents: Floats | None,
    updates: int,
    n_jobs: int | None,
    *,
    small: int = SMALL,
) -> Factorisation:
    """Multiplicative updates of both factors; documents are flat at first unless they are given."""
    n_topics = topics.shape[1]
    if corpus.counts.nnz * n_topics <= small:
        return factorise_small(corpus.counts, topics, documents, updates)
    parameters = Parameters(
        topics, np.empty((0, n_topics), np.float32), np.empty(0), 1.0, np.full(n_topics, FLAT_PRIOR), True
    )
    no_priors = Priors(alpha=np.zeros(n_topics), beta=np.zeros(corpus.n_words))
    spare = Statistics.empty_like(parameters)
    sizes, objective = np.zeros(n_topics), 0.0
    with LocalEngine(n_jobs, block_entries=BLOCK_ENTRIES).session(corpus, parameters, "map") as session:
        if documents is not None:
            session.posterior.rho[:] = documents
        for _ in range(updates):
            used = parameters
            statistics = session.e_step(used, spare, sweeps=SWEEPS)
            objective = statistics.objective
            psi, theta, sizes, _ = m_step(statistics, no_priors, session.method, session)
            parameters = Parameters(psi, theta, used.pi, 1.0, used.mu, latent=True)
            spare = Statistics(used.psi, used.theta, 0.0)
        return Factorisation(parameters.psi, session.posterior.rho, sizes, objective)


def factorise_small(counts: Any, topics: Floats, documents: Floats | None, updates: int) -> Factorisation:
    """The same updates as ``factorise``, by NumPy."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    psi = topics.astype(np.float64)
    psi[:, psi.sum(axis=0) == 0] = counts.sum(axis=0)[:, None] / counts.sum()  # of seeds without documents
    rho = np.ones((counts.shape[0], psi.shape[1])) if documents is None else documents.astype(np.float64)
    sizes, objective = np.zeros(psi.shape[1]), 0.0
    mixes, probabilities, ratios = rho, counts.data, counts
    for _ in range(updates):
        word_topics = psi[counts.indices]
        for _ in range(SWEEPS):
            mixes = rho / rho.sum(axis=1, keepdims=True)
            probabilities = np.maximum(np.einsum("ik,ik->i", mixes[rows], word_topics), TINY)
            ratios = sp.csr_array((counts.data / probabilities, counts.indices, counts.indptr), shape=counts.shape)
            rho = FLAT_PRIOR + mixes * (ratios @ psi)
        objective = float(counts.data @ np.log(probabilities))
        psi = psi * (ratios.T @ mixes)
        sizes = psi.sum(axis=0)
        psi /= np.maximum(sizes, TINY)
    return Factorisation(psi.astype(np.float32), rho.astype(np.float32), sizes, objective)


def nndsvd(counts: Any, n_topics: int, seed: int) -> Factorisation:
    """NNDSVD (Boutsidis and Gallopoulos 2008), with zeros replaced by the mean."""
    from sklearn.utils.extmath import randomized_svd

    left, values, right = randomized_svd(counts.astype(np.float32), n_topics, n_iter=2, random_state=seed)
    documents, topics = left * np.sqrt(values), right.T * np.sqrt(values)
    for k in range(n_topics):
        # of a singular pair's positive and negative parts, the one with the larger product is kept
        above = np.maximum(documents[:, k], 0), np.maximum(topics[:, k], 0)
        below = np.maximum(-documents[:, k], 0), np.maximum(-topics[:, k], 0)
        kept = max(above, below, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        documents[:, k], topics[:, k] = kept
    mean = counts.sum() / (counts.shape[0] * counts.shape[1])
    documents[documents < 1e-6] = mean
    topics[topics < 1e-6] = mean
    sizes = topics.sum(axis=0)
    return Factorisation(np.ascontiguousarray(topics / sizes, np.float32), documents * sizes, sizes, 0.0)
