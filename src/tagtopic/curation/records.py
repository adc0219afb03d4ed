"""Records written back with corrected tags: JSON Lines, CSV, TSV and Parquet, all other columns as they were.

Records that do not change are copied as they are. In JSON Lines only the changed values are replaced, in CSV only the
changed rows are written anew, and Parquet files keep their schema.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagtopic._core.files import atomic_file
from tagtopic.corpus.reading.documents import HAS_KIND, TAGS_COLUMN, TagColumn, id_of, parse_list, values_of
from tagtopic.corpus.reading.errors import BadRow, ReadError
from tagtopic.corpus.reading.lines import FIELD_LIMIT, guess_delimiter
from tagtopic.corpus.reading.sources import BUFFER, decompressed, format_of
from tagtopic.curation.decisions import TAG_ADD, TAG_WRONG, Decisions

FORMATS = ("jsonl", "csv", "tsv", "parquet")
"""The formats of records that can be written back."""

BATCH = 4096
"""Rows of a Parquet file that are corrected at a time."""

BOM = "\ufeff"

WHITESPACE = " \t\r\n"


@dataclass
class Corrections:
    """What was corrected in files.

    Attributes
    ----------
    records : int
        The records.
    changed : int
        The records whose tags changed.
    removed, added, renamed : int
        Tags removed from, added to and renamed in records.

    Examples
    --------
    >>> from tagtopic.curation.records import Corrections
    >>> Corrections(records=3, changed=1, renamed=1).changed
    1
    """

    records: int = 0
    changed: int = 0
    removed: int = 0
    added: int = 0
    renamed: int = 0


@dataclass
class RecordCorrector:
    """Corrects the tag columns of records.

    Parameters
    ----------
    decisions : Decisions
        The decisions.
    tags : sequence of str
        The columns of tags.
    id : str, default="id"
        The column of document ids; records without it are numbered from 0.
    separator : str or None, default=None
        The separator of tags in a string.
    """

    decisions: Decisions
    tags: Sequence[str]
    id: str = "id"
    separator: str | None = None
    counts: Corrections = field(default_factory=Corrections)

    def __post_init__(self) -> None:
        self._columns = {name: TagColumn(name, None) for name in self.tags}

    def correct(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changed cells of a record."""
        number = self.counts.records
        self.counts.records += 1
        given = id_of(record.get(self.id))
        verdicts = self.decisions.verdicts.get(str(number) if given is None else given, {})
        present: set[str] = set()
        changes: dict[str, Any] = {}
        cells = {name: _Cell.of(record.get(name), self.separator) for name in self.tags}
        changed = {name: self._corrected_values(name, cell, verdicts, present) for name, cell in cells.items()}
        for tag in (tag for tag, verdict in verdicts.items() if verdict == TAG_ADD and tag not in present):
            name = self._column_for(tag)
            changed[name] = [*changed[name], self._value_of(tag, name)]
            self.counts.added += 1
        for name, values in changed.items():
            if values != cells[name].values:
                changes[name] = cells[name].with_values(values)
        self.counts.changed += bool(changes)
        return changes

    def _corrected_values(self, name: str, cell: _Cell, verdicts: Mapping[str, str], present: set[str]) -> list[Any]:
        """The values of a cell without wrong tags and duplicates, under their canonical names."""
        values: list[Any] = []
        seen: set[str] = set()
        renamed: set[str] = set()
        for value in cell.values:
            if isinstance(value, list | dict):
                what = "a list" if isinstance(value, list) else "an object"
                raise BadRow(f"column {name!r} holds {what} inside of a list")
            found = self._columns[name].tags_of(value) if value is not None else []
            if not found:  # null or blank
                values.append(value)
                continue
            canonical = self.decisions.canonical.get(found[0], found[0])
            if verdicts.get(canonical) == TAG_WRONG:
                self.counts.removed += 1
                continue
            present.add(canonical)
            is_renamed = canonical != found[0]
            self.counts.renamed += is_renamed
            if canonical in seen and (is_renamed or canonical in renamed):
                continue
            seen.add(canonical)
            if is_renamed:
                renamed.add(canonical)
            values.append(self._value_of(canonical, name) if is_renamed else value)
        return values

    def _column_for(self, tag: str) -> str:
        """The column to which a tag is added: that of its kind, or the column of tags of any kind."""
        kind = tag.partition(":")[0] if HAS_KIND.match(tag) else ""
        if kind in self.tags:
            return kind
        if TAGS_COLUMN in self.tags:
            return TAGS_COLUMN
        if kind:
            return self.tags[0]
        raise ValueError(
            f"the tag {tag!r} has no kind, and none of the columns {', '.join(self.tags)} can hold it: a column called "
            f"{TAGS_COLUMN} could, or a tag such as {f'{self.tags[0]}:{tag}'!r}"
        )

    def _value_of(self, tag: str, column: str) -> str:
        """The value of a cell that is read as this tag."""
        value = tag.removeprefix(f"{column}:") if column != TAGS_COLUMN else tag
        if self._columns[column].tags_of(value) == [tag]:
            return value
        if self._columns[column].tags_of(tag) == [tag]:
            return tag
        raise ValueError(
            f"the tag {tag!r} cannot be written to the column {column!r}, where it would be read as "
            f"{self._columns[column].tags_of(value)[0]!r}: merge tags of one column into a name with its kind"
        )


