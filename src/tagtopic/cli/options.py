"""Options that several commands share, so that they read and mean the same everywhere.

How a command's `--help` shows its examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated

import typer

from tagtopic.engines import ENGINES


def examples(*lines: str) -> str:
    """An epilogue with one example a line."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])


def choices(names: Iterable[str]) -> str:
    """How `--help` shows the values of an option."""
    return f"[{'|'.join(names)}]"


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    """A parser that accepts these values only."""
    allowed = tuple(names)

    def parse(value: str) -> str:
        if value not in allowed:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, allowed))}.")
        return value

    return parse


class FileFormat(StrEnum):
    """The formats of files."""

    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    TEXT = "text"
    FILES = "files"
    PARQUET = "parquet"
    ARROW = "arrow"
    TWTM = "twtm"


DEFAULT_ENGINE = next(iter(ENGINES))
CLUSTERS = " or ".join(name for name, entry in ENGINES.items() if entry.on_cluster)
Engine = Annotated[
    str,
    typer.Option(
        "--engine", parser=one_of(ENGINES), metavar=choices(ENGINES), help=f"Where to run: {CLUSTERS} is a cluster."
    ),
]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="The Spark cluster: spark://host:7077, yarn, local[4].")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `tagtopic fit` wrote.")]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE…",
        help="JSON Lines, CSV, TSV, Parquet or Arrow files (also .gz, .zst, .xz), globs, folders, a saved corpus, "
        "or - for standard input: JSON Lines, or plain text with one document a line.",
    ),
]
Text = Annotated[str | None, typer.Option("--text", metavar="COLUMN,…", help="Column(s) that hold the text.")]
Tags = Annotated[
    str | None, typer.Option("--tags", metavar="COLUMN,…", help="Column(s) that hold the tags: lists or strings.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the documents.")]
TagSeparator = Annotated[
    str | None, typer.Option("--tag-separator", metavar="TEXT", help="What separates several tags in one string.")
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        help="What the files are, if their names do not say it; text has a document a line, files are one each.",
        show_default="by name, - by first line",
    ),
]
LARGEST_SEED = 2**32 - 1  # of NumPy's random numbers
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Start of the random numbers.")]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="How files encode text: latin-1, …", show_default="utf-8"),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHARACTER", help="What separates the columns of CSV.", show_default="by the header"
    ),
]
MinDf = Annotated[
    int | None,
    typer.Option(
        "--min-df",
        min=1,
        help="Leave out words in fewer documents.",
        show_default="1, rising to 5 at 1,000 documents",
    ),
]
MinTagDocuments = Annotated[int, typer.Option("--min-tag-documents", min=1, help="Leave out tags on fewer documents.")]
MaxWords = Annotated[
    int | None, typer.Option("--max-words", min=1, help="Keep the commonest words only.", show_default="100000")
]
StopWords = Annotated[
    str | None,
    typer.Option(
        "--stop-words", metavar="LANGUAGE", help="Language of the stop words, or none.", show_default="recognised"
    ),
]
KeepKinds = Annotated[
    str | None, typer.Option("--keep-kinds", metavar="KINDS", help="Kinds of tags to keep, such as author,venue.")
]
DropKinds = Annotated[
    str | None, typer.Option("--drop-kinds", metavar="KINDS", help="Kinds of tags to leave out, such as year.")
]
SkipErrors = Annotated[bool, typer.Option("--skip-errors", help="Leave unreadable rows out instead of stopping.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write a .csv, .tsv, .jsonl, .json, .parquet or .arrow file; - is stdout.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results, warnings and errors.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Threads to use.", show_default="all cores")]


def check_engine(engine: str, master: str | None) -> None:
    """Raise unless an engine on a cluster has a master, and any other has none."""
    on_cluster = ENGINES[engine].on_cluster
    if not on_cluster and master is not None:
        raise ValueError(f"--master {master} is for --engine {CLUSTERS}")
    if on_cluster and master is None:
        raise ValueError(
            f"--engine {engine} needs --master, the address of the cluster (spark://host:7077, yarn, local[4])"
        )


def whole_numbers(value: str, option: str, least: int = 1) -> tuple[int, ...]:
    """Numbers given to an option as one string with commas: each once, in their order."""
    given = [number.strip() for number in value.split(",")]
    if not all(number.isdecimal() and int(number) >= least for number in given):
        expected = f"expected whole numbers from {least}, such as {option} {'20,50,100' if least else '0,1,2'}"
        raise ValueError(f"{option} {value or repr(value)}: {expected}")
    return tuple(dict.fromkeys(int(number) for number in given))


def several(value: str | None) -> list[str] | None:
    """Names given as one string with commas."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise ValueError(f"{value!r} has an empty name: give one or more, with single commas between")
    return names
