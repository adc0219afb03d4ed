"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Annotated

import typer

from tagtopic.engines import ENGINES
from tagtopic.inference.methods import METHODS


def examples(*lines: str) -> str:
    """The examples of a command, as the epilog of its `--help`."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])


def choices(names: Iterable[str]) -> str:
    """The values of an option, as `--help` shows them."""
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
    """File formats."""

    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    TEXT = "text"
    FILES = "files"
    PARQUET = "parquet"
    ARROW = "arrow"
    EXCEL = "excel"
    TWTM = "twtm"
    ARFF = "arff"
    EXTREME = "extreme"


MAX_ITER = f"{METHODS['gibbs'].defaults.max_iter} for gibbs, {METHODS['cvb0'].defaults.max_iter} otherwise"

DEFAULT_ENGINE = next(iter(ENGINES))
CLUSTERS = " or ".join(name for name, entry in ENGINES.items() if entry.on_cluster)
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        parser=one_of(ENGINES),
        metavar=choices(ENGINES),
        help=f"Where to run: on this machine, or ({CLUSTERS}) on a cluster.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Address of the cluster: spark://host:7077, yarn, local[4]."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file written by `tagtopic fit`.")]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE…",
        help="JSON, JSON Lines, CSV, TSV, Parquet, Arrow or Excel files (also .gz, .zst, .xz), globs, folders, a saved "
        "corpus or dataset, "
        "or - for standard input: JSON Lines, or plain text with one document per line.",
    ),
]
Text = Annotated[str | None, typer.Option("--text", metavar="COLUMN,…", help="Columns with the text.")]
Tags = Annotated[
    str | None, typer.Option("--tags", metavar="COLUMN,…", help="Columns with the tags, as lists or strings.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column with the document ids.")]
Title = Annotated[
    str | None,
    typer.Option(
        "--title", metavar="COLUMN", help="Column with titles.", show_default="title, or the first words of the text"
    ),
]
TagSeparator = Annotated[
    str | None, typer.Option("--tag-separator", metavar="TEXT", help="Separator of the tags in a string.")
]
Format = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        help="Format of the files, if not given by their names; text: one document per line, files: one per file.",
        show_default="by name; - by its first line",
    ),
]
MAX_SEED = 2**32 - 1  # the largest that NumPy accepts
Seed = Annotated[int, typer.Option("--seed", min=0, max=MAX_SEED, help="Random seed.")]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Character encoding of the files, such as latin-1.", show_default="utf-8"
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHARACTER", help="Column delimiter of CSV files.", show_default="from the header"
    ),
]
MinDf = Annotated[
    int | None,
    typer.Option(
        "--min-df",
        min=1,
        help="Drop words that occur in fewer documents.",
        show_default="1, rising to 5 at 1,000 documents",
    ),
]
MinTagDocuments = Annotated[
    int, typer.Option("--min-tag-documents", min=1, help="Drop tags that occur on fewer documents.")
]
MaxWords = Annotated[
    int | None, typer.Option("--max-words", min=1, help="Keep only the most frequent words.", show_default="100000")
]
StopWords = Annotated[
    str | None,
    typer.Option(
        "--stop-words", metavar="LANGUAGE", help="Language of the stop words, or none.", show_default="detected"
    ),
]
KeepKinds = Annotated[
    str | None,
    typer.Option("--keep-kinds", metavar="KIND,…", help="Keep only tags of these kinds, such as author,venue."),
]
DropKinds = Annotated[
    str | None, typer.Option("--drop-kinds", metavar="KIND,…", help="Drop tags of these kinds, such as year.")
]
DropTag = Annotated[
    list[str] | None,
    typer.Option("--drop-tag", metavar="TAG", help="Drop this tag, such as one on all documents (may be repeated)."),
]
Bigrams = Annotated[
    float | None,
    typer.Option(
        "--bigrams",
        min=-1.0,
        max=1.0,
        metavar="NPMI",
        help="Join two words in sequence whose association is at least this, from -1 to 1; try 0.5.",
        show_default="none",
    ),
]
Stem = Annotated[
    str | None,
    typer.Option(
        "--stem", metavar="LANGUAGE", help="Reduce words to stems, as of en or german.", show_default="no stemming"
    ),
]
KeepMarkup = Annotated[
    bool,
    typer.Option(
        "--keep-markup", help="Keep URLs, HTML tags and targets of Markdown links, which are otherwise left out."
    ),
]
SkipErrors = Annotated[bool, typer.Option("--skip-errors", help="Skip unreadable rows instead of stopping.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write to a .csv, .tsv, .jsonl, .json, .parquet or .arrow file; - for standard output.",
    ),
]
Ledger = Annotated[str, typer.Option("--ledger", metavar="FILE", help="File of decisions.")]
Predicted = Annotated[int, typer.Option("--predicted", min=0, help="Missing tags to propose per document, at most.")]
Who = Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who decides.", show_default="user name")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Number of threads.", show_default="all cores")]


def check_engine(engine: str, master: str | None) -> None:
    """Raise if a cluster engine has no master, or another engine has one."""
    on_cluster = ENGINES[engine].on_cluster
    if not on_cluster and master is not None:
        raise ValueError(f"--master {master} is for --engine {CLUSTERS}")
    if on_cluster and master is None:
        raise ValueError(
            f"--engine {engine} needs --master, the address of the cluster (spark://host:7077, yarn, local[4])"
        )


def parse_integers(value: str, option: str, least: int = 1) -> tuple[int, ...]:
    """Parse comma-separated integers; duplicates are dropped."""
    given = [number.strip() for number in value.split(",")]
    if not all(number.isdecimal() and int(number) >= least for number in given):
        expected = f"expected whole numbers from {least}, such as {option} {'20,50,100' if least else '0,1,2'}"
        raise ValueError(f"{option} {value or repr(value)}: {expected}")
    return tuple(dict.fromkeys(int(number) for number in given))


def split_names(value: str | None) -> list[str] | None:
    """Parse comma-separated names."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise ValueError(f"{value!r} has an empty name: give one or more, with single commas between")
    return names
