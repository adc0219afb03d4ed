"""`tagtopic review`: a queue of suspicious, missing and near-duplicate tags in the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, load_model, open_ledger, read_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import check_target, naming_errors, notify, print_text

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.curation import Candidate, ReviewQueue

TEXT_CHARACTERS = 700
TOOLS = ("label-studio", "argilla")
KEYS = "y yes, n no, s skip, u undo, q quit"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Curate",
        epilog=examples(
            "tagtopic review films.tagtopic films.jsonl --text plot --tags keyword --ledger films.decisions.jsonl",
            "tagtopic review films.tagtopic films.jsonl --text plot --tags keyword --ledger films.decisions.jsonl "
            "-o questions.csv",
        ),
    )(review)


def review(
    model: options.Model,
    files: options.Inputs,
    ledger: options.Ledger,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title: options.Title = None,
    tag_separator: options.TagSeparator = None,
    predicted: options.Predicted = 5,
    who: options.Who = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the questions to a file (.csv, .json) instead."),
    ] = None,
    tool: Annotated[
        str, typer.Option("--tool", metavar="NAME", help="What a .json file is for: label-studio or argilla.")
    ] = "label-studio",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Questions to write, at most.")] = 200,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Review suspicious, missing and near-duplicate tags, and record the decisions in a ledger.

    The decision that is expected to repair most comes first. Answers are read from standard input, one per line: y
    (yes), n (no), s (skip), u (undo the last decision), q (quit). Decisions of earlier reviews are not asked again.
    `tagtopic serve --ledger` asks the same questions in a browser. With --output they are written to a file for a
    spreadsheet, Label Studio or Argilla; `tagtopic decisions import` records the answers.
    """
    from tagtopic.curation.queue import ReviewQueue, candidates_of

    if output is not None:
        _check_questions(output, tool, model, *files, ledger)
    opened = open_ledger(ledger, who, missing=True)
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    fitted = load_model(model, jobs)
    corpus = read_corpus(files, file_options, model=fitted, jobs=jobs, quiet=quiet, keep_texts=True)
    found = fitted.predict_tags(corpus, predicted) if predicted else []
    queue = ReviewQueue(candidates_of(fitted.audit_tags(corpus), found, corpus), opened)
    if output is not None:
        _write_questions(queue, corpus, Path(output), tool, limit, quiet=quiet)
        return
    notify(f"{queue.n_left:,} candidates; {KEYS}", quiet=quiet)
    decided = _ask_all(queue, corpus)
    share = "" if queue.precision is None else f", {queue.precision:.0%} of all so far with yes"
    print_text(f"{decided:,} decisions recorded in {ledger}{share}; {queue.n_left:,} candidates left")


def _check_questions(output: str, tool: str, *inputs: str) -> None:
    """Raise if the questions cannot be written, before the queue is computed."""
    check_target(output, *inputs)
    if Path(output).suffix.lower() not in (".csv", ".json"):
        raise ValueError(f"{output}: expected a name that ends in .csv or .json")
    if tool not in TOOLS:
        raise ValueError(f"--tool {tool}: expected {' or '.join(TOOLS)}")


def _write_questions(queue: ReviewQueue, corpus: Corpus, path: Path, tool: str, limit: int, *, quiet: bool) -> None:
    from tagtopic._core.files import write_text
    from tagtopic.curation.exchange import argilla_records, label_studio_tasks, question_csv, questions_of

    questions = questions_of(queue, corpus, limit)
    if path.suffix.lower() == ".csv":
        text = question_csv(questions)
    else:
        records = label_studio_tasks(questions) if tool == TOOLS[0] else argilla_records(questions)
        text = json.dumps(records, ensure_ascii=False, indent=1) + "\n"
    with naming_errors(path):
        write_text(path, text)
    notify(f"wrote {len(questions):,} questions to {path}", quiet=quiet)


def _ask_all(queue: ReviewQueue, corpus: Corpus) -> int:
    """Ask until there is nothing left, the input ends, or q; return the number of decisions that were not undone."""
    made: list[str] = []
    while (candidate := queue.next()) is not None:
        print_text(_describe(candidate, queue, corpus))
        answer = sys.stdin.readline()
        key = answer.strip().lower()[:1]
        if not answer or key == "q":
            break
        if key in ("y", "n"):
            made.append(queue.decide(candidate, accept=key == "y").id)
        elif key == "s":
            queue.skip(candidate)
        elif key == "u" and made:
            queue.ledger.undo(made.pop())
            queue.update()
        else:
            print_text("nothing to undo" if key == "u" else f"expected one of: {KEYS}")
    return len(made)


def _describe(candidate: Candidate, queue: ReviewQueue, corpus: Corpus) -> str:
    """The text of a question."""
    share = "" if queue.precision is None else f", {queue.precision:.0%} yes"
    lines = [f"\n[{queue.n_decided:,} decided{share}, {queue.n_left:,} left]"]
    if candidate.document_number >= 0:
        text = corpus.texts[candidate.document_number] if corpus.texts is not None else ""
        short = " ".join(text.split())
        lines.append(f"{candidate.document}: {short[:TEXT_CHARACTERS]}{'…' * (len(short) > TEXT_CHARACTERS)}")
        tags = queue.ledger.state.corrected_tags(candidate.document, corpus[candidate.document_number].tags)
        lines.append(f"tags: {', '.join(tags) or '(none)'}")
        if candidate.words:
            lines.append(f"words against it: {' '.join(candidate.words)}")
        named = candidate.tag
    else:
        named = f"{candidate.tag} / {candidate.other}, {candidate.repairs:,} documents with the rarer one"
    lines.append(f"{candidate.kind} {named}: {candidate.question} ({queue.probability(candidate):.0%}) [y/n/s/u/q]")
    return "\n".join(lines)
