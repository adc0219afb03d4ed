"""Sources of documents on a Spark cluster: files, or a DataFrame, as partitions of Arrow batches.

Spark reads the files, so anything that it can read is a source: a shared folder, HDFS, object stores. Python receives
Arrow batches, of the wanted columns of a table or of whole lines. Lines are parsed by the code of ``Corpus.read``, not
by Spark's JSON reader, so that a file gives the same documents on a cluster and on one machine.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagtopic.corpus import storage
from tagtopic.corpus.reading import sources
from tagtopic.corpus.reading.documents import DocumentBatcher
from tagtopic.corpus.reading.errors import RowErrors
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.engines.distributed.reading import LINES, TABLE, pack_batches, packed_bytes

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", *LINES)
FOREIGN = (".zst", ".xz")
"""Compressions that not every Spark reads."""

IGNORED_NAMES = re.compile(r"[._].*|.*:.*|.*\._COPYING_")
"""Names of files that Spark ignores, or takes for addresses."""

MAX_ORDERED_FILES = 256
"""The largest number of files that are read in order; of more, Spark chooses an order that balances partitions."""


@dataclass(frozen=True)
class Source:
    """Batches of documents in Arrow's stream format, and their kind: records of columns, or lines of a format."""

    batches: RDD[bytes]
    kind: str


def open_source(session: SparkSession, source: Any, options: ReadOptions, given: str | None = None) -> Source:
    """Open a DataFrame, or the files of a path, glob, folder, address or list of them."""
    if hasattr(source, "mapInArrow"):
        return Source(_packed_columns(source, options, "the frame"), TABLE)
    _check(source)
    paths = paths_of(source, given)
    kind = format_of(paths, given)
    if kind not in FORMATS:
        raise ValueError(
            f"a cluster reads {', '.join(FORMATS)} files and Spark DataFrames, not {kind}: read {paths[0]} with "
            "Spark, as in session.read.csv, and give the DataFrame"
        )
    return _of_lines(session, paths, kind) if kind in LINES else _of_tables(session, paths, options)


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
    """Return whether a cluster reads these files; addresses always, because only a cluster can."""
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
    """Return addresses unchanged, and the files of local paths, which executors must have under the same names."""
    if not isinstance(source, str | PathLike):
        return [path for part in source for path in paths_of(part, given)]
    if _is_address(source):
        return [str(source)]
    return [_address_of(file) for file in sources.files_of(source, given)]


def _is_address(path: str | PathLike[str]) -> bool:
    return "://" in str(path)


def _address_of(file: Path) -> str:
    """Return the address of this file only: some characters would be patterns to Spark."""
    real = file.resolve()
    if IGNORED_NAMES.fullmatch(real.name):
        raise ValueError(
            f"Spark does not read {real}: a name must not begin with _ or . nor have a colon; rename it, or read it on "
            "one machine, with Corpus.read"
        )
    return "file://" + re.sub(r"[][{}*?\\]", r"\\\g<0>", str(real))


def format_of(paths: list[str], given: str | None) -> str:
    """Return the format of the files, or raise if there are several."""
    kinds = {sources.format_of(Path(Path(path).name), given) for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"the files are of several formats ({', '.join(sorted(kinds))}): read them one by one")
    packed = next((path for path in paths if path.endswith(FOREIGN)), None)
    if packed is not None:
        raise ValueError(f"Spark may not be able to unpack {packed}: use gzip, or read it on one machine")
    return kinds.pop()


def _of_lines(session: SparkSession, paths: list[str], kind: str) -> Source:
    def read(*some: str) -> DataFrame:
        # bytes, so that a line in another encoding is an error and not a question mark
        return session.read.option("lineSep", "\n").text(list(some)).selectExpr("cast(value as binary) as line")

    if len(paths) > MAX_ORDERED_FILES:
        return Source(_packed(read(*paths)), kind)
    return Source(_packed(reduce(lambda one, other: one.union(other), map(read, paths))), kind)


def _of_tables(session: SparkSession, paths: list[str], options: ReadOptions) -> Source:
    """Read each file's columns by name, in any order and among any others."""
    if len(paths) > MAX_ORDERED_FILES:
        return Source(_packed_columns(merged_tables(session, paths), options, "the source"), TABLE)
    parts = [_packed_columns(session.read.parquet(path), options, path) for path in paths]
    return Source(session.sparkContext.union(parts) if len(parts) > 1 else parts[0], TABLE)


def merged_tables(session: SparkSession, paths: list[str]) -> DataFrame:
    """Read many Parquet files at once, with all columns that any of them has."""
    return session.read.option("mergeSchema", "true").parquet(*paths)


def _packed_columns(frame: DataFrame, options: ReadOptions, name: str) -> RDD[bytes]:
    """Pack the wanted columns, or raise if one is missing; ``name`` is for messages."""
    columns = DocumentBatcher(options, RowErrors(skip=False)).expect(list(frame.columns), name)
    return _packed(frame.select(*(f"`{column}`" for column in columns)))


def _packed(frame: DataFrame) -> RDD[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of pandas, which is not used
        # one RDD for all passes: a DataFrame may be planned anew, and divided otherwise, each time
        return frame.mapInArrow(pack_batches, "batch binary").rdd.map(packed_bytes)
