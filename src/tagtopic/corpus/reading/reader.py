"""`Corpus.read`: any source, record by record, into rows for the corpus that is being built.

A bar that knows the bytes while files are read, and the words while they are counted, for a person who watches.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from os import PathLike
from os.path import commonpath
from pathlib import Path
from typing import IO, Any

from tagtopic._core.display import BAR, REMAINING, progress_bar, shows_progress, warn
from tagtopic.corpus import storage
from tagtopic.corpus.builder import BATCH_CHARACTERS, BATCH_ROWS, Plan, Rows, build
from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.reading import sources, tables, twtm
from tagtopic.corpus.reading.errors import BadRow, Complaints, ReadError, ReadWarning
from tagtopic.corpus.reading.lines import DAMAGE, SUFFIXES, Lines, decompressed
from tagtopic.corpus.reading.records import CsvRecords, Peeked, Record, json_records, text_records
from tagtopic.corpus.reading.rows import Rowing, Wanted
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.vocabulary import known_words


class Meter:
    """Who hears how far reading has come; this one keeps it to itself."""

    def expect(self, n_bytes: int) -> None:
        """So many bytes are to be read."""

    def read(self, n_bytes: int) -> None:
        """So many bytes in all are read."""

    def counted(self, n_words: int, total: int) -> None:
        """Everything is read, and so many of its words are counted."""


class Bar(Meter):
    """A bar for reading, then one for counting."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None, done="")
        self._counts = False

    def expect(self, n_bytes: int) -> None:
        """So many bytes are to be read."""
        self._progress.update(self._task, total=n_bytes or None)

    def read(self, n_bytes: int) -> None:
        """So many bytes in all are read."""
        self._progress.update(self._task, completed=n_bytes, done=f"{n_bytes / 1e6:,.1f} MB")

    def counted(self, n_words: int, total: int) -> None:
        """Everything is read, and so many of its words are counted."""
        if not self._counts:
            self._counts = True
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task("counting", total=total or None, done="")
        self._progress.update(self._task, completed=n_words, done=f"{n_words:,} words")


@contextmanager
def meter(shown: bool | None) -> Iterator[Meter]:
    """A bar on standard error; None: only if that is a terminal."""
    if not shows_progress(shown):
        yield Meter()
        return
    with progress_bar("{task.description}", BAR, "{task.fields[done]}", REMAINING) as progress:
        yield Bar(progress)


LINE_FORMATS = ("jsonl", "csv", "tsv", "text")


@dataclass(frozen=True)
class Request:
    """What to read and how: columns, format, and what to do with bad rows."""

    wanted: Wanted
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    dictionaries: tuple[Path, Path] | None = None
    skip_bad_rows: bool = False
    progress: bool | None = None


def read_source(
    source: Any,
    *,
    text: str | Iterable[str],
    tags: str | Iterable[str] | None,
    id: str | None,
    tag_separator: str | None,
    format: str | None,
    delimiter: str | None,
    encoding: str | None,
    dictionaries: tuple[str | PathLike[str], str | PathLike[str]] | None,
    on_error: str,
    to: str | PathLike[str] | None,
    words: Iterable[str] | None,
    rules: TextRules,
    tag_rules: TagRules,
    n_jobs: int | None,
    progress: bool | None,
    keep_texts: bool = False,
) -> Corpus:
    """Check the arguments of `Corpus.read` and do what they ask."""
    request = replace(
        request_of(text=text, tags=tags, id=id, tag_separator=tag_separator, on_error=on_error),
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        dictionaries=None if dictionaries is None else (Path(dictionaries[0]), Path(dictionaries[1])),
        progress=progress,
    )
    if _is_path(source) and (Path(source) / storage.MARKER).is_file():
        if to is not None or words is not None:
            raise ValueError(f"{source} is a saved corpus: open it with Corpus.open, then align or save it")
        return _opened(source, rules, tag_rules)
    vocabulary = None if words is None else known_words(words)
    plan = Plan(rules, tag_rules, vocabulary, n_jobs, keep_texts)
    return _read(source, request, plan, None if to is None else Path(to))


def _opened(path: str | PathLike[str], rules: TextRules, tag_rules: TagRules) -> Corpus:
    corpus = Corpus.open(path)
    usual = TextRules()
    others = [field.name for field in fields(rules) if getattr(rules, field.name) != getattr(usual, field.name)]
    if others and rules != corpus.rules:
        raise ValueError(
            f"{path} is a saved corpus, whose words are chosen and counted already: {', '.join(others)} can only be "
            "given where the texts themselves are read"
        )
    return corpus if tag_rules == TagRules() else corpus.select_tags(tag_rules)


def request_of(
    *,
    text: str | Iterable[str],
    tags: str | Iterable[str] | None,
    id: str | None,
    tag_separator: str | None,
    on_error: str,
) -> Request:
    """What to read, as far as it does not depend on where it is read."""
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error must be "raise" or "skip", not {on_error!r}')
    if tag_separator == "":
        raise ValueError("tag_separator is empty: give the string between tags, such as ';', or None")
    wanted = Wanted(_columns(text), None if tags is None else _columns(tags), id, tag_separator)
    return Request(wanted, skip_bad_rows=on_error == "skip")


