"""Records of formats made of lines: JSON Lines, CSV and plain text.

Lines are decoded one by one, so that a bad one does not affect others.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import IO, Any

from tagtopic.corpus.reading.errors import BadRow, ReadError
from tagtopic.corpus.reading.sources import BUFFER

MAX_LINE = 1 << 29
"""Bytes of a line; a longer one is taken for a file without line ends, which would fill the memory."""

MAX_REREAD = 1 << 30
"""Characters read again after bad CSV records of a file, any of which may have an open quote."""

FIELD_LIMIT = 2**31 - 1
DELIMITERS = ",;\t|"
MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]

Record = tuple[int, Mapping[str, Any] | BadRow]
"""The number of a record's first line (or its row), and its values or the reason why it cannot be read."""


class Lines(Iterator[str]):
    """The decoded lines of a binary stream, with their line ends.

    A line that cannot be decoded or is too long raises `BadRow`, and the next call continues after it.
    `number` is the number of the last line, from 1.
    """

    def __init__(self, stream: IO[bytes], encoding: str | None = None, *, max_line: int = MAX_LINE) -> None:
        self.number = 0
        self.max_line = max_line
        self._stream = stream
        self._encoding = encoding or "utf-8"
        self._ahead = b""
        self._wide: io.TextIOWrapper | None = None
        try:
            "a".encode(self._encoding)
        except (LookupError, UnicodeError, ValueError):
            raise ReadError(f"there is no text encoding called {encoding!r}") from None
        self._skip_mark(given=encoding is not None)

    def _skip_mark(self, *, given: bool) -> None:
        """Skip a byte order mark, and use the encoding that it stands for."""
        codec = codecs.lookup(self._encoding).name
        start = self._stream.read(4)
        for mark, encoding in MARKS:
            if start.startswith(mark) and (not given or codec.startswith(encoding[:6])):
                codec, start = encoding, start[len(mark) :]
                break
        self._encoding = codec
        self._ahead = start
        if codec.startswith(("utf-16", "utf-32")):  # a line end is not one byte there
            if codec in ("utf-16", "utf-32"):
                codec += "-le"
            joined = io.BufferedReader(_PrefixedStream(start, self._stream), BUFFER)
            self._wide = io.TextIOWrapper(joined, encoding=codec, newline="\n")

    def __next__(self) -> str:
        if self._wide is not None:
            return self._next_wide(self._wide)
        line = self._read_line()
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) > self.max_line:
            while line and not line.endswith(b"\n"):
                line = self._stream.readline(BUFFER)
            raise BadRow(f"is longer than {self.max_line >> 20} MB")
        try:
            return line.decode(self._encoding)
        except UnicodeError as error:
            raise BadRow(
                f"is not {self._encoding} ({str(error)[-200:]}); if the file is in another encoding name it, as in "
                'encoding="latin-1" (--encoding latin-1)'
            ) from None

    def _read_line(self) -> bytes:
        if not self._ahead:
            return self._stream.readline(self.max_line + 1)
        start, end, rest = self._ahead.partition(b"\n")
        self._ahead = rest if end else b""
        return start + end if end else start + self._stream.readline(self.max_line + 1)

    def _next_wide(self, wide: io.TextIOWrapper) -> str:
        try:
            line = wide.readline(self.max_line)
        except UnicodeDecodeError as error:
            raise ReadError(f"after line {self.number} the file is not {self._encoding}: {error.reason}") from None
        if not line:
            raise StopIteration
        self.number += 1
        return line


