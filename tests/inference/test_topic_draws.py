"""Draws of the topics of tokens agree with their conditional distribution."""

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.reference import token_topic_probabilities
from tagtopic.inference.topic_draws import GROUP, UNASSIGNED, draw_token_topics, padded


def test_draws_follow_the_conditional_of_the_reference() -> None:
    rng = np.random.default_rng(0)
    psi = rng.dirichlet(np.ones(3), 3).T.astype(np.float32)  # (words, topics)
    corpus = Corpus.from_counts([[1, 2, 0]] * 20_000)
    documents = documents_of(corpus, 0, len(corpus))
    prior = np.tile(np.array([0.5, 1.0, 0.2], np.float32), (len(corpus), 1))
    own = np.tile(np.array([0.1, 0.0], np.float32), len(corpus))
    starts = np.arange(len(corpus) + 1, dtype=np.int64) * 3
    topics = np.full(3 * len(corpus), UNASSIGNED, np.uint16)
    counts = np.zeros((len(corpus), 3), np.float32)
    topics[1::3], topics[2::3] = 0, 2  # of the other tokens
    draw_token_topics(documents, 0, len(corpus), starts, padded(psi), prior, own, topics, 1, 0, counts)
    first = topics[::3]
    expected = token_topic_probabilities(np.array([1.0, 0, 1.0]), prior[0].astype(float), psi[0].astype(float), 0.1)
    assert np.allclose(np.bincount(first, minlength=4) / len(first), expected, atol=0.012)
    assert np.allclose(counts.sum(axis=1), 3 - (first == 3))


def test_topics_of_several_groups_are_drawn_by_their_weights() -> None:
    n_topics, n_documents = 2 * GROUP + 5, 40_000
    rng = np.random.default_rng(1)
    psi = np.zeros((1, n_topics), np.float32)
    psi[0, [0, 3, GROUP - 1, GROUP, 2 * GROUP + 1, n_topics - 1]] = rng.dirichlet(np.ones(6))
    corpus = Corpus.from_counts([[1]] * n_documents)
    prior = np.tile(rng.random(n_topics).astype(np.float32), (n_documents, 1))
    topics, counts = np.full(n_documents, UNASSIGNED, np.uint16), np.zeros((n_documents, n_topics), np.float32)
    starts, own = np.arange(n_documents + 1, dtype=np.int64), np.empty(0, np.float32)
    draw_token_topics(
        documents_of(corpus, 0, n_documents), 0, n_documents, starts, padded(psi), prior, own, topics, 1, 0, counts
    )
    expected = token_topic_probabilities(np.zeros(n_topics), prior[0].astype(float), psi[0].astype(float), 0.0)[:-1]
    assert np.allclose(np.bincount(topics, minlength=n_topics) / n_documents, expected, atol=0.01)
    assert set(topics) == set(np.flatnonzero(psi[0]))
