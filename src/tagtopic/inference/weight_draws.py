"""Draws from a document's posterior over its tag weights, by Gibbs sampling, for intervals that hold.

Dir(xi) is no posterior to take intervals from: it treats the tag of each word as observed (nominal 90% covered 44-76%
on planted data). Here what two tags have together is divided anew between them, again and again, by slice sampling
(Neal 2003) of the posterior itself, in which the words' tags are summed over:

    p(eps | words) ~ prod_j eps_j^(pi_j - 1)  prod_w (sum_j eps_j p_jw)^c_w ,   p_jw = sum_k t_jk psi_wk

(t is theta, and the latent tag's own lambda.) So tags that are alike change places in one step, in a long document as
in a short one: if instead the tag of each word is drawn in turn, they do so word by word. Only lambda is drawn so:

    each word of the latent tag gets a topic, with probability lambda_k psi_wk ;  lambda ~ Dir(mu + words by topic)

The parameters (theta, psi, pi, mu) are taken as known.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s, Floats
from tagtopic._core.jit import compiled
from tagtopic.inference.types import Documents, Model

PRIME, BITS = 0x01000193, 0xFFFFFFFF
"""By which a hash is multiplied, and what of it is kept (FNV)."""

WIDTH = 2.0
"""Of the first interval that slice sampling looks at, in log odds; it changes the time and not the result."""

FURTHEST = 700.0
"""Log odds beyond which no share is looked for: its exponential is hardly a number."""


@compiled
def draw_dirichlet(shape: Float64s, out: Float64s) -> None:
    """One draw of Dir(shape)."""
    total = 0.0
    for i in range(shape.shape[0]):
        out[i] = np.random.gamma(shape[i], 1.0) + 1e-300  # noqa: NPY002  (Numba: each thread has its own)
        total += out[i]
    for i in range(shape.shape[0]):
        out[i] /= total


@compiled
def draw_place(weights: Float64s, total: float) -> int:
    """A place with probability in proportion to its weight."""
    left = np.random.random() * total  # noqa: NPY002
    place = 0
    while place < len(weights) - 1:
        left -= weights[place]
        if left < 0:
            break
        place += 1
    return place


@compiled
def seed_of(documents: Documents, d: int, seed: int) -> int:
    """A seed by the document's own words and tags: its draws are the same wherever it stands among others."""
    value = seed & BITS
    for p in range(documents.word_starts[d], documents.word_starts[d + 1]):
        value = ((value ^ int(documents.words[p])) * PRIME) & BITS
        value = ((value ^ int(1024 * documents.counts[p])) * PRIME) & BITS
    for p in range(documents.tag_starts[d], documents.tag_starts[d + 1]):
        value = ((value ^ int(documents.tags[p])) * PRIME) & BITS
    return value


@compiled
def draw_latent_row(
    psi: Float64s, counts: Float64s, mu: Float64s, weight: float, sums: Float64s, row: Float64s, explained: Float64s
) -> None:
    """Draw the latent tag's lambda anew, given its weight and the last one, ``row``, which it replaces.

    ``explained`` is what the latent tag gives each word, ``sums`` what all tags do; they too are brought up to date.
    """
    n_words, n_topics = psi.shape
    credit, by_topic = mu.copy(), np.empty(n_topics)
    for i in range(n_words):
        if explained[i] <= 0:
            continue
        for k in range(n_topics):
            by_topic[k] = row[k] * psi[i, k]
        left = counts[i]
        while left > 0:  # token by token; of a fractional count the last is less than one
            if np.random.random() * sums[i] < weight * explained[i]:  # noqa: NPY002
                credit[draw_place(by_topic, explained[i])] += min(left, 1.0)
            left -= 1.0
    draw_dirichlet(credit, row)
    for i in range(n_words):
        before = explained[i]
        explained[i] = 0.0
        for k in range(n_topics):
            explained[i] += row[k] * psi[i, k]
        sums[i] += weight * (explained[i] - before)


@compiled
def log_posterior(odds: float, first: float, second: float, counts: Float64s, sums: Float64s, shift: Float64s) -> float:
    """Of dividing between two tags with these priors, up to a constant.

    ``sums`` are the words' probabilities if all goes to the second tag, ``shift`` what the first would add to them.
    """
    share = 1.0 / (1.0 + math.exp(-odds))
    value = -first * math.log1p(math.exp(-odds)) - second * math.log1p(math.exp(odds))
    for i in range(counts.shape[0]):
        value += counts[i] * math.log(max(sums[i] + share * shift[i], 1e-300))
    return value


@compiled
def draw_odds(odds: float, first: float, second: float, counts: Float64s, sums: Float64s, shift: Float64s) -> float:
    """The next log odds after ``odds`` of the first tag against the second, by slice sampling with stepping out."""
    level = log_posterior(odds, first, second, counts, sums, shift) + math.log(1.0 - np.random.random())  # noqa: NPY002
    low = odds - WIDTH * np.random.random()  # noqa: NPY002
    high = low + WIDTH
    while low > -FURTHEST and log_posterior(low, first, second, counts, sums, shift) > level:
        low -= WIDTH
    while high < FURTHEST and log_posterior(high, first, second, counts, sums, shift) > level:
        high += WIDTH
    low, high = max(low, -FURTHEST), min(high, FURTHEST)
    while high - low > 1e-9:
        drawn = low + (high - low) * np.random.random()  # noqa: NPY002
        if log_posterior(drawn, first, second, counts, sums, shift) > level:
            return drawn
        if drawn < odds:
            low = drawn
        else:
            high = drawn
    return odds


