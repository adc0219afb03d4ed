"""Arrays of the models, under the names of the paper.

theta   tag -> topics           (tags, topics), rows sum to 1
psi     word -> topics          (words, topics), columns sum to 1; the row of a word is contiguous
pi      Dirichlet prior of the tag weights, one number per tag; ``pi_latent`` is the latent tag's
mu      Dirichlet prior of the latent tag's topic distribution
alpha   prior counts of theta
beta    prior counts of psi
xi      Dirichlet posterior of a document's tag weights; ``xi_latent`` is the latent tag's
rho     Dirichlet posterior of a document's latent topic distribution
omega   tag -> its own words    sparse; rows sum to the share of the tag's tokens that are own words

``Parameters`` and ``Priors`` are what models and engines pass around. What kernels take are named tuples of plain
arrays, which Numba accepts as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s, read_only
from tagtopic.inference.methods import InferenceMethod


@dataclass(frozen=True)
class CountTotals:
    """The expected counts that psi and theta were estimated from, prior counts included.

    Parameters
    ----------
    topics : array of shape (topics,)
        Tokens of each topic.
    tags : array of shape (tags,)
        Tokens of each tag.
    word_prior : array of shape (words,)
        beta.
    """

    topics: Float64s
    tags: Float64s
    word_prior: Float64s


@dataclass(frozen=True)
class OwnWords:
    """Words of tags' own: beside its topics, a tag has a distribution over a few words.

    Pairs of a tag and a word are sorted by tag, then by word.

    Parameters
    ----------
    starts : array of shape (tags + 1,)
        Tag j has the pairs ``starts[j]:starts[j + 1]``.
    words : array of shape (pairs,)
        The word of each pair.
    omega : array of shape (pairs,)
        The probability that a token of the tag is one of its own words, and this one.
    """

    starts: Int64s
    words: Int32s
    omega: Floats

    @property
    def shares(self) -> Float64s:
        """The share of each tag's tokens that are own words."""
        tags = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.asarray(np.bincount(tags, weights=self.omega, minlength=len(self.starts) - 1), np.float64)

    def of_tag(self, tag: int) -> tuple[Int32s, Floats]:
        """The words of a tag and their omega."""
        pairs = slice(int(self.starts[tag]), int(self.starts[tag + 1]))
        return self.words[pairs], self.omega[pairs]


@dataclass(frozen=True)
class Parameters:
    """The parameters of a model.

    Parameters
    ----------
    psi : array of shape (words, topics)
    theta : array of shape (tags, topics)
    pi : array of shape (tags,)
    pi_latent : float
    mu : array of shape (topics,)
    latent : bool
        Whether every document has a latent tag (TWDA, LDA) or only those without tags (TWTM).
    totals : CountTotals or None, default=None
        Available during a fit, from the first M-step on; leave-one-out counts need it.
    own_words : OwnWords or None, default=None
        Words of tags' own; theta is the topics of the other tokens.
    latent_topics_by_tag : array of shape (tags, topics) or None, default=None
        If given, the prior of the latent tag's topics differs from document to document: the mean of its tags' rows,
        weighted by pi, times the sum of mu. Documents without tags have mu.
    """

    psi: Floats
    theta: Floats
    pi: Float64s
    pi_latent: float
    mu: Float64s
    latent: bool
    totals: CountTotals | None = None
    own_words: OwnWords | None = None
    latent_topics_by_tag: Floats | None = None

    @property
    def topic_rows(self) -> Floats:
        """Theta times the share of a tag's tokens that are not own words: p(topic | tag)."""
        if self.own_words is None:
            return self.theta
        return np.asarray(self.theta * (1.0 - self.own_words.shares)[:, None], self.theta.dtype)

    def word_probabilities(self, tag: int, words: Int32s | slice = slice(None)) -> Floats:
        """Return p(word | tag) of all words, or of some, under the tag's topics and its own words."""
        found = np.asarray(self.psi[words] @ self.theta[tag])
        if self.own_words is None:
            return found
        own, omega = self.own_words.of_tag(tag)
        values = np.zeros(len(self.psi), self.psi.dtype)
        values[own] = omega
        return np.asarray(found * (1.0 - omega.sum(dtype=np.float64)) + values[words])

    @property
    def all_pi(self) -> Float64s:
        """pi, followed by pi_latent where every document has a latent tag."""
        return np.append(self.pi, self.pi_latent) if self.latent else self.pi

    def with_all_pi(self, pi: Float64s) -> Parameters:
        """Replace pi by an array in the form of ``all_pi``."""
        if not self.latent:
            return replace(self, pi=pi)
        return replace(self, pi=pi[:-1], pi_latent=float(pi[-1]))

    def latent_topic_priors(self, tag_starts: Int64s, tags: Int32s) -> Float64s:
        """Return the prior of the latent tag's topics in each of some documents: (documents, topics), or one row.

        Document d has the tags ``tags[tag_starts[d]:tag_starts[d + 1]]``.
        """
        rows = self.latent_topics_by_tag
        if rows is None:
            return self.mu[None]
        by_document = scipy.sparse.csr_array(
            (self.pi[tags], tags, np.asarray(tag_starts) - tag_starts[0]), shape=(len(tag_starts) - 1, len(rows))
        )
        priors = np.asarray(by_document @ rows.astype(np.float64, copy=False))
        totals = by_document.sum(axis=1)
        priors *= (self.mu.sum() / np.where(totals > 0, totals, 1.0))[:, None]
        priors[totals == 0] = self.mu
        return priors

    def expected_mix_by_tag(self) -> Floats:
        """Return E[vartheta] of a document with a single tag, for each tag: (tags, topics)."""
        if not self.latent:
            return self.topic_rows
        weight = (self.pi / (self.pi + self.pi_latent))[:, None]
        latent = self.mu / self.mu.sum() if self.latent_topics_by_tag is None else self.latent_topics_by_tag
        return np.asarray(weight * self.topic_rows + (1 - weight) * latent, self.theta.dtype)

    def expected_own_words(self) -> OwnWords | None:
        """Return the own words of a document with a single tag, for each tag, beside ``expected_mix_by_tag``."""
        if self.own_words is None or not self.latent:
            return self.own_words
        weight = np.repeat(self.pi / (self.pi + self.pi_latent), np.diff(self.own_words.starts))
        return replace(self.own_words, omega=(weight * self.own_words.omega).astype(self.own_words.omega.dtype))


