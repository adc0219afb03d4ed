"""Reference implementations of the baselines' kernels, in plain NumPy; tests compare both."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, logsumexp

from tagtopic._core.arrays import Float64s


def fold_in_document(
    rows: Float64s, counts: Float64s, prior: Float64s, sweeps: int, tolerance: float = 0.0
) -> Float64s:
    """``fold_in.fold_in_documents`` for one document; rows are psi (its words, the topics that it may use)."""
    shares = rows * prior
    shares /= shares.sum(axis=1, keepdims=True)
    for _ in range(sweeps):
        before = shares.copy()
        for i in range(len(rows)):
            others = counts @ shares - min(counts[i], 1.0) * shares[i]
            shares[i] = rows[i] * (others + prior)
            shares[i] /= shares[i].sum()
        if counts @ np.abs(shares - before).sum(axis=1) <= tolerance * counts.sum():
            break
    totals = counts @ shares + prior
    return np.asarray(totals / totals.sum())


def corr_document(
    log_psi: Float64s, counts: Float64s, log_tau: Float64s, alpha: Float64s, phi: Float64s, sweeps: int
) -> tuple[Float64s, Float64s, Float64s]:
    """``corr_lda.sweep_corr_document``: phi, and the lambda and gamma that maximise the bound given phi."""
    for _ in range(sweeps):
        gamma = alpha + phi.sum(axis=0)
        shares = _softmax(log_psi @ phi.T)
        phi = _softmax(log_tau + digamma(gamma) - digamma(gamma.sum()) + (counts[:, None] * shares).T @ log_psi)
    return phi, _softmax(log_psi @ phi.T), alpha + phi.sum(axis=0)


def corr_bound(
    log_psi: Float64s,
    counts: Float64s,
    log_tau: Float64s,
    alpha: Float64s,
    phi: Float64s,
    shares: Float64s,
    gamma: Float64s,
) -> float:
    """Compute the bound of one document at any phi, lambda (``shares``) and gamma: E[log p] - E[log q] term by term."""
    log_theta = digamma(gamma) - digamma(gamma.sum())
    theta = _log_dirichlet(log_theta, alpha) - _log_dirichlet(log_theta, gamma)
    topics = (phi * log_theta).sum() - _negative_entropy(phi)
    tags = (phi * log_tau).sum()
    chosen = counts @ (-np.log(len(phi)) * shares.sum(axis=1)) - counts @ _negative_entropies(shares)
    words = (counts[:, None] * shares * (log_psi @ phi.T)).sum()
    return float(theta + topics + tags + chosen + words)


def _log_dirichlet(log_theta: Float64s, prior: Float64s) -> float:
    return float(gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * log_theta).sum())


def _negative_entropies(rows: Float64s) -> Float64s:
    return np.asarray((rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1))


def _negative_entropy(rows: Float64s) -> float:
    return float(_negative_entropies(rows).sum())


def _softmax(logarithms: Float64s) -> Float64s:
    return np.asarray(np.exp(logarithms - logsumexp(logarithms, axis=1, keepdims=True)))


def dmr_evidence(logs: Float64s, counts: Any) -> float:
    """``dmr.log_evidence``: the log Dirichlet-multinomial probability with alpha = exp(logs)."""
    alpha = np.exp(logs)
    totals = gammaln(alpha.sum(axis=1)) - gammaln((alpha + counts).sum(axis=1))
    return float((totals + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=1)).sum())


def ctm_bound(
    psi: Float64s, counts: Float64s, mean: Float64s, precision: Float64s, means: Float64s, variances: Float64s
) -> float:
    """The bound of ``ctm_inference.infer_document``, E[log p] - E[log q] term by term, maximised over phi and zeta."""
    phi = _softmax(np.log(psi) + means)
    log_zeta = float(logsumexp(means + variances / 2))
    words = counts @ (phi * np.log(psi)).sum(axis=1)
    topics = counts @ (phi @ means) - counts.sum() * log_zeta - counts @ _negative_entropies(phi)
    deviation = means - mean
    prior = 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * len(mean) * np.log(2 * np.pi)
    prior -= 0.5 * (deviation @ precision @ deviation + np.diag(precision) @ variances)
    entropy = 0.5 * np.log(2 * np.pi * np.e * variances).sum()
    return float(words + topics + prior + entropy)
