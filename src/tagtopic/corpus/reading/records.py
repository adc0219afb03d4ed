"""Records of the formats made of lines: JSON Lines, CSV and plain text."""

import csv
import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from tagtopic.corpus.reading.errors import BadRow, ReadError
from tagtopic.corpus.reading.lines import MAX_LINE, Lines

Record = tuple[int, "Mapping[str, Any] | BadRow"]  # where it begins, and what it holds or why it cannot be read
FIELD_LIMIT = 2**31 - 1
MAX_AGAIN = 1 << 30  # characters read again after bad records of a file: there may be one that never ends in every line
DELIMITERS = ",;\t|"


def json_records(lines: "Lines | Peeked") -> Iterator[Record]:
    """One object a line; blank lines are no records."""
    for i, (number, line) in enumerate(_filled_lines(lines)):
        yield number, line if isinstance(line, BadRow) else _json_object(line, first=i == 0)


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


def _json_object(line: str, *, first: bool) -> Mapping[str, Any] | BadRow:
    hint = _hint(line) if first else ""
    try:
        value = json.loads(line)
    except RecursionError:
        return BadRow("is nested too deeply")
    except ValueError as error:
        return BadRow(f"is not JSON: {str(error)[:200]}{hint}")
    if not isinstance(value, dict):
        return BadRow(f"is not a JSON object but {type(value).__name__}{hint}")
    return value


def _hint(first: str) -> str:
    """What the file may be, by its first line."""
    if first.lstrip().startswith("["):
        return "; the file looks like one JSON array, but one object a line is needed"
    if first.lstrip().startswith("{"):
        return ""
    return '; if it is of another format name that, as in format="csv" (--format csv)'


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
            self._lines.give_again([first])
            start = self._lines.start_record()
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
            except (BadRow, csv.Error) as error:
                yield start, BadRow(f"{self._reason(error, start)}{self._go_on(start)}")
                continue
            if not row:
                continue
            if len(row) != len(self.columns):
                wrong = f"has {len(row)} fields where the header has {len(self.columns)}"
                yield start, BadRow(wrong + self._extent(start, "; it is made of"))
                continue
            yield start, dict(zip(self.columns, row, strict=True))

    def _reason(self, error: Exception, start: int) -> str:
        end = self._lines.number
        if isinstance(error, csv.Error):
            return f"is not CSV: {error}" + (" (is a quotation mark not closed?)" if end > start else "")
        return str(error) if end <= start else f"goes on to line {end}, which {error}"

    def _go_on(self, start: int) -> str:
        """Read on after the first line of a bad record, whose open quote may have swallowed good ones.

        Gives back which lines are lost if too much was read again already.
        """
        extent = self._extent(start, "; left out are")
        self._reader = self._new_reader()
        return "" if self._lines.go_back() else extent

    def _extent(self, start: int, verb: str) -> str:
        return f"{verb} lines {start} to {self._lines.number}" if self._lines.number > start else ""


class _Counted(Iterator[str]):
    """Lines for `csv.reader`, counted, which can be given again.

    They bound the length of one record: an open quote would swallow the file.
    """

    def __init__(self, lines: Lines) -> None:
        self.number = 0
        self._lines = lines
        self._record: list[str | BadRow] = []
        self._length = 0
        self._again: deque[str | BadRow] = deque()
        self._n_again = 0

    def start_record(self) -> int:
        """Note that a record begins; give back the number of its first line."""
        self._record = []
        self._length = 0
        return self.number + 1

    def go_back(self) -> bool:
        """Go back to the second line of the record, unless so much was read again that there would be no end."""
        rest = self._record[1:]
        self._n_again += self._length if rest else 0
        if self._n_again > MAX_AGAIN:
            return False
        self.give_again(rest)
        return True

    def give_again(self, lines: list[str | BadRow]) -> None:
        """Give the lines given last once more."""
        self._again.extendleft(reversed(lines))
        self.number -= len(lines)

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._next_line()
        self.number += 1
        self._record.append(line)
        if isinstance(line, BadRow):
            raise line
        self._length += len(line)
        if self._length > MAX_LINE:
            raise csv.Error(f"it is longer than {MAX_LINE >> 20} MB")
        return line

    def _next_line(self) -> str | BadRow:
        try:
            return next(self._lines)
        except BadRow as bad:
            return bad


class _large_fields:
    """Lift the limit on the length of a field, which `csv` keeps for the whole process, while one record is read."""

    def __enter__(self) -> None:
        self._limit = csv.field_size_limit(FIELD_LIMIT)

    def __exit__(self, *_: object) -> None:
        csv.field_size_limit(self._limit)


def _guess_delimiter(header: str) -> str:
    return max(DELIMITERS, key=header.count)  # the first, the comma, when there is none
