"""What a model has learnt, and the priors it learnt under.

The arrays that travel between corpus, kernels and engines, grouped under the paper's names.

theta   tag -> topics           (tags, topics)
psi     word -> topics          (words, topics): a word's row is contiguous, a topic's column sums to 1
pi      Dirichlet prior of the tag weights, one number a tag; ``pi_latent`` is the latent tag's
mu      Dirichlet prior of the latent tag's topics
xi      a document's Dirichlet posterior over its tags; ``xi_latent`` is the latent tag's
rho     a document's Dirichlet posterior over the latent tag's topics
alpha   prior counts of theta, beta: prior counts of psi

All are named tuples of plain arrays because Numba takes those as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s


class Documents(NamedTuple):
    """A run of documents: rows ``word_starts[d]:word_starts[d + 1]`` of words and counts, and alike for tags.

    The starts are absolute positions in ``words`` and ``tags``, so a run of a larger collection is a view.
    """

    word_starts: Int64s
    words: Int32s
    counts: Int32s
    tag_starts: Int64s
    tags: Int32s


class Shares(NamedTuple):
    """How much of psi and theta one word of the corpus is, so that its own share can be left out.

    ``topic`` is 1 / (words of the topic + its prior), ``tag`` alike; ``word_prior`` is beta. Empty where not needed.
    """

    topic: Floats
    tag: Floats
    word_prior: Floats


class Model(NamedTuple):
    """What the E-step needs of a model. ``tag_rows`` is theta, or log theta where the method takes logarithms."""

    psi: Floats
    tag_rows: Floats
    pi: Float64s
    pi_latent: float
    mu: Float64s
    latent: bool
    shares: Shares


class State(NamedTuple):
    """Where each document's inference stands: xi by (document, tag) entry, xi_latent and rho by document."""

    xi: Floats
    xi_latent: Floats
    rho: Floats


class Evaluation(NamedTuple):
    """What one E-step says of each document, all at the same xi and rho; the M-step's sums are made from it.

    ``mix`` is e, ``pull`` is M (under "paper" N = e M), ``ratios`` is c / s by word entry, in the order of
    the block's word-major index, ``weights`` is a by tag entry. The last three are what "cvb0" adds (see
    ``leave_out``): h and Q by document, 1 / s by word entry; elsewhere they have no rows.
    """

    mix: Floats
    pull: Floats
    ratios: Floats
    weights: Floats
    objective: Float64s
    own_mix: Floats
    own_pull: Floats
    inverses: Floats


@dataclass(frozen=True)
class Behind:
    """How much stands behind psi and theta: the words of each topic and of each tag, priors included, and beta."""

    topics: Float64s
    tags: Float64s
    word_prior: Float64s


@dataclass(frozen=True)
class Parameters:
    """psi (words, topics), theta (tags, topics), pi (tags), pi_latent, mu (topics); names as in ``arrays``.

    ``latent`` says whether every document has a latent tag (TWDA) or only those without tags (TWTM). ``behind`` is
    known while they are learnt, from the first M-step on: leaving a word's own share out takes it.
    """

    psi: Floats
    theta: Floats
    pi: Float64s
    pi_latent: float
    mu: Float64s
    latent: bool
    behind: Behind | None = None

    @property
    def all_pi(self) -> Float64s:
        """pi, with the latent tag's at the end where every document has one."""
        return np.append(self.pi, self.pi_latent) if self.latent else self.pi

    def mixes_of_one_tag(self) -> Floats:
        """(tags, topics): the topics that a document is expected to have whose only tag it is, its latent tag's too."""
        if not self.latent:
            return self.theta
        share = (self.pi / (self.pi + self.pi_latent))[:, None]
        return np.asarray(share * self.theta + (1 - share) * (self.mu / self.mu.sum()), self.theta.dtype)

    def with_all_pi(self, pi: Float64s) -> Parameters:
        """The same with another pi, in the form of ``all_pi``."""
        if not self.latent:
            return replace(self, pi=pi)
        return replace(self, pi=pi[:-1], pi_latent=float(pi[-1]))


@dataclass(frozen=True)
class Priors:
    """alpha: prior counts of each tag's topics (topics); beta: prior counts of each topic's words (words)."""

    alpha: Float64s
    beta: Float64s
