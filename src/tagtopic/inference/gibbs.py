"""Collapsed Gibbs sampling: a tag and a topic are drawn for each token, given those of all other tokens.

Weights of tags, topics of tags, words of topics and the latent tag's topics are integrated out. With counts that leave
the token itself out, the probability of tag j and topic k for a token of word w in document d is proportional to

    (n_dj + pi_j) (n_jk + alpha_k) / (n_j + A) (n_wk + beta_w) / (n_k + B)          A = sum alpha, B = sum beta
    (n_d0 + pi_0) (n_d0k + mu_k) / (n_d0 + sum mu) (n_wk + beta_w) / (n_k + B)      for the latent tag

If word w is a candidate of tag j, it may be one of the tag's own words instead, with the prior o of the number of own
words and q_w of each (Q_j is their sum over the tag's candidates); o is then added to n_j + A above:

    (n_dj + pi_j) (n_jo + o) / (n_j + A + o) (n_jw + q_w) / (n_jo + Q_j)

The topic is drawn first, from the sum over tags, then the tag given the topic. With g_j = (n_dj + pi_j) / (n_j + A) and
h_jk = n_jk + alpha_k, the sum is m_k f_k where m_k = sum_j g_j h_jk is kept up to date for the document, so that a
token costs O(topics + tags); m changes in all topics only if the tag does.

The documents of a block are sampled in parallel, each against the counts at the start of the block and its own changes
to them; the changes of all of them are added after the block. Counts are integers and random numbers are a function of
seed, sweep and document, so the bits do not depend on the number of threads. With blocks of one document this is
exactly a collapsed Gibbs sampler; with larger ones an approximation, as in AD-LDA.

References
----------
T. L. Griffiths and M. Steyvers, "Finding scientific topics", PNAS 101, 2004.
D. Newman, A. Asuncion, P. Smyth and M. Welling, "Distributed algorithms for topic models", JMLR 10, 2009.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Floats, Int32s, Int64s
from tagtopic._core.hashing import GOLDEN_GAMMA, splitmix64
from tagtopic._core.intrinsics import atomic_add, prefetch_row
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.own_words import OwnWordCandidates
from tagtopic.inference.types import Documents, OwnWordEntries, Parameters, Priors

GROUP = 64
"""Topics whose probabilities are summed together when one of them is searched for."""

REFRESH = 64
"""Changes after which m is computed anew, because single-precision differences add up."""

MAX_TOPICS = (1 << 16) - 1
"""As many as 16 bits count, with own words as one more."""


class Assignments(NamedTuple):
    """The topic of each token and the position of its tag among the document's; the latent tag comes last.

    The topic of a tag's own word is the number of topics.

    The tokens of a document are in the order of its word entries, each repeated as often as it is counted.
    """

    topics: NDArray[np.uint16]
    tags: NDArray[Any]


class TopicCounts(NamedTuple):
    """Tokens by word and topic (n_wk), topic (n_k), tag and topic (n_jk), and tag (n_j).

    ``own_words`` is by pair of a tag and one of its own words (n_jw), ``tags_own`` by tag (n_jo); they are part of n_j.
    """

    word_topics: Int32s
    topics: Int64s
    tag_topics: Int32s
    tags: Int64s
    own_words: Int32s
    tags_own: Int64s


class SamplerPriors(NamedTuple):
    """The priors as the sampler takes them, in single precision; the last three are those of own words."""

    pi: Floats
    pi_latent: float
    mu: Floats
    alpha: Floats
    beta: Floats
    latent: bool
    own_tokens: Floats
    own_words: Floats
    own_totals: Floats


def sampler_priors(
    parameters: Parameters, priors: Priors, candidates: OwnWordCandidates | None = None
) -> SamplerPriors:
    """Return the priors as the sampler takes them."""
    single = (np.asarray(values, np.float32) for values in (parameters.pi, parameters.mu, priors.alpha, priors.beta))
    pi, mu, alpha, beta = single
    own: tuple[Any, ...] = np.zeros(len(pi)), np.empty(0), np.ones(len(pi))
    if candidates is not None:
        own = candidates.tokens, candidates.prior, candidates.totals
    return SamplerPriors(
        pi, float(parameters.pi_latent), mu, alpha, beta, parameters.latent,
        *(np.asarray(values, np.float32) for values in own),
    )  # fmt: skip


@compiled
def uniform(key: Any, draw: Any) -> Any:
    """Return number ``draw`` of a stream of uniform random numbers in [0, 1)."""
    bits = splitmix64(key + GOLDEN_GAMMA * np.uint64(draw + 1))
    return float(bits >> np.uint64(11)) * (1.0 / (1 << 53))


@compiled
def document_key(seed: Any, sweep: Any, document: Any) -> Any:
    """Return the key of a document's random numbers in one sweep."""
    key = splitmix64(np.uint64(seed) + GOLDEN_GAMMA * np.uint64(sweep + 1))
    return splitmix64(key + GOLDEN_GAMMA * np.uint64(document + 1))


