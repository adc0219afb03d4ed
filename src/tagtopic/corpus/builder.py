"""Rows of text, tags and ids become a corpus in two steps, in bounded memory.

First every text becomes numbered words, appended to a growing stream (a file once it is large), while the
different words and their frequencies are gathered. Then the vocabulary is chosen, and the stream is
counted block by block into the final matrices, in memory or straight into the folder of a saved corpus.

Documents on their way into a corpus, in batches.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import offsets_of
from tagtopic._core.files import atomic_folder
from tagtopic._core.memmap import ArrayFile, GrowingArray
from tagtopic._core.strings import StringArray, StringTable
from tagtopic._core.threads import effective_n_jobs
from tagtopic.corpus import matrices, storage, vocabulary
from tagtopic.corpus import vocabulary as columns
from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.text import phrases
from tagtopic.corpus.text.rules import TagRules, TextRules
from tagtopic.corpus.text.tokenizer import Tokens, tokenize, tokens_of_lists
from tagtopic.corpus.vocabulary import Columns, KnownWords, Stream

BATCH_CHARACTERS = 1 << 21  # of text tokenized at a time: several batches are in memory at once
BATCH_ROWS = 1 << 13
SPILL_AT = 64 << 20
"""Bytes of an array from which on it is kept in a file."""


@dataclass(frozen=True)
class Rows:
    """Some documents in a row: their texts (or words), the tags of each, and their ids."""

    texts: list[str]
    tags: list[list[str]]
    ids: list[str]
    tokens: Tokens | None = None  # instead of texts, from sources whose words are numbers already


def rows_of_texts(texts: Iterable[Any], *, phrases: bool = False) -> Iterator[Rows]:
    """Texts in memory as batches, or lists of words; None, and what data frames put in its place, count as empty."""
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
            size >= BATCH_CHARACTERS or len(batch) >= BATCH_ROWS or isinstance(text, str) != isinstance(batch[0], str)
        ):
            yield _untagged(batch, done, phrases)
            done += len(batch)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield _untagged(batch, done, phrases)


def is_words(document: Any) -> bool:
    """Whether it is a text that was cut into words before."""
    return isinstance(document, list | tuple) and all(isinstance(word, str) for word in document)


def is_missing(text: Any) -> bool:
    """Whether it is None, or the NaN or NA that data frames put in its place."""
    if isinstance(text, str):
        return False
    return text is None or (isinstance(text, float) and text != text) or type(text).__name__ == "NAType"


def _untagged(texts: list[Any], first: int, phrases: bool) -> Rows:
    tags: list[list[str]] = [[] for _ in texts]
    ids = [str(first + i) for i in range(len(texts))]
    if isinstance(texts[0], str):
        return Rows(texts, tags, ids)
    return Rows([], tags, ids, tokens_of_lists(texts, phrases=phrases))


T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Plan:
    """How a corpus is built: the rules, a fixed vocabulary if there is one, and how many threads (None: all cores)."""

    rules: TextRules = field(default_factory=TextRules)
    tag_rules: TagRules = field(default_factory=TagRules)
    words: KnownWords | None = None
    n_jobs: int | None = None
    keep_texts: bool = False

    @property
    def threads(self) -> int:
        """How many threads work."""
        return effective_n_jobs(self.n_jobs)


def build(
    rows: Iterable[Rows],
    plan: Plan,
    to: Path | None = None,
    *,
    spill_at: int = SPILL_AT,
    tell: Callable[[int, int], object] | None = None,
) -> Corpus:
    """The corpus of these rows; with `to` it is saved there, whole or not at all, and opened memory-mapped.

    `tell` hears, once all rows are read, how many words of how many are counted.
    """
    tell = tell or (lambda n_words, total: None)
    if to is None:
        with tempfile.TemporaryDirectory(prefix="tagtopic-", ignore_cleanup_errors=True) as temporary:
            # what has gone to files stays mapped when their names are gone, and vanishes with the corpus
            return _build(rows, plan, Path(temporary), Path(temporary), spill_at, tell)
    with atomic_folder(to, marker=storage.MARKER) as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        corpus = _build(rows, plan, scratch, folder, 0, tell)
        shutil.rmtree(scratch)
        storage.write_names(folder, corpus.words, corpus.tag_names)
        storage.write_marker(folder, corpus)
    return Corpus.open(to).with_texts(corpus.texts)


def _build(
    rows: Iterable[Rows], plan: Plan, scratch: Path, folder: Path, spill_at: int, tell: Callable[[int, int], object]
) -> Corpus:
    with ExitStack() as files:
        gathered = _Gathered(plan, scratch, spill_at or SPILL_AT, files)
        for batch, tokens in _tokenized(rows, plan):
            gathered.add(batch, tokens)
        output = {
            name: files.enter_context(GrowingArray(folder / f"{name}.npy", kind, spill_at=spill_at))
            for name, kind in storage.ARRAYS.items()
        }
        vocabulary = _write_counts(gathered, plan, output, tell)
        tag_names = _write_tags(gathered, plan, output)
        offsets, data = gathered.ids.finish_for_reading()
        output["ids.offsets"].append(offsets)
        for start in range(0, len(data), columns.BLOCK):
            output["ids.bytes"].append(data[start : start + columns.BLOCK])
        arrays = {name: array.finish() for name, array in output.items()}
        texts = gathered.kept_texts()
    counts, tags = (
        matrices.csr(arrays[f"{m}.indptr"], arrays[f"{m}.indices"], arrays[f"{m}.data"], n)
        for m, n in (("counts", len(vocabulary.words)), ("tags", len(tag_names)))
    )
    return Corpus(
        counts=counts,
        tags=tags,
        words=vocabulary.words,
        tag_names=tag_names,
        ids=StringArray(arrays["ids.offsets"], arrays["ids.bytes"]),
        rules=vocabulary.rules,
        texts=texts,
    )


def _tokenized(rows: Iterable[Rows], plan: Plan) -> Iterator[tuple[Rows, Tokens]]:
    def work(batch: Rows) -> tuple[Rows, Tokens]:
        return batch, batch.tokens or tokenize(batch.texts, plan.rules)

    # a function that people gave may not be safe in threads
    return in_order(work, rows, 1 if plan.rules.tokenizer is not None else plan.threads)


def in_order(work: Callable[[T], R], items: Iterable[T], n_threads: int) -> Iterator[R]:
    """Like `map`, in threads if more than one, taking items only a little ahead of results."""
    if n_threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _GrowingRows:
    """Rows of different lengths that are appended to."""

    def __init__(self, name: str, dtype: Any, scratch: Path, spill_at: int, files: ExitStack) -> None:
        self._values = files.enter_context(GrowingArray(scratch / f"{name}.npy", dtype, spill_at=spill_at))
        self._lengths = files.enter_context(GrowingArray(scratch / f"{name}-lengths.npy", np.int64, spill_at=spill_at))

    def append(self, values: NDArray[Any], lengths: NDArray[Any]) -> None:
        self._values.append(values)
        self._lengths.append(lengths)

    def finish(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        return offsets_of(self._lengths.finish()), self._values.finish()

    def finish_for_reading(self) -> tuple[NDArray[np.int64], NDArray[Any] | ArrayFile]:
        return offsets_of(self._lengths.finish()), self._values.finish_for_reading()


class _Gathered:
    """Everything known of the rows once all are read, before a vocabulary is chosen."""

    def __init__(self, plan: Plan, scratch: Path, spill_at: int, files: ExitStack) -> None:
        self.table = StringTable()
        self.frequencies = vocabulary.Frequencies()
        self.tag_numbers: dict[str, int] = {}
        self._tag_rules = plan.tag_rules
        self.words = _GrowingRows("words", np.int32, scratch, spill_at, files)
        self.tags = _GrowingRows("tags", np.int32, scratch, spill_at, files)
        self.ids = _GrowingRows("ids", np.uint8, scratch, spill_at, files)
        self._texts = _GrowingRows("texts", np.uint8, scratch, spill_at, files) if plan.keep_texts else None
        self._has_texts = False

    def add(self, rows: Rows, tokens: Tokens) -> None:
        numbers = np.append(self.table.add(tokens.words, tokens.hashes), np.int32(-1))  # so that a gap, -1, stays -1
        ids = numbers[tokens.ids]
        self.frequencies.add(tokens.offsets, ids, len(self.table))
        self.words.append(ids, np.diff(tokens.offsets))
        tags = [self._numbered(row) for row in rows.tags]
        flat = np.fromiter((tag for row in tags for tag in row), dtype=np.int32)
        self.tags.append(flat, np.fromiter(map(len, tags), dtype=np.int64, count=len(tags)))
        names = StringArray.of(rows.ids)
        self.ids.append(names.data, np.diff(names.offsets))
        if self._texts is not None:
            self._has_texts |= rows.tokens is None
            texts = StringArray.of(rows.texts or [""] * len(rows.ids), errors="replace")
            self._texts.append(texts.data, np.diff(texts.offsets))

    def kept_texts(self) -> StringArray | None:
        """Return the texts if they are to be kept and there are any: documents may be given as counts or words."""
        return StringArray(*self._texts.finish()) if self._texts is not None and self._has_texts else None

    def _numbered(self, tags: list[str]) -> set[int]:
        """The numbers of a document's tags, each once, without those that the rules drop."""
        numbers = self.tag_numbers
        for tag in tags:
            if tag not in numbers:
                numbers[tag] = len(numbers) if self._tag_rules.keeps(tag) else -1
        row = {numbers[tag] for tag in tags}
        row.discard(-1)
        return row


