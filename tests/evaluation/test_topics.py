"""How much topics differ, by hand."""

import numpy as np
import pytest

from tagtopic.evaluation.coherence import diversity, exclusivity, first_words

APART = np.array([[0.5, 0.4, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.3, 0.5]])
ALIKE = np.array([APART[0], APART[0]])


def test_first_words_are_in_order() -> None:
    assert first_words(APART, 2).tolist() == [[0, 1], [5, 4]]
    assert first_words(APART, 99).shape == (2, 6)


def test_topics_apart_share_no_word_and_equal_topics_share_all() -> None:
    assert diversity(APART, 3) == 1.0
    assert diversity(ALIKE, 3) == 0.5
    assert exclusivity(APART, 3) == 1.0
    assert exclusivity(ALIKE, 3) == pytest.approx(0.5)


def test_exclusivity_is_the_mean_share_of_the_topic_in_its_words() -> None:
    components = np.array([[0.6, 0.4], [0.2, 0.8]])
    assert exclusivity(components, 1) == pytest.approx((0.6 / 0.8 + 0.8 / 1.2) / 2)


def test_no_words_are_refused() -> None:
    with pytest.raises(ValueError, match="n_words=0"):
        diversity(APART, 0)
