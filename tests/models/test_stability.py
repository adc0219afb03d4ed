"""Which topics come back with other seeds."""

import numpy as np
import pytest

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models.stability import match

PLANTED = make_tagged_corpus(300, 4, 12, 200, random_state=0)


def test_planted_topics_come_back_and_a_superfluous_one_does_less() -> None:
    model = TWDA(4, random_state=0, progress=False, max_iter=40).fit(PLANTED.corpus)
    found = model.stability(PLANTED.corpus, seeds=2)
    assert found.seeds == (1, 2)
    assert [topic.came_back for topic in found.topics] == [2] * 4
    assert min(topic.similarity for topic in found.topics) > 0.9
    assert {topic.topic for topic in found.topics} == set(range(4))
    assert list(found.to_frame().columns)[:3] == ["topic", "share", "came_back"]
    assert str(found).startswith("4 of 4 topics came back in most of 2 fits")
    with pytest.raises(ValueError, match="seeds=0: expected a number of fits from 1"):
        model.stability(PLANTED.corpus, seeds=0)


def test_topics_are_matched_one_to_one_and_a_new_one_has_few_words_in_common() -> None:
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(400, 0.05), 3)
    others = np.vstack([topics[2], random.dirichlet(np.full(400, 0.05)), topics[0]])
    common, similarity = match(topics, others)
    assert common[[0, 2]].tolist() == [1.0, 1.0]
    assert similarity[[0, 2]] == pytest.approx(1.0, abs=1e-3)
    assert common[1] < 0.5
    common, _ = match(topics, others[:1])
    assert common.tolist() == [0.0, 0.0, 1.0]
