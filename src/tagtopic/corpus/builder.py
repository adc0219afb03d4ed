"""Documents become a corpus in two passes and bounded memory.

The first pass tokenizes batches of documents and appends their word numbers to a growing array (a file once it is
large), while distinct words and their frequencies are gathered. Then the vocabulary is selected, and the second pass
counts the words block by block into the final matrices, in memory or in the folder of a saved corpus.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import offsets_of
from tagtopic._core.files import TemporaryFolder, atomic_folder
from tagtopic._core.memmap import ArrayFile, GrowingArray
from tagtopic._core.parallel import effective_n_jobs, imap
from tagtopic._core.strings import StringArray, StringTable
from tagtopic.corpus import matrices, storage
from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.text import phrases
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.text.titles import first_words, titles_of
from tagtopic.corpus.text.tokenizer import EncodedTexts, Tokens, tokenize, tokens_of_lists
from tagtopic.corpus.vocabulary import (
    BLOCK_TOKENS,
    ColumnIndex,
    FixedVocabulary,
    Frequencies,
    TokenStream,
    index_columns,
    select_columns,
)

BATCH_CHARACTERS = 1 << 21  # of text tokenized at a time: several batches are in memory at once
BATCH_ROWS = 1 << 13
SPILL_AT = 64 << 20
"""Bytes of an array from which on it is kept in a file."""

COPY_BLOCK = 1 << 22
"""Bytes of ids or titles copied at a time."""

OnProgress = Callable[[int, int], object]
"""Called with the number of tokens counted and the number of all tokens."""


@dataclass(frozen=True)
class DocumentBatch:
    """Consecutive documents: their texts, the tags of each, and their ids.

    `tokens` stands in place of `texts` for sources that have words, not texts. Without `titles`, the first words of a
    text stand for its title.
    """

    texts: list[str]
    tags: list[list[str]]
    ids: list[str]
    tokens: Tokens | None = None
    titles: list[str] | None = None


def batches_of_texts(
    texts: Iterable[Any], *, phrases: bool = False, batch_rows: int = BATCH_ROWS
) -> Iterator[DocumentBatch]:
    """Yield batches of texts or lists of words; None, and the missing values of data frames, are empty texts."""
    if isinstance(texts, str):
        raise TypeError(f"texts is one string, {texts[:50]!r}: expected a list of texts, one a document")
    batch: list[Any] = []
    size = done = 0
    for i, given in enumerate(texts):
        text = "" if is_missing(given) else given
        if not isinstance(text, str) and not is_words(text):
            raise TypeError(
                f"the text of document {i} is {text!r:.50}, a {type(text).__name__}: expected a string or words"
            )
        if batch and (
            size >= BATCH_CHARACTERS or len(batch) >= batch_rows or isinstance(text, str) != isinstance(batch[0], str)
        ):
            yield _untagged_batch(batch, done, phrases)
            done += len(batch)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield _untagged_batch(batch, done, phrases)


def is_words(document: Any) -> bool:
    """Whether a document is a list of words."""
    return isinstance(document, list | tuple) and all(isinstance(word, str) for word in document)


def is_missing(text: Any) -> bool:
    """Whether a value is None, or the NaN or NA by which data frames represent missing values."""
    if isinstance(text, str):
        return False
    return text is None or (isinstance(text, float) and text != text) or type(text).__name__ == "NAType"


def _untagged_batch(texts: list[Any], first: int, phrases: bool) -> DocumentBatch:
    tags: list[list[str]] = [[] for _ in texts]
    ids = [str(first + i) for i in range(len(texts))]
    if isinstance(texts[0], str):
        return DocumentBatch(texts, tags, ids)
    return DocumentBatch([], tags, ids, tokens_of_lists(texts, phrases=phrases))


@dataclass(frozen=True)
class CorpusBuilder:
    """Builds corpora from batches of documents.

    Parameters
    ----------
    rules, tag_rules : TextRules, TagRules
        How texts become words, and which words and tags are kept.
    vocabulary : FixedVocabulary, default=None
        Words to use; None: they are selected by the rules.
    n_jobs : int, default=None
        Threads; None: all cores. The result does not depend on it.
    keep_texts : bool, default=False
        Whether the corpus keeps its texts.
    spill_at : int, default=64 MiB
        Bytes of an array from which on it is kept in a file.
    block_tokens : int
        Tokens counted at a time.
    """

    rules: TextRules = field(default_factory=TextRules)
    tag_rules: TagRules = field(default_factory=TagRules)
    vocabulary: FixedVocabulary | None = None
    n_jobs: int | None = None
    keep_texts: bool = False
    spill_at: int = SPILL_AT
    block_tokens: int = BLOCK_TOKENS

    def build(
        self, batches: Iterable[DocumentBatch], to: Path | None = None, *, on_progress: OnProgress | None = None
    ) -> Corpus:
        """Return the corpus of these documents; with `to` it is saved there, atomically, and opened memory-mapped.

        `on_progress` is called during the second pass, when all batches are consumed.
        """
        on_progress = on_progress or (lambda n_tokens, total: None)
        if to is None:
            with TemporaryFolder() as temporary:
                # deleted files stay mapped, and vanish with the corpus
                return self._build(batches, temporary, temporary, self.spill_at, on_progress)
        with atomic_folder(to, marker=storage.MARKER) as folder:
            scratch = folder / "scratch"
            scratch.mkdir()
            corpus = self._build(batches, scratch, folder, 0, on_progress)
            shutil.rmtree(scratch)
            storage.write_names(folder, corpus.words, corpus.tag_names)
            storage.write_marker(folder, corpus)
        return Corpus.open(to).with_texts(corpus.texts)

    def _build(
        self, batches: Iterable[DocumentBatch], scratch: Path, folder: Path, spill_at: int, on_progress: OnProgress
    ) -> Corpus:
        with ExitStack() as files:
            first_pass = _FirstPass(self, scratch, files)
            for batch, tokens, titles in self._tokenized(batches):
                first_pass.add(batch, tokens, titles)
            output = {
                name: files.enter_context(GrowingArray(folder / f"{name}.npy", kind, spill_at=spill_at))
                for name, kind in (storage.ARRAYS | (storage.TITLES if first_pass.has_titles else {})).items()
            }
            columns = self._write_counts(first_pass, output, on_progress)
            tag_names = self._write_tags(first_pass, output)
            _write_strings(first_pass.ids, "ids", output)
            if first_pass.has_titles:
                _write_strings(first_pass.titles, "titles", output)
            arrays = {name: array.finish() for name, array in output.items()}
            texts = first_pass.kept_texts()
        counts, tags = (
            matrices.csr(arrays[f"{m}.indptr"], arrays[f"{m}.indices"], arrays[f"{m}.data"], n)
            for m, n in (("counts", len(columns.words)), ("tags", len(tag_names)))
        )
        return Corpus(
            counts=counts,
            tags=tags,
            words=columns.words,
            tag_names=tag_names,
            ids=StringArray(arrays["ids.offsets"], arrays["ids.bytes"]),
            rules=columns.rules,
            texts=texts,
            titles=StringArray(arrays["titles.offsets"], arrays["titles.bytes"]) if first_pass.has_titles else None,
        )

    def _tokenized(self, batches: Iterable[DocumentBatch]) -> Iterator[tuple[DocumentBatch, Tokens, StringArray]]:
        strip = self.rules.markup == "strip"

        def work(batch: DocumentBatch) -> tuple[DocumentBatch, Tokens, StringArray]:
            if batch.tokens is not None:
                titles = batch.titles or [""] * len(batch.ids)
                return batch, batch.tokens, StringArray.of(titles, errors="replace")
            encoded = None if self.rules.tokenizer is not None else EncodedTexts.of(batch.texts, strip=strip)
            return batch, tokenize(encoded or batch.texts, self.rules), _titles(batch, encoded, strip=strip)

        # a tokenizer given by the user may not be thread-safe
        return imap(work, batches, 1 if self.rules.tokenizer is not None else effective_n_jobs(self.n_jobs))

    def _write_counts(
        self, first_pass: _FirstPass, output: dict[str, GrowingArray], on_progress: OnProgress
    ) -> ColumnIndex:
        tokens = TokenStream(*first_pass.words.finish_for_reading(), self.block_tokens)
        if self.vocabulary is not None:
            columns = index_columns(self.vocabulary, first_pass.table, self.rules)
        else:
            columns = select_columns(tokens, first_pass.table, first_pass.frequencies, self.rules)

        def count(block: tuple[NDArray[np.int64], NDArray[np.int32]]) -> Sequence[NDArray[Any]]:
            return phrases.count_rows(*block, columns.column, columns.pairs)

        def counted() -> Iterator[Sequence[NDArray[Any]]]:
            total = int(tokens.offsets[-1])
            for number, block in enumerate(imap(count, tokens.blocks(), effective_n_jobs(self.n_jobs)), 1):
                on_progress(min(number * self.block_tokens, total), total)
                yield block

        _write_matrix(output, "counts", counted())
        return columns

    def _write_tags(self, first_pass: _FirstPass, output: dict[str, GrowingArray]) -> tuple[str, ...]:
        stream = TokenStream(*first_pass.tags.finish_for_reading(), self.block_tokens)
        numbers = first_pass.tag_numbers
        documents = np.zeros(len(numbers), dtype=np.int64)
        for _, ids in stream.blocks():
            documents += np.bincount(ids, minlength=len(numbers))
        enough = max(1, self.tag_rules.min_tag_documents)
        kept = sorted(tag for tag, number in numbers.items() if number >= 0 and documents[number] >= enough)
        column = np.full(len(numbers), -1, dtype=np.int32)
        column[[numbers[tag] for tag in kept]] = np.arange(len(kept))
        _write_matrix(output, "tags", (phrases.count_rows(*block, column) for block in stream.blocks()))
        return tuple(kept)


class _GrowingRows:
    """Ragged rows that are appended to."""

    def __init__(self, name: str, dtype: Any, scratch: Path, spill_at: int, files: ExitStack) -> None:
        self._values = files.enter_context(GrowingArray(scratch / f"{name}.npy", dtype, spill_at=spill_at))
        self._lengths = files.enter_context(GrowingArray(scratch / f"{name}-lengths.npy", np.int64, spill_at=spill_at))

    def append(self, values: NDArray[Any], lengths: NDArray[Any]) -> None:
        self._values.append(values)
        self._lengths.append(lengths)

    def append_strings(self, strings: StringArray) -> None:
        self.append(strings.data, np.diff(strings.offsets))

    def finish(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        return offsets_of(self._lengths.finish()), self._values.finish()

    def finish_for_reading(self) -> tuple[NDArray[np.int64], NDArray[Any] | ArrayFile]:
        return offsets_of(self._lengths.finish()), self._values.finish_for_reading()


class _FirstPass:
    """Numbered words and tags, ids, texts and word frequencies of all documents."""

    def __init__(self, builder: CorpusBuilder, scratch: Path, files: ExitStack) -> None:
        def rows(name: str, dtype: Any) -> _GrowingRows:
            return _GrowingRows(name, dtype, scratch, builder.spill_at, files)

        self.table = StringTable()
        self.frequencies = Frequencies()
        self.tag_numbers: dict[str, int] = {}
        self.words, self.tags, self.ids = rows("words", np.int32), rows("tags", np.int32), rows("ids", np.uint8)
        self.titles = rows("titles", np.uint8)
        self.has_titles = False
        self._tag_rules = builder.tag_rules
        self._texts = rows("texts", np.uint8) if builder.keep_texts else None
        self._has_texts = False

    def add(self, batch: DocumentBatch, tokens: Tokens, titles: StringArray) -> None:
        numbers = np.append(self.table.add(tokens.words, tokens.hashes), np.int32(-1))  # so that a gap, -1, stays -1
        ids = numbers[tokens.ids]
        self.frequencies.add(tokens.offsets, ids, len(self.table))
        self.words.append(ids, np.diff(tokens.offsets))
        tags = [self._number_tags(row) for row in batch.tags]
        flat = np.fromiter((tag for row in tags for tag in row), dtype=np.int32)
        self.tags.append(flat, np.fromiter(map(len, tags), dtype=np.int64, count=len(tags)))
        self.ids.append_strings(StringArray.of(batch.ids))
        self.has_titles |= len(titles.data) > 0
        self.titles.append_strings(titles)
        if self._texts is not None:
            self._has_texts |= batch.tokens is None
            texts = batch.texts if batch.tokens is None else [""] * len(batch.ids)
            self._texts.append_strings(StringArray.of(texts, errors="replace"))

    def _number_tags(self, tags: list[str]) -> set[int]:
        """Return the distinct numbers of a document's tags, without those that the rules drop."""
        numbers = self.tag_numbers
        for tag in tags:
            if tag not in numbers:
                numbers[tag] = len(numbers) if self._tag_rules.keeps(tag) else -1
        row = {numbers[tag] for tag in tags}
        row.discard(-1)
        return row

    def kept_texts(self) -> StringArray | None:
        """Return the texts if they are to be kept and at least one document was given as a text."""
        return StringArray(*self._texts.finish()) if self._texts is not None and self._has_texts else None


def _titles(batch: DocumentBatch, encoded: EncodedTexts | None, *, strip: bool) -> StringArray:
    """Return the titles, or the first words of texts where there is none."""
    if batch.titles is None:
        return titles_of(batch.texts, encoded, strip=strip)
    titles = [title or first_words(text, strip=strip) for title, text in zip(batch.titles, batch.texts, strict=True)]
    return StringArray.of(titles, errors="replace")


def _write_strings(rows: _GrowingRows, name: str, output: dict[str, GrowingArray]) -> None:
    offsets, data = rows.finish_for_reading()
    output[f"{name}.offsets"].append(offsets)
    for start in range(0, len(data), COPY_BLOCK):
        output[f"{name}.bytes"].append(data[start : start + COPY_BLOCK])


def _write_matrix(output: dict[str, GrowingArray], name: str, blocks: Iterable[Sequence[NDArray[Any]]]) -> None:
    written = 0
    output[f"{name}.indptr"].append(np.zeros(1, dtype=np.int64))
    for offsets, column, data in blocks:
        output[f"{name}.indptr"].append(offsets[1:] + written)
        output[f"{name}.indices"].append(column)
        output[f"{name}.data"].append(data)
        written += int(offsets[-1])
