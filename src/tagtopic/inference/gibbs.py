"""Collapsed Gibbs sampling: a tag and a topic are drawn for each token, given those of all other tokens.

Weights of tags, topics of tags, words of topics and the latent tag's topics are integrated out. With counts that leave
the token itself out, the probability of tag j and topic k for a token of word w in document d is proportional to

    (n_dj + pi_j) (n_jk + alpha_k) / (n_j + A) (n_wk + beta_w) / (n_k + B)          A = sum alpha, B = sum beta
    (n_d0 + pi_0) (n_d0k + mu_k) / (n_d0 + sum mu) (n_wk + beta_w) / (n_k + B)      for the latent tag

If word w is a candidate of tag j, it may be one of the tag's own words instead, with the prior o of the number of own
words and q_w of each (Q_j is their sum over the tag's candidates); o is then added to n_j + A above:

    (n_dj + pi_j) (n_jo + o) / (n_j + A + o) (n_jw + q_w) / (n_jo + Q_j)

``full_conditionals`` draws from it.

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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Floats, Int32s, Int64s
from tagtopic._core.hashing import GOLDEN_GAMMA, splitmix64
from tagtopic._core.intrinsics import atomic_add
from tagtopic._core.jit import compiled, compiled_reordering
from tagtopic.inference.own_words import OwnWordCandidates
from tagtopic.inference.types import Documents, OwnWordEntries, Parameters, Priors

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
    ``word_topics`` has no rows if the counts of words are kept in sparse rows (``word_topics.WordTopics``).
    """

    word_topics: Int32s
    topics: Int64s
    tag_topics: Int32s
    tags: Int64s
    own_words: Int32s
    tags_own: Int64s


class SamplerPriors(NamedTuple):
    """The priors as the sampler takes them, in single precision; the last three are those of own words.

    ``beta_total`` is the sum of beta over all words, of which ``beta`` may have only some.
    """

    pi: Floats
    pi_latent: float
    mu: Floats
    alpha: Floats
    beta: Floats
    latent: bool
    beta_total: float
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
        pi, float(parameters.pi_latent), mu, alpha, beta, parameters.latent, float(beta.sum(dtype=np.float64)),
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
    depend on their order. Sparse rows of words are updated elsewhere.
    """
    n_topics = counts.topics.shape[0]
    is_table = counts.word_topics.shape[0] > 0
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
                        if is_table:
                            atomic_add(counts.word_topics, word, k, -1)
                        topic_changes[k] -= 1
                    if new_k < n_topics:
                        if is_table:
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
    is_table = counts.word_topics.shape[0] > 0
    for d in range(first, last):
        first_tag = documents.tag_starts[d]
        n_tags = documents.tag_starts[d + 1] - first_tag
        t = token_starts[d]
        for e in range(documents.word_starts[d], documents.word_starts[d + 1]):
            for _ in range(documents.counts[e]):
                k, j = np.int64(tokens.topics[t]), np.int64(tokens.tags[t])
                if k < n_topics:
                    if is_table:
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


@compiled_reordering
def add_topic_words(counts: Int32s, beta: Floats, totals: Any, share: Any, psi: Any) -> None:
    """Move a mean of psi towards that of counts of the same words by topic: ``psi += share * (now - psi)``.

    ``totals`` is n_k + B.
    """
    for w in range(psi.shape[0]):
        for k in range(psi.shape[1]):
            now = (counts[w, k] + beta[w]) / totals[k]
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
