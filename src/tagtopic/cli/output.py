"""Output of commands: results as tables, JSON or files, and notices.

Results go to standard output; progress, notices, warnings and errors go to standard error, so that results can be
piped.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, JustifyMethod, OverflowMethod
from rich.table import Table
from rich.text import Text

from tagtopic._core.files import atomic_file

APPENDABLE = (".csv", ".tsv", ".jsonl", ".parquet")
FILE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow", ".feather")

WIDTH = 160  # of tables that are not printed to a terminal

# control characters, line and paragraph separators, and directional overrides, which a terminal would interpret
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

Row = dict[str, Any]
Fields = Mapping[str, type]


@dataclass(frozen=True)
class Column:
    """A column of a printed table; cells of a number, or of ``one_line``, are cut instead of wrapped.

    A column with a ``min_width`` does not get narrower than that while others can.
    """

    name: str
    number: bool = False
    ratio: int | None = None
    one_line: bool = False
    min_width: int | None = None


class LazyRows(Sequence[Any]):
    """Rows that are computed when they are accessed, for results on many documents."""

    def __init__(self, size: int, row: Callable[[int], Any]) -> None:
        self._size, self._row = size, row

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        indices = range(self._size)[index]
        return self._row(indices) if isinstance(indices, int) else [self._row(i) for i in indices]


@dataclass(frozen=True)
class Result:
    """The result of a command, as a printed table, as JSON and as rows of a file.

    Attributes
    ----------
    title : str
        Line above the table.
    columns, lines : sequences
        The table to print, its cells as text.
    value : object
        What `--json` prints.
    rows : sequence of dict
        What `--output` writes: flat records.
    table : callable, optional
        Returns the rows as an Arrow table, for results that may have millions of rows.
    fields : mapping of str to type, optional
        Names and types of the fields of a row, for results that may have no rows or empty cells.
    """

    title: str
    columns: Sequence[Column]
    lines: Sequence[Sequence[str]]
    value: Any
    rows: Sequence[Row]
    table: Callable[[], Any] | None = None
    fields: Fields | None = None


def emit(
    result: Result,
    *,
    as_json: bool = False,
    output: str | None = None,
    quiet: bool = False,
    max_lines: int | None = None,
) -> None:
    """Print a result as a table (of at most `max_lines`) or as JSON, or write it to a file (`-` for JSON Lines).

    With an `output`, `as_json` has no effect: the file name determines the format.
    """
    if output == "-":
        sys.stdout.writelines(_json_lines(result.rows))
    elif output is not None:
        write_rows(result.rows, Path(output), value=result.value, table=result.table, fields=result.fields)
        notify(f"wrote {_describe_size(result, Path(output))} to {output}", quiet=quiet)
    elif as_json:
        print_json(result.value)
    else:
        print_table(result, max_lines=max_lines)


def is_written_in_parts(output: str | None) -> bool:
    """Whether rows can be appended to an output: JSON Lines on standard output, or a file of rows."""
    return output is not None and (output == "-" or Path(output).suffix.lower() in APPENDABLE)


def emit_parts(parts: Iterable[Result], output: str, *, quiet: bool = False) -> None:
    """Write the rows of several results, one after the other, to one file (`-` for JSON Lines), atomically.

    Only one part is in memory at a time.
    """
    if output == "-":
        for part in parts:
            sys.stdout.writelines(_json_lines(part.rows))
        return
    path = Path(output)
    n_rows = 0
    with naming_errors(path), atomic_file(path) as temporary, _appended(temporary, path.suffix.lower()) as append:
        for part in parts:
            append(part)
            n_rows += len(part.rows)
    notify(f"wrote {n_rows:,} rows to {output}", quiet=quiet)


@contextmanager
def _appended(path: Path, kind: str) -> Iterator[Callable[[Result], None]]:
    """Open a file of this kind; yield a function that appends the rows of a result."""
    with ExitStack() as files:
        if kind == ".parquet":
            writers: list[Any] = []

            def append(part: Result) -> None:
                from pyarrow import parquet

                table = _arrow_table(part.rows, part.fields) if part.table is None else part.table()
                if not writers:
                    writers.append(files.enter_context(parquet.ParquetWriter(path, table.schema)))
                writers[0].write_table(table)

            yield append
            return
        file = files.enter_context(path.open("w", encoding="utf-8", newline="" if kind != ".jsonl" else None))
        header = iter([True])

        def append_lines(part: Result) -> None:
            if kind == ".jsonl":
                file.writelines(_json_lines(part.rows))
                return
            from tagtopic._core.records import csv_chunks  # imports NumPy

            separator = "," if kind == ".csv" else "\t"
            file.writelines(
                csv_chunks(part.rows, list(part.fields or ()), separator=separator, header=next(header, False))
            )

        yield append_lines


def _describe_size(result: Result, path: Path) -> str:
    """The number of rows or records in a written file."""
    if path.suffix.lower() != ".json":
        return f"{len(result.rows):,} rows"
    return "1 record" if isinstance(result.value, dict) else f"{len(result.value):,} records"


def print_json(value: Any) -> None:
    """Print JSON to standard output."""
    sys.stdout.write(f"{_json(value)}\n")


def print_text(text: str) -> None:
    """Print plain text to standard output."""
    sys.stdout.write(f"{escape_lines(text)}\n")


def escape_controls(text: str) -> str:
    """Replace characters that a terminal would interpret by their escape sequences."""
    return CONTROL_CHARACTERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escape_lines(text: str) -> str:
    """Escape control characters, except for line breaks."""
    return "\n".join(map(escape_controls, text.split("\n")))


def notify(text: str, *, quiet: bool = False) -> None:
    """Print a notice to standard error."""
    if not quiet:
        stderr_console().print(escape_lines(text), highlight=False, markup=False)


def stderr_console() -> Console:
    """A console on the current standard error, for notices and errors."""
    return Console(stderr=True, soft_wrap=True, emoji=False)


def stdout_console(*, record: bool = False) -> Console:
    """A console on standard output, as wide as the terminal, or of a fixed width without one."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, record=record, emoji=False)


