"""The readable twins of the kernels: plain NumPy, a line per equation, no code shared. Tests compare the two.

A document has the rows of psi of its words (``psi``, words x topics) with their ``counts``, the rows of theta of its
tags and their ``prior`` pi. The latent tag, where there is one, is the last entry of ``prior`` and ``xi``, and has
``mu`` and ``rho``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from tagtopic._core.arrays import Float64s

MIN_SHARE = 0.02


@dataclass(frozen=True)
class LeaveOneOut:
    """1 / T_k of each topic, 1 / T_j of each of the document's tags, and beta of each of its words."""

    inverse_topic_totals: Float64s
    inverse_tag_totals: Float64s
    word_prior: Float64s


@dataclass(frozen=True)
class Document:
    """One document under inference; "cvb0" needs ``leave_one_out``."""

    psi: Float64s
    counts: Float64s
    theta: Float64s
    prior: Float64s
    xi: Float64s
    mu: Float64s | None = None
    rho: Float64s | None = None
    leave_one_out: LeaveOneOut | None = None


@dataclass(frozen=True)
class Expectations:
    """A document at its xi and rho.

    ``weights`` is a, ``mix`` is e, ``count_ratios`` is c / s, ``tag_counts`` is n_jk (tags, topics), and
    ``word_counts`` are the expected counts of each word by topic (words, topics).
    """

    weights: Float64s
    mix: Float64s
    count_ratios: Float64s
    tag_counts: Float64s
    word_counts: Float64s
    objective: float


def dirichlet_divergence(posterior: Float64s, prior: Float64s) -> float:
    """Return KL(Dir(posterior) || Dir(prior))."""
    expected_logs = digamma(posterior) - digamma(posterior.sum())
    normalisers = (gammaln(posterior.sum()) - gammaln(posterior).sum()) - (gammaln(prior.sum()) - gammaln(prior).sum())
    return float(normalisers + ((posterior - prior) * expected_logs).sum())


def evaluate(method: str, document: Document) -> Expectations:
    """Compute a, t, e, s, M, n and the objective at the document's xi and rho."""
    if method == "cvb0":
        return evaluate_cvb0(document)
    weights, rows = expected_weights(method, document)
    mix = np.exp(weights @ rows) if method == "paper" else weights @ rows
    probabilities = document.psi @ mix
    count_ratios = document.counts / probabilities
    gradient = document.psi.T @ count_ratios
    return Expectations(
        weights=weights,
        mix=mix,
        count_ratios=count_ratios,
        tag_counts=np.outer(weights, mix * gradient) if method == "paper" else weights[:, None] * rows * gradient,
        word_counts=document.psi * count_ratios[:, None] * mix,
        objective=document_objective(method, document, weights, rows, probabilities),
    )


def evaluate_cvb0(document: Document) -> Expectations:
    """Compute the same with leave-one-out counts: word by word, tag by tag, with all responsibilities."""
    given = document.leave_one_out
    assert given is not None
    weights, rows = expected_weights("map", document)
    mix = weights @ rows
    inverse_tag_totals = given.inverse_tag_totals
    if document.rho is not None:
        inverse_tag_totals = np.append(inverse_tag_totals, 1.0 / document.rho.sum())
    probabilities = np.zeros(len(document.psi))
    tag_counts, word_counts = np.zeros_like(rows), np.zeros_like(document.psi)
    for w, (psi, count) in enumerate(zip(document.psi, document.counts, strict=True)):
        joint = weights[:, None] * rows * psi
        responsibilities = joint / joint.sum()
        psi_floor = given.word_prior[w] * given.inverse_topic_totals
        psi_others = np.maximum(psi - responsibilities.sum(axis=0) * given.inverse_topic_totals, psi_floor)
        rows_others = rows - responsibilities * inverse_tag_totals[:, None]
        mix_others = np.maximum(weights @ rows_others, MIN_SHARE * mix)
        probabilities[w] = mix_others @ psi_others
        word_counts[w] = count * mix_others * psi_others / probabilities[w]
        tag_counts += count * weights[:, None] * rows_others * psi_others / probabilities[w]
    return Expectations(
        weights=weights,
        mix=mix,
        count_ratios=document.counts / probabilities,
        tag_counts=np.maximum(tag_counts, 0.0),
        word_counts=word_counts,
        objective=float(document.counts @ np.log(probabilities)),
    )


