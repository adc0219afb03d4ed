"""Public multi-label data sets: ARFF as of Mulan and MEKA, and the text format of extreme classification.

Extreme classification: a first line ``documents words tags``, then a line ``tag,tag word:value word:value`` for each
document, all numbers counted from 0. The names of words and tags are in files of their own if there are any.

ARFF: ``@attribute`` lines, then ``@data`` with dense rows or sparse ones, ``{column value, column value}``. Which
attributes are tags is in the XML file beside it (Mulan) or in the name of the relation (MEKA: ``-C n``, the first n
attributes; negative: the last).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import scipy.sparse as sp

from tagtopic.corpus.corpus import Corpus
from tagtopic.corpus.reading.errors import BadRow, ReadError, RowErrors
from tagtopic.corpus.reading.lines import Lines
from tagtopic.corpus.reading.sources import DAMAGED_DATA_ERRORS, decompressed

FORMATS = ("arff", "extreme")
MAX_COLUMN = 100_000_000


@dataclass
class _Rows:
    """Documents as they are read: words with values, and tags, both by number."""

    word_starts: list[int] = field(default_factory=lambda: [0])
    words: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    tag_starts: list[int] = field(default_factory=lambda: [0])
    tags: list[int] = field(default_factory=list)

    def add(self, entries: dict[int, float], tags: set[int]) -> None:
        """Add a document."""
        kept = {word: value for word, value in entries.items() if value}
        self.words += kept.keys()
        self.values += kept.values()
        self.tags += sorted(tags)
        self.word_starts.append(len(self.words))
        self.tag_starts.append(len(self.tags))


def read_multilabel(
    path: Path, kind: str, dictionaries: tuple[Path, Path] | None, errors: RowErrors, encoding: str | None
) -> Corpus:
    """Read one file.

    Parameters
    ----------
    path : Path
        The file, which may be compressed.
    kind : {"arff", "extreme"}
        Its format.
    dictionaries : (Path, Path) or None
        The files with the names of words and tags, a line each, of the format "extreme".
    errors : RowErrors
        Receives bad rows.
    encoding : str or None
        The encoding of the text.

    Returns
    -------
    Corpus
        The documents; counts are fractional if values are.

    Raises
    ------
    ReadError
        If the file is damaged or of another format.
    """
    try:
        with path.open("rb") as raw:
            lines = Lines(decompressed(raw, path), encoding)
            read = _read_arff if kind == "arff" else _read_extreme
            try:
                rows, words, tags = read(lines, path, dictionaries, errors)
            except BadRow as bad:
                raise ReadError(f"{path}, line {lines.number}: {bad}") from None
    except DAMAGED_DATA_ERRORS as error:
        raise ReadError(f"{path} cannot be read: {error}") from None
    shape = len(rows.word_starts) - 1
    values = np.array(rows.values, np.float64)
    fractional = bool((values % 1).any())
    counts = sp.csr_array(
        (values if fractional else values.astype(np.int64), np.array(rows.words, np.int64), rows.word_starts),
        shape=(shape, len(words)),
    )
    counts.sort_indices()
    entries = np.ones(len(rows.tags), np.int8), np.array(rows.tags, np.int64), rows.tag_starts
    own = sp.csr_array(entries, shape=(shape, len(tags)))
    return Corpus.from_counts(counts, own, words=words, tag_names=tags, fractional=fractional)


def _read_extreme(
    lines: Lines, path: Path, dictionaries: tuple[Path, Path] | None, errors: RowErrors
) -> tuple[_Rows, list[str], list[str]]:
    header = next(lines, "").split()
    if len(header) != 3 or not all(part.isascii() and part.isdigit() for part in header):
        raise BadRow("expected three whole numbers: those of documents, words and tags")
    n_documents, n_words, n_tags = (int(part) for part in header)
    if max(n_words, n_tags) > MAX_COLUMN:
        raise BadRow(f"it has more than {MAX_COLUMN:,} words or tags")
    words, tags = _numbers(n_words), _numbers(n_tags)
    if dictionaries is not None:
        words, tags = _names(dictionaries[0], n_words), _names(dictionaries[1], n_tags)
    rows, n_bad = _Rows(), 0
    for line in _data(lines, path, errors):
        if isinstance(line, BadRow):
            n_bad += 1
            continue
        try:
            own, _, rest = line.partition(" ") if not line[:1].isspace() else ("", "", line)
            if ":" in own:  # without tags
                own, rest = "", line
            numbers = {_number(part, n_tags, "tag") for part in own.split(",") if part.strip()}
            rows.add(dict(_pair(part, n_words) for part in rest.split()), numbers)
        except BadRow as bad:
            errors.add(f"{path}, line {lines.number}", str(bad))
            n_bad += 1
    n = len(rows.word_starts) - 1 + n_bad
    if n != n_documents:
        raise ReadError(f"{path} is cut off or damaged: it says {n_documents:,} documents and has {n:,}")
    return rows, words, tags


def _data(lines: Lines, path: Path, errors: RowErrors) -> Iterator[str | BadRow]:
    while True:
        try:
            line = next(lines)
            if line.strip():
                yield line
        except StopIteration:
            return
        except BadRow as bad:
            errors.add(f"{path}, line {lines.number}", str(bad))
            yield bad


def _pair(part: str, n_words: int) -> tuple[int, float]:
    word, colon, value = part.partition(":")
    if not colon:
        raise BadRow(f"has {part!r:.50} where word:value belongs")
    return _number(word, n_words, "word"), _value(value)


def _number(part: str, limit: int, what: str) -> int:
    plain = part.strip()
    if not (plain.isascii() and plain.isdigit() and len(plain) < 10) or int(plain) >= limit:
        raise BadRow(f"has {plain!r:.50} where a {what} from 0 to {limit - 1} belongs")
    return int(plain)


def _value(part: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise BadRow(f"has {part!r:.50} where a number from 0 belongs")
    return value


def _numbers(n: int) -> list[str]:
    return [str(i) for i in range(n)]


def _names(path: Path, n: int) -> list[str]:
    """Return the names in a file; repeated ones get their number added, so that columns stay apart."""
    try:
        names = [" ".join(line.split()) for line in path.read_text("utf-8").splitlines()]
    except UnicodeDecodeError:
        raise ReadError(f"{path}: it is not UTF-8") from None
    if len(names) != n:
        raise ReadError(f"{path} has {len(names):,} names, the documents {n:,}")
    seen: set[str] = set()
    for i, name in enumerate(names):
        names[i] = f"{name} ({i})" if not name or name in seen else name
        seen.add(names[i])
    return names


# ---- ARFF

_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""", re.IGNORECASE)
_CLASSES = re.compile(r"-C\s+(-?\d+)")


