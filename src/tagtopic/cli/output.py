"""Answers on the terminal, as JSON, or in a file: every command says its results through here.

Results go to standard output and everything else (progress, remarks, errors) to standard error, so that results can
be piped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

FILE_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow", ".feather")

WIDTH = 160  # of tables that go to a file or a pipe

Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """One column of the table that a person sees."""

    name: str
    number: bool = False
    ratio: int | None = None


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
        The rows as an Arrow table, from answers that may have millions.
    """

    title: str
    columns: Sequence[Column]
    lines: Sequence[Sequence[str]]
    value: Any
    rows: Sequence[Row]
    table: Any = None


def show(
    answer: Answer,
    *,
    as_json: bool = False,
    output: str | None = None,
    quiet: bool = False,
    at_most: int | None = None,
) -> None:
    """Print the answer as a table (of `at_most` lines) or as JSON, or write it to a file (`-`: rows of JSON)."""
    if output == "-":
        sys.stdout.write(_json_lines(answer.rows))
    elif output is not None:
        write_rows(answer.rows, Path(output), value=answer.value, table=answer.table)
        remark(f"wrote {len(answer.rows):,} rows to {output}", quiet=quiet)
    elif as_json:
        print_json(answer.value)
    else:
        print_table(answer, at_most=at_most)


def print_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    sys.stdout.write(f"{_json(value)}\n")


def print_text(text: str) -> None:
    """Write plain lines to standard output."""
    sys.stdout.write(f"{text}\n")


def remark(text: str, *, quiet: bool = False) -> None:
    """Say something that is not part of the result."""
    if not quiet:
        errors().print(text, highlight=False, markup=False)


def errors() -> Console:
    """The console of remarks and errors; made when asked for, since tests and pipes swap the stream."""
    return Console(stderr=True, soft_wrap=True)


def results(*, record: bool = False) -> Console:
    """The console of results, as wide as the terminal, or of a fixed width when nobody is looking."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, record=record)


def print_table(answer: Answer, *, console: Console | None = None, at_most: int | None = None) -> None:
    """Print an answer as a person reads it."""
    console = console or results()
    console.print(answer.title, style="bold", highlight=False, markup=False)
    headed = any(column.name for column in answer.columns)
    table = Table(box=None, pad_edge=False, header_style="dim", show_header=headed)
    for column in answer.columns:
        table.add_column(
            column.name, justify="right" if column.number else "left", ratio=column.ratio, no_wrap=column.number
        )
    for line in answer.lines[:at_most]:
        table.add_row(*map(Text, line))  # plain text: a tag such as "[draft]" is not markup
    console.print(table, highlight=False)


def check_output(output: str | None) -> None:
    """Refuse a file of unknown kind before any work is done."""
    if output not in (None, "-"):
        path = Path(str(output))
        if path.suffix.lower() not in FILE_KINDS:
            raise ValueError(f"{output}: the name must end in one of {', '.join(FILE_KINDS)}")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{output}: there is no folder {path.parent}")


def write_rows(rows: Sequence[Row], path: Path, *, value: Any = None, table: Any = None) -> None:
    """Write records to CSV, TSV, JSON Lines, JSON, Parquet or Arrow (``table``, if given), whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    kind = path.suffix.lower()
    try:
        if kind == ".json":
            partial.write_text(_json(rows if value is None else value), "utf-8")
        elif kind == ".jsonl":
            partial.write_text(_json_lines(rows), "utf-8")
        elif kind in (".csv", ".tsv"):
            _write_separated(rows, partial, "," if kind == ".csv" else "\t")
        else:
            _write_arrow(rows, partial, kind, table)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=list)  # records may be made one by one


def _json_lines(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_separated(rows: Sequence[Row], path: Path, separator: str) -> None:
    import csv

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], delimiter=separator, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_arrow(rows: Sequence[Row], path: Path, kind: str, table: Any) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.Table.from_pylist(list(rows)) if table is None else table
    if kind == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
