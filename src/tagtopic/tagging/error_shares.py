"""How common errors of several kinds are among the tags of a corpus: bounds from what its own tags look like.

Own tags include the errors that are already there. If a share p of them is wrong in one way, then among the own tags at
least p times the share of such wrong tags lies in any region, in particular where wrong tags are most frequent: the
ratio of the two shares bounds p (as the class prior of positive and unlabelled examples is bounded; Scott 2015). Errors
of several kinds share these bounds,

    sum_k p_k P_k(score_j > t) <= P_own(score_j > t)    for every kind j and several thresholds t,

and the p_k are the largest ones that satisfy all of them, by linear programming. Bounds of one kind alone would count
the same tags several times. In the proportion that this gives, the sum of all errors is bounded once more, by the
score that combines them.

References
----------
C. Scott. A rate of convergence for mixture proportion estimation, with application to learning from noisy labels.
AISTATS 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s
from tagtopic.tagging.calibration import MIN_POSITIVES

TAILS = (0.2, 0.3, 0.4, 0.5)
"""Shares of the wrong tags of a kind, those that look most wrong, at which own tags are counted.

Smaller ones would give tighter bounds, and wrong ones: real errors are less extreme than some of the planted ones."""

MAX_ERRORS = 0.25
"""The largest share of the tags that is taken to be wrong."""


def bound_shares(log_ratios: Float64s, is_own: Any, weights: Float64s, preferences: Any = 1.0) -> Float64s:
    """Return the largest share of the own tags that each kind of error can have.

    Parameters
    ----------
    log_ratios : array of shape (n_kinds, n_examples)
        The log likelihood ratio of each kind of error against an own tag.
    is_own : array of bool, shape (n_examples,)
        Which examples are own tags.
    weights : array of shape (n_kinds, n_examples)
        How often each example is drawn among the errors of each kind; 0 for those that are not of the kind.
    preferences : array of shape (n_kinds,) or float, default=1.0
        What a share of each kind counts. A kind with a smaller preference has what the others leave.

    Returns
    -------
    array of shape (n_kinds,)
        The shares; all together at most MAX_ERRORS.
    """
    from scipy.optimize import linprog

    totals = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    distributions = weights / totals
    enough = ((weights > 0).sum(axis=1) >= MIN_POSITIVES) & (is_own.sum() >= MIN_POSITIVES)
    rows, limits = [], []
    for kind in np.flatnonzero(enough):
        for threshold, own in _tails(log_ratios[kind], is_own, distributions[kind]):
            rows.append(distributions[:, log_ratios[kind] >= threshold].sum(axis=1))
            limits.append(own)
    shares = np.full(len(weights), MAX_ERRORS)
    if rows:
        gains = np.broadcast_to(np.asarray(preferences, np.float64), len(weights))
        shares = np.maximum(linprog(-gains, np.array(rows), np.array(limits), bounds=(0, MAX_ERRORS)).x, 0)
    shares = np.where(enough.any() & ~enough, 0.0, shares)
    return rescale_shares(log_ratios, is_own, weights, shares)


def rescale_shares(log_ratios: Float64s, is_own: Any, weights: Float64s, shares: Float64s) -> Float64s:
    """Return shares in the same proportion, with the total that the common score of all kinds allows."""
    distributions = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    total = _bound_total(log_ratios, is_own, distributions, shares)
    return np.asarray(shares * (total / max(shares.sum(), 1e-300)))


def combine(log_ratios: Float64s, shares: Any) -> Float64s:
    """Return the logarithm of the sum of the likelihood ratios, weighted by the shares."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(log_ratios + np.log(shares)[:, None], axis=0))


def _bound_total(log_ratios: Float64s, is_own: Any, distributions: Float64s, shares: Float64s) -> float:
    """Return the bound on errors of all kinds, mixed in the proportion of their shares, from their common score."""
    if min(is_own.sum(), (distributions[shares > 0] > 0).any(axis=0).sum()) < MIN_POSITIVES:
        return MAX_ERRORS
    score = combine(log_ratios, shares)
    mixture = shares @ distributions / shares.sum()
    tails = _tails(score, is_own, mixture)
    return min(MAX_ERRORS, *(own / float(mixture[score >= threshold].sum()) for threshold, own in tails))


def _tails(score: Float64s, is_own: Any, distribution: Float64s) -> list[tuple[float, float]]:
    """Return thresholds with TAILS of a distribution above them, and the share of the own tags there.

    The share is a standard error larger than the observed one, so that no bound is tight by chance.
    """
    wrong = np.flatnonzero(distribution > 0)
    order = wrong[np.argsort(-score[wrong], kind="stable")]
    reached = np.cumsum(distribution[order])
    found = []
    for tail in TAILS:
        last = min(int(np.searchsorted(reached, tail)), len(order) - 1)
        threshold = float(score[order[last]])
        count = int((is_own & (score >= threshold)).sum()) + 1
        found.append((threshold, (count + np.sqrt(count)) / max(is_own.sum(), 1)))
    return found
