"""The arguments of `Corpus.read`, `Corpus.from_texts` and of engines that read: each listed and described once.

They are the fields of dataclasses. `accepts` gives a method the arguments of one, in its signature and its docstring.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from inspect import cleandoc, signature
from os import PathLike
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from tagtopic.corpus.text.rules import TagRules, TextRules, with_options

P = ParamSpec("P")
R = TypeVar("R")

ON_ERROR = ("raise", "skip")


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """Which columns of a source make a document; they are normalised to tuples.

    Parameters
    ----------
    text : str or iterable of str, default="text"
        The column or columns of texts.
    tags : str or iterable of str, default=None
        The column or columns of tags: each cell has a list (also one that was written as a text, as in
        "['a', 'b']"), a string or a single value. A tag is prefixed by the name of its column as its kind, unless
        it has the form `kind:value` or the column is called `tags`. None: the column `tags`, if there is one.
    id : str, default=None
        The column of ids. None: the column `id`, if there is one, else the position.
    title : str, default=None
        The column of titles, which stand beside ids in lists. None: the column `title`, if there is one, else the first
        words of the text.
    tag_separator : str, default=None
        The string at which strings of tags are split.
    format : str, default=None
        The format of the files, if not by their suffixes: such as `"csv"`, `"text"` (each line is a document),
        `"files"` (each file is one; its path is its id, `tags="folder"` its folder) or `"extreme"` (multi-label data
        in the text format of extreme classification).
    on_error : {"raise", "skip"}, default="raise"
        Whether the first bad row is an error, or bad rows are skipped and counted in one warning.
    """

    text: str | Iterable[str] = "text"
    tags: str | Iterable[str] | None = None
    id: str | None = None
    title: str | None = None
    tag_separator: str | None = None
    format: str | None = None
    on_error: str = "raise"

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
    def names_columns(self) -> bool:
        """Whether columns are named, so that the source must have records."""
        return self.text_columns != ("text",) or bool(self.tag_columns) or bool(self._named)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that must exist."""
        return (*self.text_columns, *(self.tag_columns or ()), *self._named)

    @property
    def _named(self) -> tuple[str, ...]:
        """The columns of ids and titles, if they are named."""
        return tuple(column for column in (self.id, self.title) if column is not None)

    def select_columns(self, columns: Iterable[str]) -> list[str]:
        """Return those of the columns that are read."""
        defaults = {"tags": self.tag_columns, "id": self.id, "title": self.title}
        optional = [name for name, given in defaults.items() if given is None]
        wanted = {*self.required_columns, *optional}
        return [column for column in columns if column in wanted]


@dataclass(frozen=True, kw_only=True)
class RuleSets:
    """Rules as a whole.

    Parameters
    ----------
    rules : TextRules, default=None
        How texts become words, and which words are kept.
    tag_rules : TagRules, default=None
        Which tags are kept.
    """

    rules: TextRules | None = None
    tag_rules: TagRules | None = None


@dataclass(frozen=True, kw_only=True)
class BuildOptions(RuleSets):
    """How documents become a corpus.

    Parameters
    ----------
    words : iterable of str, default=None
        The vocabulary, such as a model's; None: it is selected from the texts.
    n_jobs : int, default=None
        Threads; None: one for each core. The result does not depend on the number.
    keep_texts : bool, default=False
        Whether the corpus keeps the texts, as `texts`; it has none of documents given as words.
    """

    words: Iterable[str] | None = None
    n_jobs: int | None = None
    keep_texts: bool = False


