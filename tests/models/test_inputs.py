"""Inputs of fit and transform: texts, counts and corpora, with tags as lists, matrices and data frames."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from tagtopic import LDA, TWDA, Corpus
from tagtopic.models import _inputs
from tagtopic.models._base import TagTopicModel

TEXTS = ["a ship at sea", "a ship in space", "space and stars", "the sea and a storm"]
TAGS = [["water"], ["space", "water"], ["space"], []]
MATRIX = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
COUNTS = [[1, 2], [1, 1], [0, 3], [2, 0]]
KNOWN = ("space", "water")
LETTERS = [
    "The Engine weaves numbers",
    "A Monster in the storm",
    "Engine and numbers and engine",
    "storm, monster, storm",
]
AUTHORS = [["ada"], ["mary"], ["ada"], ["mary"]]


def texts_corpus() -> Corpus:
    return Corpus.from_texts(TEXTS, TAGS)


def fitted() -> TWDA:
    return TWDA(2, random_state=0, max_iter=3, progress=False).fit(TEXTS, tags=TAGS)


def beside_texts(tags: Any, known: tuple[str, ...] | None) -> Corpus:
    return _inputs.corpus_from_texts(TEXTS, tags, None, None, known)


def beside_counts(tags: Any, known: tuple[str, ...] | None) -> Corpus:
    return _inputs.corpus_from_matrix(COUNTS, tags, None, known)


def beside_a_corpus(tags: Any, known: tuple[str, ...] | None) -> Corpus:
    return _inputs.with_tags(Corpus.from_counts(COUNTS, [["other"], [], [], []]), tags, known)


EVERYWHERE = pytest.mark.parametrize("beside", [beside_texts, beside_counts, beside_a_corpus])
Beside = Callable[[Any, tuple[str, ...] | None], Corpus]


@EVERYWHERE
@pytest.mark.parametrize("kind", [np.array, sp.csr_array, pd.DataFrame])
def test_the_columns_of_a_tag_matrix_are_the_tags_of_the_model(beside: Beside, kind: Any) -> None:
    corpus = beside(kind(MATRIX), KNOWN)
    assert corpus.tag_names == KNOWN
    np.testing.assert_array_equal(corpus.tags.toarray(), MATRIX)


@EVERYWHERE
def test_the_columns_of_a_tag_matrix_are_new_tags_before_training(beside: Beside) -> None:
    for known in (None, ()):
        assert beside(MATRIX, known).tag_names == ("tag_0", "tag_1")


@EVERYWHERE
def test_a_tag_matrix_with_another_number_of_columns_is_refused(beside: Beside) -> None:
    with pytest.raises(ValueError, match="matrix of tags has 2 columns, but the model knows 3 tags"):
        beside(MATRIX, ("a", "b", "c"))


@EVERYWHERE
def test_lists_of_tag_names_may_be_new(beside: Beside) -> None:
    assert beside([["z"], ["water"], [], None], KNOWN).tag_names == ("water", "z")
    with pytest.raises(ValueError, match="4 documents but tags for 1"):
        beside([["z"]], KNOWN)


@EVERYWHERE
def test_named_columns_are_aligned_by_name(beside: Beside) -> None:
    frame = pd.DataFrame(MATRIX[:, ::-1], columns=["water", "space"])
    for given in (frame, frame.astype("boolean"), pl.DataFrame(MATRIX[:, ::-1], schema=["water", "space"])):
        corpus = beside(given, KNOWN)
        assert corpus.tag_names == ("water", "space")
        np.testing.assert_array_equal(corpus.align(corpus.words, KNOWN).corpus.tags.toarray(), MATRIX)


def test_a_tag_matrix_beside_a_corpus_keeps_its_names() -> None:
    corpus = texts_corpus()
    for tags in (corpus.tags, corpus.tags.copy(), corpus.tags.toarray()):
        model = TWDA(2, random_state=0, max_iter=2, progress=False).fit(corpus, tags=tags)
        assert model.tag_names_ == KNOWN
    assert _inputs.with_tags(corpus, corpus.tags) is corpus
    assert _inputs.with_tags(corpus, MATRIX, ("model's", "tags")).tag_names == ("model's", "tags")


def test_new_tags_change_nothing_else_of_a_corpus() -> None:
    corpus = texts_corpus()
    other = _inputs.with_tags(corpus, [["new"], [], [], []])
    assert other.counts is corpus.counts
    assert (other.words, other.ids, other.rules) == (corpus.words, corpus.ids, corpus.rules)
    assert other[0].tags == ("new",)


def test_lda_ignores_tags() -> None:
    given = LDA(2, random_state=0, max_iter=2, progress=False).fit_transform(COUNTS, tags=MATRIX)
    np.testing.assert_array_equal(given, LDA(2, random_state=0, max_iter=2, progress=False).fit_transform(COUNTS))


def containers(texts: list[Any]) -> dict[str, Any]:
    return {
        "tuple": tuple(texts),
        "array of objects": np.array(texts, dtype=object),
        "series": pd.Series(texts, dtype=object),
        "series of strings": pd.Series(texts, dtype="string"),
        "series with another index": pd.Series(texts, index=range(5, 5 + len(texts))),
        "polars": pl.Series(texts, strict=False),
    }


@pytest.mark.parametrize("kind", containers(TEXTS))
def test_texts_may_be_any_one_dimensional_container(kind: str) -> None:
    model = fitted()
    expected = model.transform(["a ship", "", "stars"])
    np.testing.assert_array_equal(model.transform(containers(["a ship", None, "stars"])[kind]), expected)
    again = TWDA(2, random_state=0, max_iter=3, progress=False).fit(containers(TEXTS)[kind], tags=TAGS)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_missing_texts_are_empty() -> None:
    model = fitted()
    expected = model.transform(["a ship", "stars", ""])
    np.testing.assert_array_equal(model.transform(np.array(["a ship", "stars", ""])), expected)
    for missing in (float("nan"), np.nan, pd.NA, None):
        np.testing.assert_array_equal(model.transform(["a ship", "stars", missing]), expected)


@pytest.mark.parametrize("numbers", [[[1, 2]], np.ones((2, 2)), np.ones(3), sp.csr_array(np.ones((1, 2))), [1, 2]])
def test_numbers_are_not_texts(numbers: Any) -> None:
    assert not _inputs.is_texts(numbers)


def test_a_single_string_is_refused() -> None:
    for question in (fitted().transform, fitted().predict_tags, TWDA(2).fit):
        with pytest.raises(TypeError, match=r"X is one string, 'a ship': expected a list of texts"):
            question("a ship")


def test_an_empty_list_has_an_empty_result() -> None:
    of_counts = TWDA(2, random_state=0, max_iter=2, progress=False).fit(COUNTS, tags=MATRIX)
    for model in (fitted(), of_counts):
        assert model.transform([]).shape == (0, 2)
        assert len(model.predict_tags([])) == 0
    with pytest.raises(ValueError, match="no words in the 0 documents"):
        TWDA(2).fit([])


@pytest.mark.parametrize("name", ["counts", "tags"])
def test_a_damaged_corpus_is_refused(name: str, tmp_path: Path) -> None:
    model = fitted()
    texts_corpus().save(tmp_path / "c")
    file = tmp_path / "c" / f"{name}.indices.npy"
    columns = np.load(file)
    columns[1] = 2_000_000_000
    np.save(file, columns)
    for question in (model.fit, model.transform, model.perplexity, model.partial_fit):
        with pytest.raises(ValueError, match=rf"damaged: {name}\.indices\.npy"):
            question(Corpus.open(tmp_path / "c"))


def test_a_fitted_model_takes_a_tag_matrix_beside_any_input() -> None:
    model = fitted()
    corpus = Corpus.from_texts(TEXTS, words=model.words_, rules=model.rules_)
    expected = model.transform(TEXTS, tags=TAGS)
    frame = pd.DataFrame(MATRIX[:, ::-1], columns=["water", "space"])
    for X in (TEXTS, corpus, corpus.counts):
        for tags in (MATRIX, frame):
            np.testing.assert_array_equal(model.transform(X, tags=tags), expected)
    for X in (TEXTS, corpus):
        assert model.partial_fit(X, tags=MATRIX).tag_names_ == KNOWN


def test_tags_passed_as_y_are_an_error() -> None:
    texts, tags = ["a ship in space", "police and a killer"] * 3, [["space"], ["crime"]] * 3
    for method in ("fit", "partial_fit", "fit_transform"):
        with pytest.raises(TypeError, match=r"give tags by name, as in fit\(texts, tags=tags\)"):
            getattr(TWDA(2, max_iter=1, progress=False), method)(texts, tags)
    TWDA(2, max_iter=1, progress=False).fit(texts, [0, 1] * 3)


def test_lists_of_words_and_iterators_are_accepted() -> None:
    words, tags = [["ship", "space"], ["police", "killer"]] * 3, [["space"], ["crime"]] * 3
    model = TWDA(2, max_iter=2, progress=False, random_state=0).fit(words, tags=tags)
    assert model.words_ == ("killer", "police", "ship", "space")
    np.testing.assert_array_equal(model.transform([["ship"]]), model.transform(["ship"]))
    again = TWDA(2, max_iter=2, progress=False, random_state=0)
    assert again.fit_transform((" ".join(text) for text in words), tags=tags).shape == (6, 2)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_a_data_frame_of_texts_is_refused_with_a_hint() -> None:
    with pytest.raises(TypeError, match=r"column 'plot' is of type .* \(Corpus.read takes a data frame"):
        TWDA(2).fit(pd.DataFrame({"plot": ["a ship"], "year": [1979]}))


def test_a_sparse_data_frame_of_counts_is_not_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(np.array(COUNTS)), columns=["sea", "ship"])
    monkeypatch.setattr(pd.DataFrame, "to_numpy", lambda *_: pytest.fail("it was made dense"))
    model = TWDA(2, max_iter=1, progress=False).fit(frame, tags=TAGS)
    assert model.words_ == ("sea", "ship")


@pytest.mark.parametrize("kind", [TWDA, LDA])
def test_new_texts_are_tokenized_by_the_models_rules(kind: type[TagTopicModel], tmp_path: Path) -> None:
    corpus = Corpus.from_texts(LETTERS, AUTHORS, stop_words="en")
    model = kind(n_topics=2, random_state=0, progress=False).fit(corpus)
    mixes = model.transform(["ENGINE numbers!", "a stormy monster"])
    assert mixes.shape == (2, 2)
    assert mixes.argmax(axis=1)[0] != mixes.argmax(axis=1)[1]
    model.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert loaded.rules_ == corpus.rules
    np.testing.assert_array_equal(loaded.transform(["ENGINE numbers!", "a stormy monster"]), mixes)


def test_texts_and_their_corpus_give_the_same_model() -> None:
    from_texts = TWDA(2, random_state=0, progress=False).fit(LETTERS, tags=AUTHORS)
    from_corpus = TWDA(2, random_state=0, progress=False).fit(Corpus.from_texts(LETTERS, AUTHORS))
    np.testing.assert_array_equal(from_texts.components_, from_corpus.components_)
    assert from_texts.tag_names_ == ("ada", "mary")


def test_a_model_fitted_to_counts_refuses_texts() -> None:
    model = TWDA(2, random_state=0, progress=False).fit([[1, 2], [2, 0]], tags=[["a"], ["b"]])
    with pytest.raises(ValueError, match="trained on counts"):
        model.transform(["some text"])