@compiled_reordering
def _load_word(counts: Int32s, word: int, prior: Any, inverse_totals: Floats, f: Floats, p_word: Floats) -> None:
    """``f = counts[word] + prior; p_word = f * inverse_totals``."""
    for k in range(inverse_totals.shape[0]):
        value = np.float32(counts[word, k]) + prior
        f[k] = value
        p_word[k] = value * inverse_totals[k]


@compiled_reordering
def _weigh_topics(mix: Floats, rows: Floats, row: int, change: Any, p_word: Floats, weights: Floats) -> Any:
    """``weights = (mix + change * rows[row]) * p_word``; return the sum."""
    total = np.float32(0)
    for k in range(mix.shape[0]):
        value = (mix[k] + change * rows[row, k]) * p_word[k]
        weights[k] = value
        total += value
    return total


@compiled_reordering
def _sum_range(values: Floats, first: int, last: int) -> Any:
    total = np.float32(0)
    for k in range(first, last):
        total += values[k]
    return total


@compiled
def _find_topic(weights: Floats, point: Any) -> int:
    """Return the topic in whose interval the point is, if the weights' intervals follow each other from 0."""
    n_topics = weights.shape[0]
    first = 0
    while first + GROUP < n_topics:
        total = _sum_range(weights, first, first + GROUP)
        if point < total:
            break
        point -= total
        first += GROUP
    k, last = first, min(first + GROUP, n_topics) - 1
    while k < last and point >= weights[k]:
        point -= weights[k]
        k += 1
    while k > 0 and weights[k] <= 0:  # the sums are rounded: the point may be past the last weight
        k -= 1
    while weights[k] <= 0 and k < n_topics - 1:
        k += 1
    return k


@compiled_reordering
def _add_rows(mix: Floats, rows: Floats, one: Any, change: Any, other: Any, other_change: Any) -> None:
    """``mix += change * rows[one] + other_change * rows[other]``."""
    for k in range(mix.shape[0]):
        mix[k] += change * rows[one, k] + other_change * rows[other, k]


@compiled_reordering
def _mix_rows(mix: Floats, rows: Floats, factors: Floats, n: int) -> None:
    """``mix = factors[:n] @ rows[:n]``."""
    mix[:] = 0
    for j in range(n):
        factor = factors[j]
        for k in range(mix.shape[0]):
            mix[k] += factor * rows[j, k]


@compiled_reordering
def _load_tag(counts: Int32s, tag: Any, prior: Floats, rows: Floats, row: int) -> None:
    """``rows[row] = counts[tag] + prior``."""
    for k in range(prior.shape[0]):
        rows[row, k] = np.float32(counts[tag, k]) + prior[k]


@compiled_reordering
def _load_topics(counts: Int64s, prior: Any, totals: Any, inverse_totals: Floats) -> None:
    """``totals = counts + prior; inverse_totals = 1 / totals``."""
    for k in range(counts.shape[0]):
        totals[k] = counts[k] + prior
        inverse_totals[k] = np.float32(1.0 / totals[k])


