"""Answers on the terminal, as JSON, or in a file: every command says its results through here.

Results go to standard output and everything else (progress, remarks, errors) to standard error, so that results can
be piped.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tagtopic._core.files import atomic_file

FILE_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow", ".feather")

WIDTH = 160  # of tables that go to a file or a pipe

# what would move the cursor, colour the screen or turn the writing round: control characters, line and paragraph
# separators, and the overrides of direction
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

Row = dict[str, Any]
Fields = Mapping[str, type]


@dataclass(frozen=True)
class Column:
    """One column of the table that a person sees."""

    name: str
    number: bool = False
    ratio: int | None = None


class Made(Sequence[Any]):
    """What is made one by one as it is looked at, for answers about as many documents as there may be."""

    def __init__(self, size: int, make: Callable[[int], Any]) -> None:
        self._size, self._make = size, make

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        places = range(self._size)[index]
        return self._make(places) if isinstance(places, int) else [self._make(i) for i in places]


@dataclass(frozen=True)
class Answer:
    """The result of a command in its three forms.

    Attributes
    ----------
    title:
        One line above the table.
    columns, lines:
        The table for a person, its cells as text.
    value:
        What `--json` prints.
    rows:
        What `--output` writes, one flat record a row.
    table:
        Makes an Arrow table of the rows, from answers that may have millions.
    fields:
        The names and types of what a row has, from answers that may have no rows or empty cells.
    """

    title: str
    columns: Sequence[Column]
    lines: Sequence[Sequence[str]]
    value: Any
    rows: Sequence[Row]
    table: Callable[[], Any] | None = None
    fields: Fields | None = None


def show(
    answer: Answer,
    *,
    as_json: bool = False,
    output: str | None = None,
    quiet: bool = False,
    at_most: int | None = None,
) -> None:
    """Print the answer as a table (of `at_most` lines) or as JSON, or write it to a file (`-`: rows of JSON).

    With an `output`, `as_json` adds nothing: the file's name says what is written.
    """
    if output == "-":
        sys.stdout.writelines(_json_lines(answer.rows))
    elif output is not None:
        write_rows(answer.rows, Path(output), value=answer.value, table=answer.table, fields=answer.fields)
        remark(f"wrote {_size(answer, Path(output))} to {output}", quiet=quiet)
    elif as_json:
        print_json(answer.value)
    else:
        print_table(answer, at_most=at_most)


def _size(answer: Answer, path: Path) -> str:
    """How much is in a file that was written."""
    if path.suffix.lower() != ".json":
        return f"{len(answer.rows):,} rows"
    return "1 record" if isinstance(answer.value, dict) else f"{len(answer.value):,} records"


def print_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    sys.stdout.write(f"{_json(value)}\n")


def print_text(text: str) -> None:
    """Write plain lines to standard output."""
    sys.stdout.write(f"{visible_lines(text)}\n")


def visible(text: str) -> str:
    """The text with what a terminal would obey written out: the escape character becomes four that are read."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_lines(text: str) -> str:
    """The same of several lines."""
    return "\n".join(map(visible, text.split("\n")))


def remark(text: str, *, quiet: bool = False) -> None:
    """Say something that is not part of the result."""
    if not quiet:
        errors().print(visible_lines(text), highlight=False, markup=False)


def errors() -> Console:
    """The console of remarks and errors; made when asked for, since tests and pipes swap the stream."""
    return Console(stderr=True, soft_wrap=True, emoji=False)


def results(*, record: bool = False) -> Console:
    """The console of results, as wide as the terminal, or of a fixed width when nobody is looking."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, record=record, emoji=False)


def print_table(answer: Answer, *, console: Console | None = None, at_most: int | None = None) -> None:
    """Print an answer as a person reads it."""
    console = console or results()
    console.print(visible(answer.title), style="bold", highlight=False, markup=False)
    headed = any(column.name for column in answer.columns)
    table = Table(box=None, pad_edge=False, header_style="dim", show_header=headed)
    for column in answer.columns:
        table.add_column(
            column.name, justify="right" if column.number else "left", ratio=column.ratio, no_wrap=column.number
        )
    for line in answer.lines[:at_most]:
        table.add_row(*(Text(visible(cell)) for cell in line))  # plain text: a tag such as "[draft]" is not markup
    console.print(table, highlight=False)


def check_output(output: str | None, *inputs: str) -> None:
    """Refuse a file of unknown kind, or one that cannot or should not be written, before any work is done."""
    if output is None or output == "-":
        return
    if Path(output).suffix.lower() not in FILE_KINDS:
        raise ValueError(f"{output}: the name must end in one of {', '.join(FILE_KINDS)}")
    check_target(output, *inputs)


def check_target(output: str, *inputs: str) -> None:
    """Raise where there is no folder for a file, where a folder has its name, and where it would replace an input."""
    path = Path(output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{output}: there is no folder {path.parent}")
    if path.is_dir():
        raise IsADirectoryError(f"{output} is a folder: give the name of a file")
    if path.exists() and path.resolve() in _files(inputs):
        raise ValueError(f"{output} is read by this command, which would replace it: give another name")


def _files(inputs: Sequence[str]) -> set[Path]:
    """The files that are read, as far as they are there; whoever reads them says what is not."""
    from tagtopic.corpus.reading.sources import files_of

    found: set[Path] = set()
    for given in inputs:
        try:
            found.update(file.resolve() for file in files_of(given))
        except OSError:
            continue
    return found


@contextmanager
def told_as(path: Path) -> Iterator[None]:
    """Let what goes wrong with a temporary file be told of the file that it would have become."""
    try:
        yield
    except OSError as error:
        if error.strerror:
            error.filename, error.filename2 = str(path), None
        raise


def write_rows(
    rows: Sequence[Row],
    path: Path,
    *,
    value: Any = None,
    table: Callable[[], Any] | None = None,
    fields: Fields | None = None,
) -> None:
    """Write records to CSV, TSV, JSON Lines, JSON, Parquet or Arrow (``table``, if given), whole or not at all."""
    with told_as(path), atomic_file(path) as temporary:
        _write(rows, temporary, path.suffix.lower(), value, table, fields)


def _write(
    rows: Sequence[Row], path: Path, kind: str, value: Any, table: Callable[[], Any] | None, fields: Fields | None
) -> None:
    if kind == ".json":
        path.write_text(_json(rows if value is None else value), "utf-8")
    elif kind == ".jsonl":
        with path.open("w", encoding="utf-8") as file:
            file.writelines(_json_lines(rows))
    elif kind in (".csv", ".tsv"):
        _write_separated(rows, path, "," if kind == ".csv" else "\t", fields)
    else:
        _write_arrow(_arrow_table(rows, fields) if table is None else table(), path, kind)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=list)  # records may be made one by one


def _json_lines(rows: Sequence[Row]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_separated(rows: Sequence[Row], path: Path, separator: str, fields: Fields | None) -> None:
    import csv

    names = list(fields or (rows[0] if rows else ()))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter=separator, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _arrow_table(rows: Sequence[Row], fields: Fields | None) -> Any:
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    schema = None if fields is None else pa.schema([(name, types[kind]) for name, kind in fields.items()])
    return pa.Table.from_pylist(list(rows), schema=schema)


def _write_arrow(table: Any, path: Path, kind: str) -> None:
    from pyarrow import feather, parquet

    if kind == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
