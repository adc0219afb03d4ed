"""Records become documents: the columns wanted are found, their cells read, and bad rows reported where they are.

Values of cells, whatever their type, as texts, tags and ids.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tagtopic.corpus.builder import BATCH_CHARACTERS, BATCH_ROWS, Rows
from tagtopic.corpus.reading.errors import BadRow, Complaints, ReadError
from tagtopic.corpus.text.characters import PARAGRAPH_SEPARATOR

# "author:Ada" has a kind; "Alien: Covenant", "12:30" and "https://…" have none
HAS_KIND = re.compile(r"[^\W\d][\w.-]*:(?!//)\S")
TAGS_COLUMN = "tags"  # whose values are tags as they stand
LISTS = (list, tuple, set, frozenset)
CACHE_SIZE = 1 << 18
SEPARATORS = {";": 0.2, "|": 0.2, ",": 0.5}  # and from what share of texts on they seem to be meant: names have commas
ENOUGH = 10  # different texts, from which that is asked


def scalar_of(value: Any) -> str | None:
    """A single value as a string; None for null, NaN and their like. Whole floats lose their ".0"."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _number(value)
    if isinstance(value, float):
        if value != value:
            return None
        return _number(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    if isinstance(value, datetime.datetime):
        if value != value:  # pandas' NaT
            return None
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID | datetime.timedelta):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise BadRow("holds bytes that are not UTF-8 text") from None
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' nulls, without importing pandas
        return None
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a NumPy scalar
        return scalar_of(value.item())
    if _is_list(value):
        raise BadRow("holds a list where one value belongs")
    raise BadRow(f"holds {_article(value)}, not a text, number, date or list")


