"""Ranked tags: the same as sorted lists, built on access."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic.corpus import StringArray
from tagtopic.tagging import RankedTags


def test_ranked_tags_equal_sorted_lists() -> None:
    random = np.random.default_rng(0)
    weights = sp.csr_array(random.random((30, 12)).round(1) * (random.random((30, 12)) < 0.4))
    names = tuple(f"tag_{j}" for j in range(12))
    for n in (None, 2):
        ranked = RankedTags.from_weights(weights, names, n)
        for i, row in enumerate(weights.toarray()):
            own = weights.indices[weights.indptr[i] : weights.indptr[i + 1]]
            expected = sorted(((names[j], row[j]) for j in own), key=lambda pair: -pair[1])[:n]
            assert ranked[i] == expected
    assert RankedTags.from_weights(weights, names)[-1] == RankedTags.from_weights(weights, names)[29]
    assert RankedTags.from_weights(weights, names)[3:5] == list(RankedTags.from_weights(weights, names))[3:5]
    with pytest.raises(IndexError, match="there is no document 30"):
        RankedTags.from_weights(weights, names)[30]


def test_ranked_tags_as_a_table() -> None:
    weights = sp.csr_array(np.array([[0.2, 0.7], [0.0, 0.0], [0.9, 0.0]]))
    table = RankedTags.from_weights(weights, ("x", "y")).table(StringArray.of(["d0", "d1", "d2"]))
    assert table.to_pylist() == [
        {"id": "d0", "rank": 1, "tag": "y", "weight": 0.7},
        {"id": "d0", "rank": 2, "tag": "x", "weight": 0.2},
        {"id": "d2", "rank": 1, "tag": "x", "weight": 0.9},
    ]


def test_tags_whose_intervals_overlap_share_a_place() -> None:
    weights = sp.csr_array(np.array([[0.1, 0.6, 0.3]]))
    low, high = sp.csr_array(np.array([[0.05, 0.5, 0.2]])), sp.csr_array(np.array([[0.15, 0.7, 0.55]]))
    ranked = RankedTags.from_weights(weights, ("x", "y", "z"), low=low, high=high)
    assert ranked.has_intervals
    assert [(tag.tag, tag.place, tag.low, tag.high) for tag in ranked.with_intervals(0)] == [
        ("y", 1, 0.5, 0.7),
        ("z", 1, 0.2, 0.55),
        ("x", 3, 0.05, 0.15),
    ]
    assert ranked.table(StringArray.of(["d"])).column("place").to_pylist() == [1, 1, 3]
    with pytest.raises(ValueError, match="have no intervals"):
        RankedTags.from_weights(weights, ("x", "y", "z")).with_intervals(0)
