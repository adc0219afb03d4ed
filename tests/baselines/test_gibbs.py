"""Gibbs sampling: the stationary distribution, and consistent counts."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln

from tagtopic.baselines.gibbs import Tokens, random_state, sample_index, sweep_tags_and_topics, sweep_topics, uniform

WORDS = sp.csr_array(np.array([[2, 0, 1], [0, 1, 1]], np.int32))
PRIOR, SMOOTHING, N_TOPICS = np.array([[0.7, 0.2], [0.1, 1.5]]), 0.4, 2


def log_dirichlet_multinomial(counts: np.ndarray, prior: np.ndarray) -> float:
    """Log probability of one sequence of tokens."""
    whole = gammaln(prior.sum()) - gammaln(prior.sum() + counts.sum())
    return float(whole + (gammaln(counts + prior) - gammaln(prior)).sum())


def test_random_numbers_are_uniform() -> None:
    state = random_state(np.random.default_rng(0))
    numbers = np.array([uniform(state) for _ in range(20_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    np.testing.assert_allclose(np.histogram(numbers, 10, (0, 1))[0] / 20_000, 0.1, atol=0.01)
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.03


def test_indices_are_drawn_in_proportion_to_weights() -> None:
    state = random_state(np.random.default_rng(1))
    found = Counter(sample_index(np.cumsum([0.5, 0.0, 2.0, 1.5]), 4, state) for _ in range(20_000))
    np.testing.assert_allclose([found[i] / 20_000 for i in range(4)], [0.125, 0, 0.5, 0.375], atol=0.015)


def test_topics_are_drawn_from_their_posterior() -> None:
    """Five tokens and two topics: all 32 states can be enumerated."""
    rng = np.random.default_rng(0)
    tokens, state = Tokens.of(WORDS, N_TOPICS, rng), random_state(rng)
    token_documents = tokens.documents()
    exact = {}
    for topics in product(range(N_TOPICS), repeat=5):
        table = np.array(
            [[sum(token_documents[i] == d and topics[i] == k for i in range(5)) for k in (0, 1)] for d in (0, 1)]
        )
        words = np.array(
            [[sum(tokens.words[i] == w and topics[i] == k for i in range(5)) for w in range(3)] for k in (0, 1)]
        )
        value = sum(log_dirichlet_multinomial(table[d], PRIOR[d]) for d in (0, 1))
        exact[topics] = value + sum(log_dirichlet_multinomial(words[k], np.full(3, SMOOTHING)) for k in (0, 1))
    weights = np.exp(list(exact.values()))
    documents, words = tokens.topic_counts(token_documents, 2, 2), tokens.topic_counts(tokens.words, 3, 2)
    totals = words.sum(axis=0, dtype=np.int64)
    seen: Counter[tuple[int, ...]] = Counter()
    n = 40_000
    for _ in range(n):
        sweep_topics(tokens.starts, tokens.words, tokens.topics, documents, words, totals, PRIOR, SMOOTHING, state)
        seen[tuple(tokens.topics.tolist())] += 1
    np.testing.assert_allclose([seen[topics] / n for topics in exact], weights / weights.sum(), atol=0.012)


def test_tags_and_topics_are_drawn_from_their_posterior() -> None:
    """Two documents with a common tag, three tokens: all states of (tag, topic) can be enumerated."""
    counts = sp.csr_array(np.array([[1, 1], [0, 1]], np.int32))
    tag_starts, tags = np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)
    rng = np.random.default_rng(0)
    tokens, state = Tokens.of(counts, N_TOPICS, rng), random_state(rng)
    choices = [[(t, k) for t in (0, 1) for k in (0, 1)]] * 2 + [[(1, k) for k in (0, 1)]]
    exact = {}
    for drawn in product(*choices):
        of_tag = np.array([[sum(pair == (t, k) for pair in drawn) for k in (0, 1)] for t in (0, 1)])
        of_word = np.array(
            [[sum(tokens.words[i] == w and drawn[i][1] == k for i in range(3)) for w in (0, 1)] for k in (0, 1)]
        )
        value = sum(log_dirichlet_multinomial(of_tag[t], np.full(2, 0.3)) for t in (0, 1))
        exact[drawn] = value + sum(log_dirichlet_multinomial(of_word[k], np.full(2, SMOOTHING)) for k in (0, 1))
    weights = np.exp(list(exact.values()))
    token_tags = np.array([0, 1, 1], np.int32)
    tag_topics, word_topics = tokens.topic_counts(token_tags, 2, 2), tokens.topic_counts(tokens.words, 2, 2)
    tag_totals, totals = tag_topics.sum(axis=1, dtype=np.int64), word_topics.sum(axis=0, dtype=np.int64)
    seen: Counter[tuple[tuple[int, int], ...]] = Counter()
    n = 40_000
    for _ in range(n):
        sweep_tags_and_topics(
            tokens.starts, tokens.words, tokens.topics, token_tags, tag_starts, tags, tag_topics, tag_totals,
            word_topics, totals, 0.3, SMOOTHING, state,
        )  # fmt: skip
        seen[tuple(zip(token_tags.tolist(), tokens.topics.tolist(), strict=True))] += 1
    np.testing.assert_allclose([seen[drawn] / n for drawn in exact], weights / weights.sum(), atol=0.012)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_token_is_counted_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = sp.csr_array(rng.poisson(0.4, (30, 20)).astype(np.int32))
    counts.data[:1] = 3
    tokens = Tokens.of(counts, 4, rng)
    assert len(tokens.words) == counts.sum()
    np.testing.assert_array_equal(np.diff(tokens.starts), counts.sum(axis=1))
    words = tokens.topic_counts(tokens.words, 20, 4)
    np.testing.assert_array_equal(words.sum(axis=1), np.asarray(counts.sum(axis=0)).ravel())
    documents, totals = tokens.topic_counts(tokens.documents(), 30, 4), words.sum(axis=0, dtype=np.int64)
    state = random_state(rng)
    for _ in range(3):
        sweep_topics(
            tokens.starts, tokens.words, tokens.topics, documents, words, totals, np.full((30, 4), 0.1), 0.01, state
        )
    np.testing.assert_array_equal(documents, tokens.topic_counts(tokens.documents(), 30, 4))
    np.testing.assert_array_equal(words, tokens.topic_counts(tokens.words, 20, 4))
    np.testing.assert_array_equal(totals, words.sum(axis=0))
