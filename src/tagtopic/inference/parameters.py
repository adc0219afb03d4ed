"""What a model has learnt, and the priors it learnt under."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tagtopic.inference.arrays import Float64s, Floats


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
