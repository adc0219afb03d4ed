"""Posteriors of documents: initial values, views of a block's part, the summary that a model returns, evidence on pi.

The evidence on pi, the prior of the tag weights, is of a whole corpus or of one block. Both have the interface of
``inference.priors.tag_weights.Evidence``: sums over documents, of which pi is a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, offsets_of, owners_of
from tagtopic._core.memmap import release
from tagtopic._core.parallel import Parallel, cut_evenly, cut_rows
from tagtopic.engines.blocks import Block, documents_of
from tagtopic.inference.own_words import own_word_entries, own_word_probabilities
from tagtopic.inference.priors.tag_weights import (
    WeightEvidence,
    sum_log_weights,
    sum_prior_digammas,
    sum_prior_log_gammas,
)
from tagtopic.inference.types import OwnWords, Parameters, VariationalPosterior

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

SWEEPS = 200
"""Maximum number of updates of a new document's posterior."""

TOLERANCE = 1e-5
"""A new document has converged when an update moves its topic mix by less than this."""

INITIAL_ROWS = 1 << 14
"""Documents whose posteriors are initialised at a time: their pages can then be released."""

PART_ENTRIES = 1 << 20
"""Tag entries in a unit of parallel work. Sums are added part by part: the bits of the result depend on it."""


@dataclass(frozen=True)
class DocumentPosteriors:
    """Posterior means of documents.

    Attributes
    ----------
    topics : ndarray of shape (documents, topics)
        Topic mixes; rows sum to 1.
    weights : csr_array of shape (documents, tags)
        Weights of the documents' own tags.
    latent : ndarray of shape (documents,)
        Weights of the latent tag. A row of ``weights`` and its element here sum to 1.
    objective : float
        The objective, summed over documents.
    """

    topics: Floats
    weights: Any
    latent: Floats
    objective: float


def mean_topics(corpus: Corpus, shares: Floats, latent_shares: Floats, rho: Floats, theta: Floats) -> Floats:
    """Return the topic mixes of documents: arithmetic means over their tags, whatever the inference method.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    shares, latent_shares : ndarray
        The mean weights that ``tag_shares`` returns.
    rho : ndarray of shape (documents, topics) or (1, topics)
        The Dirichlet posterior of the latent tag's topics.
    theta : ndarray of shape (tags, topics)
        The tags' topics.

    Returns
    -------
    ndarray of shape (documents, topics)
    """
    tags = corpus.tags
    mixed = sp.csr_array((shares, tags.indices, tags.indptr), shape=tags.shape) @ theta
    return np.asarray(mixed + latent_shares[:, None] * (rho / rho.sum(axis=1, keepdims=True)))


def predictive_mixes(
    found: DocumentPosteriors, theta: Floats, own_words: OwnWords | None, scored: Corpus, parallel: Parallel
) -> tuple[Floats, Floats]:
    """Return the topic mixes without own words, and what own words add to the probability of each scored word.

    The probability of a word is psi times the mix of its document, plus what its tags' own words add.

    Parameters
    ----------
    found : DocumentPosteriors
        The posteriors given the observed words.
    theta : ndarray of shape (tags, topics)
        The tags' topics, of as many topics as ``found`` has.
    own_words : OwnWords or None
        Words of tags' own.
    scored : Corpus
        The same documents with the words to score.
    parallel : Parallel
        Threads over documents.

    Returns
    -------
    mixes : ndarray of shape (documents, topics)
    own : ndarray of shape (word entries,) or (0,)
    """
    if own_words is None:
        return found.topics, np.empty(0)
    own_topics = np.asarray(theta * own_words.shares[:, None], theta.dtype)
    documents = documents_of(scored, 0, len(scored))
    entries = own_word_entries(documents, own_words, parallel)
    own = own_word_probabilities(entries, documents, found.weights.data, own_words.omega)
    return np.asarray(found.topics - found.weights @ own_topics), own


def tag_shares(corpus: Corpus, xi: Floats, xi_latent: Floats) -> tuple[Floats, Floats]:
    """Return the mean weight of each (document, tag) entry, and of each document's latent tag."""
    starts = corpus.tags.indptr
    owner = owners_of(starts)
    totals = np.bincount(owner, weights=xi, minlength=len(starts) - 1) + xi_latent
    totals[totals == 0] = 1.0
    return (xi / totals[owner]).astype(xi.dtype), (xi_latent / totals).astype(xi.dtype)


def empty_posterior(
    n_entries: int, n_documents: int, parameters: Parameters, *, each_rho: bool, empty: Callable[..., Any] = np.empty
) -> VariationalPosterior:
    """Allocate posteriors; without ``each_rho`` all documents share one row of rho.

    Parameters
    ----------
    n_entries : int
        The number of (document, tag) entries.
    n_documents : int
        The number of documents.
    parameters : Parameters
        They determine the number of topics and the type of numbers.
    each_rho : bool
        Whether each document has a latent tag, and so topics of its own.
    empty : callable, default=numpy.empty
        Allocates an array of a shape and type, for example in a file.

    Returns
    -------
    VariationalPosterior
    """
    dtype = parameters.psi.dtype
    n_rows = n_documents if each_rho else 1
    return VariationalPosterior(
        empty(n_entries, dtype), empty(n_documents, dtype), empty((n_rows, len(parameters.mu)), dtype)
    )


