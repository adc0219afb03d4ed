"""Draws of the topics of tokens agree with their conditional distribution."""

import numpy as np

from tagtopic.corpus import Corpus
from tagtopic.engines.blocks import documents_of
from tagtopic.inference.reference import token_topic_probabilities
from tagtopic.inference.topic_draws import UNASSIGNED, draw_token_topics


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
    draw_token_topics(documents, 0, len(corpus), starts, psi, prior, own, topics, 1, 0, counts)
    first = topics[::3]
    expected = token_topic_probabilities(np.array([1.0, 0, 1.0]), prior[0].astype(float), psi[0].astype(float), 0.1)
    assert np.allclose(np.bincount(first, minlength=4) / len(first), expected, atol=0.012)
    assert np.allclose(counts.sum(axis=1), 3 - (first == 3))
