"""Records of the formats made of lines: JSON Lines, CSV and plain text."""

import csv
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tagtopic.corpus.reading.errors import BadRow, ReadError
from tagtopic.corpus.reading.lines import MAX_LINE, Lines

Record = tuple[int, "Mapping[str, Any] | BadRow"]  # where it begins, and what it holds or why it cannot be read
FIELD_LIMIT = 2**31 - 1
DELIMITERS = ",;\t|"


def json_records(lines: "Lines | Peeked") -> Iterator[Record]:
    """One object a line; blank lines are no records."""
    for number, line in _filled_lines(lines):
        yield number, line if isinstance(line, BadRow) else _json_object(line, number)


def text_records(lines: "Lines | Peeked") -> Iterator[Record]:
    """One text a line, as the column `text`; blank lines are no records."""
    for number, line in _filled_lines(lines):
        yield number, line if isinstance(line, BadRow) else {"text": line.rstrip("\r\n")}


def _filled_lines(lines: "Lines | Peeked") -> Iterator[tuple[int, str | BadRow]]:
    while True:
        try:
            line = next(lines)
        except StopIteration:
            return
        except BadRow as bad:
            yield lines.number, bad
            continue
        if not line.isspace():
            yield lines.number, line


class Peeked(Iterator[str]):
    """Lines whose first one that is not blank can be looked at before they are read."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._first: str | BadRow | None = next((line for _, line in _filled_lines(lines)), None)

    @property
    def number(self) -> int:
        """The number of the line given last."""
        return self._lines.number

    @property
    def is_json(self) -> bool:
        """Whether the first line looks like a JSON object."""
        return isinstance(self._first, str) and self._first.lstrip().startswith("{")

    def __next__(self) -> str:
        first, self._first = self._first, None
        if first is None:
            return next(self._lines)
        if isinstance(first, BadRow):
            raise first
        return first


def _json_object(line: str, number: int) -> Mapping[str, Any] | BadRow:
    array = "; the file looks like one JSON array, but one object a line is needed"
    hint = array if number == 1 and line.lstrip().startswith("[") else ""
    try:
        value = json.loads(line)
    except RecursionError:
        return BadRow("is nested too deeply")
    except ValueError as error:
        return BadRow(f"is not JSON: {str(error)[:200]}{hint}")
    if not isinstance(value, dict):
        return BadRow(f"is not a JSON object but {type(value).__name__}{hint}")
    return value


class CsvRecords:
    """The header and records of a CSV file."""

    def __init__(self, lines: Lines, delimiter: str | None) -> None:
        self._lines = _Counted(lines)
        self.columns: list[str] | None = None
        self._delimiter = delimiter or ","
        start = 0
        try:
            first = next((line for line in self._lines if not line.isspace()), None)
            if first is None:
                return
            self._delimiter = delimiter or _guess_delimiter(first)
            self._lines.push(first)
            start = self._lines.number
            self._reader = self._new_reader()
            with _large_fields():
                self.columns = [name.strip() for name in next(self._reader)]
        except (csv.Error, BadRow) as error:
            raise ReadError(f"line {start or self._lines.number}, the header: {error}") from None

    def _new_reader(self) -> Any:
        try:
            return csv.reader(self._lines, delimiter=self._delimiter, strict=True)
        except (TypeError, ValueError) as error:
            raise ReadError(f"delimiter={self._delimiter!r} is not possible: {error}") from None

    def __iter__(self) -> Iterator[Record]:
        if self.columns is None:
            return
        while True:
            start = self._lines.start_record()
            try:
                with _large_fields():
                    row = next(self._reader)
            except StopIteration:
                return
            except BadRow as bad:
                yield self._lines.number, bad
                self._reader = self._new_reader()
                continue
            except csv.Error as error:
                yield start, BadRow(f"is not CSV: {error}")
                self._reader = self._new_reader()
                continue
            if not row:
                continue
            if len(row) != len(self.columns):
                yield start, BadRow(f"has {len(row)} fields where the header has {len(self.columns)}")
                continue
            yield start, dict(zip(self.columns, row, strict=True))


class _Counted(Iterator[str]):
    """Lines for `csv.reader`, which bound the length of one record: an open quote would swallow the file."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._pushed: str | None = None
        self._length = 0

    @property
    def number(self) -> int:
        return self._lines.number

    def push(self, line: str) -> None:
        self._pushed = line

    def start_record(self) -> int:
        """Note that a record begins; give back the number of its first line."""
        self._length = 0
        return self._lines.number + 1

    def __next__(self) -> str:
        line, self._pushed = self._pushed, None
        if line is None:
            line = next(self._lines)
        self._length += len(line)
        if self._length > MAX_LINE:
            raise BadRow(f"a record longer than {MAX_LINE >> 20} MB ends here; is a quotation mark not closed?")
        return line


class _large_fields:
    """Lift the limit on the length of a field, which `csv` keeps for the whole process, while one record is read."""

    def __enter__(self) -> None:
        self._limit = csv.field_size_limit(FIELD_LIMIT)

    def __exit__(self, *_: object) -> None:
        csv.field_size_limit(self._limit)


def _guess_delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)  # the first, the comma, when there is none
