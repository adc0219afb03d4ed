"""A model applied to a DataFrame gives the answers of one machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.corpus import ReadError, ReadWarning
from tagtopic.corpus.reading.options import ReadOptions

SUBJECTS = {"Ada": "engine number wheel card", "Mary": "monster storm lightning night", "Jane": "ball letter pride"}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(0)
    authors = [str(name) for name in random.choice(list(SUBJECTS), 60)]
    texts = [" ".join(random.choice(SUBJECTS[author].split(), 12)) for author in authors]
    return pa.table({"id": [f"d{i}" for i in range(60)], "body": texts, "author": authors, "year": [1818] * 60})


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_answers_equal_those_of_one_machine(context: Any, table: pa.Table, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    from tagtopic.engines.spark.context import context_of
    from tagtopic.engines.spark.frames import apply_model

    corpus = Corpus.read(table, text="body", tags=["author", "year"], min_df=1)
    model = TWDA(n_topics=3, max_iter=5, random_state=0).fit(corpus)
    pq.write_table(table, tmp_path / "in.parquet")
    session = SparkSession(context)
    assert context_of(session) is context
    frame = session.read.parquet(str(tmp_path / "in.parquet")).repartition(3)
    answered = apply_model(model, frame, text="body", tags=["author", "year"])
    answered.write.parquet(str(tmp_path / "out"))

    found = pq.read_table(tmp_path / "out").sort_by("id").to_pylist()
    order = np.argsort(list(corpus.ids))
    np.testing.assert_allclose([row["topics"] for row in found], model.transform(corpus)[order], rtol=1e-6)
    weights, latent = model.tag_weights(corpus, return_latent=True)
    np.testing.assert_allclose([row["latent_weight"] for row in found], latent[order], rtol=1e-6)
    for row, number in zip(found, order, strict=True):
        expected = {corpus.tag_names[j]: weights[number, j] for j in corpus.tags[[number]].indices}
        assert {pair["tag"]: pair["weight"] for pair in row["tag_weights"]} == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="no column 'title'"):
        apply_model(model, frame, text="title")
    with pytest.raises(ValueError, match="'topics' already"):
        apply_model(model, answered, text="body")


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_files_are_read_as_on_one_machine(context: Any, table: pa.Table, tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    from tagtopic.engines.spark.frames import read_frame

    rows = [
        row | {"author": [row["author"], "draft"] if i % 2 else row["author"]}
        for i, row in enumerate(table.to_pylist())
    ]
    lines = [json.dumps({key: row[key] for key in ("body", "author")}) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n".join(lines[:50]))
    (tmp_path / "b.jsonl").write_text("\n".join([*lines[50:], '{"body": "cut']))
    pq.write_table(table[:50], tmp_path / "a.parquet")
    pq.write_table(table[50:].select(["year", "author", "body"]), tmp_path / "b.parquet")
    session = SparkSession(context)
    request = ReadOptions(text="body", tags="author", id=None, tag_separator=None, on_error="skip")
    with pytest.raises(ReadError, match="is not JSON"):
        read_frame(session, tmp_path, replace(request, on_error="raise"), "jsonl")
    with pytest.warns(ReadWarning, match="1 of 61 rows"):
        read = read_frame(session, tmp_path, request, "jsonl")
    documents = read.frame.toArrow().to_pylist()
    with pytest.warns(ReadWarning):
        here = Corpus.read(sorted(tmp_path.glob("*.jsonl")), text="body", tags="author", on_error="skip")
    assert [row["id"] for row in documents] == list(here.ids)
    assert [sorted(row["tags"]) for row in documents] == [sorted(document.tags) for document in here]
    assert (read.columns, documents[7]["text"]) == ({"text": "text", "tags": "tags"}, rows[7]["body"])

    own = read_frame(session, tmp_path, request, "parquet").frame.toArrow().to_pylist()
    assert [row["body"] for row in own] == [row["body"] for row in rows]
    assert [row["id"] for row in own] == [*table["id"].to_pylist()[:50], *[None] * 10]
