"""pi, the Dirichlet prior of the tag weights, from the whole corpus (the paper's eq. 2), with a hyper-prior.

The corpus-wide objective, with E[log eps] taken from each document's xi, is concave in pi:

    L[pi] = sum_d [ lgamma(sum pi_d) - sum_j lgamma(pi_j) + sum_j (pi_j - 1) E log eps_dj ]

Its maximum is the fixed point

    Psi(pi_l) = [ sum_{d has l} (Psi(sum pi_d) + E log eps_dl) + m Psi(s_l) ] / (D_l + m)

where m pseudo-documents at s hold pi: without them (m = 0, maximum likelihood) pi runs away by construction, for a
document whose tags occur nowhere else gives pi <- pi + n at every iteration. s is the mean of the tag's kind (authors,
years), so that a rare tag is like others of its kind and a common one is what its documents say.
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

SMALLEST, LARGEST = 1e-6, 1e6
"""pi is kept in this range, so that it stays positive and finite whatever happens."""

LEAST_SENSIBLE, MOST_SENSIBLE = 1e-3, 1e3
"""Outside of this range pi has run away: one tag takes all, or all take the same."""


@dataclass(frozen=True)
class Kinds:
    """By tag, the number of its kind and how many documents have it; the latent tag is a kind of its own."""

    numbers: Int32s
    documents: Float64s


@dataclass(frozen=True)
class HyperPrior:
    """``strength`` pseudo-documents (m) in which each tag has prior ``centre`` (s), numbers or one a tag.

    Strength 0 is maximum likelihood.
    """

    strength: float | Float64s = 5.0
    centre: float | Float64s = 1.0

    def of(self, tags: Int32s, n_tags: int) -> HyperPrior:
        """The hyper-prior of some of ``n_tags`` tags."""
        strength, centre = (np.broadcast_to(value, (n_tags,))[tags] for value in (self.strength, self.centre))
        return HyperPrior(strength, centre)

    def around_kinds(self, pi: Float64s, kinds: Kinds) -> HyperPrior:
        """The same hold, around what the tags of each kind have now.

        A kind's mean is taken of log pi, common tags counting up to one each and rare ones little, with one more tag
        at the centre that there was: a kind of few or rare tags stays near it.
        """
        trust = kinds.documents / (kinds.documents + np.maximum(self.strength, 1.0))
        away = np.log(pi / self.centre) * trust
        sums, sizes = (np.bincount(kinds.numbers, weights=values) for values in (away, trust))
        return HyperPrior(self.strength, self.centre * np.exp(sums / (sizes + 1.0))[kinds.numbers])


class Evidence(Protocol):
    """What documents say of pi, wherever they are: by tag the sum of E[log eps] and the number of documents, and two
    sums over documents that depend on pi.
    """

    @property
    def log_weights(self) -> Float64s:
        """By tag, the sum over documents of E[log eps]."""
        ...

    @property
    def documents(self) -> Float64s:
        """By tag, the number of documents."""
        ...

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""
        ...

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over documents of lgamma(sum pi_d)."""
        ...


@dataclass(frozen=True)
class WeightEvidence:
    """What the documents say of pi: their tag sets, and by tag the sum of E[log eps] and the number of documents.

    ``tags`` of the documents ``starts[d]:starts[d + 1]`` include the latent tag as number L where there is one.
    """

    starts: Int64s
    tags: Int32s
    log_weights: Float64s
    documents: Float64s

    def prior_digammas(self, pi: Float64s) -> Float64s:
        """By tag, the sum over its documents of Psi(sum pi_d)."""
        return sum_prior_digammas(self.starts, self.tags, 0, len(self.starts) - 1, pi, False)

    def prior_log_gammas(self, pi: Float64s) -> float:
        """The sum over documents of lgamma(sum pi_d)."""
        return sum_prior_log_gammas(self.starts, self.tags, 0, len(self.starts) - 1, pi, False)


