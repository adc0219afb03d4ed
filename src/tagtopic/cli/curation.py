"""Commands of curation, `review`, `decisions` and `edit`: questions, a ledger of answers, what follows from it."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, load_model, open_ledger, read_corpus
from tagtopic.cli.options import examples, split_names
from tagtopic.cli.output import (
    Column,
    Result,
    check_output,
    check_target,
    emit,
    naming_errors,
    notify,
    print_json,
    print_text,
)
from tagtopic.cli.results import topics_result

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.curation import Candidate, Decision, Ledger, ReviewQueue
    from tagtopic.curation.imports import ImportedFile

PANEL = "Curate"

TEXT_CHARACTERS = 700
TOOLS = ("label-studio", "argilla")
KEYS = "y yes, n no, s skip, u undo, q quit"

LedgerFile = Annotated[str, typer.Argument(metavar="LEDGER", help="File of decisions, such as films.decisions.jsonl.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason.", show_default=False)]
Kinds = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="Kind of decision: tag-wrong, tag-right, tag-add, tag-reject, tags-merge, tags-keep-apart, topic-rename, "
        "topic-merge, topic-hide, topic-seed or words-ban.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            "tagtopic review films.tagtopic films.jsonl --text plot --tags keyword --ledger films.decisions.jsonl",
            "tagtopic review films.tagtopic films.jsonl --text plot --tags keyword --ledger films.decisions.jsonl "
            "-o questions.csv",
        ),
    )(review)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples("tagtopic edit films.tagtopic --ledger films.decisions.jsonl -o edited.tagtopic"),
    )(edit)
    group = typer.Typer(
        name="decisions", help="Record, list and apply decisions about tags, topics and words.", no_args_is_help=True
    )
    group.command(
        epilog=examples(
            "tagtopic decisions add films.decisions.jsonl tag-wrong document=17 tag=keyword:space --why 'set at sea'",
            "tagtopic decisions add films.decisions.jsonl tags-merge canonical=keyword:heist variants=keyword:heists",
            "tagtopic decisions add films.decisions.jsonl topic-rename topic=3 name=Crime --model films.tagtopic",
            "tagtopic decisions add films.decisions.jsonl topic-merge topics=3 topics=7 --model films.tagtopic",
        ),
    )(add)
    group.command(epilog=examples("tagtopic decisions undo films.decisions.jsonl 4f0c1d2e3a5b"))(undo)
    group.command(
        epilog=examples(
            "tagtopic decisions log films.decisions.jsonl", "tagtopic decisions log films.decisions.jsonl -o log.csv"
        ),
    )(log)
    group.command(
        epilog=examples(
            "tagtopic decisions apply films.jsonl --tags keyword --ledger films.decisions.jsonl -o corrected.jsonl",
            "tagtopic decisions apply posts.csv --tags labels --tag-separator ';' --ledger posts.decisions.jsonl "
            "-o corrected.csv",
        ),
    )(apply)
    group.command(
        name="import",
        epilog=examples(
            "tagtopic decisions import films.decisions.jsonl answers.csv",
            "tagtopic decisions import films.decisions.jsonl label-studio-export.json",
            "tagtopic decisions import films.decisions.jsonl other.decisions.jsonl",
            "tagtopic decisions import films.decisions.jsonl thesaurus.ttl --kind keyword --model films.tagtopic",
        ),
    )(import_decisions)
    group.command(
        epilog=examples(
            "tagtopic decisions export films.decisions.jsonl -o decisions.csv",
            "tagtopic decisions export films.decisions.jsonl -o thesaurus.ttl",
        ),
    )(export)
    app.add_typer(group, rich_help_panel=PANEL)


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


def edit(
    model: options.Model,
    ledger: options.Ledger,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Apply decisions about topics and words to a model: names, merged and hidden topics, banned words.

    The model is not fitted again. Shares and proportions of merged topics are the sums of theirs. Tags are corrected by
    `tagtopic decisions apply` and another fit.
    """
    target = Path(output)
    check_target(output, ledger)
    edited = load_model(model).edit(open_ledger(ledger))
    with naming_errors(target):
        edited.save(target)
    result = topics_result(edited, n_words=8, n_tags=3)
    if as_json:
        print_json(result.value)
    elif not quiet:
        emit(result)
        print_text(f"wrote {output}")


