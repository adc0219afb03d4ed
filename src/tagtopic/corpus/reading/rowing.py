"""Records become documents: the columns wanted are found, their cells read, and bad rows reported where they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tagtopic.corpus.characters import PARAGRAPH_SEPARATOR
from tagtopic.corpus.reading import cells
from tagtopic.corpus.reading.errors import BadRow, Complaints, ReadError
from tagtopic.corpus.rows import BATCH_CHARACTERS, BATCH_ROWS, Rows

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
            cells.TagColumn(name, wanted.tag_separator) for name in (("tags",) if wanted.tags is None else wanted.tags)
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

    def add(self, record: "Mapping[str, Any] | BadRow", where: str) -> None:
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
            texts.append(value if type(value) is str else _cell(record, name, cells.text_of))
        tags: list[str] = []
        for column in self._tag_columns:
            tags += _cell(record, column.name, column.tags_of)
        document = _cell(record, self._id, cells.id_of)
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