@dataclass(frozen=True)
class _Cell:
    """The values of a cell, and the form in which it holds them: a list, a list written as text, or a text."""

    values: list[Any]
    form: str
    separator: str | None

    @classmethod
    def of(cls, value: Any, separator: str | None) -> _Cell:
        if isinstance(value, str):
            listed = parse_list(value)
            if listed is not None:
                return cls(list(listed), "literal", separator)
            return cls(value.split(separator) if separator and value else [value] if value else [], "text", separator)
        if value is None:
            return cls([], "scalar", separator)
        values = values_of(value)
        return cls(values, "scalar" if values == [value] else "list", separator)

    def with_values(self, values: list[Any]) -> Any:
        if self.form == "list":
            return values
        if self.form == "scalar" and not (self.separator and len(values) > 1):
            return values[0] if len(values) == 1 else values or None
        if self.form == "literal" or (len(values) > 1 and self.separator is None):
            return repr([str(value) for value in values])
        texts = [str(value).strip() for value in values]
        broken = [text for text in texts if self.separator and self.separator in text]
        if broken:
            raise ValueError(f"the tag {broken[0]!r} has the separator {self.separator!r} in it")
        return (self.separator or "").join(texts)


def write_corrected(
    files: Sequence[Path], target: Path, corrector: RecordCorrector, *, delimiter: str | None = None
) -> Corrections:
    """Write the records of files to one file, with corrected tags.

    Parameters
    ----------
    files : sequence of Path
        The files, all of one format.
    target : Path
        The file to write, of the same format; text formats are compressed if its name ends in ``.gz``.
    corrector : RecordCorrector
        The corrections.
    delimiter : str or None, default=None
        The delimiter of CSV files; None: from the header.

    Returns
    -------
    Corrections
        What was corrected.

    Raises
    ------
    ValueError
        If formats differ or cannot be written, columns are missing, or a tag cannot be written to a column.
    ReadError
        If a file cannot be read; the message has the file and the line.
    """
    kinds = {format_of(path) for path in (*files, target)}
    if len(kinds) > 1 or not kinds <= set(FORMATS):
        raise ValueError(
            f"records are written back in the format that they have, one of {', '.join(FORMATS)}, not from "
            f"{', '.join(sorted({format_of(path) for path in files}))} to {format_of(target)}"
        )
    (kind,) = kinds
    with atomic_file(target) as temporary:
        if kind == "parquet":
            _write_parquet(files, temporary, corrector)
        else:
            with _text_output(temporary, compress=target.suffix.lower() == ".gz") as output:
                if kind == "jsonl":
                    _write_json_lines(files, output, corrector)
                else:
                    _write_csv(files, output, corrector, "\t" if kind == "tsv" else delimiter)
    return corrector.counts