def _number(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        raise BadRow("holds a number with thousands of digits") from None


def _article(value: Any) -> str:
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"


def _is_list(value: Any) -> bool:
    return isinstance(value, LISTS) or bool(getattr(value, "ndim", 0))


def _part_of(value: Any) -> str | None:
    """A value of a list as a string; None for null."""
    if _is_list(value):
        raise BadRow("holds a list inside of a list")
    return scalar_of(value)


def values_of(value: Any) -> list[Any]:
    """A list of values from a list, an array, or a single value."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, LISTS) else [value]


def text_of(value: Any) -> str:
    """A cell as text: null is empty, a list is its parts, between which no phrase goes on."""
    if isinstance(value, str):
        return value
    parts = [_part_of(part) for part in values_of(value)]
    return PARAGRAPH_SEPARATOR.join(part for part in parts if part)


def id_of(value: Any) -> str | None:
    """A cell as an id; None when it has none."""
    text = scalar_of(value)
    return None if text is None else _storable(text)


class TagColumn:
    """The tags in one column: lists, delimited strings or scalars, prefixed by the column's name as their kind."""

    def __init__(self, name: str, separator: str | None) -> None:
        self.name = name
        self._separator = separator
        self._known: dict[str, tuple[str, ...]] = {}
        self._n_texts, self._n_with = 0, dict.fromkeys(SEPARATORS, 0)

    def tags_of(self, value: Any) -> list[str]:
        """The tags in a cell; null and blank ones are none."""
        tags: list[str] = []
        for part in value if type(value) is list else values_of(value):
            text = part if type(part) is str else _part_of(part)
            if text is not None:
                known = self._known.get(text)
                tags += self._learn(text) if known is None else known
        return tags

    def _learn(self, text: str) -> tuple[str, ...]:
        """The tags of a text not seen before; most are seen again."""
        if len(self._known) >= CACHE_SIZE:
            self._known.clear()
        self._known[text] = tuple(self._split(text))
        return self._known[text]

    def _split(self, text: str) -> list[str]:
        parts = _written_list(text)
        if parts is None:
            parts = text.split(self._separator) if self._separator else [text]
            self._note(text)
        cleaned = (_storable(" ".join(part.split())) for part in parts)
        return [self._with_kind(tag) for tag in cleaned if tag]

    def _note(self, text: str) -> None:
        self._n_texts += 1
        for separator in SEPARATORS:
            self._n_with[separator] += separator in text

    def unsplit(self) -> str | None:
        """What to tell somebody who gave no separator, if many of the different texts look as if they had one."""
        if self._separator is not None or self._n_texts < ENOUGH:
            return None
        for separator, least in SEPARATORS.items():
            share = self._n_with[separator] / self._n_texts
            if share >= least:
                return (
                    f"column {self.name!r}: {share:.0%} of its different tags have a {separator!r} in them; if it "
                    f"stands between tags, tag_separator={separator!r} (--tag-separator) splits them"
                )
        return None

    def _with_kind(self, tag: str) -> str:
        return tag if self.name == TAGS_COLUMN or HAS_KIND.match(tag) else f"{self.name}:{tag}"


def _written_list(text: str) -> list[str] | None:
    """The strings of a list that was written as a text, as pandas writes a column of lists to a CSV file."""
    if not (text.startswith("[") and text.rstrip().endswith("]")):
        return None
    try:
        parts = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return parts if isinstance(parts, list) and all(isinstance(part, str) for part in parts) else None


def _storable(text: str) -> str:
    """The text with half characters (lone surrogates) replaced, so that it can be written as UTF-8."""
    return text if text.isascii() else text.encode(errors="replace").decode()


PATIENCE = 1000  # records of JSON Lines, which need not have every column, before a column counts as missing


@dataclass(frozen=True)
class Wanted:
    """The columns to read; tags and id default to columns called `tags` and `id` if there are such."""

    text: tuple[str, ...] = ("text",)
    tags: tuple[str, ...] | None = None
    id: str | None = None
    tag_separator: str | None = None

    @property
    def names_columns(self) -> bool:
        """Whether a person named columns: there is nothing else that they could be of than records."""
        return self.text != ("text",) or bool(self.tags) or self.id is not None

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that must be there."""
        return (*self.text, *(self.tags or ()), *((self.id,) if self.id is not None else ()))

    def of(self, columns: Iterable[str]) -> list[str]:
        """Those of the columns that are wanted."""
        optional = (("tags",) if self.tags is None else ()) + (("id",) if self.id is None else ())
        wanted = {*self.required, *optional}
        return [column for column in columns if column in wanted]


class Rowing:
    """Gathers documents until there are enough for a batch."""

    def __init__(self, wanted: Wanted, complaints: Complaints, *, patience: int | None = PATIENCE) -> None:
        """With a patience of None columns may be missing: who reads parts of a source asks for `unseen` at the end."""
        self.complaints = complaints
        self.wanted = wanted
        self._patience = patience
        self.n_documents = 0
        self._tag_columns = [
            TagColumn(name, wanted.tag_separator) for name in (("tags",) if wanted.tags is None else wanted.tags)
        ]
        self._id = "id" if wanted.id is None else wanted.id
        self._unseen = set(wanted.required)
        self._seen: dict[str, None] = {}
        self._n_records = 0
        self._lacks_text = False  # whether a file was begun and no record of it had a text
        self._in_file: dict[str, None] = {}
        self._n_in_file = 0
        self._start_batch()

    def _start_batch(self) -> None:
        self._texts: list[str] = []
        self._tags: list[list[str]] = []
        self._ids: list[str] = []
        self._size = 0

    def start_file(self) -> None:
        """Note that a file begins, of which a record must have a text; other columns may be in other files only."""
        self._lacks_text = bool(self.wanted.text)
        self._in_file = {}
        self._n_in_file = 0

    def check_file(self, where: str) -> None:
        """Complain if no record of the file had a text, if there were any records: its documents would be empty."""
        if self._lacks_text and self._n_in_file:
            missing = sorted({*self.wanted.text, *self._unseen})
            raise missing_columns(missing, list(self._in_file), where, "in all rows up to here, ")

    def expect(self, columns: list[str], where: str) -> list[str]:
        """Check the columns of a source that knows them; give back those to read."""
        missing = [column for column in self.wanted.required if column not in columns]
        if missing:
            raise missing_columns(missing, columns, where)
        repeated = [column for column in self.wanted.of(columns) if columns.count(column) > 1]
        if repeated:
            raise ReadError(f"{where} has more than one column called {repeated[0]!r}")
        self._unseen.clear()
        self._lacks_text = False
        return self.wanted.of(columns)

    def add(self, record: Mapping[str, Any] | BadRow, where: str) -> None:
        """Take one record, or complain about it."""
        try:
            if isinstance(record, BadRow):
                raise record
            if self._lacks_text:
                self._look_for_text(record, where)
            if self._unseen:
                self._look_for_columns(record, where)
            self._add(record)
        except BadRow as bad:
            self.complaints.bad_row(where, str(bad))

    def _look_for_text(self, record: Mapping[str, Any], where: str) -> None:
        self._n_in_file += 1
        self._lacks_text = not any(column in record for column in self.wanted.text)
        self._in_file.update(dict.fromkeys(map(str, record)))
        if self._patience is not None and self._n_in_file >= self._patience:
            self.check_file(where)

    def _look_for_columns(self, record: Mapping[str, Any], where: str) -> None:
        self._n_records += 1
        self._unseen.difference_update(record)
        self._seen.update(dict.fromkeys(map(str, record)))
        if self._patience is not None and self._n_records >= self._patience:
            self.check_all_seen(where)

    @property
    def unseen(self) -> list[str]:
        """The columns that no record had, if there were any records."""
        return sorted(self._unseen) if self._n_records else []

    @property
    def seen(self) -> list[str]:
        """The columns of the records so far, until all that are wanted were seen."""
        return list(self._seen)

    def check_all_seen(self, where: str) -> None:
        """Complain of columns that no record had, if there were any records."""
        if self.unseen:
            raise missing_columns(self.unseen, self.seen, where, "in all rows up to here, ")

    def unsplit(self) -> list[str]:
        """What to tell of columns whose tags seem to be several in one."""
        return [told for column in self._tag_columns if (told := column.unsplit()) is not None]

    def _add(self, record: Mapping[str, Any]) -> None:
        texts = []
        for name in self.wanted.text:
            value = record.get(name)
            texts.append(value if type(value) is str else _cell(record, name, text_of))
        tags: list[str] = []
        for column in self._tag_columns:
            tags += _cell(record, column.name, column.tags_of)
        document = _cell(record, self._id, id_of)
        self._texts.append(texts[0] if len(texts) == 1 else PARAGRAPH_SEPARATOR.join(texts))
        self._tags.append(tags)
        self._ids.append(str(self.n_documents) if document is None else document)
        self._size += len(self._texts[-1])
        self.n_documents += 1

    @property
    def is_full(self) -> bool:
        """Whether there are enough documents for a batch."""
        return self._size >= BATCH_CHARACTERS or len(self._texts) >= BATCH_ROWS

    @property
    def pending(self) -> bool:
        """Whether there are documents that no batch has yet."""
        return bool(self._texts)

    def take(self) -> Rows:
        """The documents gathered since the last batch."""
        rows = Rows(self._texts, self._tags, self._ids)
        self._start_batch()
        return rows


def _cell(record: Mapping[str, Any], column: str, read: Any) -> Any:
    try:
        return read(record.get(column))
    except BadRow as bad:
        raise BadRow(f"column {column!r} {bad}") from None


def missing_columns(missing: list[str], columns: list[str], where: str, those: str = "") -> ReadError:
    """The error that says so."""
    named = ", ".join(map(repr, missing))
    there = ", ".join(map(repr, columns[:50])) + (", …" if len(columns) > 50 else "")
    return ReadError(f"{where} has no column {named}; {those}the columns are {there or '(none)'}")
