"""Records become documents: their cells as texts, tags and ids, gathered into batches."""

from __future__ import annotations

import ast
import datetime
import decimal
import difflib
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tagtopic.corpus.builder import BATCH_CHARACTERS, BATCH_ROWS, DocumentBatch
from tagtopic.corpus.reading.errors import BadRow, ReadError, RowErrors
from tagtopic.corpus.reading.options import ReadOptions
from tagtopic.corpus.text.tokenizer import PARAGRAPH_SEPARATOR

# "author:Ada" has a kind; "Alien: Covenant", "12:30" and "https://…" have none
HAS_KIND = re.compile(r"[^\W\d][\w.-]*:(?!//)\S")
TAGS_COLUMN = "tags"  # its tags get no prefix
LISTS = (list, tuple, set, frozenset)
CACHE_SIZE = 1 << 18
"""Distinct cells of a column of tags whose tags are cached."""

SEPARATORS = (";", "|", ",")
"""Possible separators of tags."""

MIN_SHARE = 0.2
"""The share of the distinct cells with a separator from which on it is reported."""

MIN_RECURRING = 0.5
"""The share of the cells with a comma whose parts occur in other cells, from which on it separates tags: in names such
as "Kissinger, Henry A." it does not, and few of their parts recur."""

MAX_EXAMINED = 2000
"""Distinct cells in which separators are looked for."""

MAX_TITLE = 500
"""Characters of a title that are kept."""

PATIENCE = 1000
"""Records of JSON Lines, which need not have every column, before a column counts as missing."""


def scalar_of(value: Any) -> str | None:
    """Return a single value as a string; None for null and NaN. Whole floats lose their ".0"."""
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
    """Return an element of a list as a string; None for null."""
    if _is_list(value):
        raise BadRow("holds a list inside of a list")
    return scalar_of(value)