@contextmanager
def _text_output(path: Path, *, compress: bool) -> Iterator[Callable[[str], Any]]:
    with path.open("wb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") if compress else raw
        with io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            yield text.write


@contextmanager
def _text_lines(path: Path) -> Iterator[Iterator[str]]:
    with path.open("rb", BUFFER) as raw, decompressed(raw, path) as plain:
        yield map(bytes.decode, plain)  # line by line, so that an error has its line


@contextmanager
def _at(path: Path, line: int) -> Iterator[None]:
    """Name the file and the line in errors."""
    try:
        yield
    except UnicodeDecodeError:
        raise ReadError(f"{path}, line {line}: it is not UTF-8") from None
    except (BadRow, ValueError, csv.Error) as error:
        raise ReadError(f"{path}, line {line}: {error}") from None


# ---- JSON Lines


def _write_json_lines(files: Iterable[Path], write: Callable[[str], Any], corrector: RecordCorrector) -> None:
    for path in files:
        seen: set[str] = set()
        with _text_lines(path) as lines:
            number = 0
            while True:
                with _at(path, number + 1):
                    line = next(lines, None)
                    if line is None:
                        break
                    number += 1
                    start = BOM if number == 1 and line.startswith(BOM) else ""
                    body = line[len(start) :]
                    if not body.strip():
                        write(line)
                        continue
                    spans = json_spans(body)
                    seen.update(spans)
                    record = {name: json.loads(body[first:last]) for name, (first, last) in spans.items()}
                    changed = _replace_values(body, spans, corrector.correct(record))
                write(start + changed if changed.endswith("\n") else start + changed + "\n")
        _require_columns(path, corrector, seen if number else {*corrector.tags})


def json_spans(line: str) -> dict[str, tuple[int, int]]:
    """Return where the values of a JSON object are in a line, by key.

    Parameters
    ----------
    line : str
        The line.

    Returns
    -------
    dict of str to (int, int)
        The first character of each value, and the one after its last.

    Raises
    ------
    ValueError
        If the line is not one JSON object.
    """
    decoder = json.JSONDecoder()
    text = line.rstrip()
    at = len(text) - len(text.lstrip())
    try:
        if not isinstance(json.loads(text), dict):
            raise ValueError("it is not a JSON object")
        spans: dict[str, tuple[int, int]] = {}
        at += 1
        while True:
            at = _skip(text, at)
            if text[at] == "}":
                return spans
            if text[at] == ",":
                at = _skip(text, at + 1)
            key, at = decoder.raw_decode(text, at)
            first = _skip(text, _skip(text, at) + 1)  # past the colon
            _, at = decoder.raw_decode(text, first)
            spans[key] = (first, at)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _skip(text: str, at: int) -> int:
    while text[at] in WHITESPACE:
        at += 1
    return at


def _replace_values(line: str, spans: Mapping[str, tuple[int, int]], changes: Mapping[str, Any]) -> str:
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in changes.items()}
    for name in sorted((name for name in changes if name in spans), key=lambda name: -spans[name][0]):
        first, last = spans[name]
        line = line[:first] + texts[name] + line[last:]
    added = [f"{json.dumps(name, ensure_ascii=False)}: {texts[name]}" for name in changes if name not in spans]
    if added:
        end = line.rindex("}")
        line = line[:end].rstrip() + (", " if spans else "") + ", ".join(added) + line[end:]
    return line


# ---- CSV


