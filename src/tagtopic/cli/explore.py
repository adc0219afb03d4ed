"""`tagtopic report` and `serve`: a model to look at."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import Columns, load_model, read_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import check_target, remark, told_as

if TYPE_CHECKING:
    from tagtopic.explore import Explorer

Documents = Annotated[
    str | None,
    typer.Option(
        "--corpus", metavar="PATH", help="Documents to show: a saved corpus, or a file with text (and tags) in columns."
    ),
]
Other = Annotated[str | None, typer.Option("--compare", metavar="MODEL", help="A second model to compare with.")]
Name = Annotated[str | None, typer.Option("--name", help="What to call the model.", show_default="its file's name")]


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic report movies.tagtopic -o movies.html",
            "tagtopic report movies.tagtopic --corpus movies.jsonl --text storyline --tags director -o movies.html",
        )
    )(report)
    app.command(
        epilog=examples(
            "tagtopic serve movies.tagtopic",
            "tagtopic serve movies.tagtopic --corpus movies.jsonl --text storyline --tags director,stars --port 8100",
            "tagtopic serve movies.tagtopic --host 0.0.0.0 --token a-long-secret",
        )
    )(serve)


def report(
    model: options.Model,
    corpus: Documents = None,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    compare: Other = None,
    name: Name = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = "report.html",
    most_tags: Annotated[
        int, typer.Option("--max-tags", min=1, help="Tags that get a page, the most used first.")
    ] = 2000,
    most_documents: Annotated[int, typer.Option("--max-documents", min=1, help="Documents that get a page.")] = 200,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Write what a model found as one HTML file that works offline and by e-mail."""
    from tagtopic._core.optional import require

    require("jinja2", extra="explore", purpose="tagtopic report")
    from tagtopic.explore import ReportLimits, write_report

    path = Path(output)
    check_target(output, *(given for given in (model, corpus, compare) if given is not None))
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=False, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    explorer = open_explorer(model, corpus, columns, compare, name, jobs=jobs, quiet=quiet)
    with told_as(path):
        write_report(explorer, path, ReportLimits(most_tags, most_documents))
    remark(f"wrote {output} ({path.stat().st_size / 1e3:,.0f} kB)", quiet=quiet)


def serve(
    model: options.Model,
    corpus: Documents = None,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    compare: Other = None,
    name: Name = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="The port; 0 is any free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", help="Ask for this token.", show_default="none on this machine, a new one on other addresses"
        ),
    ] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Show a model as pages in the browser, with search, and as an API for programs (/api/v1/openapi.json)."""
    from tagtopic._core.optional import require

    require("fastapi", "uvicorn", "jinja2", extra="explore", purpose="tagtopic serve")
    from tagtopic.explore.service.app import serve as run_server
    from tagtopic.explore.service.middleware import is_loopback

    if token is not None and not token.strip():
        raise ValueError("--token is empty: give one, or leave the option out")
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=False, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    explorer = open_explorer(model, corpus, columns, compare, name, jobs=jobs, quiet=quiet)
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)  # whoever can reach the address could look otherwise
    run_server(explorer, host, port, token, notify=lambda message: remark(message, quiet=quiet))


def open_explorer(
    model: str,
    corpus: str | None,
    columns: Columns,
    compare: str | None,
    name: str | None,
    *,
    jobs: int | None,
    quiet: bool,
) -> Explorer:
    """The model and documents that were asked for."""
    from tagtopic.explore import Explorer

    _check_columns(corpus, columns)
    fitted = load_model(model, jobs)
    other = None if compare is None else load_model(compare, jobs)
    documents = None
    if corpus is not None:
        documents = read_corpus([corpus], columns, model=fitted, jobs=jobs, quiet=quiet, keep_texts=True)
    return Explorer(
        fitted,
        documents,
        name=name or Path(model).stem,
        other=other,
        other_name="" if compare is None else Path(compare).stem,
    )


def _check_columns(corpus: str | None, columns: Columns) -> None:
    """Raise if columns are named and there are no documents to have them."""
    named = {
        "--text": columns.text, "--tags": columns.tags, "--id": columns.id, "--tag-separator": columns.tag_separator,
        "--format": columns.format,
    }  # fmt: skip
    given = [option for option, value in named.items() if value is not None]
    if corpus is None and given:
        raise ValueError(f"{given[0]} is for the documents of --corpus: give both, or neither")
