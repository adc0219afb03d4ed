"""`tagtopic experiment`: the paper's figures and tables, on any corpus."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.help import examples
from tagtopic.cli.inputs import Columns, read_corpus
from tagtopic.cli.output import print_text, remark

if TYPE_CHECKING:
    from tagtopic.experiments import Subject


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
        typer.Option("--redo", metavar="MODEL", help="Measure this model again, or all that failed (may be repeated)."),
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
    from tagtopic.experiments import NAMES, Choice, Plan, run
    from tagtopic.experiments.plots import require_matplotlib

    require_matplotlib()
    if name is Name.ALL and models:
        raise ValueError("--model is for one experiment: each compares others")
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    choice = Choice(labels, options.several(kinds), min_tag_documents, documents)
    subject = _subject(corpus, columns, choice, quick=quick, jobs=jobs, quiet=quiet)
    remark(f"on {subject.corpus!r}", quiet=quiet)
    plan = Plan(
        quick=quick, topics=_numbers(topics), folds=folds, models=tuple(models) if models else None,
        workers=_numbers(workers), jobs=jobs,
    )  # fmt: skip
    chosen = [one for one in NAMES if name in (Name.ALL, one)]
    if name is Name.ALL and subject.labels is None:
        remark("without --labels there is nothing to classify: left out", quiet=quiet)
        chosen.remove("classify")
    for one in chosen:
        outcome = run(
            one, subject, output, plan, redo=tuple(redo or ()), minutes=minutes,
            progress=False if quiet else None, tell=lambda sentence: _tell(sentence, quiet=quiet),
        )  # fmt: skip
        for table in outcome.tables:
            print_text(table.markdown())
        remark(f"wrote {', '.join(map(str, outcome.files))}", quiet=quiet)


def _tell(sentence: str, *, quiet: bool) -> None:
    """A failure is an error and is said always."""
    remark(sentence, quiet=quiet and not sentence.startswith("failed"))


def _numbers(value: str | None) -> tuple[int, ...] | None:
    found = options.several(value)
    if found is None:
        return None
    if not all(number.isdigit() for number in found):
        raise ValueError(f"{value!r}: expected whole numbers with commas between them, such as 20,50,100")
    return tuple(int(number) for number in found)


def _subject(files: list[str], columns: Columns, choice: Any, *, quick: bool, jobs: int | None, quiet: bool) -> Subject:
    """The embedded or the planted corpus, or what the files hold."""
    from tagtopic.experiments import subject as subjects

    if files == [subjects.PLANTED]:
        return subjects.planted(quick=quick)
    if files == [subjects.EMBEDDED]:
        remark("reading the documentation of this Python…", quiet=quiet)
        return subjects.embedded(quick=quick)
    rules = subjects.AUTHORS_RULES if all(".twtm" in file for file in files) else {}
    return subjects.select(read_corpus(files, columns, jobs=jobs, quiet=quiet, **rules), choice)