@dataclass(frozen=True)
class Priors:
    """Prior counts.

    Parameters
    ----------
    alpha : array of shape (topics,)
        Of the topics of each tag.
    beta : array of shape (words,)
        Of the words of each topic.
    """

    alpha: Float64s
    beta: Float64s


@dataclass
class Statistics:
    """The expected sufficient statistics of an E-step.

    Attributes
    ----------
    psi : ndarray of shape (words, topics)
        Expected counts of each word in each topic.
    theta : ndarray of shape (tags, topics)
        Expected counts of each topic under each tag.
    objective : float
        The objective, summed over documents.
    """

    psi: Floats
    theta: Floats
    objective: float = 0.0

    @classmethod
    def empty_like(cls, parameters: Parameters) -> Statistics:
        """Allocate arrays of the shapes of the parameters, for an E-step to fill."""
        return cls(np.empty_like(parameters.psi), np.empty_like(parameters.theta))

    def clear(self) -> None:
        """Set all to zero."""
        self.psi[:] = 0
        self.theta[:] = 0
        self.objective = 0.0


class Documents(NamedTuple):
    """Consecutive documents in CSR form.

    Document d has the entries ``word_starts[d]:word_starts[d + 1]`` of ``words`` and ``counts``, and the entries
    ``tag_starts[d]:tag_starts[d + 1]`` of ``tags``. Starts are absolute, so a part of a corpus is a view.
    """

    word_starts: Int64s
    words: Int32s
    counts: Int32s
    tag_starts: Int64s
    tags: Int32s


class OwnWordEntries(NamedTuple):
    """The words of documents that are own words of one of their tags.

    Word entry e, counted from that of the first document, has the candidates ``starts[e]:starts[e + 1]``: the position
    of a tag among the document's tags, and the number of the pair of that tag and the word. Without any own words
    ``starts`` is empty.
    """

    starts: Int64s
    positions: NDArray[Any]
    pairs: Int32s


class VariationalPosterior(NamedTuple):
    """The variational posteriors of documents: xi by (document, tag) entry, xi_latent and rho by document."""

    xi: Floats
    xi_latent: Floats
    rho: Floats


class LeaveOneOut(NamedTuple):
    """What a token's own expected counts are subtracted by: 1 / T_k, 1 / T_j (see ``cvb0``), and beta.

    The arrays are empty for methods that are not leave-one-out.
    """

    inverse_topic_totals: Floats
    inverse_tag_totals: Floats
    word_prior: Floats


