"""The application `tagtopic`: its commands, `--version`, and how errors reach a person."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from tagtopic._version import __version__
from tagtopic.cli import apply, audit, demo, evaluate, experiment, explore, fit, inspect, search
from tagtopic.cli.options import examples
from tagtopic.cli.output import errors, visible, visible_lines
from tagtopic.engines import imported_engines

app = typer.Typer(
    name="tagtopic",
    help="Topic models for documents that carry text and tags.",
    epilog=examples(
        "tagtopic demo", "tagtopic fit posts.jsonl --text body --tags author,labels -k 50 -o posts.tagtopic"
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for group in (demo, search, fit, inspect, apply, audit, evaluate, experiment, explore):
    group.register(app)


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
    """Run the command line; a person's mistake is one red line and exit code 1 (2 when the command itself is wrong).

    The variable TAGTOPIC_DEBUG brings tracebacks back.
    """
    warnings.showwarning = _show_warning
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # now, while a full disk can still be told
    except _mistakes() as error:
        if os.environ.get("TAGTOPIC_DEBUG"):
            raise
        _give_up_output()
        errors().print(f"error: {visible(_sentence(error))}", style="red", highlight=False, markup=False)
        sys.exit(1)


def _mistakes() -> tuple[type[Exception], ...]:
    """Errors that are printed as a sentence; those of engines once they are used."""
    of_engines = (kind for engine in imported_engines() for kind in engine.error_types())
    return (ValueError, TypeError, OSError, ImportError, *of_engines)


def _give_up_output() -> None:
    """Let what cannot be written go nowhere: Python would try once more at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sentence(error: Exception) -> str:
    for engine in imported_engines():
        if isinstance(error, engine.error_types()):
            return engine.describe_error(error)
    if isinstance(error, OSError) and error.strerror:
        name = error.filename2 or error.filename  # a temporary file is named first, then what it would have become
        return f"{name}: {error.strerror}" if name else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    errors().print(f"warning: {visible_lines(str(message))}", style="yellow", highlight=False, markup=False)