def update_posterior(method: str, document: Document, expectations: Expectations) -> Document:
    """Return the document with xi and rho updated."""
    latent = document.rho is not None
    if method == "paper":
        _, logs = expected_weights(method, document)
        topic_counts = expectations.tag_counts.sum(axis=0)
        xi = maximise_xi(document.xi, document.prior, logs @ topic_counts)
        rho = document.mu + xi[-1] / xi.sum() * topic_counts if latent else None
    else:
        xi = document.prior + expectations.tag_counts.sum(axis=1)
        rho = document.mu + expectations.tag_counts[-1] if latent else None
    return replace(document, xi=xi, rho=rho)


def sweep(method: str, document: Document, sweeps: int) -> tuple[Document, Expectations, list[float]]:
    """Sweep a document; also return the objective of each sweep, which never falls except under "cvb0"."""
    expectations = evaluate(method, document)
    objectives = [expectations.objective]
    for _ in range(sweeps - 1):
        document = update_posterior(method, document, expectations)
        expectations = evaluate(method, document)
        objectives.append(expectations.objective)
    if method != "paper":
        document = update_posterior(method, document, expectations)
    return document, expectations, objectives


def expected_weights(method: str, document: Document) -> tuple[Float64s, Float64s]:
    """Return the weights a and the rows t (log t under "paper"), the latent tag's last."""
    xi, rho = document.xi, document.rho
    weights = np.exp(digamma(xi) - digamma(xi.sum())) if method == "mixture" else xi / xi.sum()
    rows = np.log(document.theta) if method == "paper" else document.theta
    if rho is None:
        return weights, rows
    expected_log = digamma(rho) - digamma(rho.sum())
    latent = {"paper": expected_log, "mixture": np.exp(expected_log), "map": rho / rho.sum()}[method]
    return weights, np.vstack([rows, latent])


def document_objective(
    method: str, document: Document, weights: Float64s, rows: Float64s, probabilities: Float64s
) -> float:
    """Return the document's term of the objective."""
    value = float(document.counts @ np.log(probabilities))
    rho, mu = document.rho, document.mu
    if method == "map":
        value += float(document.prior @ np.log(weights))
        return value if mu is None else value + float(mu @ np.log(rows[-1]))
    value -= dirichlet_divergence(document.xi, document.prior)
    return value if rho is None or mu is None else value - dirichlet_divergence(rho, mu)


def xi_objective(xi: Float64s, pi: Float64s, gains: Float64s) -> float:
    """Return the paper's L[xi] (eq. 1 and 7)."""
    return float(-dirichlet_divergence(xi, pi) + xi @ gains / xi.sum())


def maximise_xi(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """Maximise L[xi] by natural-gradient ascent in log xi, halving steps until the objective rises."""
    if len(xi) == 1:
        return pi.copy()
    value = xi_objective(xi, pi, gains)
    for _ in range(30):
        total = xi.sum()
        fisher = np.diag(polygamma(1, xi)) - polygamma(1, total)
        slope = (gains - xi @ gains / total) / total
        direction = (pi - xi + np.linalg.solve(fisher, slope)) / xi
        if np.abs(direction).max() < 1e-9:
            break
        step = min(1.0, 2.0 / np.abs(direction).max())
        trials = (np.maximum(xi * np.exp(step * 0.5**halving * direction), 1e-8) for halving in range(20))
        better = next((trial for trial in trials if xi_objective(trial, pi, gains) > value), None)
        if better is None:
            break
        gain = xi_objective(better, pi, gains) - value
        xi, value = better, value + gain
        if gain <= 1e-10 * (1 + abs(value)):
            break
    return xi
