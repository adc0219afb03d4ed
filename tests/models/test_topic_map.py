"""The layout of topics as circles on a map."""

from itertools import combinations

import numpy as np
import pytest

from tagtopic.models.topic_map import GAP, HEIGHT, WIDTH, topic_map, topic_similarity


@pytest.mark.parametrize("n_topics", [1, 2, 3, 40, 100])
def test_circles_do_not_overlap_and_stay_on_the_map(n_topics: int) -> None:
    random = np.random.default_rng(0)
    similarity = topic_similarity(random.dirichlet(np.full(60, 0.1), n_topics))
    circles = topic_map(similarity, random.dirichlet(np.full(n_topics, 2.0)))
    for a, b in combinations(circles, 2):
        assert np.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius - 0.5 * GAP
    assert all(c.radius <= c.x <= WIDTH - c.radius and c.radius <= c.y <= HEIGHT - c.radius for c in circles)


def test_similar_topics_are_near_each_other() -> None:
    components = np.full((12, 40), 0.2)
    for topic in range(12):
        components[topic, 10 * (topic % 4) : 10 * (topic % 4) + 10] += 5
    components /= components.sum(axis=1, keepdims=True)
    circles = topic_map(topic_similarity(components), np.ones(12))
    places = np.array([(circle.x, circle.y) for circle in circles])
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    similar = np.arange(12)[:, None] % 4 == np.arange(12)[None] % 4
    assert distance[similar].mean() < 0.8 * distance[~similar].mean()
