"""The reader behind `Corpus.read`: any source, record by record, as batches of documents."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from os import PathLike
from os.path import commonpath
from pathlib import Path
from typing import IO, Any

from tagtopic._core.display import BAR, REMAINING, progress_display, warn
from tagtopic._core.files import TemporaryFolder
from tagtopic.corpus import storage
from tagtopic.corpus.builder import BATCH_CHARACTERS, BATCH_ROWS, CorpusBuilder, DocumentBatch
from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.reading import multilabel, sources, tables, twtm
from tagtopic.corpus.reading.documents import PATIENCE, DocumentBatcher
from tagtopic.corpus.reading.errors import BadRow, ReadError, ReadWarning, RowErrors
from tagtopic.corpus.reading.lines import (
    MAX_LINE,
    MAX_REREAD,
    CsvRecords,
    Lines,
    PeekableLines,
    Record,
    array_records,
    json_records,
    text_records,
)
from tagtopic.corpus.reading.options import ReadOptions, split_options
from tagtopic.corpus.reading.sources import COMPRESSION_SUFFIXES, DAMAGED_DATA_ERRORS, decompressed
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.vocabulary import fixed_vocabulary

LINE_FORMATS = ("jsonl", "csv", "tsv", "text")
COLUMNAR = {"parquet": tables.parquet_table, "arrow": tables.arrow_table, "excel": tables.excel_table}
EITHER = "either"
"""JSON Lines or plain text, by the first line."""

STREAM = "the stream"
UNPACK_BUFFER = 1 << 20


def read_corpus(source: Any, arguments: Mapping[str, Any]) -> Corpus:
    """Read a corpus; the arguments are those of `Corpus.read`."""
    given, rules, tag_rules = split_options(arguments, ReadOptions)
    options = ReadOptions(**given)
    if _is_path(source) and (Path(source) / storage.MARKER).is_file():
        if options.to is not None or options.words is not None:
            raise ValueError(f"{source} is a saved corpus: open it with Corpus.open, then align or save it")
        return _open_corpus(source, rules, tag_rules)
    if (file := _multilabel_file(source, options)) is not None:
        return _read_multilabel(file, options, rules, tag_rules)
    vocabulary = None if options.words is None else fixed_vocabulary(options.words)
    builder = CorpusBuilder(rules, tag_rules, vocabulary, options.n_jobs, options.keep_texts)
    with _read_progress(options.progress) as progress:
        reader = Reader(options, progress=progress)
        batches = reader.read(source, needs_word_order=rules.bigrams is not None)
        to = None if options.to is None else Path(options.to)
        corpus = builder.build(batches, to, on_progress=progress.counted)
    reader.warn(len(corpus))
    return corpus


def _multilabel_file(source: Any, options: ReadOptions) -> Path | None:
    """Return the file of a source in one of the formats of multi-label data sets, if it is one."""
    if _is_standard_input(source) or not (_is_path(source) or _is_list_of_paths(source)):
        return None
    if options.format not in (None, *multilabel.FORMATS):
        return None
    files = sources.files_of(source, options.format)
    kinds = [sources.format_of(file, options.format) for file in files]
    if not set(kinds) & set(multilabel.FORMATS):
        return None
    if len(files) > 1:
        raise ValueError(f"{files[0]} is a data set of its own: give one file of this format at a time")
    return files[0]


def _read_multilabel(file: Path, options: ReadOptions, rules: TextRules, tag_rules: TagRules) -> Corpus:
    _check_counted(file, "has words that are counted already", rules, None)
    errors = RowErrors(options.skips_errors)
    kind = sources.format_of(file, options.format)
    corpus = multilabel.read_multilabel(file, kind, options.dictionary_files, errors, options.encoding)
    if options.words is not None:
        corpus = corpus.align(list(options.words), corpus.tag_names).corpus
    corpus = corpus if tag_rules == TagRules() else corpus.select_tags(tag_rules)
    errors.warn(len(corpus))
    if options.to is None:
        return corpus
    corpus.save(options.to)
    return Corpus.open(options.to)


def _check_counted(path: Any, what: str, rules: TextRules, own: TextRules | None) -> None:
    """Raise if rules for texts are given, other than the corpus's own."""
    usual = TextRules()
    others = [field.name for field in fields(rules) if getattr(rules, field.name) != getattr(usual, field.name)]
    if others and rules != own:
        raise ValueError(f"{path} {what}: {', '.join(others)} can only be given where the texts themselves are read")


