"""Posteriors of documents: their initial values, views of a block's part, and the summary that a model returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp

from tagtopic._core.arrays import Floats, owners_of
from tagtopic._core.memmap import release
from tagtopic._core.parallel import cut_rows
from tagtopic.inference.types import Parameters, VariationalPosterior

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

SWEEPS = 200
"""Maximum number of updates of a new document's posterior."""

TOLERANCE = 1e-5
"""A new document has converged when an update moves its topic mix by less than this."""

INITIAL_ROWS = 1 << 14
"""Documents whose posteriors are initialised at a time: their pages can then be released."""


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
        rho = np.outer(np.maximum(latent * growth - latent, 0.0), parameters.mu / parameters.mu.sum())
        posterior.rho[:] = rho + parameters.mu
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
