"""Validation of what users pass: names and types of data frames, and the indices of sparse matrices."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from tagtopic import LDA, TWDA
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


FAR = 2_000_000_000


def with_indices(matrix: Any, indices: list[int]) -> Any:
    """Overwrite the indices of a matrix after SciPy has seen it."""
    matrix.indices = np.array(indices, matrix.indices.dtype)
    return matrix


def damaged_matrices(n_columns: int = 6) -> dict[str, Any]:
    """Matrices whose arrays do not fit their shape; SciPy accepts all of them."""
    whole = np.tile(np.arange(n_columns) < 2, (2, 1)).astype(int)
    csr, csc, bsr = sp.csr_array(whole), sp.csc_array(whole), sp.bsr_array(whole, blocksize=(1, 1))
    starts = sp.csr_array(whole)
    starts.indptr = np.array([0, 3, 2], np.int32)
    overflow = sp.csr_array(whole)
    overflow.indptr = np.array([0, 2, -(2**31)], np.int32)
    short = sp.csr_array(whole)
    short.indptr = np.array([0, 2, 90], np.int32)
    coo = sp.coo_array(whole)
    coo.coords = (coo.coords[0], np.array([0, 1, 0, FAR]))
    lil = sp.lil_array(whole)
    lil.rows[0] = [0, n_columns]
    return {
        "csr far": with_indices(csr, [0, 1, 0, FAR]),
        "csr near": with_indices(sp.csr_array(whole), [0, 1, 0, n_columns]),
        "csr negative": with_indices(sp.csr_array(whole), [0, 1, -1, 1]),
        "csc": with_indices(csc, [0, 1, 0, FAR]),
        "bsr": with_indices(bsr, [0, 1, 0, FAR]),
        "coo": coo,
        "lil": lil,
        "offsets that fall": starts,
        "offsets past the end": short,
        "offsets whose difference overflows": overflow,
    }


@pytest.fixture(scope="module")
def model() -> TWDA:
    counts = np.eye(6, dtype=int) + 1
    return TWDA(n_topics=2, max_iter=2, random_state=0).fit(counts, tags=[["a"], ["b"]] * 3)


@pytest.mark.parametrize("kind", damaged_matrices())
def test_a_sparse_matrix_with_wrong_indices_is_refused_by_every_question(model: TWDA, kind: str) -> None:
    damaged = damaged_matrices()[kind]
    with pytest.raises(ValueError, match=r"counts.*damaged"):
        Corpus.from_counts(damaged)
    for question in ("transform", "predict_tags", "perplexity", "score", "aligned"):
        with pytest.raises(ValueError, match=r"X.*damaged"):
            getattr(model, question)(damaged)
    for question in ("rank_tags", "audit_tags", "fit_tag_predictor"):
        with pytest.raises(ValueError, match=r"X.*damaged"):
            getattr(model, question)(damaged, tags=[["a"], ["b"]])
    with pytest.raises(ValueError, match=r"X.*damaged"):
        LDA(2, max_iter=1).fit(damaged)


@pytest.mark.parametrize("kind", damaged_matrices())
def test_a_tag_matrix_with_wrong_indices_is_refused(model: TWDA, kind: str) -> None:
    counts = np.ones((2, 6), int)
    damaged = damaged_matrices()[kind]
    with pytest.raises(ValueError, match=r"tags.*damaged"):
        Corpus.from_counts(counts, damaged)
    with pytest.raises(ValueError, match=r"tags.*damaged"):
        TWDA(2, max_iter=1).fit(counts, tags=damaged)


def test_entries_are_sorted_whatever_scipy_remembers_of_them() -> None:
    matrix = sp.csr_array([[1, 2, 3]])
    assert matrix.has_canonical_format
    matrix.indices[:] = [2, 0, 0]
    assert Corpus.from_counts(matrix).counts.toarray().tolist() == [[5, 0, 1]]
    assert Corpus.from_counts(matrix / 2, fractional=True).counts.toarray().tolist() == [[2.5, 0, 0.5]]


def test_matrices_given_to_the_constructor_are_checked_by_the_first_question(model: TWDA) -> None:
    corpus = Corpus.from_counts(np.ones((2, 6), int), [["a"], ["b"]], words=model.words_)
    for indices, message in (([0, FAR], "column 2000000000 of counts"), ([1, 0], "row 0 are not sorted")):
        damaged = corpus.with_matrices(counts=sp.csr_array((np.ones(2, np.int32), indices, [0, 2, 2]), shape=(2, 6)))
        for ask in (model.transform, model.audit_tags, lambda corpus: corpus.align(model.words_, model.tag_names_)):
            with pytest.raises(ValueError, match=message):
                ask(damaged)
    negative = sp.csr_array((-np.ones(2, np.int32), [0, 1], [0, 2, 2]), shape=(2, 6))
    with pytest.raises(ValueError, match="row 0 has the value -1"):
        model.transform(corpus.with_matrices(counts=negative))
    assert model.tag_predictor_ is not None
    with pytest.raises(ValueError, match="row 0 has the value -1"):
        model.tag_predictor_.predict_counts(negative)


def test_a_masked_array_has_to_be_filled_first(model: TWDA) -> None:
    masked = np.ma.array(np.ones((2, 6), int), mask=np.eye(2, 6, dtype=bool))
    for ask in (Corpus.from_counts, model.transform, LDA(2).fit):
        with pytest.raises(ValueError, match="masked entries: fill them first"):
            ask(masked)
    with pytest.raises(ValueError, match="tags has masked entries"):
        Corpus.from_counts(np.ones((2, 6), int), masked)
    assert Corpus.from_counts(np.ma.array(np.ones((2, 6), int))).n_tokens == 12  # nothing is masked


def test_fractional_counts_have_the_range_of_whole_ones() -> None:
    with pytest.raises(ValueError, match="numbers from 0 to 2147483647"):
        Corpus.from_counts([[1e38, 0.5]], fractional=True)