@compiled
def divide_anew(
    a: int, b: int, prior: Float64s, explained: Float64s, counts: Float64s, weights: Float64s, sums: Float64s,
    shift: Float64s,
) -> None:  # fmt: skip
    """Draw how tags a and b divide between them what they have of the document; ``shift`` is for working in."""
    both = weights[a] + weights[b]
    if min(weights[a], weights[b]) <= 0.0:
        return
    for i in range(counts.shape[0]):
        shift[i] = both * (explained[a, i] - explained[b, i])
        sums[i] -= weights[a] * (explained[a, i] - explained[b, i])
    odds = min(max(math.log(weights[a]) - math.log(weights[b]), -FURTHEST), FURTHEST)
    odds = draw_odds(odds, prior[a], prior[b], counts, sums, shift)
    weights[a], weights[b] = both / (1.0 + math.exp(-odds)), both / (1.0 + math.exp(odds))
    for i in range(counts.shape[0]):
        sums[i] += shift[i] * (weights[a] / both)


@compiled
def log_prior_of_exchange(
    moved: float, own: float, own_prior: float, latent_prior: float, theta: Floats, mu: Float64s, parts: Float64s
) -> float:
    """Of a tag's weight ``own + moved`` and the latent tag's ``parts - moved * theta``, up to a constant."""
    total = 0.0
    value = (own_prior - 1.0) * math.log(max(own + moved, 1e-300))
    for k in range(mu.shape[0]):
        part = max(parts[k] - moved * theta[k], 1e-300)
        total += part
        value += (mu[k] - 1.0) * math.log(part)
    return value + (latent_prior - float(mu.sum())) * math.log(total)


@compiled
def exchange_with_latent(
    j: int, theta: Floats, prior: Float64s, mu: Float64s, weights: Float64s, row: Float64s, explained: Float64s
) -> None:
    """Move weight between tag j and the latent one, which takes or gives tag j's mix of topics with it.

    No word's probability changes, so that only the priors say how much. Without this, a latent tag that could as well
    say what tag j says would get there by steps as small as a long document leaves to each of the two alone.
    """
    latent = int(weights.shape[0]) - 1
    parts = weights[latent] * row
    low, high = -weights[j], np.inf
    for k in range(mu.shape[0]):
        if theta[k] > 0:
            high = min(high, parts[k] / theta[k])
    level = log_prior_of_exchange(0.0, weights[j], prior[j], float(prior[latent]), theta, mu, parts)
    level += math.log(1.0 - np.random.random())  # noqa: NPY002
    moved = 0.0
    while high - low > 1e-9:
        moved = low + (high - low) * np.random.random()  # noqa: NPY002
        if log_prior_of_exchange(moved, weights[j], prior[j], float(prior[latent]), theta, mu, parts) > level:
            break
        low, high = (moved, high) if moved < 0 else (low, moved)
        moved = 0.0
    weights[j] += moved
    total = 0.0
    for k in range(mu.shape[0]):
        row[k] = max(parts[k] - moved * theta[k], 1e-300)
        total += row[k]
    for i in range(explained.shape[1]):
        explained[latent, i] = max(weights[latent] * explained[latent, i] - moved * explained[j, i], 0.0) / total
    for k in range(mu.shape[0]):
        row[k] /= total
    weights[latent] = total


@compiled
def draw_weights(documents: Documents, d: int, model: Model, seed: int, burn_in: int, draws: Float64s) -> None:
    """Fill ``draws`` (draws, tags and last the latent one if the document has it) for document d."""
    np.random.seed(seed_of(documents, d, seed))  # noqa: NPY002
    n_draws, size = draws.shape
    first, n_words = documents.word_starts[d], documents.word_starts[d + 1] - documents.word_starts[d]
    tags = documents.tags[documents.tag_starts[d] : documents.tag_starts[d + 1]]
    n_tags, n_topics = tags.shape[0], model.psi.shape[1]
    psi, counts = np.empty((n_words, n_topics)), np.empty(n_words)
    explained, prior = np.zeros((size, n_words)), np.full(size, model.pi_latent)
    row = model.mu / model.mu.sum()
    for j in range(n_tags):
        prior[j] = model.pi[tags[j]]
    for i in range(n_words):
        psi[i] = model.psi[documents.words[first + i]]
        counts[i] = documents.counts[first + i]
        for j in range(size):
            for k in range(n_topics):
                explained[j, i] += (model.tag_rows[tags[j], k] if j < n_tags else row[k]) * psi[i, k]
    weights = prior / prior.sum()
    sums, shift = np.empty(n_words), np.empty(n_words)
    for draw in range(-burn_in, n_draws):
        sums[:] = 0.0  # made anew: what is added and taken away leaves rounding behind
        for j in range(size):
            for i in range(n_words):
                sums[i] += weights[j] * explained[j, i]
        if size > n_tags:
            draw_latent_row(psi, counts, model.mu, weights[n_tags], sums, row, explained[n_tags])
            j = int(np.random.random() * n_tags)  # noqa: NPY002
            exchange_with_latent(j, model.tag_rows[tags[j]], prior, model.mu, weights, row, explained)
        for a in range(size):
            b = int(np.random.random() * (size - 1))  # noqa: NPY002
            if size > 1:
                divide_anew(a, b + 1 if b >= a else b, prior, explained, counts, weights, sums, shift)
        if draw >= 0:
            draws[draw] = weights
