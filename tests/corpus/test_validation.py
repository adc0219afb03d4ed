"""Data frames beside each other: their columns have names, and whatever type numbers are of, they are numbers."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tagtopic.corpus import Corpus

COUNTS = [[1, 0], [0, 2], [3, 4]]
TAGS = {"Fincher": [1, 0, 0], "crime": [1, 1, 0]}


def kinds_of_frames() -> dict[str, Any]:
    frame = pd.DataFrame(TAGS)
    return {
        "whole": frame,
        "nullable": frame.astype("Int64"),
        "truth": frame.astype("boolean"),
        "mixed": frame.astype({"crime": bool}),
        "mixed nullable": frame.astype({"crime": "boolean", "Fincher": "int8[pyarrow]"}),
        "sparse": frame.astype(pd.SparseDtype(np.int8)),
        "polars": pl.DataFrame(TAGS),
        "polars truth": pl.DataFrame(TAGS).cast(pl.Boolean),
        "polars mixed": pl.DataFrame(TAGS).cast({"crime": pl.Boolean}),
    }


@pytest.mark.parametrize("kind", kinds_of_frames())
def test_tag_names_default_to_the_columns_of_a_data_frame(kind: str) -> None:
    for corpus in (
        Corpus.from_counts(COUNTS, kinds_of_frames()[kind]),
        Corpus.from_texts(["sea", "ship", "sun"], kinds_of_frames()[kind]),
    ):
        assert corpus.tag_names == ("Fincher", "crime")
        assert [document.tags for document in corpus] == [("Fincher", "crime"), ("crime",), ()]


@pytest.mark.parametrize("kind", kinds_of_frames())
def test_words_default_to_the_columns_of_a_data_frame(kind: str) -> None:
    corpus = Corpus.from_counts(kinds_of_frames()[kind])
    assert corpus.words == ("Fincher", "crime")
    assert corpus.counts.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]


def test_given_names_override_the_columns_of_a_data_frame() -> None:
    frame = pd.DataFrame(TAGS)
    corpus = Corpus.from_counts(frame, frame, words=["a", "b"], tag_names=["c", "d"])
    assert (corpus.words, corpus.tag_names) == (("a", "b"), ("c", "d"))


def test_columns_without_names_are_numbered() -> None:
    frame = pd.DataFrame(COUNTS)
    corpus = Corpus.from_counts(frame, frame)
    assert (corpus.words, corpus.tag_names) == (("word_0", "word_1"), ("tag_0", "tag_1"))


def test_fractional_counts_in_a_data_frame() -> None:
    frame = pd.DataFrame({"sea": [0.5, 1.0]}).astype("Float64")
    assert Corpus.from_counts(frame, fractional=True).counts.toarray().tolist() == [[0.5], [1.0]]


@pytest.mark.parametrize(
    "frame", [pd.DataFrame({"a": pd.array([1, None], "Int64")}), pl.DataFrame({"a": [True, None]})]
)
def test_a_missing_number_is_an_error_that_names_the_document(frame: Any) -> None:
    with pytest.raises(ValueError, match="document 1 has the value nan in tags"):
        Corpus.from_counts([[1], [2]], frame)
    with pytest.raises(ValueError, match="document 1 has the value nan in counts"):
        Corpus.from_counts(frame)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("values", [["x", "y"], ["1", "0"], [["x"], ["y"]]])
def test_a_column_without_numbers_is_an_error_that_names_it(kind: Any, values: list[Any]) -> None:
    with pytest.raises(TypeError, match="tags is a data frame whose column 'genre' is of type"):
        Corpus.from_counts([[1], [2]], kind({"year": [0, 1], "genre": values}))
    with pytest.raises(TypeError, match="counts is a data frame whose column 'genre' is of type"):
        Corpus.from_counts(kind({"year": [0, 1], "genre": values}))


def test_duplicate_column_names_are_an_error() -> None:
    with pytest.raises(ValueError, match="'a' more than once"):
        Corpus.from_counts([[1]], pd.DataFrame([[1, 0]], columns=["a", "a"]))