@compiled
def sample_documents(
    documents: Documents,
    own: OwnWordEntries,
    first: int,
    last: int,
    token_starts: Int64s,
    counts: TopicCounts,
    priors: SamplerPriors,
    before: Assignments,
    after: Assignments,
    seed: int,
    sweep: int,
    log_probabilities: Any,
) -> None:
    """Draw the tags and topics of documents ``first:last`` anew; write them to ``after``.

    ``after`` begins with the first token of document ``first``. ``log_probabilities[d]`` is set to the log probability
    of the document's tokens, each given the assignments of all others at the time when it is drawn.
    """
    n_topics = counts.topics.shape[0]
    j: Any
    k: Any
    new_k: Any
    new_j: Any
    most = 1
    for d in range(first, last):
        most = max(most, documents.tag_starts[d + 1] - documents.tag_starts[d] + 1)
    rows = np.empty((most, n_topics), np.float32)  # h_jk
    tag_totals = np.empty(most, np.float32)  # n_j + A
    tag_tokens = np.empty(most, np.float32)  # n_dj + pi_j
    factors = np.empty(most, np.float32)  # g_j
    mix = np.empty(n_topics, np.float32)  # m_k
    totals = np.empty(n_topics)  # n_k + B
    inverse_totals = np.empty(n_topics, np.float32)
    f = np.empty(n_topics, np.float32)  # n_wk + beta_w
    p_word = np.empty(n_topics, np.float32)  # f_k / (n_k + B)
    weights = np.empty(n_topics, np.float32)
    own_tokens = np.empty(most, np.float32)  # n_jo
    own_priors = np.empty(most, np.float32)
    own_totals = np.empty(most, np.float32)
    pair_tokens = np.empty(most, np.float32)  # n_jw + prior
    own_weights = np.empty(most, np.float32)
    has_own = own.starts.shape[0] > 0
    alpha_total, beta_total, mu_total = float(priors.alpha.sum()), 0.0, float(priors.mu.sum())
    for w in range(priors.beta.shape[0]):
        beta_total += priors.beta[w]
    one = np.float32(1)
    _load_topics(counts.topics, beta_total, totals, inverse_totals)
    offset = token_starts[first]
    for d in range(first, last):
        first_tag = documents.tag_starts[d]
        n_tags = documents.tag_starts[d + 1] - first_tag
        has_latent = priors.latent or n_tags == 0
        n_rows = n_tags + has_latent
        weight_total = 0.0
        for j in range(n_tags):
            tag = documents.tags[first_tag + j]
            _load_tag(counts.tag_topics, tag, priors.alpha, rows, j)
            tag_totals[j] = np.float32(counts.tags[tag] + alpha_total + priors.own_tokens[tag])
            tag_tokens[j] = priors.pi[tag]
            own_tokens[j] = np.float32(counts.tags_own[tag])
            own_priors[j] = priors.own_tokens[tag]
            own_totals[j] = priors.own_totals[tag]
        if has_latent:
            rows[n_tags] = priors.mu
            tag_totals[n_tags] = np.float32(mu_total)
            tag_tokens[n_tags] = np.float32(priors.pi_latent)
        for j in range(n_rows):
            weight_total += tag_tokens[j]
        start, end = token_starts[d], token_starts[d + 1]
        for t in range(start, end):
            position = before.tags[t]
            tag_tokens[position] += one
            if position == n_tags:  # has no words of its own
                rows[n_tags, before.topics[t]] += one
                tag_totals[n_tags] += one
        for j in range(n_rows):
            factors[j] = tag_tokens[j] / tag_totals[j]
        _mix_rows(mix, rows, factors, n_rows)
        key = document_key(seed, sweep, d)
        t = start
        changes = 0
        product, log_probability = 1.0, 0.0
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = documents.words[e]
            if e + 2 < documents.word_starts[d + 1]:
                prefetch_row(counts.word_topics, documents.words[e + 2])
            _load_word(counts.word_topics, word, priors.beta[word], inverse_totals, f, p_word)
            first_pair = own.starts[e] if has_own else 0
            n_pairs = own.starts[e + 1] - first_pair if has_own else 0
            for i in range(n_pairs):
                pair = own.pairs[first_pair + i]
                pair_tokens[i] = np.float32(counts.own_words[pair]) + priors.own_words[pair]
            for _ in range(documents.counts[e]):
                j, k = np.int64(before.tags[t]), np.int64(before.topics[t])
                # the token's own counts are left out: of its tag in g_j, of its tag and topic in the weight of k
                others_factor = (tag_tokens[j] - one) / (tag_totals[j] - one)
                change = others_factor - factors[j]
                total = _weigh_topics(mix, rows, j, change, p_word, weights)
                if k < n_topics:
                    others_total = totals[k] - 1.0
                    others_word = np.float32(max(f[k] - one, priors.beta[word]) / others_total)
                    weight = max((mix[k] + change * rows[j, k] - others_factor) * others_word, np.float32(0))
                    total += weight - weights[k]
                    weights[k] = weight
                own_total = np.float32(0)
                for i in range(n_pairs):
                    position = own.positions[first_pair + i]
                    itself = one if position == j and k == n_topics else np.float32(0)
                    factor = others_factor if position == j else factors[position]
                    n_own = own_tokens[position] - itself
                    share = factor * (n_own + own_priors[position]) / (n_own + own_totals[position])
                    own_weights[i] = share * (pair_tokens[i] - itself)
                    own_total += own_weights[i]
                product *= total + own_total
                point = np.float32(uniform(key, 2 * (t - start)) * (total + own_total))
                if point < own_total:
                    new_k = n_topics
                    new_j = np.int64(own.positions[first_pair])
                    for i in range(n_pairs):
                        new_j = np.int64(own.positions[first_pair + i])
                        point -= own_weights[i]
                        if point < 0:
                            break
                else:
                    new_k = _find_topic(weights, point - own_total)
                    own_row = others_factor * (rows[j, new_k] - (one if new_k == k else np.float32(0)))
                    point = np.float32(0)
                    for i in range(n_rows):
                        point += own_row if i == j else factors[i] * rows[i, new_k]
                    point *= np.float32(uniform(key, 2 * (t - start) + 1))
                    new_j = n_rows - 1
                    for i in range(n_rows):
                        point -= own_row if i == j else factors[i] * rows[i, new_k]
                        if point < 0:
                            new_j = i
                            break
                after.topics[t - offset] = new_k
                after.tags[t - offset] = new_j
                t += 1
                if (t - start) % 16 == 0:
                    log_probability += math.log(product)
                    product = 1.0
                if new_k == k and new_j == j:
                    continue
                if k < n_topics:
                    if new_k != k:
                        f[k] -= one
                        totals[k] -= 1.0
                        inverse_totals[k] = np.float32(1.0 / totals[k])
                        p_word[k] = f[k] * inverse_totals[k]
                    rows[j, k] -= one
                    mix[k] -= factors[j]
                else:
                    own_tokens[j] -= one
                    for i in range(n_pairs):
                        if own.positions[first_pair + i] == j:
                            pair_tokens[i] -= one
                if new_k < n_topics and new_k != k:
                    f[new_k] += one
                    totals[new_k] += 1.0
                    inverse_totals[new_k] = np.float32(1.0 / totals[new_k])
                    p_word[new_k] = f[new_k] * inverse_totals[new_k]
                if new_j != j:
                    tag_tokens[j] -= one
                    tag_totals[j] -= one
                    tag_tokens[new_j] += one
                    tag_totals[new_j] += one
                    new_factor = tag_tokens[new_j] / tag_totals[new_j]
                    _add_rows(mix, rows, j, change, new_j, new_factor - factors[new_j])
                    factors[j] = others_factor
                    factors[new_j] = new_factor
                if new_k < n_topics:
                    rows[new_j, new_k] += one
                    mix[new_k] += factors[new_j]
                else:
                    own_tokens[new_j] += one
                    for i in range(n_pairs):
                        if own.positions[first_pair + i] == new_j:
                            pair_tokens[i] += one
                changes += 1
                if changes % REFRESH == 0:
                    _mix_rows(mix, rows, factors, n_rows)
        length = end - start
        if length:
            log_probability += math.log(product) - length * math.log(weight_total + length - 1.0)
        log_probabilities[d] = log_probability
        for t in range(start, end):  # totals, which are those of the block for the next document
            k, new_k = np.int64(before.topics[t]), np.int64(after.topics[t - offset])
            if new_k != k:
                for changed in (k, new_k):
                    if changed < n_topics:
                        totals[changed] = counts.topics[changed] + beta_total
                        inverse_totals[changed] = np.float32(1.0 / totals[changed])


