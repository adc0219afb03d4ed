"""Diversity and exclusivity of topics, by hand."""

import numpy as np
import pytest

from tagtopic.evaluation import diversity, exclusivity
from tagtopic.evaluation.coherence import first_words

DISJOINT = np.array([[0.5, 0.4, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.3, 0.5]])
EQUAL = np.array([DISJOINT[0], DISJOINT[0]])


def test_first_words_are_sorted_by_probability() -> None:
    assert first_words(DISJOINT, 2).tolist() == [[0, 1], [5, 4]]
    assert first_words(DISJOINT, 99).shape == (2, 6)


def test_disjoint_topics_share_no_word_and_equal_topics_share_all() -> None:
    assert diversity(DISJOINT, 3) == 1.0
    assert diversity(EQUAL, 3) == 0.5
    assert exclusivity(DISJOINT, 3) == 1.0
    assert exclusivity(EQUAL, 3) == pytest.approx(0.5)


def test_exclusivity_is_the_mean_share_of_the_topic_in_its_words() -> None:
    components = np.array([[0.6, 0.4], [0.2, 0.8]])
    assert exclusivity(components, 1) == pytest.approx((0.6 / 0.8 + 0.8 / 1.2) / 2)


def test_zero_words_are_an_error() -> None:
    with pytest.raises(ValueError, match="n_words=0"):
        diversity(DISJOINT, 0)
