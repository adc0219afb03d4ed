"""The models in plain NumPy: slow, a line an equation, no shared code with the kernels. Tests hold the two together.

A document is its words' rows of psi (``rows``, words x topics) with ``counts``, the rows of its tags (theta) and their
prior; the latent tag, where there is one, is the last of ``prior`` and ``xi``, and has ``mu`` and ``rho``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from tagtopic._core.arrays import Float64s

LEAST = 0.02


@dataclass(frozen=True)
class OwnShares:
    """One word's share of each topic's words, of each of the document's tags' words, and beta of each of its words."""

    topic: Float64s
    tag: Float64s
    word_prior: Float64s


@dataclass(frozen=True)
class Document:
    """One document under inference; ``own`` is what "cvb0" needs besides."""

    rows: Float64s
    counts: Float64s
    theta: Float64s
    prior: Float64s
    xi: Float64s
    mu: Float64s | None = None
    rho: Float64s | None = None
    own: OwnShares | None = None


@dataclass(frozen=True)
class Evaluated:
    """The document at its xi and rho: a, e, c / s, the counts n_jk credited to tags and topics, and the objective."""

    weights: Float64s
    mix: Float64s
    ratios: Float64s
    credit: Float64s
    topic_words: Float64s
    objective: float


def dirichlet_divergence(posterior: Float64s, prior: Float64s) -> float:
    """KL(Dir(posterior) || Dir(prior))."""
    expected_logs = digamma(posterior) - digamma(posterior.sum())
    normalisers = (gammaln(posterior.sum()) - gammaln(posterior).sum()) - (gammaln(prior.sum()) - gammaln(prior).sum())
    return float(normalisers + ((posterior - prior) * expected_logs).sum())


def evaluate(method: str, document: Document) -> Evaluated:
    """a, t, e, s, M, n and the objective at the document's xi and rho."""
    if method == "cvb0":
        return evaluate_leaving_out(document)
    weights, tag_rows = _expectations(method, document)
    logs = weights @ tag_rows
    mix = np.exp(logs) if method == "paper" else logs
    sums = document.rows @ mix
    ratios = document.counts / sums
    pull = document.rows.T @ ratios
    credit = np.outer(weights, mix * pull) if method == "paper" else weights[:, None] * tag_rows * pull
    return Evaluated(
        weights=weights,
        mix=mix,
        ratios=ratios,
        credit=credit,
        topic_words=document.rows * ratios[:, None] * mix,
        objective=_objective(method, document, weights, tag_rows, sums),
    )


def evaluate_leaving_out(document: Document) -> Evaluated:
    """The same, each word by what all others say: word by word, tag by tag, with every share written out."""
    own = document.own
    assert own is not None
    weights, tag_rows = _expectations("map", document)
    mix = weights @ tag_rows
    tag_shares = own.tag if document.rho is None else np.append(own.tag, 1.0 / document.rho.sum())
    sums, credit, topic_words = np.zeros(len(document.rows)), np.zeros_like(tag_rows), np.zeros_like(document.rows)
    for i, (row, count) in enumerate(zip(document.rows, document.counts, strict=True)):
        joint = weights[:, None] * tag_rows * row
        share = joint / joint.sum()
        others = np.maximum(row - share.sum(axis=0) * own.topic, own.word_prior[i] * own.topic)
        tag_others = tag_rows - share * tag_shares[:, None]
        mix_of_others = np.maximum(weights @ tag_others, LEAST * mix)
        sums[i] = mix_of_others @ others
        topic_words[i] = count * mix_of_others * others / sums[i]
        credit += count * weights[:, None] * tag_others * others / sums[i]
    return Evaluated(
        weights=weights,
        mix=mix,
        ratios=document.counts / sums,
        credit=np.maximum(credit, 0.0),
        topic_words=topic_words,
        objective=float(document.counts @ np.log(sums)),
    )


def update(method: str, document: Document, evaluated: Evaluated) -> Document:
    """The document with xi and rho moved on."""
    latent = document.rho is not None
    if method == "paper":
        _, logs = _expectations(method, document)
        topic_counts = evaluated.credit.sum(axis=0)
        xi = ascend_weights(document.xi, document.prior, logs @ topic_counts)
        rho = document.mu + xi[-1] / xi.sum() * topic_counts if latent else None
    else:
        xi = document.prior + evaluated.credit.sum(axis=1)
        rho = document.mu + evaluated.credit[-1] if latent else None
    return replace(document, xi=xi, rho=rho)


def sweep(method: str, document: Document, sweeps: int) -> tuple[Document, Evaluated, list[float]]:
    """As the kernel does it; also the objective at each sweep, which never falls (but under "cvb0" it may)."""
    evaluated = evaluate(method, document)
    objectives = [evaluated.objective]
    for _ in range(sweeps - 1):
        document = update(method, document, evaluated)
        evaluated = evaluate(method, document)
        objectives.append(evaluated.objective)
    if method != "paper":
        document = update(method, document, evaluated)
    return document, evaluated, objectives


def weight_objective(xi: Float64s, pi: Float64s, gains: Float64s) -> float:
    """The paper's L[xi] (eq. 1 and 7)."""
    return float(-dirichlet_divergence(xi, pi) + xi @ gains / xi.sum())


def ascend_weights(xi: Float64s, pi: Float64s, gains: Float64s) -> Float64s:
    """Natural-gradient ascent of L[xi] in log xi; only steps that rise are taken."""
    if len(xi) == 1:
        return pi.copy()
    value = weight_objective(xi, pi, gains)
    for _ in range(30):
        total = xi.sum()
        fisher = np.diag(polygamma(1, xi)) - polygamma(1, total)
        slope = (gains - xi @ gains / total) / total
        direction = (pi - xi + np.linalg.solve(fisher, slope)) / xi
        if np.abs(direction).max() < 1e-9:
            break
        step = min(1.0, 2.0 / np.abs(direction).max())
        trials = (np.maximum(xi * np.exp(step * 0.5**halving * direction), 1e-8) for halving in range(20))
        risen = next((trial for trial in trials if weight_objective(trial, pi, gains) > value), None)
        if risen is None:
            break
        gained = weight_objective(risen, pi, gains) - value
        xi, value = risen, value + gained
        if gained <= 1e-10 * (1 + abs(value)):
            break
    return xi


def _expectations(method: str, document: Document) -> tuple[Float64s, Float64s]:
    """Weights a and rows t (log t under "paper"), the latent tag's last."""
    xi, rho = document.xi, document.rho
    weights = np.exp(digamma(xi) - digamma(xi.sum())) if method == "mixture" else xi / xi.sum()
    rows = np.log(document.theta) if method == "paper" else document.theta
    if rho is None:
        return weights, rows
    expected_log = digamma(rho) - digamma(rho.sum())
    latent = {"paper": expected_log, "mixture": np.exp(expected_log), "map": rho / rho.sum()}[method]
    return weights, np.vstack([rows, latent])


def _objective(method: str, document: Document, weights: Float64s, rows: Float64s, sums: Float64s) -> float:
    value = float(document.counts @ np.log(sums))
    rho, mu = document.rho, document.mu
    if method == "map":
        value += float(document.prior @ np.log(weights))
        return value if mu is None else value + float(mu @ np.log(rows[-1]))
    value -= dirichlet_divergence(document.xi, document.prior)
    return value if rho is None or mu is None else value - dirichlet_divergence(rho, mu)