@compiled
def _pair_of(own: OwnWordEntries, entry: int, position: Any) -> Any:
    """Return the pair of a word entry's candidate, -1 if the word is not one of that tag's own."""
    for i in range(own.starts[entry], own.starts[entry + 1]):
        if own.positions[i] == position:
            return np.int64(own.pairs[i])
    return -1


@compiled
def replace_assignments(
    documents: Documents,
    own: OwnWordEntries,
    first: int,
    last: int,
    token_starts: Int64s,
    counts: TopicCounts,
    before: Assignments,
    after: Assignments,
) -> int:
    """Replace the assignments of documents ``first:last``, and update the counts; return how many changed.

    Several threads may do this for different documents of a block: the updates are atomic, and sums of integers do not
    depend on their order.
    """
    n_topics = counts.topics.shape[0]
    k: Any
    topic_changes = np.zeros(n_topics, np.int64)
    offset = token_starts[first]
    n_changed = 0
    for d in range(first, last):
        first_tag = documents.tag_starts[d]
        n_tags = documents.tag_starts[d + 1] - first_tag
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = np.int64(documents.words[e])
            for _ in range(documents.counts[e]):
                k, new_k = np.int64(before.topics[t]), np.int64(after.topics[t - offset])
                j, new_j = np.int64(before.tags[t]), np.int64(after.tags[t - offset])
                if k != new_k:
                    if k < n_topics:
                        atomic_add(counts.word_topics, word, k, -1)
                        topic_changes[k] -= 1
                    if new_k < n_topics:
                        atomic_add(counts.word_topics, word, new_k, 1)
                        topic_changes[new_k] += 1
                if k != new_k or j != new_j:
                    n_changed += 1
                    if j < n_tags:
                        tag = np.int64(documents.tags[first_tag + j])
                        if k < n_topics:
                            atomic_add(counts.tag_topics, tag, k, -1)
                        else:
                            atomic_add(counts.own_words, _pair_of(own, e, j), 0, -1)
                            atomic_add(counts.tags_own, tag, 0, -1)
                        atomic_add(counts.tags, tag, 0, -1)
                    if new_j < n_tags:
                        tag = np.int64(documents.tags[first_tag + new_j])
                        if new_k < n_topics:
                            atomic_add(counts.tag_topics, tag, new_k, 1)
                        else:
                            atomic_add(counts.own_words, _pair_of(own, e, new_j), 0, 1)
                            atomic_add(counts.tags_own, tag, 0, 1)
                        atomic_add(counts.tags, tag, 0, 1)
                    before.topics[t] = new_k
                    before.tags[t] = new_j
                t += 1
    for k in range(n_topics):
        if topic_changes[k]:
            atomic_add(counts.topics, k, 0, topic_changes[k])
    return n_changed


