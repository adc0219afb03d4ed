"""`tagtopic report` and `serve`: a model as one HTML file or as a web service."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, load_model, open_ledger, read_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import check_target, naming_errors, notify

if TYPE_CHECKING:
    from tagtopic.curation import Ledger
    from tagtopic.explore import Explorer

Documents = Annotated[
    str | None,
    typer.Option("--corpus", metavar="PATH", help="Documents to show: a saved corpus, or a file as for fit."),
]
Other = Annotated[str | None, typer.Option("--compare", metavar="MODEL", help="A second model to compare with.")]
Name = Annotated[str | None, typer.Option("--name", help="Name of the model in titles.", show_default="the file name")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Explore",
        epilog=examples(
            "tagtopic report movies.tagtopic -o movies.html",
            "tagtopic report movies.tagtopic --corpus movies.jsonl --text storyline --tags director -o movies.html",
        ),
    )(report)
    app.command(
        rich_help_panel="Explore",
        epilog=examples(
            "tagtopic serve movies.tagtopic",
            "tagtopic serve movies.tagtopic --corpus movies.jsonl --text storyline --tags director,stars --port 8100",
            "tagtopic serve movies.tagtopic --host 0.0.0.0 --token a-long-secret",
            "tagtopic serve movies.tagtopic --corpus movies.jsonl --text storyline --tags keyword "
            "--ledger movies.decisions.jsonl",
        ),
    )(serve)


def report(
    model: options.Model,
    corpus: Documents = None,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title: options.Title = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    compare: Other = None,
    name: Name = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write.")] = "report.html",
    max_tags: Annotated[
        int, typer.Option("--max-tags", min=1, help="Number of tags with a page, most frequent first.")
    ] = 2000,
    max_documents: Annotated[
        int, typer.Option("--max-documents", min=1, help="Number of documents with a page.")
    ] = 200,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a self-contained HTML report of a model and its documents."""
    from tagtopic._core.optional import require

    require("jinja2", extra="explore", purpose="tagtopic report")
    from tagtopic.explore import ReportLimits, write_report

    path = Path(output)
    check_target(output, *(given for given in (model, corpus, compare) if given is not None))
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=False, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    explorer = open_explorer(model, corpus, file_options, compare, name, jobs=jobs, quiet=quiet)
    with naming_errors(path):
        write_report(explorer, path, ReportLimits(max_tags, max_documents), progress=False if quiet else None)
    notify(f"wrote {output} ({path.stat().st_size / 1e3:,.0f} kB)", quiet=quiet)


def serve(
    model: options.Model,
    corpus: Documents = None,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title: options.Title = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    compare: Other = None,
    name: Name = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            help="Require this token.",
            show_default="none on this machine, a random one on other addresses and with --ledger",
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="File of decisions, made if it is missing: adds a page to review the documents' tags.",
        ),
    ] = None,
    predicted: options.Predicted = 5,
    who: options.Who = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve a model as web pages and as a JSON API (described in /api/v1/openapi.json).

    With --ledger, suspicious, missing and near-duplicate tags are reviewed in the browser, and the decisions recorded.
    Several people may review at the same time.
    """
    from tagtopic._core.optional import require

    require("fastapi", "uvicorn", "jinja2", extra="explore", purpose="tagtopic serve")
    from tagtopic.explore.service.app import serve as run_server
    from tagtopic.explore.service.middleware import is_loopback

    if token is not None and not token.strip():
        raise ValueError("--token is empty: give one, or leave the option out")
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=False, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    if ledger is not None and corpus is None:
        raise ValueError("--ledger is for the review of documents: give them by --corpus")
    opened = None if ledger is None else open_ledger(ledger, who, missing=True)
    explorer = open_explorer(
        model, corpus, file_options, compare, name, jobs=jobs, quiet=quiet, ledger=opened, predicted=predicted
    )
    # the address may be reachable by others; and a page of any other site could write to the ledger
    is_random = token is None and (opened is not None or not is_loopback(host))
    if is_random:
        token = secrets.token_urlsafe(24)
    # a random token is in the address only, so that it is printed in any case
    run_server(explorer, host, port, token, notify=lambda message: notify(message, quiet=quiet and not is_random))


def open_explorer(
    model: str,
    corpus: str | None,
    file_options: FileOptions,
    compare: str | None,
    name: str | None,
    *,
    jobs: int | None,
    quiet: bool,
    ledger: Ledger | None = None,
    predicted: int = 5,
) -> Explorer:
    """Load the models and documents of an explorer."""
    from tagtopic.explore import Explorer

    _check_file_options(corpus, file_options)
    fitted = load_model(model, jobs)
    other = None if compare is None else load_model(compare, jobs)
    documents = None
    if corpus is not None:
        documents = read_corpus([corpus], file_options, model=fitted, jobs=jobs, quiet=quiet, keep_texts=True)
    return Explorer(
        fitted,
        documents,
        name=name or Path(model).stem,
        other=other,
        other_name="" if compare is None else Path(compare).stem,
        ledger=ledger,
        predicted=predicted,
    )


def _check_file_options(corpus: str | None, file_options: FileOptions) -> None:
    """Raise if options for reading documents are given without documents."""
    named = {
        "--text": file_options.text,
        "--tags": file_options.tags,
        "--id": file_options.id,
        "--tag-separator": file_options.tag_separator,
        "--format": file_options.format,
    }
    given = [option for option, value in named.items() if value is not None]
    if corpus is None and given:
        raise ValueError(f"{given[0]} is for the documents of --corpus: give both, or neither")
