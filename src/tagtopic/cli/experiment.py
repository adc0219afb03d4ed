"""`tagtopic experiment`: the paper's figures and tables, on any corpus."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import Columns, read_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import print_text, remark

if TYPE_CHECKING:
    from tagtopic.experiments import Dataset, ExperimentResult


class Name(StrEnum):
    """The experiments."""

    PERPLEXITY = "perplexity"
    TAGS = "tags"
    CLASSIFY = "classify"
    NOISE = "noise"
    SCALE = "scale"
    ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic experiment all --corpus embedded --output results --quick",
            "tagtopic experiment perplexity --corpus imdb/documents.twtm --output imdb --folds 2",
            "tagtopic experiment classify --corpus films.jsonl --text plot --tags cast,genres --labels genres -o films",
            "tagtopic experiment tags --corpus papers.jsonl --kinds author --min-tag-documents 5 -o papers",
            "tagtopic experiment perplexity --corpus imdb/documents.twtm --output imdb --redo TWDA",
        )
    )(experiment)


def experiment(
    name: Annotated[Name, typer.Argument(help="Which of the paper's experiments.")],
    corpus: Annotated[
        list[str],
        typer.Option("--corpus", metavar="FILE", help="As for fit, or: embedded (Python's documentation), planted."),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where cells and results go.")],
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small and short: to see it run, not to quote it.")] = False,
    topics: Annotated[str | None, typer.Option("--topics", "-k", metavar="N,…", help="Numbers of topics.")] = None,
    folds: Annotated[int | None, typer.Option("--folds", min=1, max=5, help="How many of the five folds.")] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="MODEL", help="Only this model (may be repeated).")
    ] = None,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            "--redo", metavar="MODEL", help="Measure this model again; failed: all cells that failed (may be repeated)."
        ),
    ] = None,
    kinds: Annotated[
        str | None, typer.Option("--kinds", metavar="KIND,…", help="Keep tags of these kinds only.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="KIND", help="The kind of tag that classify learns.")
    ] = None,
    min_tag_documents: Annotated[
        int, typer.Option("--min-tag-documents", min=1, help="Leave out tags on fewer documents.")
    ] = 1,
    documents: Annotated[
        int | None, typer.Option("--documents", min=10, help="Take so many documents, at random.")
    ] = None,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N,…", help="Spark workers in scale; 0 is without Spark.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.0, help="Begin nothing new after so long; run it again to go on.")
    ] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Repeat an experiment of the paper on a corpus: models compared, with a table and a plot.

    Each finished cell of the grid is kept in the folder, so a run that was killed goes on where it was.
    """
    from tagtopic.experiments import EXPERIMENT_NAMES, Plan, Selection, run
    from tagtopic.experiments.results import require_matplotlib

    require_matplotlib()
    if name is Name.ALL and models:
        raise ValueError("--model is for one experiment: each compares others")
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    selection = Selection(labels, options.several(kinds), min_tag_documents, documents)
    plan = Plan(
        quick=quick, topics=_numbers(topics, "-k"), folds=folds, models=tuple(models) if models else None,
        workers=_numbers(workers, "--workers", least=0), jobs=jobs,
    )  # fmt: skip
    dataset = _dataset(corpus, columns, selection, quick=quick, jobs=jobs, quiet=quiet)
    remark(f"on {dataset.corpus!r}", quiet=quiet)
    chosen = [one for one in EXPERIMENT_NAMES if name in (Name.ALL, one)]
    if name is Name.ALL and dataset.labels is None:
        remark("without --labels there is nothing to classify: left out", quiet=quiet)
        chosen.remove("classify")
    failed = 0
    for one in chosen:
        result = run(
            one, dataset, output, plan, redo=tuple(redo or ()), minutes=minutes,
            progress=False if quiet else None, log=lambda message: _log(message, quiet=quiet),
        )  # fmt: skip
        for table in result.tables:
            print_text(table.markdown())
        remark(f"wrote {', '.join(map(str, result.files))}", quiet=quiet)
        _report_failures(result)
        failed += len(result.failed)
    if failed:
        raise typer.Exit(1)


def _log(message: str, *, quiet: bool) -> None:
    """Print a message; failures are printed even if quiet."""
    remark(message, quiet=quiet and not message.startswith("failed"))


def _numbers(value: str | None, option: str, least: int = 1) -> tuple[int, ...] | None:
    return None if value is None else options.whole_numbers(value, option, least)


def _report_failures(result: ExperimentResult) -> None:
    """Print how many cells failed, in this run or an earlier one, and why."""
    n = len(result.failed)
    if n:
        cells = "1 cell" if n == 1 else f"{n} cells"
        remark(f"{result.experiment.name}: {cells} failed: --redo failed measures {'it' if n == 1 else 'them'} again")
        for reason, times in Counter(cell.error for cell in result.failed).items():
            remark(f"  {times} × {reason}")


def _dataset(
    files: list[str], columns: Columns, selection: Any, *, quick: bool, jobs: int | None, quiet: bool
) -> Dataset:
    """The embedded or the planted corpus, or what the files hold."""
    from tagtopic.experiments import dataset as datasets

    made = files[0] if files in ([datasets.PLANTED], [datasets.EMBEDDED]) else None
    if made and (
        selection != datasets.Selection() or columns != Columns.of(None, None, None, None, None, skip_errors=False)
    ):
        raise ValueError(
            f"--corpus {made} has documents, tags and labels of its own: options that choose among them are for files"
        )
    if made == datasets.PLANTED:
        return datasets.planted_dataset(quick=quick)
    if made == datasets.EMBEDDED:
        remark("reading the documentation of this Python…", quiet=quiet)
        return datasets.embedded_dataset(quick=quick)
    rules = datasets.TWTM_FORMAT_RULES if all(".twtm" in file for file in files) else {}
    return datasets.select_dataset(read_corpus(files, columns, jobs=jobs, quiet=quiet, **rules), selection)