@compiled
def sum_log_weights(
    starts: Int64s, tags: Int32s, xi: Floats, xi_latent: Floats, first: int, last: int, n_tags: int, latent: bool
) -> tuple[Float64s, Float64s]:
    """By tag, the sum over documents first:last of E[log eps] = Psi(xi) - Psi(sum xi), and how many have it.

    Where there is a ``latent`` tag every document has it, and it is the last. Documents with one tag in all are silent.
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
    """Sum pi_d; 0 if the document has one tag in all, and is silent."""
    if starts[d + 1] - starts[d] + int(latent) < 2:
        return 0.0
    total = float(pi[-1]) if latent else 0.0
    for p in range(starts[d], starts[d + 1]):
        total += float(pi[tags[p]])
    return total


@compiled
def sum_prior_digammas(starts: Int64s, tags: Int32s, first: int, last: int, pi: Float64s, latent: bool) -> Float64s:
    """By tag, the sum over its documents among first:last of Psi(sum pi_d)."""
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
    """The sum over documents first:last of lgamma(sum pi_d)."""
    value = 0.0
    for d in range(first, last):
        total = prior_total(starts, tags, d, pi, latent)
        if total > 0:
            value += math.lgamma(total)
    return value


def weight_prior_objective(pi: Float64s, evidence: Evidence, hyper: HyperPrior) -> float:
    """L[pi] with the hyper-prior's term, which is m times the log density kernel at E log eps = Psi(s) - ..."""
    value = evidence.prior_log_gammas(pi) - (evidence.documents * gammaln(pi)).sum()
    value += ((pi - 1) * evidence.log_weights).sum()
    pull = hyper.strength * (pi * digamma_of(np.asarray(hyper.centre)) - gammaln(pi))
    return float(value + pull.sum())


def weight_prior_gradient(pi: Float64s, evidence: Evidence, hyper: HyperPrior) -> Float64s:
    """DL / dpi: the paper's Appendix A, with the hyper-prior."""
    shared = evidence.prior_digammas(pi)
    own = evidence.documents * digamma_of(pi)
    pull = hyper.strength * (digamma_of(hyper.centre) - digamma_of(pi))
    return np.asarray(shared - own + evidence.log_weights + pull)


def fixed_point_pass(
    pi: Float64s, evidence: Evidence, hyper: HyperPrior, learnt: NDArray[np.bool_] | None = None
) -> Float64s:
    """One pass of the fixed point over the tags that are ``learnt`` (all, unless said); L[pi] never falls.

    A tag in no document takes the hyper-prior's centre, or stays where there is no hyper-prior.
    """
    weight = evidence.documents + hyper.strength
    seen = weight > 0 if learnt is None else (weight > 0) & learnt
    target = evidence.prior_digammas(pi) + evidence.log_weights
    target += hyper.strength * digamma_of(hyper.centre)
    new = pi.copy()
    new[seen] = inverse_digamma_of(target[seen] / weight[seen])
    return np.clip(new, SMALLEST, LARGEST)


def update_weight_prior(
    pi: Float64s,
    evidence: Evidence,
    hyper: HyperPrior,
    *,
    learnt: NDArray[np.bool_] | None = None,
    rounds: int = 10,
    tolerance: float = 1e-6,
) -> Float64s:
    """Fixed-point passes from ``pi``, accelerated: they creep where pi is large.

    Each round takes two passes, extrapolates from them in log pi (SQUAREM, Varadhan and Roland 2008) and takes a third;
    if the objective is then lower than after the two, the extrapolation is dropped.
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
            far = fixed_point_pass(np.clip(far, SMALLEST, LARGEST), evidence, hyper, learnt)
            risen = weight_prior_objective(far, evidence, hyper) >= weight_prior_objective(two, evidence, hyper)
            new = far if risen else two
        moved = float(np.max(np.abs(np.log(new / pi)), initial=0.0))
        pi = new
        if moved <= tolerance:
            break
    return pi


def ran_away(pi: Float64s) -> bool:
    """Whether any pi is outside of what makes sense."""
    return bool(np.any((pi < LEAST_SENSIBLE) | (pi > MOST_SENSIBLE)))