def values_of(value: Any) -> list[Any]:
    """Return the values of a list, an array, or a single value."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, LISTS) else [value]


def text_of(value: Any) -> str:
    """Return a cell as text: null is empty, the parts of a list are separated so that no phrase spans two."""
    if isinstance(value, str):
        return value
    parts = [_part_of(part) for part in values_of(value)]
    return PARAGRAPH_SEPARATOR.join(part for part in parts if part)


def id_of(value: Any) -> str | None:
    """Return a cell as an id; None for null."""
    text = scalar_of(value)
    return None if text is None else _storable(text)


class TagColumn:
    """A column of tags: lists, delimited strings or single values, prefixed by the name of the column as their kind."""

    def __init__(self, name: str, separator: str | None, *, cache_size: int = CACHE_SIZE) -> None:
        self.name = name
        self._cache_size = cache_size
        self._separator = separator
        self._cache: dict[str, tuple[str, ...]] = {}
        self._examined: dict[str, None] = {}

    def tags_of(self, value: Any) -> list[str]:
        """Return the tags in a cell, without null and blank ones."""
        tags: list[str] = []
        for part in value if type(value) is list else values_of(value):
            text = part if type(part) is str else _part_of(part)
            if text is not None:
                cached = self._cache.get(text)
                tags += self._add_to_cache(text) if cached is None else cached
        return tags

    def _add_to_cache(self, text: str) -> tuple[str, ...]:
        """Return the tags of a new text; most texts recur."""
        if len(self._cache) >= self._cache_size:
            self._cache.clear()
        self._cache[text] = tuple(self._split(text))
        return self._cache[text]

    def _split(self, text: str) -> list[str]:
        parts = parse_list(text)
        if parts is None:
            parts = text.split(self._separator) if self._separator else [text]
            if len(self._examined) < MAX_EXAMINED:
                self._examined[text] = None
        cleaned = (_storable(" ".join(part.split())) for part in parts)
        return [self._with_kind(tag) for tag in cleaned if tag]

    def separator_warning(self) -> str | None:
        """Return a warning if no separator was given and many distinct cells seem to have one."""
        if self._separator is not None:
            return None
        for separator in SEPARATORS:
            found = [text for text in self._examined if separator in text]
            if len(found) < max(2, MIN_SHARE * len(self._examined)):
                continue
            if separator == "," and not _parts_recur(found, self._examined):
                continue
            return (
                f"column {self.name!r}: {len(found) / len(self._examined):.0%} of its different tags have a "
                f"{separator!r} in them, such as {found[0]!r:.60}; if it stands between tags, "
                f"tag_separator={separator!r} (--tag-separator) splits them"
            )
        return None

    def _with_kind(self, tag: str) -> str:
        return tag if self.name == TAGS_COLUMN or HAS_KIND.match(tag) else f"{self.name}:{tag}"


def _parts_recur(cells: list[str], all_cells: Iterable[str]) -> bool:
    """Whether the parts between the commas of most cells occur in other cells too, all or (of three or more) half."""
    parts = [[part.strip() for part in cell.split(",")] for cell in cells]
    uses = Counter(part for cell in all_cells for part in {part.strip() for part in cell.split(",")})
    shares = [(len(cell), sum(uses[part] > 1 for part in cell) / len(cell)) for cell in parts]
    recurring = sum(share == 1 or (n > 2 and share >= 0.5) for n, share in shares)
    return recurring >= MIN_RECURRING * len(cells)


def parse_list(text: str) -> list[str] | None:
    """Return the strings of a list that was written as text, as pandas does in CSV files; None if it is no list."""
    if not (text.startswith("[") and text.rstrip().endswith("]")):
        return None
    try:
        parts = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return parts if isinstance(parts, list) and all(isinstance(part, str) for part in parts) else None


def _storable(text: str) -> str:
    """Return the text with lone surrogates replaced, so that UTF-8 can encode it."""
    return text if text.isascii() else text.encode(errors="replace").decode()


class DocumentBatcher:
    """Checks the columns of records and gathers documents into batches.

    Parameters
    ----------
    options : ReadOptions
        The columns to read.
    errors : RowErrors
        Where bad rows are reported.
    patience : int, default=PATIENCE
        Records without a required column before it counts as missing; None: it is only reported, as `unseen`, for
        readers of one partition of a source.
    first : int, default=0
        The number of the first document.
    """

    def __init__(
        self, options: ReadOptions, errors: RowErrors, *, patience: int | None = PATIENCE, first: int = 0
    ) -> None:
        self.options = options
        self.errors = errors
        self.n_documents = first
        self._patience = patience
        self._tag_columns = [
            TagColumn(name, options.tag_separator)
            for name in ((TAGS_COLUMN,) if options.tag_columns is None else options.tag_columns)
        ]
        self._text_columns = options.text_columns
        self._id_column = "id" if options.id is None else options.id
        self._title_column = "title" if options.title is None else options.title
        self._unseen = set(options.required_columns)
        self._seen: dict[str, None] = {}
        self._n_records = 0
        self._lacks_text = False  # whether a file was begun and no record of it had a text
        self._seen_in_file: dict[str, None] = {}
        self._n_in_file = 0
        self._start_batch()

    def _start_batch(self) -> None:
        self._texts: list[str] = []
        self._tags: list[list[str]] = []
        self._ids: list[str] = []
        self._titles: list[str] = []
        self._size = 0

    def start_file(self) -> None:
        """Begin a file, at least one record of which must have a text; other columns may be in other files only."""
        self._lacks_text = bool(self._text_columns)
        self._seen_in_file = {}
        self._n_in_file = 0

    def check_file(self, where: str) -> None:
        """Raise if the file has records and none of them has a text: its documents would be empty."""
        if self._lacks_text and self._n_in_file:
            missing = sorted({*self._text_columns, *self._unseen})
            raise missing_columns(missing, list(self._seen_in_file), where, self._examined(self._n_in_file))

    def expect(self, columns: list[str], where: str) -> list[str]:
        """Check the columns of a source that declares them; return those to read."""
        missing = [column for column in self.options.required_columns if column not in columns]
        if missing:
            raise missing_columns(missing, columns, where)
        selected = self.options.select_columns(columns)
        repeated = [column for column in selected if columns.count(column) > 1]
        if repeated:
            raise ReadError(f"{where} has more than one column called {repeated[0]!r}")
        self._unseen.clear()
        self._lacks_text = False
        return selected

    def add(self, record: Mapping[str, Any] | BadRow, where: str) -> None:
        """Add the document of a record, or report a bad row."""
        try:
            if isinstance(record, BadRow):
                raise record
            if self._lacks_text:
                self._look_for_text(record, where)
            if self._unseen:
                self._look_for_columns(record, where)
            self._add(record)
        except BadRow as bad:
            self.errors.add(where, str(bad))

    def _look_for_text(self, record: Mapping[str, Any], where: str) -> None:
        self._n_in_file += 1
        self._lacks_text = not any(column in record for column in self._text_columns)
        self._seen_in_file.update(dict.fromkeys(map(str, record)))
        if self._patience is not None and self._n_in_file >= self._patience:
            self.check_file(_file_of(where))

    def _look_for_columns(self, record: Mapping[str, Any], where: str) -> None:
        self._n_records += 1
        self._unseen.difference_update(record)
        self._seen.update(dict.fromkeys(map(str, record)))
        if self._patience is not None and self._n_records >= self._patience:
            self.check_all_seen(_file_of(where))

    @staticmethod
    def _examined(n: int) -> str:
        return "in its only row " if n == 1 else f"in its first {n:,} rows "

    @property
    def unseen(self) -> list[str]:
        """The required columns that no record had, if there were records."""
        return sorted(self._unseen) if self._n_records else []

    @property
    def seen(self) -> list[str]:
        """The columns of the records until all required ones were seen."""
        return list(self._seen)

    def check_all_seen(self, where: str) -> None:
        """Raise if there were records and none had one of the required columns."""
        if self.unseen:
            raise missing_columns(self.unseen, self.seen, where, self._examined(self._n_records))

    def separator_warnings(self) -> list[str]:
        """Return a warning for each column whose tags seem to be several in one."""
        return [text for column in self._tag_columns if (text := column.separator_warning()) is not None]

    def _add(self, record: Mapping[str, Any]) -> None:
        texts = []
        for name in self._text_columns:
            value = record.get(name)
            texts.append(value if type(value) is str else _cell(record, name, text_of))
        tags: list[str] = []
        for column in self._tag_columns:
            tags += _cell(record, column.name, column.tags_of)
        document = _cell(record, self._id_column, id_of)
        self._texts.append(texts[0] if len(texts) == 1 else PARAGRAPH_SEPARATOR.join(texts))
        title = record.get(self._title_column)
        self._titles.append("" if title is None else self._title(title))
        self._tags.append(tags)
        self._ids.append(str(self.n_documents) if document is None else document)
        self._size += len(self._texts[-1])
        self.n_documents += 1

    def _title(self, value: Any) -> str:
        """The title of a cell; "" for something else than text in a column that is only guessed."""
        if isinstance(value, str):
            return " ".join(value[:MAX_TITLE].split())
        if self.options.title is None:
            return ""
        title = _cell({self._title_column: value}, self._title_column, scalar_of) or ""
        return " ".join(title[:MAX_TITLE].split())

    @property
    def is_full(self) -> bool:
        """Whether there are enough documents for a batch."""
        return self._size >= BATCH_CHARACTERS or len(self._texts) >= BATCH_ROWS

    @property
    def has_documents(self) -> bool:
        """Whether there are documents that are in no batch yet."""
        return bool(self._texts)

    def take(self) -> DocumentBatch:
        """Return the documents since the last batch."""
        titles = self._titles if any(self._titles) else None
        batch = DocumentBatch(self._texts, self._tags, self._ids, titles=titles)
        self._start_batch()
        return batch


def _cell(record: Mapping[str, Any], column: str, read: Any) -> Any:
    try:
        return read(record.get(column))
    except BadRow as bad:
        raise BadRow(f"column {column!r} {bad}") from None


def _file_of(where: str) -> str:
    """The file of a place in it: a column that is missing is not missing in one line only."""
    return re.sub(r", (line|row) \d+$", "", where)


def missing_columns(missing: list[str], columns: list[str], where: str, those: str = "") -> ReadError:
    """Return the error for missing columns, with similar names."""
    named = ", ".join(map(repr, missing))
    there = ", ".join(map(repr, columns[:50])) + (", …" if len(columns) > 50 else "")
    near = [name for column in missing for name in difflib.get_close_matches(column, columns, 1)]
    hint = f" (is it {', '.join(map(repr, near))}?)" if near else ""
    return ReadError(f"{where} has no column {named}{hint}; {those}the columns are {there or '(none)'}")
