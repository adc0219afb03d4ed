"""`tagtopic demo`: what the package does, on documentation that every installation has."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagtopic._core.files import write_text
from tagtopic._core.optional import is_installed
from tagtopic.cli import options
from tagtopic.cli.options import examples
from tagtopic.cli.output import print_table, remark, results
from tagtopic.cli.tables import predictions_answer, tags_answer, topics_answer, weights_answer

if TYPE_CHECKING:
    from rich.console import Console

    from tagtopic.corpus import Corpus
    from tagtopic.models import TWDA

N_TOPICS = 40
PAGES = 1000, 200  # tags and documents that get a page in the report
# Tags and objects that people who know Python will recognise; those that are not installed are passed over.
WELL_KNOWN_TAGS = (
    "parameter:random_state", "parameter:axis", "parameter:encoding", "parameter:timeout", "raises:KeyError",
    "module:scipy.signal", "module:sklearn.cluster", "module:tkinter", "module:email", "package:numba",
)  # fmt: skip
WELL_KNOWN_OBJECTS = ("scipy.optimize.minimize", "sklearn.linear_model.LogisticRegression", "json.dumps")

# what is asked of the predictor when nobody types a sentence
SENTENCES = ("Minimise a scalar function with bounds", "Read a compressed file line by line", "Eigenvalues of a matrix")


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic demo",
            "tagtopic demo --text 'Sort the lines of a file'",
            "tagtopic demo --model python-docs.tagtopic --report python-docs.html",
        )
    )(demo)


def demo(
    model: Annotated[str, typer.Option("--model", help="Where to keep the model.")] = "python-docs.tagtopic",
    report: Annotated[
        str, typer.Option("--report", help="Where to keep what is shown: .html or .svg.")
    ] = "report.html",
    package: Annotated[
        list[str] | None,
        typer.Option("--package", help="Read only this package, python being the standard library (may be repeated)."),
    ] = None,
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="How many topics.")] = N_TOPICS,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="SENTENCE", help="Predict tags for it.", show_default="ask in a terminal"),
    ] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Learn from the documentation of the Python it runs on, and show what was found.

    Documents are docstrings of the standard library and of installed scientific packages; tags are their package,
    module, kind, parameters and exceptions. Nothing is downloaded.
    """
    from tagtopic import TWDA
    from tagtopic.datasets import load_python_docs

    remark("reading the documentation of this Python…", quiet=quiet)
    corpus = load_python_docs(package or None, keep_texts=True)
    remark("learning…", quiet=quiet)
    fitted = TWDA(topics, random_state=0, n_jobs=jobs, progress=False if quiet else None).fit(corpus)
    console = results(record=True)
    _tell(console, fitted, corpus)
    _predict(console, fitted, text if text is not None else _asked(quiet=quiet))
    fitted.save(model)
    remark("writing the report…", quiet=quiet)
    _report(Path(report), console, fitted, corpus)
    remark(f"wrote {model} and {report}. Open the report, or go on with: tagtopic serve {model}", quiet=quiet)


def _report(path: Path, console: Console, model: TWDA, corpus: Corpus) -> None:
    """The report; what the console has shown as a picture, or as a page where the extra `explore` is missing."""
    if path.suffix.lower() == ".svg":
        picture = console.export_svg(title="tagtopic demo")
        write_text(path, re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))
    elif is_installed("jinja2"):
        from tagtopic.explore import Explorer, ReportLimits, write_report

        write_report(Explorer(model, corpus, name="python-docs"), path, ReportLimits(*PAGES))
    else:
        remark("pip install 'tagtopic[explore]' makes the report one to click through")
        write_text(path, console.export_html())


def _tell(console: Console, model: TWDA, corpus: Corpus) -> None:
    console.print(str(corpus.describe()), highlight=False, markup=False)
    console.rule("What is it about? Topics, largest first")
    print_table(topics_answer(model, n_words=10, n_tags=4), console=console)
    known = [tag for tag in WELL_KNOWN_TAGS if tag in model.tag_names_] or model.most_used_tags(5)
    console.rule("What is a tag about?")
    print_table(tags_answer(model, known, n_words=6), console=console)
    console.rule("Which tags matter in a document?")
    ids = list(corpus.ids)
    chosen = [ids.index(name) for name in WELL_KNOWN_OBJECTS if name in ids] or [0]
    ranked = list(zip((ids[i] for i in chosen), model.rank_tags(corpus[chosen]), strict=True))
    print_table(weights_answer("tags by weight, heaviest first", ranked), console=console)


def _asked(*, quiet: bool) -> str:
    """A sentence that the person types; nothing when nobody is there to type one."""
    if quiet or not sys.stdin.isatty():
        return ""
    remark("Which tags would your text have? Type a sentence about what some function does (Enter: none):")
    return sys.stdin.readline().strip()


def _predict(console: Console, model: TWDA, text: str) -> None:
    sentences = [text] if text.strip() else list(SENTENCES)
    console.rule("Which tags would a new text have?")
    predicted = list(zip(sentences, model.predict_tags(sentences, 5), strict=True))
    print_table(predictions_answer("tags by probability", predicted), console=console)