class _PrefixedStream(io.RawIOBase):
    """Bytes that were read already, then the rest of their stream."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start[: len(buffer)] or self._stream.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def json_records(lines: Lines | PeekableLines) -> Iterator[Record]:
    """Yield one object per line; blank lines are no records."""
    for i, (number, line) in enumerate(_filled_lines(lines)):
        yield number, line if isinstance(line, BadRow) else _json_object(line, first=i == 0)


def array_records(lines: Lines | PeekableLines) -> Iterator[Record]:
    """Yield the objects of one JSON array, which may span any number of lines, with the line where each begins.

    After something that is not JSON nothing more can be read.
    """
    decoder = _ArrayDecoder()
    for number, line in _filled_lines(lines):
        if isinstance(line, BadRow):
            yield number, line
            return
        yield from decoder.decode(number, line)
        if decoder.failed:
            return
    yield from decoder.decode(0, None)


class _ArrayDecoder:
    """Decodes the objects of a JSON array from its lines; what is not complete yet is kept.

    An object that is not complete is tried again only when the text has doubled, so that many lines take linear time.
    """

    def __init__(self, max_length: int = MAX_LINE) -> None:
        self.failed = False
        self._decode = json.JSONDecoder().raw_decode
        self._parts: list[str] = []
        self._length = 0
        self._try_from = 0
        self._number = 0
        self._is_open = False
        self._max_length = max_length

    def decode(self, number: int, line: str | None) -> Iterator[Record]:
        """Yield the objects that are complete with one more line; None is the end of the file."""
        if not self._parts:
            self._number = number
        self._parts.append(line or "")
        self._length += len(self._parts[-1])
        if line is not None and self._length < self._try_from:
            return
        text, start = "".join(self._parts), 0
        while (start := self._next_object(text, start)) < len(text):
            try:
                if text[start] != "{":
                    raise ValueError(f"{text[start : start + 20]!r} where an object should be")
                value, end = self._decode(text, start)
            except (ValueError, RecursionError) as error:
                is_partial = line is not None and text[start] == "{" and len(text) - start <= self._max_length
                if not is_partial:
                    self.failed = True
                    yield self._number, BadRow(f"is not JSON: {str(error)[:200]}")
                    return
                break
            yield self._number, value
            self._number += text.count("\n", start, end)
            start = end
        self._parts = [text[start:]] if start < len(text) else []
        self._length = len(text) - start
        self._try_from = 2 * self._length

    def _next_object(self, text: str, start: int) -> int:
        """The position after white space, commas and the brackets of the array."""
        while start < len(text) and (text[start].isspace() or text[start] in (",]" if self._is_open else "[")):
            self._is_open |= text[start] == "["
            self._number += text[start] == "\n"
            start += 1
        return start


def text_records(lines: Lines | PeekableLines) -> Iterator[Record]:
    """Yield one text per line, as the column `text`; blank lines are no records."""
    for number, line in _filled_lines(lines):
        yield number, line if isinstance(line, BadRow) else {"text": line.rstrip("\r\n")}


def _filled_lines(lines: Lines | PeekableLines) -> Iterator[tuple[int, str | BadRow]]:
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


class PeekableLines(Iterator[str]):
    """Lines whose first one that is not blank can be inspected before they are read."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._first: str | BadRow | None = next((line for _, line in _filled_lines(lines)), None)

    @property
    def number(self) -> int:
        """The number of the last line."""
        return self._lines.number

    @property
    def is_json(self) -> bool:
        """Whether the first line looks like a JSON object."""
        return isinstance(self._first, str) and self._first.lstrip().startswith("{")

    @property
    def is_json_array(self) -> bool:
        """Whether the first line looks like the beginning of a JSON array of objects."""
        start = self._first.lstrip() if isinstance(self._first, str) else ""
        return start.startswith("[") and start[1:].lstrip()[:1] in ("", "{", "]")

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
    """Return a hint at the format of the file, by its first line."""
    if first.lstrip().startswith("{"):
        return ""
    return '; if it is of another format name that, as in format="csv" (--format csv)'


class CsvRecords:
    """The header and records of a CSV file."""

    def __init__(self, lines: Lines, delimiter: str | None, *, max_reread: int = MAX_REREAD) -> None:
        self._lines = _CsvLines(lines, max_reread)
        self.columns: list[str] | None = None
        self._delimiter = delimiter or ","
        start = 0
        try:
            first = next((line for line in self._lines if not line.isspace()), None)
            if first is None:
                return
            self._delimiter = delimiter or guess_delimiter(first)
            self._lines.unread([first])
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
                yield start, BadRow(f"{self._reason(error, start)}{self._resume(start)}")
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

    def _resume(self, start: int) -> str:
        """Continue after the first line of a bad record, whose open quote may have included good ones.

        Return which lines are left out if too much was read again already.
        """
        extent = self._extent(start, "; left out are")
        self._reader = self._new_reader()
        return "" if self._lines.go_back() else extent

    def _extent(self, start: int, verb: str) -> str:
        return f"{verb} lines {start} to {self._lines.number}" if self._lines.number > start else ""


class _CsvLines(Iterator[str]):
    """Lines for `csv.reader`, counted, which can be read again.

    They bound the length of one record: with an open quote it would extend to the end of the file.
    """

    def __init__(self, lines: Lines, max_reread: int) -> None:
        self.number = 0
        self._max_reread = max_reread
        self._lines = lines
        self._record: list[str | BadRow] = []
        self._length = 0
        self._again: deque[str | BadRow] = deque()
        self._n_again = 0

    def start_record(self) -> int:
        """Begin a record; return the number of its first line."""
        self._record = []
        self._length = 0
        return self.number + 1

    def go_back(self) -> bool:
        """Go back to the second line of the record, unless too much was read again already."""
        rest = self._record[1:]
        self._n_again += self._length if rest else 0
        if self._n_again > self._max_reread:
            return False
        self.unread(rest)
        return True

    def unread(self, lines: list[str | BadRow]) -> None:
        """Yield the last lines once more."""
        self._again.extendleft(reversed(lines))
        self.number -= len(lines)

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._next_line()
        self.number += 1
        self._record.append(line)
        if isinstance(line, BadRow):
            raise line
        self._length += len(line)
        if self._length > self._lines.max_line:
            raise csv.Error(f"it is longer than {self._lines.max_line >> 20} MB")
        return line

    def _next_line(self) -> str | BadRow:
        try:
            return next(self._lines)
        except BadRow as bad:
            return bad


class _large_fields:
    """Lift the limit on the length of a field, which `csv` has for the whole process, while one record is read."""

    def __enter__(self) -> None:
        self._limit = csv.field_size_limit(FIELD_LIMIT)

    def __exit__(self, *_: object) -> None:
        csv.field_size_limit(self._limit)


def guess_delimiter(header: str) -> str:
    """Return the most frequent of the possible delimiters in a header."""
    return max(DELIMITERS, key=header.count)  # the first, the comma, when there is none
