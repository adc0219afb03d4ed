"""The format of the paper's authors: a line `n tag … @ n word:count …` of numbers, and dictionaries of their names.

Line i of `words.txt` and `tags.txt`, counted from 0, has the name of number i. Some names in the authors' files end in
a no-break space, and one consists of it: names are stripped, words with the same name are one word, blank ones dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tagtopic._core.arrays import offsets_of
from tagtopic._core.strings import StringArray
from tagtopic.corpus.reading.errors import BadRow, ReadError
from tagtopic.corpus.reading.lines import Lines
from tagtopic.corpus.reading.sources import DAMAGED_DATA_ERRORS, decompressed
from tagtopic.corpus.text.tokenizer import Tokens

MAX_TOKENS = 10_000_000  # in one document: beyond it a count is an error


@dataclass(frozen=True)
class Dictionaries:
    """The names of words and tags by number."""

    words: StringArray
    blank_words: frozenset[int]
    tags: list[str]

    @classmethod
    def read(cls, path: Path, given: tuple[Path, Path] | None) -> Dictionaries:
        """Read the given files, or those beside a file of documents."""
        words, tags = given or (path.parent / "words.txt", path.parent / "tags.txt")
        names = _names(words)
        blank = frozenset(i for i, name in enumerate(names) if not name)
        return cls(StringArray.of(names), blank, _names(tags))


def _names(path: Path) -> list[str]:
    if not path.is_file():
        raise FileNotFoundError(
            f"the dictionary {path} is missing: this format needs words.txt and tags.txt beside the documents, or "
            "dictionaries=(words, tags)"
        )
    names: list[str] = []
    try:
        with path.open("rb") as raw:
            names.extend(" ".join(line.split()) for line in Lines(decompressed(raw, path)))
    except BadRow as bad:
        raise ReadError(f"{path}, line {len(names) + 1}: {bad}") from None
    except DAMAGED_DATA_ERRORS as error:
        raise ReadError(f"{path} cannot be read: {error}") from None
    return names


@dataclass(frozen=True)
class Bag:
    """A document: the numbers of its words, their counts, and its tags by name."""

    words: list[int]
    counts: list[int]
    tags: list[str]


def bags(lines: Lines, dictionaries: Dictionaries) -> Iterator[tuple[int, Bag | BadRow]]:
    """Yield the documents of a file, with their line numbers."""
    while True:
        try:
            line = next(lines)
            if not line.isspace():
                yield lines.number, _bag(line, dictionaries)
        except StopIteration:
            return
        except BadRow as bad:
            yield lines.number, bad


def _bag(line: str, dictionaries: Dictionaries) -> Bag:
    left, at, right = line.partition("@")
    if not at:
        raise BadRow('has no "@" between tags and words')
    tags = [_number(field, len(dictionaries.tags), "tag") for field in _fields(left, "tags")]
    words: list[int] = []
    counts: list[int] = []
    for field in _fields(right, "words"):
        word, colon, count = field.partition(":")
        if not colon:
            raise BadRow(f"has {field!r:.50} where word:count belongs")
        times = _number(count, MAX_TOKENS, "count")
        number = _number(word, len(dictionaries.words), "word")
        if number not in dictionaries.blank_words:
            words.append(number)
            counts.append(times)
    if sum(counts) > MAX_TOKENS:
        raise BadRow(f"has more than {MAX_TOKENS:,} words")
    names = (dictionaries.tags[tag] for tag in tags)
    return Bag(words, counts, [name for name in names if name])


def _fields(part: str, what: str) -> list[str]:
    fields = part.split()
    if not fields or not _is_number(fields[0]) or int(fields[0]) != len(fields) - 1:
        raise BadRow(f"says {' '.join(fields[:1]) or 'nothing'!r:.20} but has {max(len(fields) - 1, 0)} {what}")
    return fields[1:]


def _number(field: str, limit: int, what: str) -> int:
    if not _is_number(field) or int(field) >= limit:
        raise BadRow(f"has {field!r:.50} where a {what} from 0 to {limit - 1} belongs")
    return int(field)


def _is_number(field: str) -> bool:
    return field.isascii() and field.isdigit() and len(field) < 10


def tokens_of(documents: list[Bag], dictionaries: Dictionaries) -> Tokens:
    """Return the words of documents as tokens, as if their texts had been tokenized."""
    lengths = np.fromiter((sum(bag.counts) for bag in documents), dtype=np.int64, count=len(documents))
    words = np.fromiter((word for bag in documents for word in bag.words), dtype=np.int32)
    counts = np.fromiter((count for bag in documents for count in bag.counts), dtype=np.int64)
    hashes = dictionaries.words.hashes()
    return Tokens(offsets_of(lengths), np.repeat(words, counts), dictionaries.words, hashes)
