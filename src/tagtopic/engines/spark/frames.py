"""A fitted model applied to a Spark DataFrame or to files, on executors.

Files are read twice. The first pass, by the code of ``Corpus.read``, finds what is wrong with them before anything is
written, and numbers the documents. In the second, Parquet keeps its own columns, and lines become documents: an id, a
text and tags, as on one machine. (Spark's own JSON reader would convert all lists of a column to text if one row has a
string, and a truncated line to nulls.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tagtopic.corpus import Corpus
from tagtopic.corpus.builder import DocumentBatch
from tagtopic.corpus.reading.errors import ReadError
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.engines.distributed.reading import LINES, PartitionReader, ReadReport, batch_to_bytes, check_reports
from tagtopic.engines.spark.context import job_errors, require_pyspark
from tagtopic.engines.spark.source import MAX_ORDERED_FILES, Source, merged_tables, open_source, paths_of

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


DOCUMENT = "id string, text string, tags array<string>"
"""The columns of documents that are read from lines."""


@dataclass(frozen=True)
class ReadFrame:
    """A DataFrame, and its columns of text and tags, as ``apply_model`` takes them."""

    frame: DataFrame
    columns: dict[str, Any]


def read_frame(session: SparkSession, source: Any, request: ReadOptions, given: str | None = None) -> ReadFrame:
    """Read files (a path, glob, folder, address, or a list of them), or raise if there is an error in them."""
    opened = open_source(session, source, request, given)
    request = replace(request, format=opened.kind)
    with job_errors():
        reports = opened.batches.mapPartitionsWithIndex(CheckPartition(opened.kind, request)).collect()
    check_reports(reports, skip=request.skips_errors)
    if opened.kind not in LINES:
        columns = {"text": request.text_columns, "tags": request.tag_columns, "tag_separator": request.tag_separator}
        return ReadFrame(_of_tables(session, paths_of(source, given)), columns)
    frame = _of_lines(session, opened, request, [part.n_documents for part in reports])
    if request.tag_columns == ():
        return ReadFrame(frame.drop("tags"), {"text": "text", "tags": ()})
    return ReadFrame(frame, {"text": "text", "tags": "tags"})


def _of_tables(session: SparkSession, paths: list[str]) -> DataFrame:
    if len(paths) > MAX_ORDERED_FILES:
        return merged_tables(session, paths)
    frames = [session.read.parquet(path) for path in paths]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _of_lines(session: SparkSession, source: Source, request: ReadOptions, sizes: list[int]) -> DataFrame:
    firsts = tuple(accumulate(sizes, initial=0))[:-1]
    packed = source.batches.mapPartitionsWithIndex(PackDocuments(source.kind, request, firsts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which is not used
        return session.createDataFrame(packed, "batch binary").mapInArrow(unpack_batches, DOCUMENT)


@dataclass(frozen=True)
class CheckPartition:
    """Yields the outcome of reading a partition."""

    kind: str
    request: ReadOptions

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[ReadReport]:
        """Read it without keeping anything."""
        part = PartitionReader(number, self.kind, self.request)
        try:
            for _ in part.rows(batches):
                pass
        except ReadError as error:
            yield ReadReport(error=str(error))
            return
        yield part.report()


@dataclass(frozen=True)
class PackDocuments:
    """Yields the documents of a partition in packed batches; ``firsts`` are the numbers of the first documents."""

    kind: str
    request: ReadOptions
    firsts: tuple[int, ...]

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[tuple[bytes]]:
        """Read it again."""
        part = PartitionReader(number, self.kind, self.request, self.firsts[number])
        for rows in (rows for rows in part.rows(batches) if rows.ids):
            yield (batch_to_bytes(_batch_of(rows)),)


def _batch_of(rows: DocumentBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array(rows.ids, pa.string()),
            pa.array(rows.texts, pa.string()),
            pa.array(rows.tags, pa.list_(pa.string())),
        ],
        ["id", "text", "tags"],
    )


def unpack_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches that are packed in cells."""
    for batch in batches:
        for cell in batch.column(0):
            yield from pa.ipc.open_stream(cell.as_buffer())


PREDICTED = "predicted_tags"
ANSWERS = {
    "topics": "array<float>",
    "tag_weights": "array<struct<tag:string,weight:float>>",
    "latent_weight": "float",
    PREDICTED: "array<struct<tag:string,probability:float>>",
}
"""The answers to choose from, and the types of their columns."""

ROW = "tagtopic: place in its batch"
"""A column with the position of each row, to find the rows that became documents."""

Columns = str | Sequence[str] | None


