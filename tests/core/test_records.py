"""Records kept as columns, and built on access."""

import numpy as np
import pytest

from tagtopic._core.records import Categorical, Records

MADE: list[int] = []


def make(i: int) -> tuple[str, float]:
    MADE.append(i)
    return "abc"[i % 3], i / 2


RECORDS = Records(
    {"name": Categorical(np.arange(6) % 3, ("a", "b", "c")), "value": np.arange(6) / 2}, make, np.array([5, 3, 1, 0])
)


def test_records_are_built_on_access() -> None:
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


def test_records_are_grouped_by_name() -> None:
    MADE.clear()
    groups = RECORDS.by("name")
    assert not MADE
    assert {name: list(records) for name, records in groups.items()} == {
        "a": [("a", 1.5), ("a", 0.0)], "b": [("b", 0.5)], "c": [("c", 2.5)],
    }  # fmt: skip
    assert RECORDS[:0].by("name") == {}
    with pytest.raises(TypeError, match="'value' has numbers"):
        RECORDS.by("value")
