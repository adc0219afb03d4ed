"""Draws from the posterior of a document's tag weights by Gibbs sampling, for credible intervals.

Dir(xi) is too narrow for intervals, because it treats the tag of each word as observed (nominal 90% intervals covered
44-76% on planted data). Here the tags of words are summed out,

    p(eps | words) ~ prod_j eps_j^(pi_j - 1)  prod_w (sum_j eps_j p_jw)^c_w ,   p_jw = sum_k t_jk psi_wk

(t is theta, and lambda for the latent tag; words of tags' own are added to p_jw), and the sampler repeatedly redraws
how two tags divide their joint weight, by slice sampling (Neal 2003). Similar tags can then exchange their weights in
one step, in a long document as in a short one; drawing the tag of each word in turn would take a step per word. Only
lambda is drawn by assignments:

    each word of the latent tag gets a topic, with probability lambda_k psi_wk ;  lambda ~ Dir(mu + words by topic)

The parameters (theta, psi, pi, mu) are taken as known.

References
----------
R. M. Neal, "Slice sampling", Annals of Statistics 31(3), 2003.
"""

from __future__ import annotations

import math

import numpy as np

from tagtopic._core.arrays import Float64s, Int64s
from tagtopic._core.jit import compiled
from tagtopic.inference.e_step import latent_topic_prior
from tagtopic.inference.types import Documents, KernelParameters, OwnWordEntries

FNV_PRIME, FNV_MASK = 0x01000193, 0xFFFFFFFF
"""The multiplier and the width of the FNV-1a hash."""

SLICE_WIDTH = 2.0
"""The width of the first interval of slice sampling, in log odds; it affects the running time only."""

MAX_LOG_ODDS = 700.0
"""The largest log odds of a share: beyond it the exponential overflows."""

GROUP = 16
"""Words with the same count whose probabilities are multiplied before a logarithm is taken of the product."""

LEAST_PRODUCT = 1e-290
"""A smaller product may have underflowed."""


@compiled
def draw_dirichlet(shape: Float64s, out: Float64s) -> None:
    """Draw from Dir(shape) into ``out``."""
    total = 0.0
    for i in range(shape.shape[0]):
        out[i] = np.random.gamma(shape[i], 1.0) + 1e-300  # noqa: NPY002  (in Numba each thread has its own generator)
        total += out[i]
    for i in range(shape.shape[0]):
        out[i] /= total


@compiled
def draw_categorical(weights: Float64s, total: float) -> int:
    """Draw an index with probability proportional to its weight."""
    left = np.random.random() * total  # noqa: NPY002
    category = 0
    while category < len(weights) - 1:
        left -= weights[category]
        if left < 0:
            break
        category += 1
    return category


@compiled
def document_seed(documents: Documents, d: int, seed: int) -> int:
    """Hash the document's words and tags with ``seed``, so that its draws do not depend on its place in a corpus."""
    value = seed & FNV_MASK
    for p in range(documents.word_starts[d], documents.word_starts[d + 1]):
        value = ((value ^ int(documents.words[p])) * FNV_PRIME) & FNV_MASK
        value = ((value ^ int(1024 * documents.counts[p])) * FNV_PRIME) & FNV_MASK
    for p in range(documents.tag_starts[d], documents.tag_starts[d + 1]):
        value = ((value ^ int(documents.tags[p])) * FNV_PRIME) & FNV_MASK
    return value


@compiled
def draw_latent_topics(
    psi: Float64s,
    counts: Float64s,
    mu: Float64s,
    weight: float,
    probabilities: Float64s,
    row: Float64s,
    by_tag: Float64s,
) -> None:
    """Draw lambda, given the latent tag's weight and the last lambda, ``row``, which is replaced.

    ``by_tag`` is the probability of each word under the latent tag, ``probabilities`` under all tags; both are updated.
    """
    n_words, n_topics = psi.shape
    concentration, by_topic = mu.copy(), np.empty(n_topics)
    for i in range(n_words):
        if by_tag[i] <= 0:
            continue
        for k in range(n_topics):
            by_topic[k] = row[k] * psi[i, k]
        left = counts[i]
        while left > 0:  # token by token; the last one of a fractional count is less than one
            if np.random.random() * probabilities[i] < weight * by_tag[i]:  # noqa: NPY002
                concentration[draw_categorical(by_topic, by_tag[i])] += min(left, 1.0)
            left -= 1.0
    draw_dirichlet(concentration, row)
    for i in range(n_words):
        before = by_tag[i]
        by_tag[i] = 0.0
        for k in range(n_topics):
            by_tag[i] += row[k] * psi[i, k]
        probabilities[i] += weight * (by_tag[i] - before)