def apply_model(
    model: Any,
    frame: DataFrame,
    *,
    text: str | Sequence[str] = "text",
    tags: Columns = None,
    tag_separator: str | None = None,
    on_error: str = "raise",
    answers: Iterable[str] = ("topics", "tag_weights", "latent_weight"),
    n_ranked: int | None = None,
    n_predicted: int = 10,
    kinds: Iterable[str] | None = None,
    method: str = "neighbours",
) -> DataFrame:
    """Add columns of a model's answers to a DataFrame; nothing is computed until Spark needs the rows.

    Parameters
    ----------
    model : fitted model
        A fitted model that was trained on texts, so that it has the rules by which texts become words.
    frame : pyspark.sql.DataFrame
        A row for each document.
    text : str or sequence of str, default="text"
        The columns with text.
    tags : str, sequence of str or None, default=None
        The columns with tags, as in ``Corpus.read``.
    tag_separator : str or None, default=None
        What separates several tags in one string.
    on_error : {"raise", "skip"}, default="raise"
        ``"skip"`` leaves out rows that cannot be read, as in ``Corpus.read``.
    answers : iterable of str, default=("topics", "tag_weights", "latent_weight")
        Any of ``"topics"`` (the topic mix), ``"tag_weights"`` (heaviest first), ``"latent_weight"`` (the weight of the
        latent tag) and ``"predicted_tags"``.
    n_ranked : int or None, default=None
        The largest number of tags in ``"tag_weights"``; None is all.
    n_predicted : int, default=10
        The number of tags to predict.
    kinds : iterable of str or None, default=None
        The kinds of tags to predict; see ``predict_tags``.
    method : str, default="neighbours"
        How to predict tags; see ``predict_tags``.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of ``frame``, and one for each answer.

    Raises
    ------
    ValueError
        If a column is missing or in the way, or the model was trained on counts.

    Examples
    --------
    >>> from tagtopic.engines.spark.frames import apply_model
    >>> frame = session.read.parquet("posts/")  # doctest: +SKIP
    >>> apply_model(model, frame, text="body", tags="labels").write.parquet("answers/")  # doctest: +SKIP
    """
    require_pyspark()
    wanted = tuple(answers)
    _check(model, frame, [*_names(text), *_names(tags)], wanted)
    from pyspark.sql.types import StructType

    added: Any = StructType.fromDDL(", ".join(f"{answer} {ANSWERS[answer]}" for answer in wanted))
    schema = StructType([*frame.schema.fields, *added.fields])
    # Spark removes the model with the frame that refers to it
    shared = frame.sparkSession.sparkContext.broadcast(model)
    predicting = {"n": n_predicted, "kinds": None if kinds is None else tuple(kinds), "method": method}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which is not used
        reading = {"text": text, "tags": tags, "tag_separator": tag_separator, "on_error": on_error}
        return frame.mapInArrow(ApplyModel(shared, reading, wanted, n_ranked, predicting), schema)


def _names(columns: Columns) -> tuple[str, ...]:
    return () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)


def _check(model: Any, frame: DataFrame, columns: list[str], answers: tuple[str, ...]) -> None:
    there = frame.columns
    for column in columns:
        if column not in there:
            raise ValueError(f"the frame has no column {column!r}: it has {', '.join(map(repr, there))}")
    for answer in answers:
        if answer not in ANSWERS:
            raise ValueError(f"answers has {answer!r}: expected any of {', '.join(map(repr, ANSWERS))}")
        if answer in there:
            raise ValueError(f"the frame has a column {answer!r} already: rename it, or leave it out of answers")
    if PREDICTED in answers and not hasattr(model, "predict_tags"):
        raise ValueError(f"a {type(model).__name__} predicts no tags: leave 'predicted_tags' out of answers")
    if model.rules_ is None:
        raise ValueError("the model was trained on counts and does not know how texts become words: train it on texts")


@dataclass(frozen=True)
class ApplyModel:
    """Adds answers to batches of rows."""

    model: Broadcast[Any]
    reading: dict[str, Any]
    answers: tuple[str, ...]
    n_ranked: int | None
    predicting: dict[str, Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with its answers."""
        import pyarrow as pa

        types = answer_types()
        for batch in batches:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of unknown tags, batch after batch, where nobody reads it
                corpus = self._read(pa.Table.from_batches([batch]))
                if not len(corpus):
                    continue
                found = self._answers(corpus)
            arrays = [pa.array(found[answer], types[answer]) for answer in self.answers]
            kept = batch.take(pa.array(map(int, corpus.ids), pa.int64())) if len(corpus) < len(batch) else batch
            yield pa.RecordBatch.from_arrays([*kept.columns, *arrays], [*kept.schema.names, *self.answers])

    def _read(self, table: pa.Table) -> Corpus:
        model = self.model.value
        numbered = table.append_column(ROW, [range(len(table))])
        return Corpus.read(
            numbered, id=ROW, words=model.words_, rules=model.rules_, n_jobs=1, progress=False, **self.reading
        )

    def _answers(self, corpus: Corpus) -> dict[str, list[Any]]:
        model = self.model.value.set_params(n_jobs=1)
        answers: dict[str, list[Any]] = {}
        if set(self.answers) - {PREDICTED}:
            found = model._posteriors(corpus, None)
            answers["topics"] = found.topics.tolist()
            answers["tag_weights"] = rank_weights(found.weights, model.tag_names_, self.n_ranked)
            answers["latent_weight"] = found.latent.tolist()
        if PREDICTED in self.answers:
            predicted = model.predict_tags(corpus, **self.predicting)
            answers[PREDICTED] = [[{"tag": tag, "probability": p} for tag, p in row] for row in predicted]
        return answers


def answer_types() -> dict[str, pa.DataType]:
    """Return the Arrow types of the answers' columns."""
    import pyarrow as pa

    def pairs(number: str) -> pa.DataType:
        return pa.list_(pa.struct([("tag", pa.string()), (number, pa.float32())]))

    return {
        "topics": pa.list_(pa.float32()),
        "tag_weights": pairs("weight"),
        "latent_weight": pa.float32(),
        PREDICTED: pairs("probability"),
    }


def rank_weights(weights: Any, names: Sequence[str], n: int | None = None) -> list[list[dict[str, Any]]]:
    """Return the n heaviest tags of each row with their weights, heaviest first."""
    rows = []
    for start, end in zip(weights.indptr[:-1], weights.indptr[1:], strict=True):
        order = start + np.argsort(-weights.data[start:end], kind="stable")[:n]
        rows.append([{"tag": names[weights.indices[p]], "weight": float(weights.data[p])} for p in order])
    return rows
