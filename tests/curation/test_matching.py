"""Counterparts of topics in another model."""

import numpy as np

from tagtopic.curation import TopicReference
from tagtopic.curation.matching import match_topics, similarity_of_references, similarity_of_topics

WORDS = ("ship", "planet", "police", "killer", "the")
FREQUENCIES = np.array([0.1, 0.1, 0.1, 0.1, 0.6])
TOPICS = np.array([[0.5, 0.3, 0, 0, 0.2], [0, 0, 0.6, 0.3, 0.1], [0.15, 0.05, 0.1, 0.2, 0.5]])


def test_equal_topics_have_similarity_one_and_words_may_be_in_another_order() -> None:
    order = [4, 2, 0, 1, 3]
    words = [WORDS[i] for i in order]
    similarity = similarity_of_topics(TOPICS, WORDS, TOPICS[:, order], words, FREQUENCIES[order])
    np.testing.assert_allclose(np.diag(similarity), 1)
    assert (similarity[~np.eye(3, dtype=bool)] < 0.5).all()


def test_topics_without_common_words_have_similarity_zero() -> None:
    assert not similarity_of_topics(TOPICS, WORDS, TOPICS, [word.upper() for word in WORDS], FREQUENCIES).any()


def test_a_reference_is_most_similar_to_its_own_topic() -> None:
    references = [
        TopicReference("m", 0, {"ship": 0.5, "planet": 0.3}),
        TopicReference("m", 1, {"police": 0.6, "x": 0.1}),
    ]
    similarity = similarity_of_references(references, TOPICS, WORDS, FREQUENCIES)
    np.testing.assert_allclose([similarity[0, 0], similarity[1, 1]], [1, 0.6 / 0.7])  # "x" is unknown
    assert similarity.argmax(axis=1).tolist() == [0, 1]
    assert similarity_of_references([TopicReference("m", 0, {})], TOPICS, WORDS, FREQUENCIES).tolist() == [[0, 0, 0]]


def test_two_topics_do_not_share_a_counterpart() -> None:
    first, second = match_topics(np.array([[0.9, 0.5], [0.8, 0.1]]))
    assert (first.topic, second.topic) == (1, 0)
    assert not first.is_clear
    assert not second.is_clear


def test_a_match_is_doubtful_if_it_is_weak_or_another_pair_is_as_similar() -> None:
    clear, weak = match_topics(np.array([[0.9, 0.1, 0.0], [0.0, 0.3, 0.1]]))
    assert clear.is_clear
    assert not weak.is_clear
    (ambiguous,) = match_topics(np.array([[0.9, 0.85]]))
    assert (ambiguous.topic, ambiguous.runner_up, ambiguous.is_clear) == (0, 0.85, False)


def test_topics_without_any_candidate_left_have_no_counterpart() -> None:
    matches = match_topics(np.array([[0.9], [0.2]]))
    assert [match.topic for match in matches] == [0, -1]
    assert not matches[1].is_clear
    assert match_topics(np.zeros((1, 0)))[0].topic == -1


def test_the_usual_words_of_all_topics_make_no_topics_similar() -> None:
    usual = np.array([[0.1, 0.1, 0.1, 0.1, 0.6]]) + 1e-9
    assert similarity_of_topics(usual, WORDS, TOPICS, WORDS, FREQUENCIES).max() < 0.01