def initial_posterior(
    corpus: Corpus, parameters: Parameters, empty: Callable[..., Any] = np.empty
) -> VariationalPosterior:
    """Return each document's prior plus its words, divided among tags and topics in proportion to the prior."""
    untagged = np.diff(corpus.tags.indptr) == 0
    each = bool(parameters.latent or untagged.any())
    posterior = empty_posterior(corpus.tags.nnz, len(corpus), parameters, each_rho=each, empty=empty)
    lengths = corpus.lengths()
    for first, last in cut_rows(len(corpus), INITIAL_ROWS):
        entries = slice(int(corpus.tags.indptr[first]), int(corpus.tags.indptr[last]))
        rho = posterior.rho[first:last] if each else posterior.rho
        part = VariationalPosterior(posterior.xi[entries], posterior.xi_latent[first:last], rho)
        starts, tags = corpus.tags.indptr[first : last + 1], corpus.tags.indices[entries]
        fill_posterior(part, starts, tags, lengths[first:last], parameters, each_rho=each)
        release(part.xi, part.rho)
    return posterior


def fill_posterior(
    posterior: VariationalPosterior, tag_starts: Any, tags: Any, lengths: Any, parameters: Parameters, *, each_rho: bool
) -> None:
    """Set the initial posteriors of some documents, from their tags and lengths."""
    sizes = np.diff(tag_starts)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    prior = parameters.pi[tags]
    latent = np.where(parameters.latent | (sizes == 0), parameters.pi_latent, 0.0)
    total = np.bincount(owner, weights=prior, minlength=len(sizes)) + latent
    growth = 1.0 + lengths / np.where(total > 0, total, 1.0)
    posterior.xi[:] = prior * growth[owner]
    posterior.xi_latent[:] = latent * growth
    if each_rho:
        mu = parameters.latent_topic_priors(tag_starts, tags)
        posterior.rho[:] = np.maximum(latent * growth - latent, 0.0)[:, None] * (mu / parameters.mu.sum()) + mu
    else:
        posterior.rho[:] = 1.0


class Extent(Protocol):
    """The position of a block's documents, and of their (document, tag) entries, in the corpus."""

    @property
    def first(self) -> int:
        """The first document."""
        ...

    @property
    def last(self) -> int:
        """The first document of the next block."""
        ...

    @property
    def tag_range(self) -> tuple[int, int]:
        """The block's (document, tag) entries."""
        ...


def block_posterior(posterior: VariationalPosterior, block: Extent) -> VariationalPosterior:
    """Return views of a block's part of the posteriors."""
    first_tag, last_tag = block.tag_range
    rho = posterior.rho if len(posterior.rho) == 1 else posterior.rho[block.first : block.last]
    return VariationalPosterior(posterior.xi[first_tag:last_tag], posterior.xi_latent[block.first : block.last], rho)


class CorpusEvidence:
    """The evidence of all documents of a corpus, summed in parallel; nothing is copied.

    Parameters
    ----------
    starts : ndarray of shape (documents + 1,)
        Document d has the tags ``tags[starts[d]:starts[d + 1]]``.
    tags : ndarray
        The tag of each (document, tag) entry.
    posterior : VariationalPosterior
        The posteriors of the documents.
    parameters : Parameters
        The current parameters.
    parallel : Parallel
        Computes the parts of each sum.
    part_entries : int, default=1048576
        Entries in a part. Sums are added part by part: the bits of the result depend on it.
    """

    def __init__(
        self,
        starts: Int64s,
        tags: Int32s,
        posterior: VariationalPosterior,
        parameters: Parameters,
        parallel: Parallel,
        part_entries: int = PART_ENTRIES,
    ) -> None:
        self.starts = starts
        self.tags = tags
        self.latent = parameters.latent
        self._parallel = parallel
        self._parts = cut_evenly(starts, part_entries)
        xi, xi_latent = posterior.xi, posterior.xi_latent

        def add_up(part: tuple[int, int]) -> tuple[Float64s, Float64s]:
            found = sum_log_weights(starts, tags, xi, xi_latent, *part, len(parameters.pi), self.latent)
            release(xi[self._entries(part)])
            return found

        found = parallel.map(add_up, self._parts)
        self.log_weights: Float64s = np.sum([sums for sums, _ in found], axis=0)
        self.documents: Float64s = np.sum([documents for _, documents in found], axis=0)

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""

        def add_up(part: tuple[int, int]) -> Float64s:
            found = sum_prior_digammas(self.starts, self.tags, *part, pi, self.latent)
            release(self.tags[self._entries(part)])
            return found

        return np.asarray(np.sum(self._parallel.map(add_up, self._parts), axis=0))

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over documents of lgamma(sum pi_d)."""

        def add_up(part: tuple[int, int]) -> float:
            return sum_prior_log_gammas(self.starts, self.tags, *part, pi, self.latent)

        return float(np.sum(self._parallel.map(add_up, self._parts)))

    def _entries(self, part: tuple[int, int]) -> slice:
        return slice(int(self.starts[part[0]]), int(self.starts[part[1]]))


def block_evidence(block: Block, posterior: VariationalPosterior, *, latent: bool) -> WeightEvidence:
    """Return the evidence of one block, with the latent tag as an entry; documents with a single tag have none."""
    starts = block.documents.tag_starts - block.documents.tag_starts[0]
    tags = block.documents.tags[slice(*block.tag_range)]
    log_weights, documents = sum_log_weights(
        starts, tags, posterior.xi, posterior.xi_latent, 0, block.n_documents, block.n_tags, latent
    )
    sizes = np.diff(starts)
    if latent:
        tags = np.insert(tags, starts[1:], np.int32(block.n_tags))
        sizes = sizes + 1
    kept = sizes >= 2
    kept_starts = offsets_of(sizes[kept])
    kept_tags = np.ascontiguousarray(tags[np.repeat(kept, sizes)], np.int32)
    return WeightEvidence(kept_starts, kept_tags, log_weights, documents)