def add(
    ledger: LedgerFile,
    what: Kinds,
    fields: Annotated[
        list[str],
        typer.Argument(metavar="FIELD=VALUE…", help="Fields of the decision; a list has its field several times."),
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Model file, for decisions about its topics.")
    ] = None,
    who: options.Who = None,
    why: Why = "",
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Record a decision.

    Fields by kind of decision: document and tag (tag-wrong, tag-right, tag-add, tag-reject); canonical and variants
    (tags-merge); tags (tags-keep-apart); topic and name (topic-rename); topics (topic-merge); topic (topic-hide); name
    and words (topic-seed); words (words-ban). Topics are numbers of the model that --model names.
    """
    given: dict[str, Any] = _parse_fields(what, fields)
    if "topic" in given or "topics" in given:
        if model is None:
            raise ValueError(f"{what} is about topics of a model: add --model")
        fitted = load_model(model)
        for name in {"topic", "topics"} & given.keys():
            values = given[name]
            found = [
                fitted.topic_reference(_topic_number(value)) for value in ([values] if name == "topic" else values)
            ]
            given[name] = found[0] if name == "topic" else found
    opened = open_ledger(ledger, who, missing=True)
    decision = opened.record(what, why=why, **given)
    if as_json:
        print_json(decision.to_json())
    elif not quiet:
        print_text(f"recorded {decision.id}: {decision.what}, {decision.describe()}")


def undo(
    ledger: LedgerFile,
    entry: Annotated[str, typer.Argument(metavar="ID", help="Id of the decision, as in the log.")],
    who: options.Who = None,
    why: Why = "",
    quiet: options.Quiet = False,
) -> None:
    """Undo a decision; the undo of an undo restores it. The ledger keeps both."""
    decision = open_ledger(ledger, who).undo(entry, why=why)
    if not quiet:
        print_text(f"recorded {decision.id}: undo of {entry}")


def log(
    ledger: LedgerFile,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """List the decisions of a ledger, in their order."""
    check_output(output, ledger)
    emit(_log_result(open_ledger(ledger)), as_json=as_json, output=output, quiet=quiet)


def apply(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="JSON Lines, CSV, TSV or Parquet files.")],
    ledger: options.Ledger,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write, in the format of the others.")
    ],
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the records of files with corrected tags: merged, removed and added as decided.

    All other columns, and records whose tags are right, are copied as they are. Give --tags, --id and --tag-separator
    as for the fit, so that documents and tags have the names that the decisions use.
    """
    from tagtopic.corpus.reading.sources import files_of
    from tagtopic.curation.records import RecordCorrector, write_corrected

    check_target(output, ledger, *files)
    decisions = open_ledger(ledger).state
    corrector = RecordCorrector(decisions, split_names(tags) or ["tags"], id_column or "id", tag_separator)
    found = write_corrected(files_of(files), Path(output), corrector, delimiter=delimiter)
    summary = {"output": output, **vars(found)}
    if as_json:
        print_json(summary)
    else:
        notify(
            f"wrote {found.records:,} records to {output}; {found.changed:,} changed: {found.renamed:,} tags renamed, "
            f"{found.removed:,} removed, {found.added:,} added",
            quiet=quiet,
        )


def import_decisions(
    ledger: LedgerFile,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="CSV (or .tsv), JSON of Label Studio or Argilla, another ledger, or SKOS."),
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Kind of the tags of a thesaurus.", show_default="none")
    ] = "",
    language: Annotated[
        str | None,
        typer.Option("--language", metavar="CODE", help="Language of preferred names.", show_default="none, else en"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="Merge only tags of this model, matched with a thesaurus."),
    ] = None,
    who: options.Who = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Record the decisions of a file: all of them, or none if the file has an error.

    A CSV file has decisions (columns what, document, tag, …, as `export` writes them) or answers to questions (as
    `tagtopic review -o` writes them, with yes or no in the column answer). JSON files are exports of Label Studio and
    Argilla, or ledgers. A thesaurus is SKOS (.ttl, .nt, .rdf) or a .tsv file with preferred names and alternatives; its
    alternatives become merges. What the ledger has decided is left out, so that a file can be imported twice.
    """
    from tagtopic.curation.imports import read_decisions

    opened = open_ledger(ledger, who, missing=True)
    check_target(ledger, file)
    tags = None if model is None else load_model(model).tag_names_
    found = read_decisions(Path(file), opened, kind=kind, language=language, tags=tags)
    if as_json:
        print_json({"ledger": ledger, **vars(found)})
    elif not quiet:
        print_text(_describe_import(found, ledger))


def _describe_import(found: ImportedFile, ledger: str) -> str:
    parts = [f"recorded {found.recorded:,} decisions in {ledger}"]
    counts = {"were decided before": found.known, "are not answered": found.unanswered}
    parts += [f"{count:,} {label}" for label, count in counts.items() if count]
    if found.disputed:
        parts.append(f"{found.disputed:,} have different answers and are left open")
    if found.ambiguous:
        names = ", ".join(map(repr, found.ambiguous[:5]))
        parts.append(f"{len(found.ambiguous):,} names belong to several concepts and are not merged: {names}")
    return "; ".join(parts)


def export(
    ledger: LedgerFile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write: .csv, .ttl (SKOS) or .tsv.")
    ],
    quiet: options.Quiet = False,
) -> None:
    """Write decisions as CSV for spreadsheets, or merged tags as a thesaurus (SKOS in Turtle, or TSV)."""
    from tagtopic._core.files import write_text
    from tagtopic.curation.exchange import decision_csv
    from tagtopic.curation.thesaurus import concepts_of, to_tsv, to_turtle

    check_target(output, ledger)
    opened = open_ledger(ledger)
    suffix = Path(output).suffix.lower()
    if suffix == ".csv":
        text, size = decision_csv(opened), f"{len(opened):,} decisions"
    elif suffix in (".ttl", ".tsv"):
        concepts = concepts_of(opened.state)
        text, size = (to_turtle if suffix == ".ttl" else to_tsv)(concepts), f"{len(concepts):,} concepts"
    else:
        raise ValueError(f"{output}: expected a name that ends in .csv (decisions), .ttl or .tsv (merged tags)")
    with naming_errors(Path(output)):
        write_text(Path(output), text)
    notify(f"wrote {size} to {output}", quiet=quiet)


def _parse_fields(what: str, fields: Sequence[str]) -> dict[str, Any]:
    """The fields of a decision; those that are lists as lists."""
    given: dict[str, list[str]] = defaultdict(list)
    for text in fields:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text!r}: expected FIELD=VALUE, such as document=17")
        given[name].append(value)
    lists = {"variants", "tags", "topics", "words"}
    repeated = [name for name, values in given.items() if len(values) > 1 and name not in lists]
    if repeated:
        raise ValueError(f"{repeated[0]}= is given {len(given[repeated[0]])} times: {what} has one")
    return {name: values if name in lists else values[0] for name, values in given.items()}


def _topic_number(value: str) -> int:
    if not value.isdecimal():
        raise ValueError(f"{value!r} is not the number of a topic")
    return int(value)


def _log_result(ledger: Ledger) -> Result:
    undone = ledger.state.undone
    return Result(
        title=f"{len(ledger):,} decisions, {len(undone):,} of them undone",
        columns=[
            Column("id"), Column("time"), Column("who"), Column("what"), Column("decision", ratio=2),
            Column("why", ratio=1),
        ],
        lines=[
            [entry.id, entry.time[:16].replace("T", " "), entry.who, _kind(entry, undone), entry.describe(), entry.why]
            for entry in ledger
        ],
        value=[{**entry.to_json(), "undone": entry.id in undone} for entry in ledger],
        rows=[
            {"id": entry.id, "time": entry.time, "who": entry.who, "what": entry.what, "decision": entry.describe(),
             "why": entry.why, "undone": "yes" if entry.id in undone else ""}
            for entry in ledger
        ],
        fields=dict.fromkeys(("id", "time", "who", "what", "decision", "why", "undone"), str),
    )  # fmt: skip


def _kind(entry: Decision, undone: Set[str]) -> str:
    return f"{entry.what} (undone)" if entry.id in undone else entry.what