def _write_counts(
    gathered: _Gathered, plan: Plan, output: dict[str, GrowingArray], tell: Callable[[int, int], object]
) -> Columns:
    stream = Stream(*gathered.words.finish_for_reading())
    if plan.words is not None:
        chosen = columns.given(plan.words, gathered.table, plan.rules)
    else:
        chosen = columns.chosen(stream, gathered.table, gathered.frequencies, plan.rules)

    def count(block: tuple[NDArray[np.int64], NDArray[np.int32]]) -> Sequence[NDArray[Any]]:
        return phrases.count_rows(*block, chosen.column, chosen.pairs)

    def told(blocks: Iterable[T]) -> Iterator[T]:
        total = int(stream.offsets[-1])
        for number, block in enumerate(blocks, 1):
            tell(min(number * columns.BLOCK, total), total)
            yield block

    _write_matrix(output, "counts", told(in_order(count, stream.blocks(), plan.threads)))
    return chosen


def _write_tags(gathered: _Gathered, plan: Plan, output: dict[str, GrowingArray]) -> tuple[str, ...]:
    stream = Stream(*gathered.tags.finish_for_reading())
    numbers = gathered.tag_numbers
    documents = np.zeros(len(numbers), dtype=np.int64)
    for _, ids in stream.blocks():
        documents += np.bincount(ids, minlength=len(numbers))
    enough = max(1, plan.tag_rules.min_tag_documents)
    kept = sorted(tag for tag, number in numbers.items() if number >= 0 and documents[number] >= enough)
    column = np.full(len(numbers), -1, dtype=np.int32)
    column[[numbers[tag] for tag in kept]] = np.arange(len(kept))
    _write_matrix(output, "tags", (phrases.count_rows(*block, column) for block in stream.blocks()))
    return tuple(kept)


def _write_matrix(output: dict[str, GrowingArray], name: str, blocks: Iterable[Sequence[NDArray[Any]]]) -> None:
    written = 0
    output[f"{name}.indptr"].append(np.zeros(1, dtype=np.int64))
    for offsets, column, data in blocks:
        output[f"{name}.indptr"].append(offsets[1:] + written)
        output[f"{name}.indices"].append(column)
        output[f"{name}.data"].append(data)
        written += int(offsets[-1])
