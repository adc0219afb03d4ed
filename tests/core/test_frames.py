"""Results as data frames of three libraries, and as tables in notebooks."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tagtopic import TWDA, Corpus

TEXTS = ["a ship in space", "a monster on a ship", "police hunt a <b>killer"]
CORPUS = Corpus.from_texts(
    TEXTS * 5, [["space"], ["monster", "space"], ["crime"]] * 5, ids=[f"d{i}" for i in range(15)]
)


@pytest.fixture(scope="module")
def model() -> TWDA:
    return TWDA(2, max_iter=5, progress=False, random_state=0).fit(CORPUS)


QUESTIONS: dict[str, tuple[Any, list[str]]] = {
    "top_words": (lambda model: model.top_words(0), ["word", "probability"]),
    "top_tags": (lambda model: model.top_tags(0), ["tag", "probability"]),
    "top_topics": (lambda model: model.top_topics("crime"), ["topic", "share"]),
    "top_documents": (lambda model: model.top_documents(CORPUS, 0), ["id", "title", "share"]),
    "tag_words": (lambda model: model.tag_words("crime"), ["word", "probability"]),
    "similar_tags": (lambda model: model.similar_tags("crime"), ["tag", "similarity"]),
    "predict_tags": (lambda model: model.predict_tags(CORPUS, 2), ["id", "title", "rank", "tag", "probability"]),
    "rank_tags": (lambda model: model.rank_tags(CORPUS), ["id", "title", "rank", "tag", "weight"]),
    "explain": (
        lambda model: model.explain(CORPUS[1]),
        ["word", "count", "topic", "topic_share", "tag", "tag_share", "own_share"],
    ),
    "reasons": (lambda model: model.reasons(CORPUS[1]), ["tag", "log_odds", "kind", "evidence", "contribution"]),
    "similar_documents": (lambda model: model.similar_documents(0, CORPUS), ["id", "title", "similarity"]),
    "documents_missing": (lambda model: model.documents_missing("crime", CORPUS), ["id", "title", "probability"]),
    "audit_tags": (lambda model: model.audit_tags(CORPUS), ["document", "title", "document_number"]),
    "audit_tags.tags": (lambda model: model.audit_tags(CORPUS).tags, ["tag", "documents"]),
    "audit_tags.kinds": (lambda model: model.audit_tags(CORPUS).kinds, ["kind", "tags"]),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_is_a_data_frame_on_request(model: TWDA, question: str) -> None:
    ask, columns = QUESTIONS[question]
    answer = ask(model)
    frames = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.Table}
    made = {backend: answer.to_frame(backend) for backend in frames}
    for backend, kind in frames.items():
        assert isinstance(made[backend], kind)
    assert list(made["pandas"].columns)[: len(columns)] == columns
    assert len(made["pandas"]) == len(made["polars"]) == made["arrow"].num_rows > 0
    assert isinstance(answer.to_frame(), pd.DataFrame)
    html = answer._repr_html_()
    assert html.count("<table") == 1
    assert "<b>killer" not in html
    with pytest.raises(ValueError, match="backend='excel': expected one of 'pandas', 'polars', 'arrow'"):
        answer.to_frame("excel")


def test_ids_are_those_of_the_documents(model: TWDA) -> None:
    assert model.rank_tags(CORPUS).to_frame("arrow")["id"].to_pylist()[:3] == ["d0", "d1", "d1"]
    assert model.predict_tags(CORPUS[3:4], 1).to_frame("arrow")["id"].to_pylist() == ["d3"]


def test_titles_stand_beside_ids(model: TWDA) -> None:
    repeated = CORPUS.with_titles(["one"] * len(CORPUS))
    answers = (model.rank_tags(repeated, intervals=0.9), model.predict_tags(repeated, 1), model.audit_tags(repeated))
    for answer in answers:
        assert set(answer.to_frame("pandas")["title"]) == {"one"}
    assert str(model.explain(CORPUS[1])).startswith("d1 (a monster on a ship): ")
    untitled = CORPUS.with_titles(None)
    assert "title" not in model.rank_tags(untitled).to_frame("arrow").column_names
    assert "title" not in model.predict_tags(untitled, 1).to_frame("arrow").column_names
    assert "title" not in model.top_documents(untitled, 0).to_frame("arrow").column_names


def test_the_ids_of_a_series_are_those_of_its_index(model: TWDA) -> None:
    texts = pd.Series(TEXTS, index=["x", "y", "z"])
    assert list(Corpus.from_texts(texts).ids) == ["x", "y", "z"]
    assert list(Corpus.from_texts(texts, ids=["1", "2", "3"]).ids) == ["1", "2", "3"]
    assert model.predict_tags(texts, 1).to_frame("arrow")["id"].to_pylist() == ["x", "y", "z"]


def test_near_duplicates_are_a_data_frame() -> None:
    corpus = Corpus.from_texts(TEXTS[:2] * 10, [["film noir"], ["film-noir"]] * 10)
    found = TWDA(2, max_iter=5, progress=False, random_state=0).fit(corpus).audit_tags(corpus).duplicates
    assert [(pair.first, pair.second) for pair in found] == [("film noir", "film-noir")]
    assert found.to_frame("arrow").num_rows == 1
    assert "film-noir" in found._repr_html_()


def test_answers_are_still_lists(model: TWDA) -> None:
    words = model.top_words(0, 2)
    assert words == list(words)
    assert repr(words) == repr(list(words))
    assert isinstance(model.predict_tags(CORPUS)[0], list)


def test_the_table_of_topics_has_words_and_tags(model: TWDA) -> None:
    table = model.topics_table(n_words=3, n_tags=1)
    assert list(table.columns) == ["topic", "name", "share", "words", "tags"]
    assert np.all(np.diff(table["share"]) <= 0)
    first = int(table["topic"][0])
    assert table["words"][0].split() == [word for word, _ in model.top_words(first, 3)]
    assert table["tags"][0] == model.top_tags(first, 1)[0][0]
