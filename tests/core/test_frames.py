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
    "top_documents": (lambda model: model.top_documents(CORPUS, 0), ["id", "share"]),
    "tag_words": (lambda model: model.tag_words("crime"), ["word", "probability"]),
    "similar_tags": (lambda model: model.similar_tags("crime"), ["tag", "similarity"]),
    "predict_tags": (lambda model: model.predict_tags(CORPUS, 2), ["id", "rank", "tag", "probability"]),
    "rank_tags": (lambda model: model.rank_tags(CORPUS), ["id", "rank", "tag", "weight"]),
    "explain": (
        lambda model: model.explain(CORPUS[1]),
        ["word", "count", "topic", "topic_share", "tag", "tag_share", "own_share"],
    ),
    "audit_tags": (lambda model: model.audit_tags(CORPUS), ["document"]),
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
