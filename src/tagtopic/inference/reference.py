"""The readable twins of the kernels: plain NumPy, a line per equation, no code shared. Tests compare the two.

A document has the rows of psi of its words (``psi``, words x topics) with their ``counts``, the rows of theta of its
tags and their ``prior`` pi. The latent tag, where there is one, is the last entry of ``prior`` and ``xi``, and has
``mu`` and ``rho``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
    """One document under inference; "cvb0" needs ``leave_one_out``.

    ``own_words`` is omega (tags, words), for "map" and "mixture"; theta is then p(topic | tag), whose rows sum to less
    than 1.
    """

    psi: Float64s
    counts: Float64s
    theta: Float64s
    prior: Float64s
    xi: Float64s
    mu: Float64s | None = None
    rho: Float64s | None = None
    leave_one_out: LeaveOneOut | None = None
    own_words: Float64s | None = None


@dataclass(frozen=True)
class Expectations:
    """A document at its xi and rho.

    ``weights`` is a, ``mix`` is e, ``count_ratios`` is c / s, ``tag_counts`` is n_jk (tags, topics), ``word_counts``
    are the expected counts of each word by topic (words, topics), ``own_counts`` those of own words by tag.
    """

    weights: Float64s
    mix: Float64s
    count_ratios: Float64s
    tag_counts: Float64s
    word_counts: Float64s
    objective: float
    own_counts: Float64s | float = 0.0


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
    own_words = np.zeros((len(weights), len(document.psi)))
    if document.own_words is not None:
        own_words[: len(document.own_words)] = document.own_words
    probabilities = document.psi @ mix + weights @ own_words
    count_ratios = document.counts / probabilities
    gradient = document.psi.T @ count_ratios
    return Expectations(
        weights=weights,
        mix=mix,
        count_ratios=count_ratios,
        tag_counts=np.outer(weights, mix * gradient) if method == "paper" else weights[:, None] * rows * gradient,
        word_counts=document.psi * count_ratios[:, None] * mix,
        objective=document_objective(method, document, weights, rows, probabilities),
        own_counts=weights * (own_words @ count_ratios),
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
        xi = document.prior + expectations.tag_counts.sum(axis=1) + expectations.own_counts
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


@dataclass
class GibbsState:
    """The assignments of tokens under Gibbs sampling, and the counts of all of them.

    ``words``, ``tags``, ``topics`` and ``positions`` have one array per document: the words of its tokens, its tags,
    and the topic and the position of the tag of each token; the latent tag's position is the number of tags, and the
    topic of a tag's own word is the number of topics. ``own_words`` is by tag and word.
    """

    words: list[Any]
    tags: list[Any]
    topics: list[Any]
    positions: list[Any]
    word_topics: Float64s
    tag_topics: Float64s
    own_words: Float64s

    @classmethod
    def counted(
        cls, words: list[Any], tags: list[Any], topics: list[Any], positions: list[Any], shape: tuple[int, int, int]
    ) -> GibbsState:
        """Count assignments; ``shape`` is the numbers of words, tags and topics."""
        n_words, n_tags, n_topics = shape
        counts = (np.zeros(size) for size in ((n_words, n_topics), (n_tags, n_topics), (n_tags, n_words)))
        state = cls(words, tags, topics, positions, *counts)
        for d in range(len(words)):
            for token in range(len(words[d])):
                state.add(d, token, 1)
        return state

    def add(self, d: int, token: int, count: int) -> None:
        """Add a token to the counts, or with -1 take it out."""
        topic, position = self.topics[d][token], self.positions[d][token]
        if topic == self.word_topics.shape[1]:
            self.own_words[self.tags[d][position], self.words[d][token]] += count
            return
        self.word_topics[self.words[d][token], topic] += count
        if position < len(self.tags[d]):
            self.tag_topics[self.tags[d][position], topic] += count

    def copy(self) -> GibbsState:
        """A copy whose assignments and counts can change."""
        topics, positions = ([np.array(each) for each in values] for values in (self.topics, self.positions))
        counts = (values.copy() for values in (self.word_topics, self.tag_topics, self.own_words))
        return GibbsState(self.words, self.tags, topics, positions, *counts)


@dataclass(frozen=True)
class OwnWordPrior:
    """The prior of tags' own words: tokens of each tag, and of each tag and word (0 for words that cannot be own)."""

    tokens: Float64s
    words: Float64s


