"""Where documents come from on a cluster: files, or a Spark DataFrame, as partitions of Arrow batches.

Spark reads, so whatever it can read can be learnt from: a shared folder, HDFS, object stores. What it reads comes to
Python as Arrow batches, of the wanted columns of a table or of whole lines. Lines are taken apart by the code that
``Corpus.read`` uses, not by Spark's JSON reader, so that one file means the same documents to both.
"""

from __future__ import annotations

import io
import re
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
from tagtopic.corpus.reading.rows import Rowing, Wanted

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

TABLE = "table"
LINES = ("jsonl", "text")
FORMATS = ("parquet", *LINES)
FOREIGN = (".zst", ".xz")
"""How files may be compressed that Spark does not read everywhere."""

UNSEEN = re.compile(r"[._].*|.*:.*|.*\._COPYING_")
"""Names of files that Spark passes over without a word, or takes for addresses."""

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
        return Source(_packed_columns(source, wanted, "the frame"), TABLE)
    _check(source)
    paths = paths_of(source, given)
    kind = format_of(paths, given)
    if kind not in FORMATS:
        raise ValueError(
            f"a cluster reads {', '.join(FORMATS)} files and Spark DataFrames, not {kind}: read {paths[0]} with "
            "Spark, as in session.read.csv, and give the DataFrame"
        )
    return _of_lines(session, paths, kind) if kind in LINES else _of_tables(session, paths, wanted)


def _check(source: Any) -> None:
    """Raise unless these are paths."""
    if isinstance(source, list | tuple) and not source:
        raise ValueError("the list of files is empty: there is nothing to read")
    paths = source if isinstance(source, list | tuple) else [source]
    if not all(isinstance(path, str | PathLike) for path in paths):
        raise TypeError(
            f"executors cannot read a {type(source).__name__} of this machine: expected a path, glob, folder, address, "
            "a list of them, or a Spark DataFrame (session.createDataFrame makes one); or read it here with "
            "Corpus.read, and fit the corpus with engine="
        )


def is_readable(source: Any, given: str | None = None) -> bool:
    """Whether these are files that a cluster reads by itself: addresses always, for nobody else could."""
    paths = [source] if isinstance(source, str | PathLike) else list(source)
    if any(_is_address(path) for path in paths):
        return True
    if "-" in paths or any((Path(path) / storage.MARKER).exists() for path in paths):
        return False
    try:
        return format_of(paths_of(source, given), given) in FORMATS
    except (ValueError, OSError):
        return False


def paths_of(source: Any, given: str | None = None) -> list[str]:
    """Addresses as they are, and the files of this machine's paths, which executors must see under the same names."""
    if not isinstance(source, str | PathLike):
        return [path for part in source for path in paths_of(part, given)]
    if _is_address(source):
        return [str(source)]
    return [_address_of(file) for file in sources.files_of(source, given)]


def _is_address(path: str | PathLike[str]) -> bool:
    return "://" in str(path)


def _address_of(file: Path) -> str:
    """The address that means this file and no other: Spark would take some characters for patterns."""
    real = file.resolve()
    if UNSEEN.fullmatch(real.name):
        raise ValueError(
            f"Spark does not read {real}: a name must not begin with _ or . nor have a colon; rename it, or read it on "
            "one machine, with Corpus.read"
        )
    return "file://" + re.sub(r"[][{}*?\\]", r"\\\g<0>", str(real))


def format_of(paths: list[str], given: str | None) -> str:
    """The one format that all files have."""
    kinds = {sources.format_of(Path(Path(path).name), given) for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"the files are of several formats ({', '.join(sorted(kinds))}): read them one by one")
    packed = next((path for path in paths if path.endswith(FOREIGN)), None)
    if packed is not None:
        raise ValueError(f"Spark may not be able to unpack {packed}: use gzip, or read it on one machine")
    return kinds.pop()


def _of_lines(session: SparkSession, paths: list[str], kind: str) -> Source:
    def read(*some: str) -> DataFrame:
        # bytes, so that a line in another encoding is a complaint and not a question mark
        return session.read.option("lineSep", "\n").text(list(some)).selectExpr("cast(value as binary) as line")

    if len(paths) > MOST_READ_IN_ORDER:
        return Source(_packed(read(*paths)), kind)
    return Source(_packed(reduce(lambda one, other: one.union(other), map(read, paths))), kind)


def _of_tables(session: SparkSession, paths: list[str], wanted: Wanted) -> Source:
    """Each file's columns are found by their names, in whatever order it has them, and whatever others it has."""
    if len(paths) > MOST_READ_IN_ORDER:
        return Source(_packed_columns(merged_tables(session, paths), wanted, "the source"), TABLE)
    parts = [_packed_columns(session.read.parquet(path), wanted, path) for path in paths]
    return Source(session.sparkContext.union(parts) if len(parts) > 1 else parts[0], TABLE)


def merged_tables(session: SparkSession, paths: list[str]) -> DataFrame:
    """Many Parquet files at once, with all columns that any of them has."""
    return session.read.option("mergeSchema", "true").parquet(*paths)


def _packed_columns(frame: DataFrame, wanted: Wanted, name: str) -> RDD[bytes]:
    """The wanted columns, which must be there; ``name`` is for complaints."""
    columns = Rowing(wanted, Complaints(skip=False)).expect(list(frame.columns), name)
    return _packed(frame.select(*(f"`{column}`" for column in columns)))


def _packed(frame: DataFrame) -> RDD[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which is not used
        # one RDD for all passes: a DataFrame may be planned anew, and cut otherwise, each time it is asked
        return frame.mapInArrow(pack, "batch binary").rdd.map(bytes_of)


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as bytes in one cell."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([as_bytes(batch)], pa.binary())], ["batch"])


def as_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


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