@compiled
def entries_by_count(documents: Documents, d: int) -> Int64s:
    """Return the document's word entries in ascending order of their counts, of which few differ."""
    first, last = documents.word_starts[d], documents.word_starts[d + 1]
    entries, n = np.empty(last - first, np.int64), 0
    before = -np.inf
    while n < last - first:
        least = np.inf
        for p in range(first, last):
            if documents.counts[p] > before:
                least = min(least, float(documents.counts[p]))
        for p in range(first, last):
            if documents.counts[p] == least:
                entries[n] = p
                n += 1
        before = least
    return entries


@compiled
def groups_of_equal_counts(counts: Float64s) -> Int64s:
    """Return the starts of groups of at most GROUP words with the same count, from counts in order; then their end."""
    starts, n = np.zeros(counts.shape[0] + 1, np.int64), 0
    for i in range(1, counts.shape[0] + 1):
        if i == counts.shape[0] or counts[i] != counts[starts[n]] or i - starts[n] == GROUP:
            n += 1
            starts[n] = i
    return starts[: n + 1]


@compiled
def group_product(first: int, last: int, share: float, probabilities: Float64s, shift: Float64s) -> float:
    """Return ``maximum(probabilities + share * shift, 0)[first:last].prod()``."""
    product = 1.0
    for i in range(first, last):
        product *= max(probabilities[i] + share * shift[i], 0.0)
    return product


@compiled
def shifted_log_likelihood(
    share: float, groups: Int64s, counts: Float64s, probabilities: Float64s, shift: Float64s
) -> float:
    """Return ``counts @ log(maximum(probabilities + share * shift, 1e-300))``, by one logarithm for each group."""
    value = 0.0
    for group in range(groups.shape[0] - 1):
        first, last = int(groups[group]), int(groups[group + 1])
        product = group_product(first, last, share, probabilities, shift)
        if product > LEAST_PRODUCT:
            value += counts[first] * math.log(product)
        else:
            for i in range(first, last):
                value += counts[i] * math.log(max(probabilities[i] + share * shift[i], 1e-300))
    return value


@compiled
def pair_log_posterior(
    odds: float, first: float, second: float, groups: Int64s, counts: Float64s, probabilities: Float64s, shift: Float64s
) -> float:
    """Return the log posterior of the log odds of two tags with these priors, up to a constant.

    ``probabilities`` are those of the words if the second tag has the whole joint weight, ``shift`` is their change if
    the first has it. ``groups`` are those of equal counts.
    """
    share = 1.0 / (1.0 + math.exp(-odds))
    value = -first * math.log1p(math.exp(-odds)) - second * math.log1p(math.exp(odds))
    return value + shifted_log_likelihood(share, groups, counts, probabilities, shift)


@compiled
def draw_log_odds(
    odds: float, first: float, second: float, groups: Int64s, counts: Float64s, probabilities: Float64s, shift: Float64s
) -> float:
    """Draw the next log odds of the first tag against the second, by slice sampling with stepping out."""
    level = pair_log_posterior(odds, first, second, groups, counts, probabilities, shift)
    level += math.log(1.0 - np.random.random())  # noqa: NPY002
    low = odds - SLICE_WIDTH * np.random.random()  # noqa: NPY002
    high = low + SLICE_WIDTH
    while low > -MAX_LOG_ODDS and pair_log_posterior(low, first, second, groups, counts, probabilities, shift) > level:
        low -= SLICE_WIDTH
    while high < MAX_LOG_ODDS and pair_log_posterior(high, first, second, groups, counts, probabilities, shift) > level:
        high += SLICE_WIDTH
    low, high = max(low, -MAX_LOG_ODDS), min(high, MAX_LOG_ODDS)
    while high - low > 1e-9:
        drawn = low + (high - low) * np.random.random()  # noqa: NPY002
        if pair_log_posterior(drawn, first, second, groups, counts, probabilities, shift) > level:
            return drawn
        if drawn < odds:
            low = drawn
        else:
            high = drawn
    return odds


