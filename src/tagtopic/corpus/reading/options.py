"""The arguments of `Corpus.read`, listed once: the fields of `ReadOptions`, and the rules by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from os import PathLike
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from tagtopic.corpus.text.rules import TagRules, TextRules

P = ParamSpec("P")
R = TypeVar("R")

ON_ERROR = ("raise", "skip")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a source is read; `Corpus.read` documents each option. The columns are normalised to tuples."""

    text: str | Iterable[str] = "text"
    tags: str | Iterable[str] | None = None
    id: str | None = None
    tag_separator: str | None = None
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    dictionaries: tuple[str | PathLike[str], str | PathLike[str]] | None = None
    on_error: str = "raise"
    to: str | PathLike[str] | None = None
    words: Iterable[str] | None = None
    rules: TextRules | None = None
    tag_rules: TagRules | None = None
    n_jobs: int | None = None
    progress: bool | None = None
    keep_texts: bool = False

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise ValueError(f'on_error must be "raise" or "skip", not {self.on_error!r}')
        if self.tag_separator == "":
            raise ValueError("tag_separator is empty: give the string between tags, such as ';', or None")
        object.__setattr__(self, "text", _column_names(self.text))
        object.__setattr__(self, "tags", None if self.tags is None else _column_names(self.tags))

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns of texts."""
        return cast(tuple[str, ...], self.text)

    @property
    def tag_columns(self) -> tuple[str, ...] | None:
        """The columns of tags; None: the column `tags`, if there is one."""
        return cast(tuple[str, ...] | None, self.tags)

    @property
    def skips_errors(self) -> bool:
        """Whether bad rows are skipped."""
        return self.on_error == "skip"

    @property
    def dictionary_files(self) -> tuple[Path, Path] | None:
        """The files of words and tags of the authors' format, if given."""
        return None if self.dictionaries is None else (Path(self.dictionaries[0]), Path(self.dictionaries[1]))

    @property
    def names_columns(self) -> bool:
        """Whether columns are named, so that the source must have records."""
        return self.text_columns != ("text",) or bool(self.tag_columns) or self.id is not None

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that must exist."""
        return (*self.text_columns, *(self.tag_columns or ()), *((self.id,) if self.id is not None else ()))

    def select_columns(self, columns: Iterable[str]) -> list[str]:
        """Return those of the columns that are read."""
        optional = (("tags",) if self.tag_columns is None else ()) + (("id",) if self.id is None else ())
        wanted = {*self.required_columns, *optional}
        return [column for column in columns if column in wanted]


@dataclass(frozen=True, kw_only=True)
class ReadArguments(TagRules, TextRules, ReadOptions):
    """All keyword arguments of `Corpus.read`, rules by name included: a signature, of which there are no instances."""


READ_OPTIONS = frozenset(option.name for option in fields(ReadOptions))


def accepts(arguments: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, Any, P], R]]:
    """Declare that a method `(cls, source, **options)` has the keyword arguments of a dataclass.

    They are in its signature for `help` and the documentation, and type checkers check them.
    """

    def declare(function: Callable[..., R]) -> Callable[Concatenate[Any, Any, P], R]:
        own = signature(function)
        positional = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        function.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*positional, *signature(arguments).parameters.values()]
        )
        return function

    return declare


def _column_names(given: str | Iterable[str]) -> tuple[str, ...]:
    columns = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(column, str) for column in columns):
        raise TypeError(
            f"columns are called by their names, which are strings, not {columns!r:.80} (Corpus.from_texts takes "
            "texts, and a list of tags for each of them)"
        )
    return columns
