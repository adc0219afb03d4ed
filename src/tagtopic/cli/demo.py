"""`tagtopic demo`: a demonstration on the documentation of the installed Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic._core.files import write_text
from tagtopic._core.optional import is_installed
from tagtopic.cli import options
from tagtopic.cli.options import examples
from tagtopic.cli.output import notify, print_table, stdout_console
from tagtopic.cli.results import predictions_result, tags_result, topics_result, weights_result

if TYPE_CHECKING:
    from rich.console import Console

    from tagtopic.corpus import Corpus
    from tagtopic.models import TWDA

N_TOPICS = 40
MAX_ITER = 120
"""Fewer sweeps than the default: a demonstration should be quick, and its topics hardly change."""

# well-known tags and objects of Python packages; those that are not installed are skipped
WELL_KNOWN_TAGS = (
    "parameter:random_state", "parameter:axis", "parameter:encoding", "parameter:timeout", "raises:KeyError",
    "module:scipy.signal", "module:sklearn.cluster", "module:tkinter", "module:email", "package:numba",
)  # fmt: skip
WELL_KNOWN_OBJECTS = ("scipy.optimize.minimize", "sklearn.linear_model.LogisticRegression", "json.dumps")

# texts to predict tags of, if none is given
EXAMPLE_TEXTS = (
    "Minimise a scalar function with bounds",
    "Read a compressed file line by line",
    "Eigenvalues of a matrix",
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Explore",
        epilog=examples(
            "tagtopic demo",
            "tagtopic demo --text 'Sort the lines of a file'",
            "tagtopic demo --model python-docs.tagtopic --report python-docs.html",
        ),
    )(demo)


def demo(
    model: Annotated[str, typer.Option("--model", help="Model file to write.")] = "python-docs.tagtopic",
    report: Annotated[
        str, typer.Option("--report", help="Report to write: .html, or .svg for the printed output.")
    ] = "report.html",
    package: Annotated[
        list[str] | None,
        typer.Option("--package", help="Use only this package; python is the standard library (may be repeated)."),
    ] = None,
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Number of topics.")] = N_TOPICS,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="SENTENCE", help="Text to predict tags of.", show_default="prompt in a terminal"
        ),
    ] = None,
    max_tags: Annotated[int, typer.Option("--max-tags", min=1, help="Number of tags with a page in the report.")] = 200,
    max_documents: Annotated[
        int, typer.Option("--max-documents", min=1, help="Number of documents with a page in the report.")
    ] = 100,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Fit a model to the documentation of the installed Python, and show its topics and tags.

    Documents are docstrings of the standard library and of installed scientific packages; tags are their package,
    module, kind, parameters and exceptions. Nothing is downloaded.
    """
    from tagtopic import TWDA
    from tagtopic.datasets import load_python_docs

    notify("reading the documentation of the installed Python…", quiet=quiet)
    corpus = load_python_docs(package or None, keep_texts=True)
    notify("fitting the model…", quiet=quiet)
    settings: dict[str, Any] = {"max_iter": MAX_ITER, "random_state": 0, "n_jobs": jobs}
    fitted = TWDA(topics, progress=False if quiet else None, **settings).fit(corpus)
    console = stdout_console(record=True)
    _show_model(console, fitted, corpus)
    _predict(console, fitted, text if text is not None else _ask_for_text(quiet=quiet))
    fitted.save(model)
    notify("writing the report…", quiet=quiet)
    _write_report(Path(report), console, fitted, corpus, max_tags, max_documents)
    notify(f"wrote {model} and {report}. Open the report, or run: tagtopic serve {model}", quiet=quiet)


def _write_report(path: Path, console: Console, model: TWDA, corpus: Corpus, max_tags: int, max_documents: int) -> None:
    """Write the report, or the printed output as SVG, or as HTML if the extra `explore` is missing."""
    if path.suffix.lower() == ".svg":
        picture = console.export_svg(title="tagtopic demo")
        write_text(path, re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))
    elif is_installed("jinja2"):
        from tagtopic.explore import Explorer, ReportLimits, write_report

        write_report(
            Explorer(model, corpus, name="python-docs"), path, ReportLimits(max_tags, max_documents), progress=None
        )
    else:
        notify("for an interactive report: pip install 'tagtopic[explore]'")
        write_text(path, console.export_html())


def _show_model(console: Console, model: TWDA, corpus: Corpus) -> None:
    console.print(str(corpus.describe()), highlight=False, markup=False)
    console.rule("Topics, largest first")
    print_table(topics_result(model, n_words=10, n_tags=4), console=console)
    known = [tag for tag in WELL_KNOWN_TAGS if tag in model.tag_names_] or model.most_used_tags(5)
    console.rule("Topics of tags")
    print_table(tags_result(model, known, n_words=6), console=console)
    console.rule("Tag weights of documents")
    ids = list(corpus.ids)
    chosen = [ids.index(name) for name in WELL_KNOWN_OBJECTS if name in ids] or [0]
    ranked = list(zip((ids[i] for i in chosen), model.rank_tags(corpus[chosen]), strict=True))
    print_table(weights_result("tags by weight", ranked), console=console)


def _ask_for_text(*, quiet: bool) -> str:
    """Prompt for a text; empty if standard input is not a terminal."""
    if quiet or not sys.stdin.isatty():
        return ""
    notify("Type a sentence that describes a function, to predict its tags (Enter to skip):")
    return sys.stdin.readline().strip()


def _predict(console: Console, model: TWDA, text: str) -> None:
    sentences = [text] if text.strip() else list(EXAMPLE_TEXTS)
    console.rule("Predicted tags of new texts")
    predicted = list(zip(sentences, model.predict_tags(sentences, 5), strict=True))
    print_table(predictions_result("tags by probability", predicted), console=console)