def gibbs_probabilities(
    state: GibbsState,
    d: int,
    token: int,
    pi: Float64s,
    mu: Float64s,
    alpha: Float64s,
    beta: Float64s,
    own: OwnWordPrior,
) -> Float64s:
    """Return p(tag, topic) of a token that is not in the counts, not normalised, as a table; ``pi`` is the document's.

    The latent tag, where the document has one, is the last entry of ``pi``. The last column is that of own words.
    """
    others = np.arange(len(state.words[d])) != token
    tags, word = state.tags[d], state.words[d][token]
    own_tokens = state.own_words[tags].sum(axis=1)
    rows = np.hstack([state.tag_topics[tags] + alpha, (own_tokens + own.tokens[tags])[:, None]])
    rows = rows / rows.sum(axis=1, keepdims=True)
    own_words = (state.own_words[tags] + own.words[tags])[:, word] * (own.words[tags][:, word] > 0)
    own_words = own_words / np.maximum(own_tokens + own.words[tags].sum(axis=1), 1e-300)
    if len(pi) > len(tags):
        latent = mu + np.bincount(state.topics[d][others & (state.positions[d] == len(tags))], minlength=len(mu))
        rows = np.vstack([rows, np.append(latent / latent.sum(), 0.0)])
        own_words = np.append(own_words, 0.0)
    tag_tokens = np.bincount(state.positions[d][others], minlength=len(pi)) + pi
    psi = (state.word_topics + beta[:, None]) / (state.word_topics.sum(axis=0) + beta.sum())
    words = np.hstack([np.tile(psi[word], (len(pi), 1)), own_words[:, None]])
    return np.asarray(tag_tokens[:, None] * rows * words)


def gibbs_sweep(
    state: GibbsState,
    rounds: list[list[int]],
    pi: list[Float64s],
    mu: Float64s,
    alpha: Float64s,
    beta: Float64s,
    own: OwnWordPrior,
    uniforms: list[Float64s],
    *,
    sparse: bool = False,
) -> tuple[GibbsState, float]:
    """Draw each token's topic and tag anew, document by document, against the counts at the start of its round.

    ``rounds`` has the documents of each round, ``uniforms`` two numbers for each token of each document. Own words come
    first, in the order of the tags: the second number is then not used. In the sparse draw, the part of the topics'
    weights that is due to the word's counts comes next, then the part that is due to its prior. Also return the log
    probability of the tokens, each given the assignments of all others.
    """
    state, log_probability = state.copy(), 0.0
    for documents in rounds:
        after = state.copy()
        for d in documents:
            local = state.copy()  # the document's own changes only
            for token in range(len(state.words[d])):
                local.add(d, token, -1)
                after.add(d, token, -1)
                joint = gibbs_probabilities(local, d, token, pi[d], mu, alpha, beta, own)
                log_probability += np.log(joint.sum() / (pi[d].sum() + len(state.words[d]) - 1))
                by_topic, by_tag = uniforms[d][2 * token : 2 * token + 2]
                point = by_topic * joint.sum() - joint[:, -1].sum()
                if point < 0:
                    topic, column, point = len(mu), joint[:, -1], point + joint[:, -1].sum()
                else:
                    parts = joint[:, :-1].sum(axis=0)
                    if sparse:
                        word = state.words[d][token]
                        due_to_prior = beta[word] / (local.word_topics[word] + beta[word])
                        parts = np.append(parts * (1 - due_to_prior), parts * due_to_prior)
                    topic = int(np.searchsorted(np.cumsum(parts), point, side="right")) % len(mu)
                    column, point = joint[:, topic], by_tag * joint[:, topic].sum()
                position = int(np.searchsorted(np.cumsum(column), point, side="right"))
                for each in (local, after):
                    each.topics[d][token], each.positions[d][token] = topic, position
                    each.add(d, token, 1)
        state = after
    return state, log_probability


def gibbs_log_joint(
    state: GibbsState, pi: list[Float64s], mu: Float64s, alpha: Float64s, beta: Float64s, own: OwnWordPrior
) -> float:
    """Return log p(words, tags and topics of tokens), with all Dirichlet variables integrated out."""

    def log_polya(counts: Float64s, prior: Float64s) -> float:
        counts, prior = counts[prior > 0], prior[prior > 0]
        ratio = gammaln(counts + prior).sum() - gammaln(prior).sum()
        return float(ratio - gammaln((counts + prior).sum()) + gammaln(prior.sum()))

    value = sum(log_polya(column, beta) for column in state.word_topics.T)
    for j, row in enumerate(state.tag_topics):
        value += log_polya(np.append(row, state.own_words[j].sum()), np.append(alpha, own.tokens[j]))
        if own.tokens[j] > 0:
            value += log_polya(state.own_words[j], own.words[j])
    for d, positions in enumerate(state.positions):
        value += log_polya(np.bincount(positions, minlength=len(pi[d])).astype(float), pi[d])
        latent = state.topics[d][positions == len(state.tags[d])]
        value += log_polya(np.bincount(latent, minlength=len(mu)).astype(float), mu)
    return value


def token_topic_probabilities(mix_counts: Float64s, prior: Float64s, psi_word: Float64s, own: float = 0.0) -> Float64s:
    """Return the probability of each topic, and of an own word, for a token, given the counts of all others."""
    size = mix_counts.sum() + prior.sum()
    weights = np.append((mix_counts + prior) * psi_word, own * size)
    return np.asarray(weights / weights.sum())