@compiled
def redraw_pair(
    a: int, b: int, prior: Float64s, by_tag: Float64s, groups: Int64s, counts: Float64s, weights: Float64s,
    probabilities: Float64s, shift: Float64s,
) -> None:  # fmt: skip
    """Draw how tags a and b divide their joint weight; ``shift`` is a working array."""
    both = weights[a] + weights[b]
    if min(weights[a], weights[b]) <= 0.0:
        return
    for i in range(counts.shape[0]):
        shift[i] = both * (by_tag[a, i] - by_tag[b, i])
        probabilities[i] -= weights[a] * (by_tag[a, i] - by_tag[b, i])
    odds = min(max(math.log(weights[a]) - math.log(weights[b]), -MAX_LOG_ODDS), MAX_LOG_ODDS)
    odds = draw_log_odds(odds, prior[a], prior[b], groups, counts, probabilities, shift)
    weights[a], weights[b] = both / (1.0 + math.exp(-odds)), both / (1.0 + math.exp(odds))
    for i in range(counts.shape[0]):
        probabilities[i] += shift[i] * (weights[a] / both)


@compiled
def exchange_log_prior(
    moved: float, own: float, own_prior: float, latent_prior: float, theta: Float64s, mu: Float64s, parts: Float64s
) -> float:
    """Return the log prior of weight ``own + moved`` of a tag and ``parts - moved * theta`` of the latent one."""
    total = 0.0
    value = (own_prior - 1.0) * math.log(max(own + moved, 1e-300))
    for k in range(mu.shape[0]):
        part = max(parts[k] - moved * theta[k], 1e-300)
        total += part
        value += (mu[k] - 1.0) * math.log(part)
    return value + (latent_prior - float(mu.sum())) * math.log(total)


@compiled
def exchange_with_latent(
    j: int,
    theta: Float64s,
    prior: Float64s,
    mu: Float64s,
    weights: Float64s,
    row: Float64s,
    by_tag: Float64s,
    by_topics: Float64s,
    own_words: bool,
    counts: Float64s,
    probabilities: Float64s,
) -> None:
    """Move weight between tag j and the latent tag together with tag j's topic distribution.

    ``by_topics`` is the probability of each word under theta. Without words of the tag's own, no word's probability
    changes, so the amount depends on the priors only. With them, the amount is drawn from the priors and accepted with
    the ratio of the likelihoods (Metropolis-Hastings). Without this move, a latent tag that could replace tag j would
    get there by the small steps that a long document leaves to either of them alone.
    """
    latent = int(weights.shape[0]) - 1
    parts = weights[latent] * row
    low, high = -weights[j], np.inf
    for k in range(mu.shape[0]):
        if theta[k] > 0:
            high = min(high, parts[k] / theta[k])
    level = exchange_log_prior(0.0, weights[j], prior[j], float(prior[latent]), theta, mu, parts)
    level += math.log(1.0 - np.random.random())  # noqa: NPY002
    moved = 0.0
    while high - low > 1e-9:
        moved = low + (high - low) * np.random.random()  # noqa: NPY002
        if exchange_log_prior(moved, weights[j], prior[j], float(prior[latent]), theta, mu, parts) > level:
            break
        low, high = (moved, high) if moved < 0 else (low, moved)
        moved = 0.0
    if own_words:
        gain = 0.0
        for i in range(counts.shape[0]):
            shifted = probabilities[i] + moved * (by_tag[j, i] - by_topics[i])
            gain += counts[i] * (math.log(max(shifted, 1e-300)) - math.log(max(probabilities[i], 1e-300)))
        if math.log(1.0 - np.random.random()) > gain:  # noqa: NPY002
            return
        for i in range(counts.shape[0]):
            probabilities[i] += moved * (by_tag[j, i] - by_topics[i])
    weights[j] += moved
    total = 0.0
    for k in range(mu.shape[0]):
        row[k] = max(parts[k] - moved * theta[k], 1e-300)
        total += row[k]
    for i in range(by_tag.shape[1]):
        by_tag[latent, i] = max(weights[latent] * by_tag[latent, i] - moved * by_topics[i], 0.0) / total
    for k in range(mu.shape[0]):
        row[k] /= total
    weights[latent] = total