@dataclass(frozen=True, kw_only=True)
class ReadOptions(BuildOptions, DocumentOptions):
    """How a source is read.

    Parameters
    ----------
    delimiter : str, default=None
        The delimiter of CSV files; None: by the header.
    encoding : str, default=None
        The encoding of the files; None: UTF-8, or by the byte order mark.
    dictionaries : (path, path), default=None
        For the authors' format: the files that name words and tags, if not `words.txt` and `tags.txt`. For the format
        `"extreme"`: the same, without which words and tags are called by their numbers.
    to : path, default=None
        A folder where the corpus is saved while it is read, atomically, for `Corpus.open`.
    progress : bool, default=None
        Whether a progress bar is shown; None: if standard error is a terminal.
    """

    delimiter: str | None = None
    encoding: str | None = None
    dictionaries: tuple[str | PathLike[str], str | PathLike[str]] | None = None
    to: str | PathLike[str] | None = None
    progress: bool | None = None

    @property
    def dictionary_files(self) -> tuple[Path, Path] | None:
        """The files of words and tags of the authors' format, if given."""
        return None if self.dictionaries is None else (Path(self.dictionaries[0]), Path(self.dictionaries[1]))


@dataclass(frozen=True)
class ReadArguments(TagRules, TextRules, ReadOptions):
    """The arguments of `Corpus.read`, rules by name included: a signature, of which there are no instances."""

    source: Any


@dataclass(frozen=True)
class TextArguments(TagRules, TextRules, BuildOptions):
    """The arguments of `Corpus.from_texts`: a signature."""

    texts: Iterable[str | Sequence[str] | None]
    tags: Any = None
    _: KW_ONLY
    ids: Iterable[str] | None = None
    tag_names: Iterable[str] | None = None


@dataclass(frozen=True)
class ClusterArguments(TagRules, TextRules, RuleSets, DocumentOptions):
    """The arguments of an engine's `read`: a signature."""

    source: Any


def split_options(given: Mapping[str, Any], names: type) -> tuple[dict[str, Any], TextRules, TagRules]:
    """Divide keyword arguments into the options that a dataclass names, and the rules.

    Parameters
    ----------
    given : mapping of str
        Options of the dataclass, complete rules, and single rules by name.
    names : type
        A dataclass, such as `ReadOptions`.

    Returns
    -------
    options : dict
        The options.
    rules : TextRules
        The rules for texts.
    tag_rules : TagRules
        The rules for tags.

    Raises
    ------
    TypeError
        If there is no option of a name.
    """
    own = {field.name for field in fields(names)} - {field.name for field in fields(RuleSets)}
    by_name = {name: value for name, value in given.items() if name not in own | {"rules", "tag_rules"}}
    rules, tag_rules = with_options(given.get("rules"), given.get("tag_rules"), by_name)
    return {name: value for name, value in given.items() if name in own}, rules, tag_rules


def accepts(arguments: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Declare that a method has the arguments of a dataclass.

    They are in its signature for `help` and the documentation, and type checkers check them. In its docstring the
    parameters that the dataclass inherits are described in place of `**options`.
    """

    def declare(function: Callable[..., R]) -> Callable[Concatenate[Any, P], R]:
        own = signature(function)
        first = next(iter(own.parameters.values()))
        function.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[first, *signature(arguments).parameters.values()]
        )
        if function.__doc__:
            described = _described_parameters(cast(type, arguments))
            text = cleandoc(function.__doc__)
            function.__doc__ = re.sub(r"^\*\*options\n.*?(?=\n\n)", lambda _: described, text, flags=re.M | re.S)
        return function

    return declare


def _described_parameters(kind: type) -> str:
    """Return the entries of all Parameters sections of a class's bases."""
    found = []
    for base in reversed(kind.__mro__[1:]):
        section = cleandoc(base.__doc__ or "").partition("Parameters\n----------\n")[2]
        if section:
            found.append(section.partition("\n\n")[0])
    return "\n".join(found)


def _column_names(given: str | Iterable[str]) -> tuple[str, ...]:
    columns = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(column, str) for column in columns):
        raise TypeError(
            f"columns are called by their names, which are strings, not {columns!r:.80} (Corpus.from_texts takes "
            "texts, and a list of tags for each of them)"
        )
    return columns
