"""Draws from a document's posterior over its tag weights, by Gibbs sampling, for intervals that hold.

Dir(xi) is no posterior to take intervals from: it treats the tag of each word as observed (nominal 90% covered 44-76%
on planted data). Here the tag of each word is drawn, then the weights given the tags, in turn:

    x_i = j  with probability  eps_j sum_k t_jk psi_wk       (t is theta; for the latent tag lambda, which is drawn too)
    eps ~ Dir(pi + words by tag) ;  lambda ~ Dir(mu + words of the latent tag by topic)

The parameters (theta, psi, pi, mu) are taken as known.
"""

from __future__ import annotations

import numpy as np

from tagtopic.compiled import compiled
from tagtopic.inference.arrays import Documents, Float64s, Floats, Model

PRIME, BITS = 0x01000193, 0xFFFFFFFF
"""By which a hash is multiplied, and what of it is kept (FNV)."""


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
def draw_weights(
    documents: Documents, d: int, model: Model, theta: Floats, seed: int, burn_in: int, draws: Float64s
) -> None:
    """Fill ``draws`` (draws, tags and last the latent one if the document has it) for document d."""
    np.random.seed(seed_of(documents, d, seed))  # noqa: NPY002
    n_draws, size = draws.shape
    n_topics = model.psi.shape[1]
    first, last = documents.word_starts[d], documents.word_starts[d + 1]
    tags = documents.tags[documents.tag_starts[d] : documents.tag_starts[d + 1]]
    n_tags = tags.shape[0]
    latent = size > n_tags
    explained = np.zeros((last - first, n_tags))
    for i in range(last - first):
        for j in range(n_tags):
            for k in range(n_topics):
                explained[i, j] += theta[tags[j], k] * model.psi[documents.words[first + i], k]
    prior = np.empty(size)
    for j in range(n_tags):
        prior[j] = model.pi[tags[j]]
    if latent:
        prior[n_tags] = model.pi_latent
    weights, credit = prior / prior.sum(), np.empty(size)
    mix, topic_credit = model.mu / model.mu.sum(), np.empty(n_topics)
    by_tag, by_topic = np.empty(size), np.empty(n_topics)
    of_latent = 0.0
    for draw in range(-burn_in, n_draws):
        credit[:] = prior
        topic_credit[:] = model.mu
        for i in range(last - first):
            for j in range(n_tags):
                by_tag[j] = weights[j] * explained[i, j]
            if latent:
                of_latent = 0.0
                for k in range(n_topics):
                    by_topic[k] = mix[k] * model.psi[documents.words[first + i], k]
                    of_latent += by_topic[k]
                by_tag[n_tags] = weights[n_tags] * of_latent
            total = float(by_tag.sum())
            if total <= 0:
                continue
            left = float(documents.counts[first + i])
            while left > 0:  # token by token; of a fractional count the last is less than one
                amount = min(left, 1.0)
                left -= 1.0
                place = draw_place(by_tag, total)
                credit[place] += amount
                if place == n_tags:
                    topic_credit[draw_place(by_topic, of_latent)] += amount
        draw_dirichlet(credit, weights)
        if latent:
            draw_dirichlet(topic_credit, mix)
        if draw >= 0:
            draws[draw] = weights
