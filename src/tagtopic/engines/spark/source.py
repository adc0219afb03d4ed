"""Where documents come from on a cluster: files, or a Spark DataFrame, as partitions of Arrow batches.

Spark reads, so whatever it can read can be learnt from: a shared folder, HDFS, object stores. What it reads comes to
Python as Arrow batches, of the wanted columns of a table or of whole lines. Lines are taken apart by the code that
``Corpus.read`` uses, not by Spark's JSON reader, so that one file means the same documents to both.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from tagtopic.corpus import storage
from tagtopic.corpus.reading import sources
from tagtopic.corpus.reading.errors import Complaints
from tagtopic.corpus.reading.rowing import Rowing, Wanted

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

TABLE = "table"
LINES = ("jsonl", "text")
FORMATS = ("parquet", *LINES)
FOREIGN = (".zst", ".xz")
"""How files may be compressed that Spark does not read everywhere."""

MOST_READ_IN_ORDER = 256
"""Files that are read one after the other; of more, Spark chooses an order that evens out its partitions."""


@dataclass(frozen=True)
class Source:
    """Batches of documents in Arrow's stream format, and what they are: records of columns, or lines of a format."""

    batches: RDD[bytes]
    kind: str


def open_source(session: SparkSession, source: Any, wanted: Wanted, given: str | None = None) -> Source:
    """A source of a DataFrame, or of the files that a path, glob, folder, address or list of them means."""
    if hasattr(source, "mapInArrow"):
        return _of_frame(source, wanted)
    paths = paths_of(source)
    kind = format_of(paths, given)
    if kind not in FORMATS:
        raise ValueError(
            f"a cluster reads {', '.join(FORMATS)} files and Spark DataFrames, not {kind}: read {paths[0]} with "
            "Spark, as in session.read.csv, and give the DataFrame"
        )
    frame = _read(session, paths, kind)
    return Source(_packed(frame), kind) if kind in LINES else _of_frame(frame, wanted)


def is_readable(source: Any, given: str | None = None) -> bool:
    """Whether these are files that a cluster can read by itself."""
    paths = [source] if isinstance(source, str | PathLike) else list(source)
    if "-" in paths or any((Path(path) / storage.MARKER).exists() for path in paths):
        return False
    try:
        return format_of(paths_of(source), given) in FORMATS
    except (ValueError, OSError):
        return False


def _of_frame(frame: DataFrame, wanted: Wanted) -> Source:
    columns = Rowing(wanted, Complaints(skip=False)).expect(list(frame.columns), "the frame")
    return Source(_packed(frame.select(*(f"`{column}`" for column in columns))), TABLE)


def paths_of(source: Any) -> list[str]:
    """Addresses as they are, and the files of this machine's paths, which executors must see under the same names."""
    if not isinstance(source, str | PathLike):
        return [path for part in source for path in paths_of(part)]
    if "://" in str(source):
        return [str(source)]
    return [f"file://{file.resolve()}" for file in sources.files_of(source)]


def format_of(paths: list[str], given: str | None) -> str:
    """The one format that all files have."""
    kinds = {sources.format_of(Path(path), given) for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"the files are of several formats ({', '.join(sorted(kinds))}): read them one by one")
    packed = next((path for path in paths if path.endswith(FOREIGN)), None)
    if packed is not None:
        raise ValueError(f"Spark may not be able to unpack {packed}: use gzip, or read it on one machine")
    return kinds.pop()


def _read(session: SparkSession, paths: list[str], kind: str) -> DataFrame:
    def read(*some: str) -> DataFrame:
        if kind == "parquet":
            return session.read.parquet(*some)
        # bytes, so that a line in another encoding is a complaint and not a question mark
        return session.read.option("lineSep", "\n").text(list(some)).selectExpr("cast(value as binary) as line")

    if len(paths) > MOST_READ_IN_ORDER:
        return read(*paths)
    return reduce(lambda one, other: one.union(other), (read(path) for path in paths))


def _packed(frame: DataFrame) -> RDD[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which is not used
        # one RDD for all passes: a DataFrame may be planned anew, and cut otherwise, each time it is asked
        return frame.mapInArrow(pack, "batch binary").rdd.map(bytes_of)


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as bytes in one cell."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["batch"])


def bytes_of(row: Any) -> bytes:
    """The bytes of a row that ``pack`` made."""
    return bytes(row[0])


def unpacked(batches: Iterable[bytes], kind: str) -> Any:
    """The documents of a partition, for ``rows_of_part``: an Arrow reader, or an open binary file of lines."""
    found = (batch for data in batches for batch in pa.ipc.open_stream(data))
    if kind in LINES:
        return opened(b"".join(value + b"\n" for value in batch.column(0).to_pylist()) for batch in found)
    first = next(found, None)
    if first is None:
        return opened(iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, _chain(first, found))


def _chain(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def opened(chunks: Iterator[bytes]) -> IO[bytes]:
    """Chunks of bytes as a binary file."""
    return io.BufferedReader(_Chunks(chunks), 1 << 20)


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n