@compiled
def count_assignments(
    documents: Documents,
    own: OwnWordEntries,
    first: int,
    last: int,
    token_starts: Int64s,
    counts: TopicCounts,
    tokens: Assignments,
) -> None:
    """Add the assignments of documents ``first:last`` to the counts; for one thread at a time."""
    n_topics = counts.topics.shape[0]
    for d in range(first, last):
        first_tag = documents.tag_starts[d]
        n_tags = documents.tag_starts[d + 1] - first_tag
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            for _ in range(documents.counts[e]):
                k, j = np.int64(tokens.topics[t]), np.int64(tokens.tags[t])
                if k < n_topics:
                    counts.word_topics[documents.words[e], k] += 1
                    counts.topics[k] += 1
                if j < n_tags:
                    tag = documents.tags[first_tag + j]
                    if k < n_topics:
                        counts.tag_topics[tag, k] += 1
                    else:
                        counts.own_words[_pair_of(own, e, j)] += 1
                        counts.tags_own[tag] += 1
                    counts.tags[tag] += 1
                t += 1


@compiled
def draw_assignments(
    documents: Documents,
    first: int,
    last: int,
    token_starts: Int64s,
    psi: Floats,
    theta: Floats,
    xi: Floats,
    xi_latent: Floats,
    rho: Floats,
    latent: bool,
    seed: int,
    tokens: Assignments,
) -> None:
    """Draw tags and topics in proportion to xi_j theta_jk psi_wk, under fixed parameters: the initial assignments.

    ``xi`` is by (document, tag) entry; ``rho`` has one row per document, or one for all of them.
    """
    n_topics = psi.shape[1]
    most = 1
    for d in range(first, last):
        most = max(most, documents.tag_starts[d + 1] - documents.tag_starts[d] + 1)
    rows = np.empty((most, n_topics), np.float32)
    factors = np.ones(most, np.float32)
    mix = np.empty(n_topics, np.float32)
    p_word = np.empty(n_topics, np.float32)
    weights = np.empty(n_topics, np.float32)
    for d in range(first, last):
        first_tag = documents.tag_starts[d]
        n_tags = documents.tag_starts[d + 1] - first_tag
        has_latent = latent or n_tags == 0
        for j in range(n_tags):
            for k in range(n_topics):
                rows[j, k] = np.float32(xi[first_tag + j] * theta[documents.tags[first_tag + j], k])
        if has_latent:
            row = d if rho.shape[0] > 1 else 0
            share = xi_latent[d] / rho[row].sum()
            for k in range(n_topics):
                rows[n_tags, k] = np.float32(share * rho[row, k])
        n_rows = n_tags + has_latent
        _mix_rows(mix, rows, factors, n_rows)
        key = document_key(seed, 0, d)
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            for k in range(n_topics):
                p_word[k] = np.float32(psi[documents.words[e], k])
            total = _weigh_topics(mix, rows, 0, np.float32(0), p_word, weights)
            for _ in range(documents.counts[e]):
                draw = 2 * (t - token_starts[d])
                topic = _find_topic(weights, uniform(key, draw) * total)
                point = np.float32(uniform(key, draw + 1)) * mix[topic]
                tag = n_rows - 1
                for j in range(n_rows):
                    point -= rows[j, topic]
                    if point < 0:
                        tag = j
                        break
                tokens.topics[t] = topic
                tokens.tags[t] = tag
                t += 1