def _write_csv(
    files: Iterable[Path], write: Callable[[str], Any], corrector: RecordCorrector, delimiter: str | None
) -> None:
    csv.field_size_limit(FIELD_LIMIT)
    header: list[str] | None = None
    for path in files:
        with _text_lines(path) as lines:
            raw: list[str] = []
            reader: Any = None
            used = delimiter or ","
            row: list[str] | None = None
            own: list[str] | None = None
            number = 1
            while True:
                with _at(path, number):
                    if reader is None:
                        first = next(lines, "")
                        used = delimiter or guess_delimiter(first.removeprefix(BOM))
                        reader = csv.reader(_recorded(first, lines, raw), delimiter=used)
                    row = next(reader, None)
                    if row is None:
                        break
                    text = "".join(raw)
                    raw.clear()
                    if own is None:
                        own = row
                        _require_columns(path, corrector, set(own))
                        if header is not None and own != header:
                            raise ValueError("its columns are not those of the first file")
                        if header is None:
                            write(text)
                        header = own
                    elif not row:
                        write(text)
                    else:
                        if len(row) != len(own):
                            raise ValueError(f"it has {len(row)} cells, and there are {len(own)} columns")
                        changes = corrector.correct(dict(zip(own, row, strict=True)))
                        write(_csv_row(row, own, changes, used, text) if changes else text)
                    number = reader.line_num + 1


def _recorded(first: str, lines: Iterator[str], raw: list[str]) -> Iterator[str]:
    """Yield lines, and record them; a last line gets its line end."""
    line: str | None = first
    while line:
        raw.append(line if line.endswith(("\n", "\r")) else line + "\n")
        yield line.removeprefix(BOM)
        line = next(lines, None)


def _csv_row(row: list[str], header: list[str], changes: Mapping[str, Any], delimiter: str, text: str) -> str:
    output = io.StringIO()
    end = "\r\n" if text.endswith("\r\n") else "\n"
    cells = [_csv_cell(changes[name]) if name in changes else cell for name, cell in zip(header, row, strict=True)]
    csv.writer(output, delimiter=delimiter, lineterminator=end).writerow(cells)
    return output.getvalue()


def _csv_cell(value: Any) -> str:
    return "" if value is None else repr([str(each) for each in value]) if isinstance(value, list) else str(value)


# ---- Parquet


def _write_parquet(files: Sequence[Path], target: Path, corrector: RecordCorrector) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    try:
        for path in files:
            try:
                file = pq.ParquetFile(path)
            except (pa.ArrowException, OSError) as error:
                raise ReadError(f"{path} is not a readable Parquet file: {str(error).splitlines()[0]}") from None
            with file:
                _require_columns(path, corrector, set(file.schema_arrow.names))
                if writer is None:
                    writer = pq.ParquetWriter(target, file.schema_arrow, compression=_compression(file))
                elif not file.schema_arrow.equals(writer.schema):
                    raise ValueError(f"{path}: its columns are not those of the first file")
                for batch in file.iter_batches(BATCH):
                    writer.write_batch(_corrected_batch(batch, path, corrector))
    finally:
        if writer is not None:
            writer.close()


def _compression(file: Any) -> str:
    metadata = file.metadata
    if not metadata.num_row_groups or not metadata.num_columns:
        return "snappy"
    found: str = metadata.row_group(0).column(0).compression
    return "none" if found == "UNCOMPRESSED" else found.lower()


def _corrected_batch(batch: Any, path: Path, corrector: RecordCorrector) -> Any:
    import pyarrow as pa

    wanted = [name for name in (*corrector.tags, corrector.id) if name in batch.schema.names]
    values = {name: batch.column(name).to_pylist() for name in wanted}
    touched: set[str] = set()
    for row in range(batch.num_rows):
        with _at(path, corrector.counts.records + 1):
            changes = corrector.correct({name: values[name][row] for name in wanted})
        for name, value in changes.items():
            touched.add(name)
            is_text = not pa.types.is_nested(batch.schema.field(name).type)
            values[name][row] = repr([str(v) for v in value]) if is_text and isinstance(value, list) else value
    columns = []
    for field_ in batch.schema:
        column = batch.column(field_.name)
        columns.append(pa.array(values[field_.name], field_.type) if field_.name in touched else column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _require_columns(path: Path, corrector: RecordCorrector, columns: set[str]) -> None:
    missing = [name for name in corrector.tags if name not in columns]
    if missing:
        raise ReadError(f"{path} has no column {missing[0]!r}; the columns are {', '.join(sorted(columns)[:50])}")
