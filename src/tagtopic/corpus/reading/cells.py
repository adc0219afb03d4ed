"""Values of cells, whatever their type, as texts, tags and ids."""

import ast
import datetime
import decimal
import re
import uuid
from typing import Any

from tagtopic.corpus.characters import PARAGRAPH_SEPARATOR
from tagtopic.corpus.reading.errors import BadRow

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