def print_table(result: Result, *, console: Console | None = None, max_lines: int | None = None) -> None:
    """Print a result as a table."""
    console = console or stdout_console()
    console.print(escape_controls(result.title), style="bold", highlight=False, markup=False)
    has_header = any(column.name for column in result.columns)
    table = Table(box=None, pad_edge=False, header_style="dim", show_header=has_header)
    for column in result.columns:
        justify: JustifyMethod = "right" if column.number else "left"
        no_wrap = column.number or column.one_line
        overflow: OverflowMethod = "ellipsis" if no_wrap else "fold"
        table.add_column(
            column.name,
            justify=justify,
            ratio=column.ratio,
            no_wrap=no_wrap,
            min_width=column.min_width,
            overflow=overflow,
        )
    for line in result.lines[:max_lines]:
        table.add_row(
            *(Text(escape_controls(cell)) for cell in line)
        )  # plain text: a tag such as "[draft]" is not markup
    console.print(table, highlight=False)


def check_output(output: str | None, *inputs: str) -> None:
    """Raise, before any work is done, if a result cannot or must not be written to this file."""
    if output is None or output == "-":
        return
    if Path(output).suffix.lower() not in FILE_SUFFIXES:
        raise ValueError(f"{output}: the name must end in one of {', '.join(FILE_SUFFIXES)}")
    check_target(output, *inputs)


def check_target(output: str, *inputs: str) -> None:
    """Raise if the folder of a file does not exist, if the file is a folder, or if it would overwrite an input."""
    path = Path(output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{output}: there is no folder {path.parent}")
    if path.is_dir():
        raise IsADirectoryError(f"{output} is a folder: give the name of a file")
    if path.exists() and path.resolve() in _input_files(inputs):
        raise ValueError(f"{output} is read by this command, which would replace it: give another name")


def _input_files(inputs: Sequence[str]) -> set[Path]:
    """The input files that exist; reading reports the others."""
    from tagtopic.corpus.reading.sources import files_of

    found: set[Path] = set()
    for given in inputs:
        try:
            found.update(file.resolve() for file in files_of(given))
        except OSError:
            continue
    return found


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Name this file in errors, instead of the temporary file that would have replaced it."""
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
    """Write records to CSV, TSV, JSON Lines, JSON, Parquet or Arrow (``table``, if given), atomically."""
    with naming_errors(path), atomic_file(path) as temporary:
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
    return _escape_json(json.dumps(value, ensure_ascii=False, indent=2, default=list))  # of LazyRows


def _json_lines(rows: Sequence[Row]) -> Iterator[str]:
    return (_escape_json(json.dumps(row, ensure_ascii=False)) + "\n" for row in rows)


def _escape_json(text: str) -> str:
    """Escape what a terminal would interpret and JSON allows in strings; its value is the same."""
    return "\n".join(CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n"))


def _write_separated(rows: Sequence[Row], path: Path, separator: str, fields: Fields | None) -> None:
    from tagtopic._core.records import csv_chunks  # imports NumPy

    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_chunks(rows, list(fields or ()), separator=separator))


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