@dataclass
class _Attribute:
    name: str
    values: list[str] | None  # of a nominal attribute

    def value(self, cell: str) -> float:
        """Return a cell as a number: nominal ones must be numbers too, such as {0,1}."""
        cell = cell.strip().strip("'\"")
        if cell == "?":
            return 0.0
        if self.values is not None and cell not in self.values:
            raise BadRow(f"has {cell!r:.50} where one of {', '.join(self.values)[:100]} belongs, in {self.name!r:.50}")
        return _value(cell)


def _read_arff(
    lines: Lines, path: Path, _: tuple[Path, Path] | None, errors: RowErrors
) -> tuple[_Rows, list[str], list[str]]:
    attributes: list[_Attribute] = []
    relation = ""
    for line in lines:
        plain = line.strip()
        lower = plain.lower()
        if lower.startswith("@data"):
            break
        if lower.startswith("@relation"):
            relation = plain
        elif lower.startswith("@attribute"):
            attributes.append(_attribute(plain))
        elif plain and not plain.startswith("%"):
            raise BadRow(f"has {plain!r:.50} where @attribute or @data belongs")
    else:
        raise ReadError(f"{path} is no ARFF file: it has no @data")
    tags = _tag_columns(attributes, relation, path)
    word_of = {column: i for i, column in enumerate(c for c in range(len(attributes)) if c not in tags)}
    tag_of = {column: i for i, column in enumerate(sorted(tags))}
    rows = _Rows()
    for row in _data(lines, path, errors):
        if isinstance(row, BadRow) or row.lstrip().startswith("%"):
            continue
        try:
            cells = _cells(row.strip(), attributes)
        except BadRow as bad:
            errors.add(f"{path}, line {lines.number}", str(bad))
            continue
        rows.add(
            {word_of[column]: value for column, value in cells.items() if column in word_of},
            {tag_of[column] for column, value in cells.items() if column in tag_of and value},
        )
    return rows, [attributes[c].name for c in word_of], [attributes[c].name for c in tag_of]


