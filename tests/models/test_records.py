"""Records kept as columns, and ranked tags: the same as the lists they stand for, made when asked for."""

import numpy as np
import pytest
import scipy.sparse as sp

from tagtopic._core.records import Categorical, Records
from tagtopic.corpus import StringArray
from tagtopic.tagging.ranking import RankedTags

MADE: list[int] = []


def make(i: int) -> tuple[str, float]:
    MADE.append(i)
    return "abc"[i % 3], i / 2


RECORDS = Records(
    {"name": Categorical(np.arange(6) % 3, ("a", "b", "c")), "value": np.arange(6) / 2}, make, np.array([5, 3, 1, 0])
)


def test_records_are_made_when_they_are_looked_at() -> None:
    MADE.clear()
    assert len(RECORDS) == 4
    assert RECORDS[0] == ("c", 2.5)
    assert RECORDS[-1] == ("a", 0.0)
    assert MADE == [5, 0]
    assert list(RECORDS[1:3]) == [("a", 1.5), ("b", 0.5)]
    assert len(MADE) == 4
    with pytest.raises(IndexError):
        RECORDS[4]


def test_columns_and_table_are_in_the_order_of_the_records() -> None:
    assert RECORDS.column("value").tolist() == [2.5, 1.5, 0.5, 0.0]
    assert RECORDS.column("name") == ["c", "a", "b", "a"]
    assert RECORDS.table().to_pylist() == [{"name": name, "value": value} for name, value in RECORDS]
    assert RECORDS[:2].table().num_rows == 2
    assert list(RECORDS) == RECORDS
    assert list(RECORDS)[1:] != RECORDS
    assert repr(RECORDS).endswith("…] (4 records)")


def test_ranked_tags_against_plain_sorting() -> None:
    random = np.random.default_rng(0)
    weights = sp.csr_array(random.random((30, 12)).round(1) * (random.random((30, 12)) < 0.4))
    names = tuple(f"tag_{j}" for j in range(12))
    for n in (None, 2):
        ranked = RankedTags.of(weights, names, n)
        for i, row in enumerate(weights.toarray()):
            own = weights.indices[weights.indptr[i] : weights.indptr[i + 1]]
            expected = sorted(((names[j], row[j]) for j in own), key=lambda pair: -pair[1])[:n]
            assert ranked[i] == expected
    assert RankedTags.of(weights, names)[-1] == RankedTags.of(weights, names)[29]
    assert RankedTags.of(weights, names)[3:5] == list(RankedTags.of(weights, names))[3:5]
    with pytest.raises(IndexError, match="there is no document 30"):
        RankedTags.of(weights, names)[30]


def test_ranked_tags_as_a_table() -> None:
    weights = sp.csr_array(np.array([[0.2, 0.7], [0.0, 0.0], [0.9, 0.0]]))
    table = RankedTags.of(weights, ("x", "y")).table(StringArray.of(["d0", "d1", "d2"]))
    assert table.to_pylist() == [
        {"id": "d0", "rank": 1, "tag": "y", "weight": 0.7},
        {"id": "d0", "rank": 2, "tag": "x", "weight": 0.2},
        {"id": "d2", "rank": 1, "tag": "x", "weight": 0.9},
    ]


def test_records_by_name() -> None:
    MADE.clear()
    groups = RECORDS.by("name")
    assert not MADE
    assert {name: list(records) for name, records in groups.items()} == {
        "a": [("a", 1.5), ("a", 0.0)], "b": [("b", 0.5)], "c": [("c", 2.5)],
    }  # fmt: skip
    assert RECORDS[:0].by("name") == {}
    with pytest.raises(TypeError, match="'value' has numbers"):
        RECORDS.by("value")