@compiled
def draw_weights(
    documents: Documents,
    d: int,
    own_words: OwnWordEntries,
    parameters: KernelParameters,
    seed: int,
    burn_in: int,
    start: Float64s,
    draws: Float64s,
) -> None:
    """Draw the tag weights of document d into ``draws`` (draws, tags), the latent tag last if there is one.

    ``start`` are weights to begin with, such as the last ones under similar parameters; if empty, the prior's means.
    """
    np.random.seed(document_seed(documents, d, seed))  # noqa: NPY002
    n_draws, size = draws.shape
    n_words = documents.word_starts[d + 1] - documents.word_starts[d]
    tags = documents.tags[documents.tag_starts[d] : documents.tag_starts[d + 1]]
    n_tags, n_topics = tags.shape[0], parameters.psi.shape[1]
    psi, counts = np.empty((n_words, n_topics)), np.empty(n_words)
    by_tag, prior = np.zeros((size, n_words)), np.full(size, parameters.pi_latent)
    for j in range(n_tags):
        prior[j] = parameters.pi[tags[j]]
    mu = np.empty(n_topics)
    latent_topic_prior(parameters, tags, prior, mu)
    row = mu / mu.sum()
    entries = entries_by_count(documents, d)
    for i in range(n_words):
        psi[i] = parameters.psi[documents.words[entries[i]]]
        counts[i] = documents.counts[entries[i]]
        for j in range(size):
            for k in range(n_topics):
                by_tag[j, i] += (parameters.tag_rows[tags[j], k] if j < n_tags else row[k]) * psi[i, k]
        if own_words.starts.shape[0] > 0:
            entry = entries[i] - documents.word_starts[0]
            for c in range(own_words.starts[entry], own_words.starts[entry + 1]):
                by_tag[own_words.positions[c], i] += parameters.omega[own_words.pairs[c]]
    groups = groups_of_equal_counts(counts)
    weights = start.copy() if start.shape[0] else prior / prior.sum()
    probabilities, shift, by_topics = np.empty(n_words), np.empty(n_words), np.empty(n_words)
    for draw in range(-burn_in, n_draws):
        probabilities[:] = 0.0  # recomputed: updates accumulate rounding errors
        for j in range(size):
            for i in range(n_words):
                probabilities[i] += weights[j] * by_tag[j, i]
        if size > n_tags:
            draw_latent_topics(psi, counts, mu, float(weights[n_tags]), probabilities, row, by_tag[n_tags])
            j = int(np.random.random() * n_tags)  # noqa: NPY002
            theta = parameters.tag_rows[tags[j]].astype(np.float64)
            own = own_words.starts.shape[0] > 0
            by_topics[:] = by_tag[j]
            if own:
                theta /= theta.sum()
                for i in range(n_words):
                    by_topics[i] = 0.0
                    for k in range(n_topics):
                        by_topics[i] += theta[k] * psi[i, k]
            exchange_with_latent(j, theta, prior, mu, weights, row, by_tag, by_topics, own, counts, probabilities)
        for a in range(size):
            b = int(np.random.random() * (size - 1))  # noqa: NPY002
            if size > 1:
                redraw_pair(a, b + 1 if b >= a else b, prior, by_tag, groups, counts, weights, probabilities, shift)
        if draw >= 0:
            draws[draw] = weights