def _columns(given: str | Iterable[str]) -> tuple[str, ...]:
    columns = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(column, str) for column in columns):
        raise TypeError(
            f"columns are called by their names, which are strings, not {columns!r:.80} (Corpus.from_texts takes "
            "texts, and a list of tags for each of them)"
        )
    return columns


def _read(source: Any, request: Request, plan: Plan, to: Path | None) -> Corpus:
    rowing = Rowing(request.wanted, Complaints(request.skip_bad_rows))
    with meter(request.progress) as tell:
        rows = _rows(source, request, plan, rowing, tell)
        corpus = build(rows, plan, to, tell=tell.counted)
    rowing.complaints.tell(len(corpus))
    for told in rowing.unsplit():
        warn(told, ReadWarning)
    return corpus


def rows_of_part(part: Any, request: Request, rowing: Rowing, name: str) -> Iterator[Rows]:
    """The rows of a part of a source, an Arrow reader or lines as an open binary file; `name` is for complaints."""
    if hasattr(part, "read_next_batch"):
        yield from _from_table(tables.stream_table(part), name, rowing, Meter(), 0, 0)
    else:
        yield from _from_lines(part, Path(name), request.format or "jsonl", request, rowing)
    yield rowing.take()


def _rows(source: Any, request: Request, plan: Plan, rowing: Rowing, tell: Meter) -> Iterator[Rows]:
    """The rows of any source."""
    if hasattr(source, "read") or (isinstance(source, str) and source == "-"):
        return _from_stream(_standard_input() if isinstance(source, str) else source, request, rowing)
    table = None if _is_path(source) else tables.frame_table(source)
    if table is not None:
        return _from_frame(table, rowing, tell)
    if not _is_path(source) and not _is_list_of_paths(source):
        raise TypeError(
            f"a {type(source).__name__} cannot be read: expected a path, a glob, a folder, an open binary file, a data "
            "frame (pandas, polars, Arrow, Hugging Face) or a list of dicts"
        )
    files = sources.files_of(source, request.format)
    kinds = {sources.format_of(file, request.format) for file in files}
    if "twtm" in kinds and plan.rules.bigrams is not None:
        raise ValueError(f"{files[0]} has counts of words, not their order: bigrams cannot be found in it")
    tell.expect(sum(file.stat().st_size for file in files))
    return _from_files(files, request, rowing, tell)


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise ReadError("standard input is closed: there is nothing to read from it")
    return sys.stdin.buffer


def _is_list_of_paths(source: Any) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(map(_is_path, source))


def _is_path(source: Any) -> bool:
    return isinstance(source, str | PathLike)


def _from_files(files: list[Path], request: Request, rowing: Rowing, tell: Meter) -> Iterator[Rows]:
    done = 0
    root = Path(commonpath([file.absolute().parent for file in files]))
    for file in files:
        size = file.stat().st_size
        kind = sources.format_of(file, request.format)
        rowing.start_file()
        if kind == sources.FILES:
            yield from _from_whole_file(file, root, request, rowing)
        elif kind in ("parquet", "arrow"):
            yield from _from_columnar(file, kind, rowing, tell, done, size)
        else:
            yield from _from_line_file(file, kind, request, rowing, tell, done)
        rowing.check_file(str(file))
        done += size
        tell.read(done)
    rowing.check_all_seen(str(files[-1]))
    yield rowing.take()


def _from_stream(stream: IO[bytes], request: Request, rowing: Rowing) -> Iterator[Rows]:
    kind = request.format or ("jsonl" if request.wanted.names_columns else "either")
    if kind not in (*LINE_FORMATS, "either"):
        raise ValueError(f"the format {kind!r} cannot be read from a stream: give a path")
    yield from _from_lines(stream, None, kind, request, rowing)
    rowing.check_all_seen("the stream")
    yield rowing.take()


def _from_line_file(file: Path, kind: str, request: Request, rowing: Rowing, tell: Meter, done: int) -> Iterator[Rows]:
    try:
        raw = file.open("rb")
    except OSError as error:
        raise ReadError(f"{file} cannot be opened: {error.strerror}") from None
    with raw:
        if kind == "twtm":
            batches = _from_bags(raw, file, request, rowing)
        else:
            batches = _from_lines(raw, file, kind, request, rowing)
        for rows in batches:
            if not raw.closed:  # some decompressors close it at its end
                tell.read(done + raw.tell())
            yield rows