class KernelParameters(NamedTuple):
    """The parameters as kernels take them.

    ``tag_rows`` is p(topic | tag), or its logarithm where the method is geometric; ``omega`` is empty if tags have no
    words of their own, and ``latent_topics_by_tag`` if all documents have the same mu.
    """

    psi: Floats
    tag_rows: Floats
    pi: Float64s
    pi_latent: float
    mu: Float64s
    latent: bool
    leave_one_out: LeaveOneOut
    omega: Floats
    latent_topics_by_tag: Floats


class DocumentStatistics(NamedTuple):
    """What the E-step computes for each document of a block, from which the sufficient statistics are summed.

    With the names of ``e_step``: ``mix`` is e, ``gradient`` is M ("paper": N), ``count_ratios`` is c / s by word entry,
    in the order of the block's index by word, ``weights`` is a by tag entry. With those of ``cvb0``:
    ``mix_correction`` is h, ``gradient_correction`` is Q, ``inverse_probabilities`` is 1 / s by word entry; these three
    have no rows for methods that are not leave-one-out.
    """

    mix: Floats
    gradient: Floats
    count_ratios: Floats
    weights: Floats
    objective: Float64s
    mix_correction: Floats
    gradient_correction: Floats
    inverse_probabilities: Floats


class Workspace(NamedTuple):
    """The working arrays of one document, with the names of ``e_step`` and ``cvb0``.

    The latent tag, where ``latent`` is true, is the last entry of ``prior``, ``xi`` and ``weights``.

    tags                    (tags,)           the document's tags, without the latent one
    prior, xi, weights      (tags [+ 1],)     pi_j, xi_j, a_j
    rho, latent_row         (topics,)         rho_k, t_latent,k
    mu                      (topics,)         mu_k, of this document
    psi                     (words, topics)   psi_wk
    counts, probabilities   (words,)          c_w, s_w
    mix, previous_mix       (topics,)         e_k, and e_k of the sweep before
    gradient                (topics,)         M_k ("paper": N_k; "cvb0": P_k)
    word_prior              (words,)          beta_w
    inverse_probabilities   (words,)          1 / s_w
    mix_correction          (topics,)         h_k
    gradient_correction     (topics,)         Q_k
    scratch                 (4, topics)       psi'_wk of four words
    own_probabilities       (words,)          sum_j a_j omega_jw
    own_words                                 the candidates of these words
    """

    tags: Int32s
    latent: bool
    prior: Float64s
    xi: Float64s
    weights: Float64s
    rho: Float64s
    latent_row: Float64s
    mu: Float64s
    psi: Floats
    counts: Floats
    probabilities: Floats
    mix: Floats
    previous_mix: Floats
    gradient: Floats
    word_prior: Floats
    inverse_probabilities: Floats
    mix_correction: Floats
    gradient_correction: Floats
    scratch: Floats
    own_probabilities: Floats
    own_words: OwnWordEntries


def kernel_parameters(parameters: Parameters, method: InferenceMethod) -> KernelParameters:
    """Return the parameters as the kernels of an inference method take them."""
    rows, own_words = parameters.topic_rows, parameters.own_words
    latent_topics, dtype = parameters.latent_topics_by_tag, parameters.psi.dtype
    if latent_topics is None:
        latent_topics = np.empty((0, 0), dtype)
    return KernelParameters(
        psi=read_only(parameters.psi),
        tag_rows=read_only(np.log(rows) if method.is_geometric else rows),
        pi=read_only(parameters.pi),
        pi_latent=float(parameters.pi_latent),
        mu=read_only(parameters.mu),
        latent=parameters.latent,
        leave_one_out=_leave_one_out(parameters, method),
        omega=read_only(np.empty(0, dtype) if own_words is None else own_words.omega),
        latent_topics_by_tag=read_only(latent_topics.astype(dtype, copy=False)),
    )


def _leave_one_out(parameters: Parameters, method: InferenceMethod) -> LeaveOneOut:
    dtype, totals = parameters.psi.dtype, parameters.totals
    if not method.is_leave_one_out:
        none = np.empty(0, dtype)
        return LeaveOneOut(none, none, none)
    if totals is None:  # before the first M-step nothing was counted
        sizes = len(parameters.mu), len(parameters.theta), len(parameters.psi)
        return LeaveOneOut(*(np.zeros(size, dtype) for size in sizes))
    topics, tags = (_inverse(values).astype(dtype) for values in (totals.topics, totals.tags))
    return LeaveOneOut(topics, tags, totals.word_prior.astype(dtype))


def _inverse(values: Float64s) -> Float64s:
    """1 / value, and 0 where the value is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
