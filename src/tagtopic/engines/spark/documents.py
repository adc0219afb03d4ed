"""Files on a cluster as a DataFrame, for a model to answer over.

They are read twice. The first time the code of ``Corpus.read`` says what is wrong with them, before anything is
written, and numbers the documents. The second time Parquet keeps its own columns, and lines become documents: an id, a
text and tags, as on one machine. Spark's own reader of JSON would make text of all lists of a column in which one row
has a string, and nulls of a line that is cut off.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tagtopic.corpus.reading.errors import ReadError
from tagtopic.corpus.reading.read import Request
from tagtopic.corpus.rows import Rows
from tagtopic.engines.spark.parts import Heard, Part, tell
from tagtopic.engines.spark.source import (
    LINES,
    MOST_READ_IN_ORDER,
    Source,
    as_bytes,
    merged_tables,
    open_source,
    paths_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DOCUMENT = "id string, text string, tags array<string>"
"""The columns that lines become."""


@dataclass(frozen=True)
class ReadFrame:
    """A DataFrame, and which of its columns hold text and tags, as ``apply_model`` takes them."""

    frame: DataFrame
    columns: dict[str, Any]


def read_frame(session: SparkSession, source: Any, request: Request, given: str | None = None) -> ReadFrame:
    """Files (a path, glob, folder, address, or a list of them) that are found to be in order, or an error."""
    opened = open_source(session, source, request.wanted, given)
    request = replace(request, format=opened.kind)
    heard = opened.batches.mapPartitionsWithIndex(Hear(opened.kind, request)).collect()
    tell(heard, skip=request.skip_bad_rows)
    wanted = request.wanted
    if opened.kind not in LINES:
        columns = {"text": wanted.text, "tags": wanted.tags, "tag_separator": wanted.tag_separator}
        return ReadFrame(_of_tables(session, paths_of(source, given)), columns)
    frame = _of_lines(session, opened, request, [part.n_documents for part in heard])
    if wanted.tags == ():
        return ReadFrame(frame.drop("tags"), {"text": "text", "tags": ()})
    return ReadFrame(frame, {"text": "text", "tags": "tags"})


def _of_tables(session: SparkSession, paths: list[str]) -> DataFrame:
    if len(paths) > MOST_READ_IN_ORDER:
        return merged_tables(session, paths)
    frames = [session.read.parquet(path) for path in paths]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _of_lines(session: SparkSession, source: Source, request: Request, sizes: list[int]) -> DataFrame:
    firsts = tuple(accumulate(sizes, initial=0))[:-1]
    packed = source.batches.mapPartitionsWithIndex(PackDocuments(source.kind, request, firsts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which is not used
        return session.createDataFrame(packed, "batch binary").mapInArrow(unpack, DOCUMENT)


@dataclass(frozen=True)
class Hear:
    """Yields what reading a partition has to say."""

    kind: str
    request: Request

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[Heard]:
        """Read it, and forget it."""
        part = Part(number, self.kind, self.request)
        try:
            for _ in part.rows(batches):
                pass
        except ReadError as error:
            yield Heard(error=str(error))
            return
        yield part.heard()


@dataclass(frozen=True)
class PackDocuments:
    """Yields the documents of a partition in packed batches; ``firsts`` is the number of the first of each."""

    kind: str
    request: Request
    firsts: tuple[int, ...]

    def __call__(self, number: int, batches: Iterable[bytes]) -> Iterator[tuple[bytes]]:
        """Read it once more."""
        part = Part(number, self.kind, self.request, self.firsts[number])
        for rows in (rows for rows in part.rows(batches) if rows.ids):
            yield (as_bytes(_batch_of(rows)),)


def _batch_of(rows: Rows) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array(rows.ids, pa.string()),
            pa.array(rows.texts, pa.string()),
            pa.array(rows.tags, pa.list_(pa.string())),
        ],
        ["id", "text", "tags"],
    )


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches whose bytes are in cells."""
    for batch in batches:
        for cell in batch.column(0):
            yield from pa.ipc.open_stream(cell.as_buffer())
