"""The application `tagtopic`: its commands, `--version`, and the printing of errors and warnings."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from tagtopic._version import __version__
from tagtopic.cli import analysis, audit, curation, demo, describe, evaluate, explore, fit, infer
from tagtopic.cli.options import examples
from tagtopic.cli.output import escape_controls, escape_lines, stderr_console
from tagtopic.engines import imported_engines

app = typer.Typer(
    name="tagtopic",
    help="Topic models for tagged documents.",
    epilog=examples(
        "tagtopic demo", "tagtopic fit posts.jsonl --text body --tags author,labels -k 50 -o posts.tagtopic"
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for commands in (
    describe,
    fit,
    infer,
    audit,
    analysis,
    curation,
    explore,
    demo,
    evaluate,
):  # in the order of --help
    commands.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tagtopic {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; errors are printed as one red line, with exit code 1, or 2 for invalid usage.

    If the environment variable TAGTOPIC_DEBUG is set, errors have a traceback.
    """
    warnings.showwarning = _show_warning
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where a full disk can be reported
    except _user_errors() as error:
        if os.environ.get("TAGTOPIC_DEBUG"):
            raise
        _discard_output()
        stderr_console().print(
            f"error: {escape_controls(_error_message(error))}", style="red", highlight=False, markup=False
        )
        sys.exit(1)


def _user_errors() -> tuple[type[Exception], ...]:
    """Errors that are printed without a traceback, including those of the engines in use."""
    of_engines = (kind for engine in imported_engines() for kind in engine.error_types())
    return (ValueError, TypeError, OSError, ImportError, *of_engines)


def _discard_output() -> None:
    """Discard output that cannot be written; Python would try again at exit and print another error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error_message(error: Exception) -> str:
    for engine in imported_engines():
        if isinstance(error, engine.error_types()):
            return engine.describe_error(error)
    if isinstance(error, OSError) and error.strerror:
        name = error.filename2 or error.filename  # of a move: the temporary file, then its target
        return f"{name}: {error.strerror}" if name else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    stderr_console().print(f"warning: {escape_lines(str(message))}", style="yellow", highlight=False, markup=False)