def _attribute(line: str) -> _Attribute:
    found = _ATTRIBUTE.fullmatch(line)
    if found is None:
        raise BadRow("has no name and type after @attribute")
    name, kind = found[1].strip("'\"").replace("\\", ""), found[2].strip()
    if kind.startswith("{") and kind.endswith("}"):
        return _Attribute(name, [value.strip().strip("'\"") for value in kind[1:-1].split(",")])
    if kind.lower().split()[:1] not in (["numeric"], ["real"], ["integer"]):
        raise BadRow(f"has an attribute of type {kind!r:.50}: words and tags are numeric, or nominal such as {{0,1}}")
    return _Attribute(name, None)


def _tag_columns(attributes: list[_Attribute], relation: str, path: Path) -> set[int]:
    beside = path.with_name(path.name.partition(".arff")[0] + ".xml")
    candidates = [beside, path.with_name(re.sub(r"[-_.]?(train|test)$", "", beside.stem) + ".xml")]
    for file in candidates:
        if file.is_file():
            return _xml_columns(file, attributes)
    found = _CLASSES.search(relation)
    n = int(found[1]) if found else 0
    if not 0 < abs(n) < len(attributes):
        raise ReadError(
            f"{path} does not say which attributes are tags: expected {beside.name} beside it, or -C and their number "
            "in the name of the relation"
        )
    columns = range(len(attributes))
    return set(columns[:n] if n > 0 else columns[n:])


def _xml_columns(file: Path, attributes: list[_Attribute]) -> set[int]:
    try:
        root = ElementTree.fromstring(file.read_bytes())
    except ElementTree.ParseError as error:
        raise ReadError(f"{file}: it is not XML: {error}") from None
    names = [node.get("name", "") for node in root.iter() if str(node.tag).rpartition("}")[2] == "label"]
    column = {attribute.name: number for number, attribute in enumerate(attributes)}
    unknown = [name for name in names if name not in column]
    if unknown or not names:
        what = f"the label {unknown[0]!r:.50} is no attribute" if unknown else "it has no label"
        raise ReadError(f"{file}: {what}")
    return {column[name] for name in names}


def _cells(line: str, attributes: list[_Attribute]) -> dict[int, float]:
    if line.startswith("{"):
        if not line.endswith("}"):
            raise BadRow("has no closing brace")
        found: dict[int, float] = {}
        for part in filter(None, (part.strip() for part in line[1:-1].split(","))):
            number, _, cell = part.partition(" ")
            column = _number(number, len(attributes), "column")
            found[column] = attributes[column].value(cell)
        return found
    cells: list[Any] = next(csv.reader([line], quotechar="'", skipinitialspace=True))
    if len(cells) != len(attributes):
        raise BadRow(f"has {len(cells):,} values for {len(attributes):,} attributes")
    return {column: attributes[column].value(cell) for column, cell in enumerate(cells)}