def _from_lines(raw: IO[bytes], file: Path | None, kind: str, request: Request, rowing: Rowing) -> Iterator[Rows]:
    name = str(file) if file is not None else "the stream"
    number = 0
    try:
        lines = Lines(decompressed(raw, file), request.encoding)
        records: Iterable[Record]
        if kind == "either":
            peeked = Peeked(lines)
            records = json_records(peeked) if peeked.is_json else text_records(peeked)
        elif kind == "jsonl":
            records = json_records(lines)
        elif kind == "text":
            rowing.expect(["text"], name)
            records = text_records(lines)
        else:
            records = csv_records = CsvRecords(lines, "\t" if kind == "tsv" else request.delimiter)
            if csv_records.columns is not None:
                rowing.expect(csv_records.columns, name)
        for number, record in records:
            rowing.add(record, f"{name}, line {number}")
            if rowing.is_full:
                yield rowing.take()
    except ReadError as error:
        raise _placed(error, name) from None
    except DAMAGE as error:
        raise _damage(name, number, error) from None


def _from_whole_file(file: Path, root: Path, request: Request, rowing: Rowing) -> Iterator[Rows]:
    """One document: the text of the file, its place below the folder that all are in, and the folder of that place."""
    rowing.expect(["text", "id", "folder"], str(file))
    place = file.absolute().relative_to(root)
    folder = None if place.parent == Path() else place.parent.as_posix()
    try:
        with file.open("rb") as raw:
            text = "".join(Lines(decompressed(raw, file), request.encoding))
        rowing.add({"text": text, "id": place.as_posix(), "folder": folder}, str(file))
    except BadRow as bad:
        rowing.add(bad, str(file))
    except OSError as error:
        raise ReadError(f"{file} cannot be opened: {error.strerror}") from None
    except DAMAGE as error:
        raise _damage(str(file), 0, error) from None
    if rowing.is_full:
        yield rowing.take()


def _from_bags(raw: IO[bytes], file: Path, request: Request, rowing: Rowing) -> Iterator[Rows]:
    """Documents of the authors' format: their words are numbers already."""
    dictionaries = twtm.Dictionaries.beside(file, request.dictionaries)
    if rowing.pending:
        yield rowing.take()
    documents: list[twtm.Bag] = []
    size = number = 0
    try:
        for number, bag in twtm.bags(Lines(decompressed(raw, file), request.encoding), dictionaries):
            if isinstance(bag, BadRow):
                rowing.complaints.bad_row(f"{file}, line {number}", str(bag))
                continue
            documents.append(bag)
            size += sum(bag.counts)
            if len(documents) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
                yield _rows_of_bags(documents, dictionaries, rowing)
                documents, size = [], 0
    except ReadError as error:
        raise _placed(error, str(file)) from None
    except DAMAGE as error:
        raise _damage(str(file), number, error) from None
    yield _rows_of_bags(documents, dictionaries, rowing)


def _rows_of_bags(documents: list[twtm.Bag], dictionaries: twtm.Dictionaries, rowing: Rowing) -> Rows:
    first = rowing.n_documents
    rowing.n_documents += len(documents)
    return Rows(
        texts=[],
        tags=[bag.tags for bag in documents],
        ids=[str(first + i) for i in range(len(documents))],
        tokens=twtm.tokens_of(documents, dictionaries),
    )


def _from_columnar(file: Path, kind: str, rowing: Rowing, tell: Meter, done: int, size: int) -> Iterator[Rows]:
    open_table = tables.parquet_table if kind == "parquet" else tables.arrow_table
    with ExitStack() as stack:
        plain = file
        if file.suffix.lower() in SUFFIXES:  # these formats are read by position, so they are unpacked first
            plain = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tagtopic-"))) / "table"
            _unpack(file, plain)
        try:
            table = open_table(plain)
            batches = _from_table(table, str(file), rowing, tell, done, size)
            yield from batches
        except ReadError as error:
            raise ReadError(str(error).replace(str(plain), str(file))) from None


def _unpack(file: Path, plain: Path) -> None:
    try:
        with file.open("rb") as raw, decompressed(raw, file) as packed, plain.open("wb") as target:
            shutil.copyfileobj(packed, target, 1 << 20)
    except DAMAGE as error:
        raise _damage(str(file), 0, error) from None


def _from_frame(table: tables.Table, rowing: Rowing, tell: Meter) -> Iterator[Rows]:
    yield from _from_table(table, None, rowing, tell, 0, 0)
    yield rowing.take()


def _from_table(
    table: tables.Table, name: str | None, rowing: Rowing, tell: Meter, done: int, size: int
) -> Iterator[Rows]:
    columns = rowing.expect(table.columns, name or "the table")
    place = "row" if name is None else f"{name}, row"
    for (number, record), share in table.records(columns):
        rowing.add(record, f"{place} {number}")
        if rowing.is_full:
            tell.read(done + int(size * share))
            yield rowing.take()


def _placed(error: ReadError, name: str) -> ReadError:
    return error if name in str(error) else ReadError(f"{name}, {error}")


def _damage(name: str, number: int, error: BaseException) -> ReadError:
    reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    where = f" after line {number}" if number else ""  # nothing at all, or what was read ahead was damaged
    return ReadError(f"{name} cannot be read{where}: it is damaged or cut off ({reason})")
