import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tagtopic.corpus.reading.documents import TagColumn, id_of, scalar_of, text_of
from tagtopic.corpus.reading.errors import BadRow


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("a", "a"),
        (3, "3"),
        (2015.0, "2015"),
        (0.5, "0.5"),
        (float("nan"), None),
        (float("inf"), "inf"),
        (True, "true"),
        (np.int64(3), "3"),
        (np.float32("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (pd.Timestamp("2015-01-02"), "2015-01-02"),
        (datetime.datetime(2015, 1, 2, 3), "2015-01-02T03:00:00"),
        (datetime.date(2015, 1, 2), "2015-01-02"),
        (decimal.Decimal("1.50"), "1.50"),
        (b"bytes", "bytes"),
    ],
)
def test_scalars(value: Any, text: str | None) -> None:
    assert scalar_of(value) == text


@pytest.mark.parametrize("value", [{}, object(), b"\xff", pytest.param(10**5000, id="long"), [1]])
def test_values_that_are_no_scalars_are_bad_rows(value: Any) -> None:
    with pytest.raises(BadRow, match="holds"):
        scalar_of(value)


def test_texts() -> None:
    assert text_of("a") == "a"
    assert text_of(None) == ""
    assert text_of(["a", None, 3]) == "a\u20293"
    assert text_of(np.array(["a", "b"])) == "a\u2029b"


def test_lone_surrogates_in_ids_are_replaced() -> None:
    assert id_of("\ud800é") == "?é"
    assert id_of(7.0) == "7"
    assert id_of(None) is None


@pytest.mark.parametrize(
    ("column", "value", "tags"),
    [
        ("director", "Ada", ["director:Ada"]),
        ("director", ["Ada", "Bob"], ["director:Ada", "director:Bob"]),
        ("director", "person:Ada", ["person:Ada"]),
        ("film", "Alien: Covenant", ["film:Alien: Covenant"]),
        ("time", "12:30", ["time:12:30"]),
        ("url", "https://example.org", ["url:https://example.org"]),
        ("debtag", "role::program", ["role::program"]),
        ("tags", ["plain", "kind:value", "a: b"], ["plain", "kind:value", "a: b"]),
        ("year", 2015, ["year:2015"]),
        ("year", 2015.0, ["year:2015"]),
        ("year", float("nan"), []),
        ("x", None, []),
        ("x", ["", "  ", None], []),
        ("x", " a \n b\u00a0", ["x:a b"]),
        ("x", np.array(["a", "b"]), ["x:a", "x:b"]),
        ("x", ("a",), ["x:a"]),
        ("x", "\ud800", ["x:?"]),
        ("x", True, ["x:true"]),
    ],
)
def test_tags(column: str, value: Any, tags: list[str]) -> None:
    reader = TagColumn(column, None)
    assert reader.tags_of(value) == tags
    assert reader.tags_of(value) == tags


def test_delimited_tags() -> None:
    assert TagColumn("x", "|").tags_of("a| b |k:c||") == ["x:a", "x:b", "k:c"]
    assert TagColumn("x", "|").tags_of(["a|b", 3]) == ["x:a", "x:b", "x:3"]


def test_the_cache_is_bounded() -> None:
    column = TagColumn("x", None, cache_size=3)
    for i in range(10):
        assert column.tags_of(str(i)) == [f"x:{i}"]
        assert len(column._cache) <= 3


@pytest.mark.parametrize("value", [[["space", "sea"]], ["a", ("b",)], np.array([[1, 2]]), [np.array([1])]])
def test_nested_lists_are_bad_rows(value: object) -> None:
    with pytest.raises(BadRow, match=r"^holds a list inside of a list$"):
        TagColumn("tags", None).tags_of(value)
    with pytest.raises(BadRow, match=r"^holds a list inside of a list$"):
        text_of(value)


def test_a_list_of_ids_is_a_bad_row() -> None:
    with pytest.raises(BadRow, match=r"^holds a list where one value belongs$"):
        id_of(["a"])


def test_a_list_written_as_text_is_parsed() -> None:
    column = TagColumn("tags", None)
    assert column.tags_of("['Drama', \"Ocean's\"]") == ["Drama", "Ocean's"]
    assert column.tags_of('["a", "b"]') == ["a", "b"]
    assert column.tags_of("[]") == []
    assert column.tags_of("[sic]") == ["[sic]"]
    assert column.tags_of("[1, 2]") == ["[1, 2]"]
    assert column.tags_of("[Rec]") == ["[Rec]"]
