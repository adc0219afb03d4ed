"""Documents from lines, and a model applied to batches, as executors do it."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.engines.distributed.reading import pack_batches
from tagtopic.engines.spark.frames import ApplyModel, CheckPartition, PackDocuments, answer_types, unpack_batches

LINES = [
    b'{"text": "a", "author": ["Ada", "Mary"]}',
    b'{"text": "b", "author": "Ada"}',
    b'{"text": "c"',
    b'{"text": 7}',
]


def partition(lines: list[bytes]) -> list[bytes]:
    batch = pa.record_batch({"line": pa.array(lines, pa.binary())})
    return [cell.as_py() for packed in pack_batches([batch]) for cell in packed.column(0)]


def request(on_error: str) -> Any:
    return ReadOptions(text="text", tags="author", id=None, tag_separator=None, on_error=on_error)


def test_documents_equal_those_read_on_one_machine() -> None:
    first, second = partition(LINES[:2]), partition(LINES[2:])
    make = PackDocuments("jsonl", request("skip"), (0, 2))
    packed = [cell for number, part in enumerate((first, second)) for (cell,) in make(number, part)]
    found = [row for batch in unpack_batches([pa.record_batch({"batch": packed})]) for row in batch.to_pylist()]
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        here = Corpus.read(io.BytesIO(b"\n".join(LINES)), tags="author", format="jsonl", on_error="skip")
    assert [row["id"] for row in found] == list(here.ids)
    assert [tuple(sorted(row["tags"])) for row in found] == [tuple(sorted(document.tags)) for document in here]
    assert [row["text"] for row in found] == ["a", "b", "7"]


def test_a_truncated_line_is_reported() -> None:
    (report,) = CheckPartition("jsonl", request("raise"))(1, partition(LINES))
    assert report.error is not None
    assert report.error.startswith("part 2 of the source, line 3: is not JSON")
    (report,) = CheckPartition("jsonl", request("skip"))(1, partition(LINES))
    assert (report.n_documents, report.n_skipped, report.error) == (3, 1, None)


@pytest.fixture(scope="module")
def model() -> Any:
    rows = [{"text": "engine wheel", "author": "Ada"}, {"text": "storm ice", "author": "Mary"}] * 10
    return TWDA(2, max_iter=2, random_state=0).fit(Corpus.read(rows, tags="author", min_df=1))


def answering(model: Any, *answers: str) -> ApplyModel:
    reading = {"text": "text", "tags": "author", "tag_separator": None, "on_error": "skip"}
    return ApplyModel(SimpleNamespace(value=model), reading, answers, None, {"n": 1})  # type: ignore[arg-type]


def test_posteriors_are_inferred_only_if_asked_for(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TWDA, "_posteriors", None)  # a call would fail
    batch = pa.record_batch({"text": ["engine", "ice"], "author": ["Ada", "Ada"]})
    (found,) = answering(model, "predicted_tags")([batch])
    assert [row["predicted_tags"][0]["tag"] for row in found.to_pylist()] == ["author:Ada", "author:Mary"]


def test_unreadable_rows_are_left_out_with_their_columns(model: Any) -> None:
    batch = pa.record_batch({"text": ["engine", "ice", "storm"], "author": [b"Ada", b"\xff", b"Mary"], "n": [1, 2, 3]})
    (found,) = answering(model, "tag_weights")([batch, batch[1:2]])
    rows = found.to_pylist()
    assert [(row["n"], row["tag_weights"][0]["tag"]) for row in rows] == [(1, "author:Ada"), (3, "author:Mary")]
    assert found.schema.field("tag_weights").type == answer_types()["tag_weights"]
