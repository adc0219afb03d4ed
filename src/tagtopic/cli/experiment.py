"""`tagtopic experiment`: the article's experiments on any corpus."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, read_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import notify, print_text

if TYPE_CHECKING:
    from tagtopic.experiments import Dataset, ExperimentResult


class ExperimentName(StrEnum):
    """The experiments."""

    PERPLEXITY = "perplexity"
    TAGS = "tags"
    CLASSIFY = "classify"
    NOISE = "noise"
    SCALE = "scale"
    REPLAY = "replay"
    HYBRID = "hybrid"
    ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Evaluate",
        epilog=examples(
            "tagtopic experiment all --corpus embedded --output results --quick",
            "tagtopic experiment perplexity --corpus imdb/documents.twtm --output imdb --folds 2",
            "tagtopic experiment classify --corpus films.jsonl --text plot --tags cast,genres --labels genres -o films",
            "tagtopic experiment tags --corpus papers.jsonl --kinds author --min-tag-documents 5 -o papers",
            "tagtopic experiment perplexity --corpus imdb/documents.twtm --output imdb --redo TWDA",
            "tagtopic experiment replay --corpus imdb/documents.twtm --drop-duplicates --output imdb",
            "tagtopic experiment hybrid --corpus papers.jsonl --kinds author --min-tag-documents 5 -o papers",
        ),
    )(experiment)


def experiment(
    name: Annotated[ExperimentName, typer.Argument(help="Experiment of the article.")],
    corpus: Annotated[
        list[str],
        typer.Option(
            "--corpus", metavar="FILE", help="Files as for fit; or embedded (Python's documentation), or planted."
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for cells and results.")],
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small and fast, for a trial run.")] = False,
    topics: Annotated[str | None, typer.Option("--topics", "-k", metavar="N,…", help="Numbers of topics.")] = None,
    folds: Annotated[int | None, typer.Option("--folds", min=1, max=5, help="Number of the five folds to run.")] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="MODEL", help="Only this model (may be repeated).")
    ] = None,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            "--redo", metavar="MODEL", help="Run this model again; failed: all failed cells (may be repeated)."
        ),
    ] = None,
    kinds: Annotated[
        str | None, typer.Option("--kinds", metavar="KIND,…", help="Keep only tags of these kinds.")
    ] = None,
    labels: Annotated[str | None, typer.Option("--labels", metavar="KIND", help="Kind of tag to classify by.")] = None,
    min_tag_documents: Annotated[
        int, typer.Option("--min-tag-documents", min=1, help="Drop tags that occur on fewer documents.")
    ] = 1,
    documents: Annotated[
        int | None, typer.Option("--documents", min=10, help="Size of a random sample of the documents.")
    ] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Drop near-duplicates, so that splits do not reward memory.")
    ] = False,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N,…", help="Numbers of Spark workers for scale; 0 for no Spark.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.0, help="Start no cell after this time; run again to continue.")
    ] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment of the article on a corpus: a comparison of models, as table and plot.

    Finished cells of the grid are kept in the folder: the same command continues an interrupted run.
    """
    from tagtopic.experiments import EXPERIMENT_NAMES, Plan, Selection, run
    from tagtopic.experiments.results import require_matplotlib

    require_matplotlib()
    if name is ExperimentName.ALL and models:
        raise ValueError("--model is for one experiment: each compares others")
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    selection = Selection(labels, options.split_names(kinds), min_tag_documents, documents, drop_duplicates)
    plan = Plan(
        quick=quick, topics=_numbers(topics, "-k"), folds=folds, models=tuple(models) if models else None,
        workers=_numbers(workers, "--workers", least=0), jobs=jobs,
    )  # fmt: skip
    dataset = _dataset(corpus, file_options, selection, quick=quick, jobs=jobs, quiet=quiet)
    notify(f"on {dataset.corpus!r}", quiet=quiet)
    for note in dataset.notes:
        notify(note, quiet=quiet)
    chosen = [one for one in EXPERIMENT_NAMES if name in (ExperimentName.ALL, one)]
    if name is ExperimentName.ALL and dataset.labels is None:
        notify("classify is skipped: it needs --labels", quiet=quiet)
        chosen.remove("classify")
    failed = 0
    for one in chosen:
        result = run(
            one, dataset, output, plan, redo=tuple(redo or ()), minutes=minutes,
            progress=False if quiet else None, log=lambda message: _log(message, quiet=quiet),
        )  # fmt: skip
        for table in result.tables:
            print_text(table.markdown())
        notify(f"wrote {', '.join(map(str, result.files))}", quiet=quiet)
        _report_failures(result)
        failed += len(result.failed)
    if failed:
        raise typer.Exit(1)


def _log(message: str, *, quiet: bool) -> None:
    """Print a message; failures are printed even if quiet."""
    notify(message, quiet=quiet and not message.startswith("failed"))


def _numbers(value: str | None, option: str, least: int = 1) -> tuple[int, ...] | None:
    return None if value is None else options.parse_integers(value, option, least)


def _report_failures(result: ExperimentResult) -> None:
    """Print how many cells failed, in this run or an earlier one, and why."""
    n = len(result.failed)
    if n:
        cells = "1 cell" if n == 1 else f"{n} cells"
        notify(f"{result.experiment.name}: {cells} failed: --redo failed runs {'it' if n == 1 else 'them'} again")
        for reason, times in Counter(cell.error for cell in result.failed).items():
            notify(f"  {times} × {reason}")


def _dataset(
    files: list[str], file_options: FileOptions, selection: Any, *, quick: bool, jobs: int | None, quiet: bool
) -> Dataset:
    """The embedded or planted dataset, or one from files."""
    from tagtopic.experiments import dataset as datasets

    built_in = files[0] if files in ([datasets.PLANTED], [datasets.EMBEDDED]) else None
    if built_in and (
        selection != datasets.Selection()
        or file_options != FileOptions.parse(None, None, None, None, None, skip_errors=False)
    ):
        raise ValueError(
            f"--corpus {built_in} has documents, tags and labels of its own: options that choose among them are for "
            "files"
        )
    if built_in == datasets.PLANTED:
        return datasets.planted_dataset(quick=quick)
    if built_in == datasets.EMBEDDED:
        notify("reading the documentation of the installed Python…", quiet=quiet)
        return datasets.embedded_dataset(quick=quick)
    rules = datasets.TWTM_FORMAT_RULES if all(".twtm" in file for file in files) else {}
    return datasets.select_dataset(read_corpus(files, file_options, jobs=jobs, quiet=quiet, **rules), selection)