def _open_corpus(path: str | PathLike[str], rules: TextRules, tag_rules: TagRules) -> Corpus:
    corpus = Corpus.open(path)
    _check_counted(path, "is a saved corpus, whose words are chosen and counted already", rules, corpus.rules)
    return corpus if tag_rules == TagRules() else corpus.select_tags(tag_rules)


class ReadProgress:
    """Receives the progress of reading; this one ignores it."""

    def expect(self, n_bytes: int) -> None:
        """Receive the number of bytes to read."""

    def read(self, n_bytes: int) -> None:
        """Receive the number of bytes read so far."""

    def counted(self, n_tokens: int, total: int) -> None:
        """Receive the number of tokens counted, once everything is read."""


class ReadProgressBar(ReadProgress):
    """A progress bar for reading, then one for counting."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None, done="")
        self._counts = False

    def expect(self, n_bytes: int) -> None:
        """Show the number of bytes to read."""
        self._progress.update(self._task, total=n_bytes or None)

    def read(self, n_bytes: int) -> None:
        """Show the number of bytes read so far."""
        self._progress.update(self._task, completed=n_bytes, done=f"{n_bytes / 1e6:,.1f} MB")

    def counted(self, n_tokens: int, total: int) -> None:
        """Show the number of tokens counted."""
        if not self._counts:
            self._counts = True
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task("counting", total=total or None, done="")
        self._progress.update(self._task, completed=n_tokens, done=f"{n_tokens:,} words")


@contextmanager
def _read_progress(shown: bool | None) -> Iterator[ReadProgress]:
    with progress_display(shown, "{task.description}", BAR, "{task.fields[done]}", REMAINING) as progress:
        yield ReadProgress() if progress is None else ReadProgressBar(progress)


class Reader:
    """Reads one source, or one partition of it, as batches of documents.

    Parameters
    ----------
    options : ReadOptions
        Columns, format, and what to do with bad rows.
    patience : int, default=1000
        Records without a required column before it counts as missing; None: it is only reported, as
        `documents.unseen`.
    first : int, default=0
        The number of the first document.
    progress : ReadProgress, default=None
        Receives the number of bytes read.
    max_line : int
        Bytes of the longest line.
    max_reread : int
        Characters of a CSV file that are read again after bad records.

    Attributes
    ----------
    documents : DocumentBatcher
        The documents that are in no batch yet, and the columns seen.
    errors : RowErrors
        The bad rows so far.
    """

    def __init__(
        self,
        options: ReadOptions,
        *,
        patience: int | None = PATIENCE,
        first: int = 0,
        progress: ReadProgress | None = None,
        max_line: int = MAX_LINE,
        max_reread: int = MAX_REREAD,
    ) -> None:
        self.options = options
        self.errors = RowErrors(options.skips_errors)
        self.documents = DocumentBatcher(options, self.errors, patience=patience, first=first)
        self._progress = progress or ReadProgress()
        self._max_line = max_line
        self._max_reread = max_reread
        self._bytes_done = 0  # of files that are read

    def read(self, source: Any, *, needs_word_order: bool = False) -> Iterator[DocumentBatch]:
        """Return the batches of any source that `Corpus.read` accepts."""
        if hasattr(source, "read") or _is_standard_input(source):
            return self._read_stream(_standard_input() if isinstance(source, str) else source)
        table = None if _is_path(source) else tables.frame_table(source)
        if table is not None:
            return self._read_frame(table)
        if not _is_path(source) and not _is_list_of_paths(source):
            raise TypeError(
                f"a {type(source).__name__} cannot be read: expected a path, a glob, a folder, an open binary file, a "
                "data frame (pandas, polars, Arrow, Hugging Face) or a list of dicts"
            )
        files = sources.files_of(source, self.options.format)
        kinds = {sources.format_of(file, self.options.format) for file in files}
        if "twtm" in kinds and needs_word_order:
            raise ValueError(f"{files[0]} has counts of words, not their order: bigrams cannot be found in it")
        if kinds & set(multilabel.FORMATS):
            raise ValueError(f"{files[0]} has a vocabulary of its own and cannot be read in parts: use Corpus.read")
        self._progress.expect(sum(file.stat().st_size for file in files))
        return self._read_files(files)

    def read_partition(self, partition: Any, name: str) -> Iterator[DocumentBatch]:
        """Yield the batches of an Arrow reader or an open binary file of lines; `name` is for error messages."""
        if hasattr(partition, "read_next_batch"):
            yield from self._read_table(tables.stream_table(partition), name)
        else:
            yield from self._read_lines(partition, Path(name), self.options.format or "jsonl")
        yield self.documents.take()

    def warn(self, n_documents: int) -> None:
        """Warn about skipped rows, and about tags that seem to be several in one."""
        self.errors.warn(n_documents)
        for message in self.documents.separator_warnings():
            warn(message, ReadWarning)

    def _read_files(self, files: list[Path]) -> Iterator[DocumentBatch]:
        root = Path(commonpath([file.absolute().parent for file in files]))
        for file in files:
            size = file.stat().st_size
            kind = sources.format_of(file, self.options.format)
            self.documents.start_file()
            if kind == sources.FILES:
                yield from self._read_whole_file(file, root)
            elif kind in COLUMNAR:
                yield from self._read_columnar(file, kind, size)
            else:
                yield from self._read_line_file(file, kind)
            self.documents.check_file(str(file))
            self._bytes_done += size
            self._progress.read(self._bytes_done)
        self.documents.check_all_seen(str(files[-1]))
        yield self.documents.take()

    def _read_stream(self, stream: IO[bytes]) -> Iterator[DocumentBatch]:
        kind = self.options.format or ("jsonl" if self.options.names_columns else EITHER)
        if kind not in (*LINE_FORMATS, EITHER):
            raise ValueError(f"the format {kind!r} cannot be read from a stream: give a path")
        yield from self._read_lines(stream, None, kind)
        self.documents.check_all_seen(STREAM)
        yield self.documents.take()

    def _read_line_file(self, file: Path, kind: str) -> Iterator[DocumentBatch]:
        try:
            raw = file.open("rb")
        except OSError as error:
            raise ReadError(f"{file} cannot be opened: {error.strerror}") from None
        with raw:
            batches = self._read_bags(raw, file) if kind == "twtm" else self._read_lines(raw, file, kind)
            for batch in batches:
                if not raw.closed:  # some decompressors close it at its end
                    self._progress.read(self._bytes_done + raw.tell())
                yield batch

    def _lines(self, raw: IO[bytes], file: Path | None) -> Lines:
        return Lines(decompressed(raw, file), self.options.encoding, max_line=self._max_line)

    def _read_lines(self, raw: IO[bytes], file: Path | None, kind: str) -> Iterator[DocumentBatch]:
        name = str(file) if file is not None else STREAM
        number = 0
        try:
            for number, record in self._line_records(self._lines(raw, file), kind, name):
                self.documents.add(record, f"{name}, line {number}")
                if self.documents.is_full:
                    yield self.documents.take()
        except ReadError as error:
            raise _with_name(error, name) from None
        except DAMAGED_DATA_ERRORS as error:
            raise _damage(name, number, error) from None

    def _line_records(self, lines: Lines, kind: str, name: str) -> Iterable[Record]:
        if kind in (EITHER, "jsonl"):
            peekable = PeekableLines(lines)
            if peekable.is_json_array:
                return array_records(peekable)
            return json_records(peekable) if kind == "jsonl" or peekable.is_json else text_records(peekable)
        if kind == "text":
            self.documents.expect(["text"], name)
            return text_records(lines)
        records = CsvRecords(lines, "\t" if kind == "tsv" else self.options.delimiter, max_reread=self._max_reread)
        if records.columns is not None:
            self.documents.expect(records.columns, name)
        return records

    def _read_whole_file(self, file: Path, root: Path) -> Iterator[DocumentBatch]:
        """Read a file as one document, whose id is its path below `root` and whose `folder` is that of the path."""
        self.documents.expect(["text", "id", "folder"], str(file))
        place = file.absolute().relative_to(root)
        folder = None if place.parent == Path() else place.parent.as_posix()
        try:
            with file.open("rb") as raw:
                text = "".join(self._lines(raw, file))
            self.documents.add({"text": text, "id": place.as_posix(), "folder": folder}, str(file))
        except BadRow as bad:
            self.documents.add(bad, str(file))
        except OSError as error:
            raise ReadError(f"{file} cannot be opened: {error.strerror}") from None
        except DAMAGED_DATA_ERRORS as error:
            raise _damage(str(file), 0, error) from None
        if self.documents.is_full:
            yield self.documents.take()

    def _read_bags(self, raw: IO[bytes], file: Path) -> Iterator[DocumentBatch]:
        """Read bags of words in the authors' format."""
        dictionaries = twtm.Dictionaries.read(file, self.options.dictionary_files)
        if self.documents.has_documents:
            yield self.documents.take()
        bags: list[twtm.Bag] = []
        size = number = 0
        try:
            for number, bag in twtm.bags(self._lines(raw, file), dictionaries):
                if isinstance(bag, BadRow):
                    self.errors.add(f"{file}, line {number}", str(bag))
                    continue
                bags.append(bag)
                size += sum(bag.counts)
                if len(bags) >= BATCH_ROWS or size >= BATCH_CHARACTERS:
                    yield self._batch_of_bags(bags, dictionaries)
                    bags, size = [], 0
        except ReadError as error:
            raise _with_name(error, str(file)) from None
        except DAMAGED_DATA_ERRORS as error:
            raise _damage(str(file), number, error) from None
        yield self._batch_of_bags(bags, dictionaries)

    def _batch_of_bags(self, bags: list[twtm.Bag], dictionaries: twtm.Dictionaries) -> DocumentBatch:
        first = self.documents.n_documents
        self.documents.n_documents += len(bags)
        return DocumentBatch(
            texts=[],
            tags=[bag.tags for bag in bags],
            ids=[str(first + i) for i in range(len(bags))],
            tokens=twtm.tokens_of(bags, dictionaries),
        )

    def _read_columnar(self, file: Path, kind: str, size: int) -> Iterator[DocumentBatch]:
        open_table = COLUMNAR[kind]
        with ExitStack() as stack:
            plain = file
            if file.suffix.lower() in COMPRESSION_SUFFIXES:  # these formats need random access
                plain = stack.enter_context(TemporaryFolder()) / "table"
                _unpack(file, plain)
            try:
                yield from self._read_table(open_table(plain), str(file), size)
            except ReadError as error:
                raise ReadError(str(error).replace(str(plain), str(file))) from None

    def _read_frame(self, table: tables.Table) -> Iterator[DocumentBatch]:
        yield from self._read_table(table, None)
        yield self.documents.take()

    def _read_table(self, table: tables.Table, name: str | None, size: int = 0) -> Iterator[DocumentBatch]:
        columns = self.documents.expect(table.columns, name or "the table")
        place = "row" if name is None else f"{name}, row"
        for (number, record), share in table.records(columns):
            self.documents.add(record, f"{place} {number}")
            if self.documents.is_full:
                self._progress.read(self._bytes_done + int(size * share))
                yield self.documents.take()


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise ReadError("standard input is closed: there is nothing to read from it")
    return sys.stdin.buffer


def _is_standard_input(source: Any) -> bool:
    return isinstance(source, str) and source == "-"


def _is_list_of_paths(source: Any) -> bool:
    return isinstance(source, list | tuple) and bool(source) and all(map(_is_path, source))


def _is_path(source: Any) -> bool:
    return isinstance(source, str | PathLike)


def _unpack(file: Path, plain: Path) -> None:
    try:
        with file.open("rb") as raw, decompressed(raw, file) as packed, plain.open("wb") as target:
            shutil.copyfileobj(packed, target, UNPACK_BUFFER)
    except DAMAGED_DATA_ERRORS as error:
        raise _damage(str(file), 0, error) from None


def _with_name(error: ReadError, name: str) -> ReadError:
    return error if name in str(error) else ReadError(f"{name}, {error}")


def _damage(name: str, number: int, error: BaseException) -> ReadError:
    reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    where = f" after line {number}" if number else ""  # none if the first line, or what was read ahead, is damaged
    return ReadError(f"{name} cannot be read{where}: it is damaged or cut off ({reason})")