@compiled_reordering
def add_topic_words(
    counts: TopicCounts, beta: Floats, first: int, last: int, totals: Any, share: Any, psi: Any
) -> None:
    """Move rows ``first:last`` of a mean of psi towards the present counts' psi: ``psi += share * (now - psi)``.

    ``totals`` is n_k + B.
    """
    for w in range(first, last):
        for k in range(psi.shape[1]):
            now = (counts.word_topics[w, k] + beta[w]) / totals[k]
            psi[w, k] += share * (now - psi[w, k])


@compiled
def add_document_counts(
    rows: Int64s,
    entry_starts: Int64s,
    token_starts: Int64s,
    tokens: Assignments,
    xi: Any,
    xi_latent: Any,
    rho: Any,
) -> None:
    """Add the tokens of each tag to xi, and those of the latent tag's topics to rho, for the documents ``rows``.

    The tag entries of the i-th of them are ``entry_starts[i]:entry_starts[i + 1]`` of xi.
    """
    for i in range(rows.shape[0]):
        n_tags = entry_starts[i + 1] - entry_starts[i]
        for t in range(token_starts[rows[i]], token_starts[rows[i] + 1]):
            j = np.int64(tokens.tags[t])
            if j < n_tags:
                xi[entry_starts[i] + j] += 1
            else:
                xi_latent[i] += 1
                rho[i, tokens.topics[t]] += 1
