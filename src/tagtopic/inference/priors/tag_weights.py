"""pi, the Dirichlet prior of the tag weights: its maximum over the corpus (the paper's eq. 2), with a hyper-prior.

The objective, with E[log eps] given by each document's xi, is concave in pi:

    L[pi] = sum_d [ lgamma(sum pi_d) - sum_j lgamma(pi_j) + sum_j (pi_j - 1) E log eps_dj ]

Its maximum is the fixed point

    Psi(pi_l) = [ sum_{d has l} (Psi(sum pi_d) + E log eps_dl) + m Psi(s_l) ] / (D_l + m)

with a hyper-prior of m pseudo-documents at s. Without it (m = 0, maximum likelihood) pi diverges by construction: a
document whose tags occur nowhere else gives pi <- pi + n in every iteration. s is the mean of the tag's kind (authors,
years): rare tags are shrunk towards others of their kind, frequent ones follow their documents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma as digamma_of
from scipy.special import gammaln

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.jit import compiled
from tagtopic.inference.special import digamma, inverse_digamma_of

MIN_PI, MAX_PI = 1e-6, 1e6
"""The range to which pi is clipped."""

PLAUSIBLE_PI = (1e-3, 1e3)
"""Outside of this range pi has diverged: one tag has all the weight, or all tags have the same."""


@dataclass(frozen=True)
class TagKinds:
    """The kind of each tag, by number, and the number of its documents; the latent tag is a kind of its own."""

    codes: Int32s
    documents: Float64s


@dataclass(frozen=True)
class HyperPrior:
    """Pseudo-documents that pi is shrunk by.

    Parameters
    ----------
    strength : float or array of shape (tags,), default=5.0
        The number of pseudo-documents, m; 0 is maximum likelihood.
    centre : float or array of shape (tags,), default=1.0
        The value that pi is shrunk towards, s.
    """

    strength: float | Float64s = 5.0
    centre: float | Float64s = 1.0

    def select(self, tags: Int32s, n_tags: int) -> HyperPrior:
        """Return the hyper-prior of some of ``n_tags`` tags."""
        strength, centre = (np.broadcast_to(value, (n_tags,))[tags] for value in (self.strength, self.centre))
        return HyperPrior(strength, centre)

    def centred_by_kind(self, pi: Float64s, kinds: TagKinds) -> HyperPrior:
        """Return the hyper-prior centred on the mean pi of each tag's kind.

        The mean is that of log pi, with weights D_l / (D_l + m) and one more tag at the present centre: the centre of a
        kind with few or rare tags hardly moves.
        """
        trust = kinds.documents / (kinds.documents + np.maximum(self.strength, 1.0))
        shifts = np.log(pi / self.centre) * trust
        sums, sizes = (np.bincount(kinds.codes, weights=values) for values in (shifts, trust))
        return HyperPrior(self.strength, self.centre * np.exp(sums / (sizes + 1.0))[kinds.codes])


class Evidence(Protocol):
    """The sufficient statistics for pi of a collection of documents, wherever it is stored."""

    @property
    def log_weights(self) -> Float64s:
        """The sum over documents of E[log eps], for each tag."""
        ...

    @property
    def documents(self) -> Float64s:
        """The number of documents of each tag."""
        ...

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """Return the sum over its documents of Psi(sum pi_d), for each tag."""
        ...

    def prior_log_gammas(self, pi: Float64s) -> float:
        """Return the sum over documents of lgamma(sum pi_d)."""
        ...


@dataclass(frozen=True)
class WeightEvidence:
    """``Evidence`` in memory: document d has the tags ``tags[starts[d]:starts[d + 1]]``, the latent one written out."""

    starts: Int64s
    tags: Int32s
    log_weights: Float64s
    documents: Float64s

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """Return the sum over its documents of Psi(sum pi_d), for each tag."""
        return sum_prior_digammas(self.starts, self.tags, 0, len(self.starts) - 1, pi, False)

    def prior_log_gammas(self, pi: Float64s) -> float:
        """Return the sum over documents of lgamma(sum pi_d)."""
        return sum_prior_log_gammas(self.starts, self.tags, 0, len(self.starts) - 1, pi, False)


@compiled
def sum_log_weights(
    starts: Int64s, tags: Int32s, xi: Floats, xi_latent: Floats, first: int, last: int, n_tags: int, latent: bool
) -> tuple[Float64s, Float64s]:
    """Return the sum of E[log eps] = Psi(xi) - Psi(sum xi) and the number of documents, for each tag.

    Over documents first:last. A ``latent`` tag is on every document, and the last in the result. Documents with a
    single tag carry no information on pi and are left out.
    """
    sums, documents = np.zeros(n_tags + int(latent)), np.zeros(n_tags + int(latent))
    for d in range(first, last):
        if starts[d + 1] - starts[d] + int(latent) < 2:
            continue
        total = float(xi_latent[d]) if latent else 0.0
        for p in range(starts[d], starts[d + 1]):
            total += xi[p]
        centre = digamma(total) if total > 0 else 0.0
        for p in range(starts[d], starts[d + 1]):
            sums[tags[p]] += digamma(float(xi[p])) - centre
            documents[tags[p]] += 1
        if latent:
            sums[n_tags] += digamma(float(xi_latent[d])) - centre
            documents[n_tags] += 1
    return sums, documents


@compiled
def prior_total(starts: Int64s, tags: Int32s, d: int, pi: Float64s, latent: bool) -> float:
    """Return sum pi_d; 0 if the document has a single tag."""
    if starts[d + 1] - starts[d] + int(latent) < 2:
        return 0.0
    total = float(pi[-1]) if latent else 0.0
    for p in range(starts[d], starts[d + 1]):
        total += float(pi[tags[p]])
    return total


@compiled
def sum_prior_digammas(starts: Int64s, tags: Int32s, first: int, last: int, pi: Float64s, latent: bool) -> Float64s:
    """Return the sum over its documents, among first:last, of Psi(sum pi_d), for each tag."""
    sums = np.zeros(pi.shape[0])
    for d in range(first, last):
        total = prior_total(starts, tags, d, pi, latent)
        if total > 0:
            value = digamma(total)
            for p in range(starts[d], starts[d + 1]):
                sums[tags[p]] += value
            if latent:
                sums[-1] += value
    return sums


@compiled
def sum_prior_log_gammas(starts: Int64s, tags: Int32s, first: int, last: int, pi: Float64s, latent: bool) -> float:
    """Return the sum over documents first:last of lgamma(sum pi_d)."""
    value = 0.0
    for d in range(first, last):
        total = prior_total(starts, tags, d, pi, latent)
        if total > 0:
            value += math.lgamma(total)
    return value


def weight_prior_objective(pi: Float64s, evidence: Evidence, hyper: HyperPrior) -> float:
    """Return L[pi] plus the log hyper-prior, m sum_l (pi_l Psi(s_l) - lgamma(pi_l))."""
    value = evidence.prior_log_gammas(pi) - (evidence.documents * gammaln(pi)).sum()
    value += ((pi - 1) * evidence.log_weights).sum()
    log_hyper_prior = hyper.strength * (pi * digamma_of(np.asarray(hyper.centre)) - gammaln(pi))
    return float(value + log_hyper_prior.sum())


def weight_prior_gradient(pi: Float64s, evidence: Evidence, hyper: HyperPrior) -> Float64s:
    """Return the gradient of ``weight_prior_objective`` (the paper's Appendix A, with the hyper-prior)."""
    joint = evidence.prior_digammas(pi)
    own = evidence.documents * digamma_of(pi)
    shrinkage = hyper.strength * (digamma_of(hyper.centre) - digamma_of(pi))
    return np.asarray(joint - own + evidence.log_weights + shrinkage)


def fixed_point_pass(
    pi: Float64s, evidence: Evidence, hyper: HyperPrior, learnt: NDArray[np.bool_] | None = None
) -> Float64s:
    """Make one fixed-point pass over the tags that are ``learnt`` (None: all); L[pi] never falls.

    A tag without documents takes the centre of the hyper-prior, or stays if there is none.
    """
    weight = evidence.documents + hyper.strength
    seen = weight > 0 if learnt is None else (weight > 0) & learnt
    target = evidence.prior_digammas(pi) + evidence.log_weights
    target += hyper.strength * digamma_of(hyper.centre)
    new = pi.copy()
    new[seen] = inverse_digamma_of(target[seen] / weight[seen])
    return np.clip(new, MIN_PI, MAX_PI)


def update_weight_prior(
    pi: Float64s,
    evidence: Evidence,
    hyper: HyperPrior,
    *,
    learnt: NDArray[np.bool_] | None = None,
    rounds: int = 10,
    tolerance: float = 1e-6,
) -> Float64s:
    """Maximise the objective by accelerated fixed-point passes, starting from ``pi``.

    Plain passes converge slowly where pi is large. Each round makes two passes, extrapolates from them in log pi
    (SQUAREM, Varadhan and Roland 2008) and makes a third; if the objective is then lower than after the two, the
    extrapolation is dropped.
    """
    for _ in range(rounds):
        one = fixed_point_pass(pi, evidence, hyper, learnt)
        two = fixed_point_pass(one, evidence, hyper, learnt)
        first, second = np.log(one / pi), np.log(two / one)
        bend = second - first
        new = two
        if np.linalg.norm(bend) > 1e-12:
            length = max(1.0, float(np.linalg.norm(first) / np.linalg.norm(bend)))
            far = pi * np.exp(np.clip(2 * length * first + length**2 * bend, -5, 5))
            far = fixed_point_pass(np.clip(far, MIN_PI, MAX_PI), evidence, hyper, learnt)
            improved = weight_prior_objective(far, evidence, hyper) >= weight_prior_objective(two, evidence, hyper)
            new = far if improved else two
        moved = float(np.max(np.abs(np.log(new / pi)), initial=0.0))
        pi = new
        if moved <= tolerance:
            break
    return pi


def has_diverged(pi: Float64s) -> bool:
    """Return whether any pi is outside of its plausible range."""
    low, high = PLAUSIBLE_PI
    return bool(np.any((pi < low) | (pi > high)))
