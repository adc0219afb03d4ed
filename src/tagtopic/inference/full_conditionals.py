"""Draws from the full conditional of a token under collapsed Gibbs sampling: dense, or sparse in the word's topics.

The equations are in ``gibbs``. The topic is drawn first, from the sum over tags, then the tag given the topic. With
g_j = (n_dj + pi_j) / (n_j + A), h_jk = n_jk + alpha_k and r_k = 1 / (n_k + B), the weight of topic k is

    m_k r_k (n_wk + beta_w)          m_k = sum_j g_j h_jk

where m is kept up to date for the document: it changes in all topics only if the tag does. The dense draw computes all
weights in one vectorised pass. The sparse draw splits them as in SparseLDA,

    m_k r_k n_wk   +   m_k r_k beta_w

The first part is summed over the topics that word w has, of which there are sparse rows; the sum of the second is
beta_w sum_j g_j s_j, where s_j = sum_k h_jk r_k is kept up to date too. Both draw from the same distribution.

References
----------
L. Yao, D. Mimno and A. McCallum, "Efficient methods for topic model inference on streaming document collections", KDD
2009.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagtopic._core.arrays import Float64s, Floats, Int32s, Int64s
from tagtopic._core.intrinsics import prefetch_entry, prefetch_row
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.gibbs import Assignments, SamplerPriors, TopicCounts, document_key, uniform
from tagtopic.inference.types import Documents, OwnWordEntries
from tagtopic.inference.word_topics import WordTopics

LARGE_GROUP, SMALL_GROUP = 256, 16
"""Topics whose probabilities are summed together when one of them is searched for."""

REFRESH = 64
"""Changes after which m and s are computed anew, because differences of rounded numbers add up."""


@compiled_reordering
def _load_word(counts: Int32s, word: Any, prior: Any, inverse_totals: Floats, f: Floats, p_word: Floats) -> None:
    """``f = counts[word] + prior; p_word = f * inverse_totals``."""
    for k in range(inverse_totals.shape[0]):
        value = np.float32(counts[word, k]) + prior
        f[k] = value
        p_word[k] = value * inverse_totals[k]


@compiled
def _place_of(topics: Any, start: Any, n: Any, topic: Any) -> Any:
    """Return where a topic is, or would be inserted, in ``topics[start : start + n]``, which are in ascending order."""
    low, high = start, start + n
    while low < high:
        middle = (low + high) // 2
        if topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _add_topic(topics: Any, counts: Int32s, n: Any, topic: Any) -> Any:
    """Insert a topic without tokens among the first n topics, unless it is there; return how many there are then."""
    place = _place_of(topics, 0, n, topic)
    if place < n and topics[place] == topic:
        return n
    for i in range(n, place, -1):
        topics[i] = topics[i - 1]
        counts[i] = counts[i - 1]
    topics[place] = topic
    counts[place] = 0
    return n + 1


@compiled_reordering
def _sum_range(values: Floats, first: int, last: int) -> Any:
    """``values[first:last].sum()``.

    A loop that also writes to an array is compiled twice, and which one runs depends on where the arrays are; the order
    of its sums would too. Sums of floats that are written are therefore computed here, in a loop of their own.

    The range is unsigned: an index that might be negative is compiled to a check for each number and to gathered loads,
    which made a whole draw take 1.1 times as long with 50 topics, 1.4 times with 200 and 1.9 times with 1,000.
    """
    total = np.float32(0)
    for k in range(np.uint64(first), np.uint64(last)):
        total += values[k]
    return total


@compiled_reordering
def _weigh_topics(mix: Floats, rows: Floats, row: int, change: Any, p_word: Floats, weights: Floats) -> Any:
    """``weights = (mix + change * rows[row]) * p_word``; return the sum."""
    for k in range(mix.shape[0]):
        weights[k] = (mix[k] + change * rows[row, k]) * p_word[k]
    return _sum_range(weights, 0, mix.shape[0])


@compiled_reordering
def _weigh_topics_of_row(
    mix: Floats, rows: Floats, row: int, change: Any, r: Floats, counts: Int32s, word: Any, prior: Any, weights: Floats
) -> Any:
    """``weights = (mix + change * rows[row]) * r * (counts[word] + prior)``; return the sum."""
    for k in range(mix.shape[0]):
        weights[k] = (mix[k] + change * rows[row, k]) * (r[k] * (np.float32(counts[word, k]) + prior))
    return _sum_range(weights, 0, mix.shape[0])


@compiled
def _weigh_listed_topics(
    mix: Floats, rows: Floats, row: int, change: Any, r: Floats, topics: Any, counts: Int32s, start: Any, n: Any,
    weights: Floats,
) -> Any:  # fmt: skip
    """``weights[:n] = ((mix + change * rows[row]) * r)[topics] * counts`` of ``start : start + n``; return the sum."""
    total = np.float32(0)
    for i in range(n):
        k = topics[start + i]
        value = (mix[k] + change * rows[row, k]) * (r[k] * np.float32(counts[start + i]))
        weights[i] = value
        total += value
    return total


@compiled
def find_interval(weights: Floats, n: Any, point: Any) -> int:
    """Return in whose interval the point is, if the intervals of the n weights follow each other from 0."""
    first = 0
    for size in (LARGE_GROUP, SMALL_GROUP):
        while first + size < n:
            total = _sum_range(weights, first, first + size)
            if point < total:
                break
            point -= total
            first += size
    k, last = first, min(first + SMALL_GROUP, n) - 1
    for i in range(first, last):  # all of them: the branch to leave earlier would be mispredicted, 7% of a draw
        point -= weights[i]
        k += point >= 0
    while k > 0 and weights[k] <= 0:  # the sums are rounded: the point may be past the last weight
        k -= 1
    while weights[k] <= 0 and k < n - 1:
        k += 1
    return k


@compiled_reordering
def _add_rows(mix: Floats, rows: Floats, one: Any, change: Any, other: Any, other_change: Any) -> None:
    """``mix += change * rows[one] + other_change * rows[other]``."""
    for k in range(mix.shape[0]):
        mix[k] += change * rows[one, k] + other_change * rows[other, k]


@compiled_reordering
def mix_rows(mix: Floats, rows: Floats, factors: Floats, n: int) -> None:
    """``mix = factors[:n] @ rows[:n]``."""
    for k in range(mix.shape[0]):
        mix[k] = 0
    for j in range(n):
        factor = factors[j]
        for k in range(mix.shape[0]):
            mix[k] += factor * rows[j, k]


@compiled_reordering
def _sum_rows(rows: Floats, r: Floats, n: int, row_sums: Float64s) -> None:
    """``row_sums[:n] = rows[:n] @ r``."""
    for j in range(n):
        total = np.float32(0)
        for k in range(r.shape[0]):
            total += rows[j, k] * r[k]
        row_sums[j] = total


@compiled_reordering
def _load_tag(counts: Int32s, tag: Any, prior: Floats, rows: Floats, row: int) -> None:
    """``rows[row] = counts[tag] + prior``."""
    for k in range(prior.shape[0]):
        rows[row, k] = np.float32(counts[tag, k]) + prior[k]


@compiled_reordering
def _load_totals(counts: Int64s, prior: Any, totals: Any, inverse_totals: Floats) -> None:
    """``totals = counts + prior; inverse_totals = 1 / totals``."""
    for k in range(counts.shape[0]):
        totals[k] = counts[k] + prior
        inverse_totals[k] = np.float32(1.0 / totals[k])


@compiled
def _load_own_tokens(
    token_topics: Any,
    token_tags: Any,
    start: Any,
    end: Any,
    n_tags: Any,
    rows: Floats,
    tag_tokens: Floats,
    tag_totals: Floats,
) -> None:
    """Add the document's own tokens to n_dj, and to the latent tag's row."""
    one = np.float32(1)
    for t in range(start, end):
        position = token_tags[t]
        tag_tokens[position] += one
        if position == n_tags:  # has no words of its own
            rows[n_tags, token_topics[t]] += one
            tag_totals[n_tags] += one


@compiled
def _weighted_sum(factors: Floats, row_sums: Float64s, n: int) -> float:
    """``factors[:n] @ row_sums[:n]``."""
    total = 0.0
    for i in range(n):
        total += factors[i] * row_sums[i]
    return total


@compiled
def _draw_tag(
    rows: Floats, factors: Floats, n: int, j: Any, k: Any, own_row: Any, u: Any, weights: Floats
) -> Any:  # fmt: skip
    """Draw one of n tags given topic k; ``own_row`` is the weight of the token's present tag j.

    ``weights`` is overwritten. The search has no branch to mispredict: 6% of a draw with 6 tags per document.
    """
    for i in range(n):
        weights[i] = factors[i] * rows[i, k]
    weights[j] = own_row
    point = np.float32(0)
    for i in range(n):
        point += weights[i]
    point *= np.float32(u)
    drawn = 0
    for i in range(n - 1):
        point -= weights[i]
        drawn += point >= 0
    return np.int64(drawn)


@compiled
def _change_sums(rows: Floats, k: Any, n: int, difference: Any, row_sums: Float64s) -> None:
    """``row_sums[:n] += difference * rows[:n, k]``."""
    for i in range(n):
        row_sums[i] += difference * rows[i, k]


@compiled
def _change_pair(positions: Int32s, first_pair: Any, n_pairs: Any, j: Any, change: Any, pair_tokens: Floats) -> None:
    """Add to n_jw."""
    for i in range(n_pairs):
        if positions[first_pair + i] == j:
            pair_tokens[i] += change


@compiled
def sample_documents(
    documents: Documents,
    own: OwnWordEntries,
    first: int,
    last: int,
    token_starts: Int64s,
    counts: TopicCounts,
    word_topics: WordTopics,
    sparse: bool,
    priors: SamplerPriors,
    before: Assignments,
    after: Assignments,
    seed: int,
    sweep: int,
    log_probabilities: Any,
    first_number: int,
) -> None:
    """Draw the tags and topics of documents ``first:last`` anew; write them to ``after``.

    ``first_number`` is the number that document 0 of these arrays has in the corpus, for the random numbers.
    ``after`` begins with the first token of document ``first``. The counts of words are those of ``word_topics`` if it
    has rows, which the sparse draw needs, and otherwise those of ``counts``. The dense draw is the same from both: it
    unpacks a word's row into that of ``counts.word_topics``, which then is a single row of zeros.
    ``log_probabilities[d]`` is set to the log probability of the document's tokens, each given the assignments of all
    others at the time when it is drawn.
    """
    n_topics = counts.topics.shape[0]
    j: Any
    k: Any
    new_k: Any
    new_j: Any
    place: Any
    most = 1
    for d in range(first, last):
        most = max(most, documents.tag_starts[d + 1] - documents.tag_starts[d] + 1)
    rows = np.empty((most, n_topics), np.float32)  # h_jk
    tag_totals = np.empty(most, np.float32)  # n_j + A
    tag_tokens = np.empty(most, np.float32)  # n_dj + pi_j
    factors = np.empty(most, np.float32)  # g_j
    row_sums = np.empty(most)  # s_j, if sparse
    mix = np.empty(n_topics, np.float32)  # m_k
    totals = np.empty(n_topics)  # n_k + B
    inverse_totals = np.empty(n_topics, np.float32)  # r_k
    f = np.empty(n_topics, np.float32)  # n_wk + beta_w, of a word with several tokens
    p_word = np.empty(n_topics, np.float32)  # r_k f_k; if sparse, a buffer
    weights = np.empty(n_topics, np.float32)
    own_topics = np.empty(n_topics, np.uint16)  # the sparse row of a word with several tokens
    own_counts = np.empty(n_topics, np.int32)
    own_tokens = np.empty(most, np.float32)  # n_jo
    own_priors = np.empty(most, np.float32)
    own_totals = np.empty(most, np.float32)
    pair_tokens = np.empty(most, np.float32)  # n_jw + prior
    own_weights = np.empty(most, np.float32)  # of own words; then of the tags given a topic
    row_topics: Any
    row_starts, row_sizes, row_topics, row_counts = word_topics
    has_own, has_rows = own.starts.shape[0] > 0, row_starts.shape[0] > 0
    is_unpacked = has_rows and not sparse
    beta_total = priors.beta_total
    alpha_total = mu_total = np.float32(0)
    for k in range(n_topics):
        alpha_total += priors.alpha[k]
        mu_total += priors.mu[k]
    one, zero = np.float32(1), np.float32(0)
    _load_totals(counts.topics, beta_total, totals, inverse_totals)
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
            tag_totals[j] = np.float32(counts.tags[tag] + float(alpha_total) + priors.own_tokens[tag])
            tag_tokens[j] = priors.pi[tag]
            own_tokens[j] = np.float32(counts.tags_own[tag])
            own_priors[j] = priors.own_tokens[tag]
            own_totals[j] = priors.own_totals[tag]
        if has_latent:
            for k in range(n_topics):
                rows[n_tags, k] = priors.mu[k]
            tag_totals[n_tags] = mu_total
            tag_tokens[n_tags] = np.float32(priors.pi_latent)
        for j in range(n_rows):
            weight_total += tag_tokens[j]
        start, end = token_starts[d], token_starts[d + 1]
        _load_own_tokens(before.topics, before.tags, start, end, n_tags, rows, tag_tokens, tag_totals)
        for j in range(n_rows):
            factors[j] = tag_tokens[j] / tag_totals[j]
        mix_rows(mix, rows, factors, n_rows)
        if sparse:
            _sum_rows(rows, inverse_totals, n_rows, row_sums)
        key = document_key(seed, sweep, d + first_number)
        t = start
        changes = 0
        product, log_probability = 1.0, 0.0
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            word = documents.words[e]
            prior = priors.beta[word]
            repeated = documents.counts[e] > 1
            row = np.int64(row_starts[word]) if has_rows else np.int64(0)
            n = np.int64(row_sizes[word]) if has_rows else np.int64(0)
            table_row = np.int64(0) if is_unpacked else np.int64(word)
            if has_rows:
                if e + 2 < documents.word_starts[d + 1]:
                    ahead = row_starts[documents.words[e + 2]]
                    prefetch_entry(row_topics, ahead)
                    prefetch_entry(row_counts, ahead)
                if is_unpacked:
                    for i in range(n):
                        counts.word_topics[0, row_topics[row + i]] = row_counts[row + i]
                elif repeated:
                    for i in range(n):
                        own_topics[i] = row_topics[row + i]
                        own_counts[i] = row_counts[row + i]
            elif e + 2 < documents.word_starts[d + 1]:
                prefetch_row(counts.word_topics, documents.words[e + 2])
            if repeated and not sparse:
                _load_word(counts.word_topics, table_row, prior, inverse_totals, f, p_word)
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
                others = zero  # m_k r_k of its topic
                mixed = zero
                if k < n_topics:
                    mixed = mix[k] + change * rows[j, k]
                    others = max(mixed - others_factor, zero) * np.float32(1.0 / (totals[k] - 1.0))
                smooth = zero
                if sparse:
                    if repeated:
                        total = _weigh_listed_topics(
                            mix, rows, j, change, inverse_totals, own_topics, own_counts, 0, n, weights
                        )
                    else:
                        total = _weigh_listed_topics(
                            mix, rows, j, change, inverse_totals, row_topics, row_counts, row, n, weights
                        )
                    all_smooth = _weighted_sum(factors, row_sums, n_rows) + change * row_sums[j]
                    if k < n_topics:
                        if repeated:
                            place = _place_of(own_topics, 0, n, k)
                            count = own_counts[place]
                        else:
                            place = _place_of(row_topics, row, n, k) - row
                            count = row_counts[row + place]
                        weight = others * np.float32(count - 1)
                        total = max(total + weight - weights[place], zero)
                        weights[place] = weight
                        all_smooth += others - mixed * inverse_totals[k]
                    smooth = np.float32(prior * max(all_smooth, 0.0))
                else:
                    if repeated:
                        total = _weigh_topics(mix, rows, j, change, p_word, weights)
                    else:
                        total = _weigh_topics_of_row(
                            mix, rows, j, change, inverse_totals, counts.word_topics, table_row, prior, weights
                        )
                    if k < n_topics:
                        others_word = (
                            f[k] - one if repeated else np.float32(counts.word_topics[table_row, k] - 1) + prior
                        )
                        weight = others * max(others_word, prior)
                        total += weight - weights[k]
                        weights[k] = weight
                own_total = zero
                for i in range(n_pairs):
                    position = own.positions[first_pair + i]
                    itself = one if position == j and k == n_topics else zero
                    factor = others_factor if position == j else factors[position]
                    n_own = own_tokens[position] - itself
                    share = factor * (n_own + own_priors[position]) / (n_own + own_totals[position])
                    own_weights[i] = share * (pair_tokens[i] - itself)
                    own_total += own_weights[i]
                product *= total + smooth + own_total
                point = np.float32(uniform(key, 2 * (t - start)) * (total + smooth + own_total))
                if point < own_total:
                    new_k = n_topics
                    new_j = np.int64(own.positions[first_pair])
                    for i in range(n_pairs):
                        new_j = np.int64(own.positions[first_pair + i])
                        point -= own_weights[i]
                        if point < 0:
                            break
                else:
                    point -= own_total
                    if not sparse:
                        new_k = find_interval(weights, n_topics, point)
                    elif point < total:
                        place = find_interval(weights, n, point)
                        new_k = np.int64(own_topics[place] if repeated else row_topics[row + place])
                    else:
                        share = (point - total) / smooth
                        all_weights = _weigh_topics(mix, rows, j, change, inverse_totals, p_word)
                        if k < n_topics:
                            all_weights += others - p_word[k]
                            p_word[k] = others
                        new_k = find_interval(p_word, n_topics, share * all_weights)
                        if repeated:
                            n = _add_topic(own_topics, own_counts, n, new_k)
                    own_row = others_factor * (rows[j, new_k] - (one if new_k == k else zero))
                    u = uniform(key, 2 * (t - start) + 1)
                    new_j = _draw_tag(rows, factors, n_rows, j, new_k, own_row, u, own_weights)
                after.topics[t - offset] = new_k
                after.tags[t - offset] = new_j
                t += 1
                if (t - start) % 16 == 0:
                    log_probability += math.log(product)
                    product = 1.0
                if new_k == k and new_j == j:
                    continue
                if k < n_topics:
                    rows[j, k] -= one
                    mix[k] -= factors[j]
                    if sparse:
                        row_sums[j] -= inverse_totals[k]
                else:
                    own_tokens[j] -= one
                    _change_pair(own.positions, first_pair, n_pairs, j, -one, pair_tokens)
                if new_k != k:
                    for changed in (k, new_k):
                        if changed < n_topics:
                            step = one if changed == new_k else -one
                            totals[changed] += step
                            inverse = np.float32(1.0 / totals[changed])
                            if sparse:
                                difference = float(inverse) - float(inverse_totals[changed])
                                _change_sums(rows, changed, n_rows, difference, row_sums)
                                if repeated:
                                    own_counts[_place_of(own_topics, 0, n, changed)] += np.int32(step)
                            elif repeated:
                                f[changed] += step
                                p_word[changed] = f[changed] * inverse
                            inverse_totals[changed] = inverse
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
                    if sparse:
                        row_sums[new_j] += inverse_totals[new_k]
                else:
                    own_tokens[new_j] += one
                    _change_pair(own.positions, first_pair, n_pairs, new_j, one, pair_tokens)
                changes += 1
                if changes % REFRESH == 0:
                    mix_rows(mix, rows, factors, n_rows)
                    if sparse:
                        _sum_rows(rows, inverse_totals, n_rows, row_sums)
            if is_unpacked:
                for i in range(n):
                    counts.word_topics[0, row_topics[row + i]] = 0
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
    first_number: int,
) -> None:
    """Draw tags and topics in proportion to xi_j theta_jk psi_wk, under fixed parameters: the initial assignments.

    ``xi`` is by (document, tag) entry; ``rho`` has one row per document, or one for all of them. ``first_number`` is
    as in ``sample_documents``.
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
            rho_total = rho.dtype.type(0)
            for k in range(n_topics):
                rho_total += rho[row, k]
            share = xi_latent[d] / rho_total
            for k in range(n_topics):
                rows[n_tags, k] = np.float32(share * rho[row, k])
        n_rows = n_tags + has_latent
        mix_rows(mix, rows, factors, n_rows)
        key = document_key(seed, 0, d + first_number)
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            for k in range(n_topics):
                p_word[k] = np.float32(psi[documents.words[e], k])
            total = _weigh_topics(mix, rows, 0, np.float32(0), p_word, weights)
            for _ in range(documents.counts[e]):
                draw = 2 * (t - token_starts[d])
                topic = find_interval(weights, n_topics, uniform(key, draw) * total)
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
