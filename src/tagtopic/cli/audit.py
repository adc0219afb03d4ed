"""`tagtopic audit`: implausible tags, near-duplicate tags, and what each kind of tag explains."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import Columns, model_and_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import Answer, Column, Made, check_output, show

if TYPE_CHECKING:
    from tagtopic.tagging.audit import TagReport

SHOWN = 20


class About(StrEnum):
    """What an audit can tell of."""

    ENTRIES = "entries"
    TAGS = "tags"
    DUPLICATES = "duplicates"
    KINDS = "kinds"


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags director,keywords",
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags keywords --about tags -o tags.csv",
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags stars --about duplicates --json",
        )
    )(audit)


def audit(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    about: Annotated[
        About,
        typer.Option("--about", help="Tags on documents, tags on all of theirs, tags that may be one, or kinds."),
    ] = About.ENTRIES,
    top: Annotated[int | None, typer.Option("--top", "-n", min=1, help="At most so many, worst first.")] = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Find tags that explain nothing of their documents, worst first, with the evidence.

    `plausibility` is the probability that a tag is one of its document's own rather than a random one, at even prior
    odds, and `p` the share of random tags that would score as high. In JSON and files, `id` is the document's id and
    `document_number` its number in the corpus, from 0, since ids may repeat.
    """
    check_output(output, model, *files)
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    fitted, corpus = model_and_corpus(model, files, columns, jobs=jobs, quiet=quiet)
    report = fitted.audit_tags(corpus)
    answers = {
        About.ENTRIES: _entries, About.TAGS: _tags, About.DUPLICATES: _duplicates, About.KINDS: _kinds,
    }  # fmt: skip
    shown = SHOWN if top is None else top
    show(answers[about](report, top), as_json=as_json, output=output, quiet=quiet, at_most=shown)


def _entries(report: TagReport, top: int | None) -> Answer:
    entries = report.entries[:top]
    return Answer(
        title=f"{len(entries):,} tags on documents, the least plausible first",
        columns=[
            Column("document"), Column("tag"), Column("plausibility", number=True), Column("p", number=True),
            Column("weight", number=True), Column("expected", number=True), Column("words that disagree", ratio=1),
        ],
        lines=[
            [e.document, e.tag, f"{e.plausibility:.3f}", f"{e.p_value:.3f}", f"{e.weight:.2f}",
             f"{e.expected_weight:.2f}", " ".join(e.disagreeing)]
            for e in entries[: SHOWN if top is None else top]
        ],
        value=_records(entries),
        rows=_records(entries, flat=True),
        table=lambda: _with_id(entries.table()),
    )  # fmt: skip


def _tags(report: TagReport, top: int | None) -> Answer:
    tags = report.tags[:top]
    return Answer(
        title=f"{len(tags):,} tags, the least plausible first",
        columns=[
            Column("tag", ratio=1), Column("documents", number=True), Column("plausibility", number=True),
            Column("p", number=True), Column("weight", number=True), Column("expected", number=True),
        ],
        lines=[
            [t.tag, f"{t.documents:,}", f"{t.plausibility:.3f}", f"{t.p_value:.2g}", f"{t.weight:.2f}",
             f"{t.expected_weight:.2f}"]
            for t in tags[: SHOWN if top is None else top]
        ],
        value=_records(tags),
        rows=_records(tags),
        table=tags.table,
    )  # fmt: skip


def _duplicates(report: TagReport, top: int | None) -> Answer:
    pairs = report.duplicates[:top]
    rows = [
        {
            "first": pair.first, "second": pair.second, "topic_similarity": pair.topic_similarity,
            "first_documents": pair.documents[0], "second_documents": pair.documents[1], "together": pair.together,
        }
        for pair in pairs
    ]  # fmt: skip
    return Answer(
        title=f"{len(pairs):,} pairs of tags that may be one",
        columns=[
            Column("first"), Column("second"), Column("topics alike", number=True), Column("documents", number=True),
            Column("together", number=True),
        ],
        lines=[
            [p.first, p.second, f"{p.topic_similarity:.2f}", f"{p.documents[0]:,} / {p.documents[1]:,}",
             str(p.together)]
            for p in pairs
        ],
        value=rows,
        rows=rows,
        fields={
            "first": str, "second": str, "topic_similarity": float, "first_documents": int, "second_documents": int,
            "together": int,
        },
    )  # fmt: skip


def _kinds(report: TagReport, top: int | None) -> Answer:
    kinds = report.kinds[:top]
    rest = {"kind": None, "tags": None, "documents": None, "share": report.latent_share, "plausibility": None}
    rows: list[dict[str, Any]] = [*map(vars, kinds), rest]
    return Answer(
        title="how much of the words each kind of tag explains",
        columns=[
            Column("kind"), Column("share", number=True), Column("tags", number=True),
            Column("documents", number=True), Column("plausibility", number=True),
        ],
        lines=[
            [k.kind or "(no kind)", f"{k.share:.1%}", f"{k.tags:,}", f"{k.documents:,}", f"{k.plausibility:.2f}"]
            for k in kinds
        ] + [["(no tag)", f"{report.latent_share:.1%}", "", "", ""]],
        value=rows,
        rows=rows,
    )  # fmt: skip


def _with_id(table: Any) -> Any:
    """Documents are called ``id`` in the answers of every command."""
    return table.rename_columns(["id" if name == "document" else name for name in table.column_names])


def _records(found: Sequence[Any], *, flat: bool = False) -> Made:
    """Records as dicts; ``flat`` ones have no lists."""

    def make(i: int) -> dict[str, Any]:
        record = {"id" if name == "document" else name: value for name, value in vars(found[i]).items()}
        return {**record, "disagreeing": " ".join(record["disagreeing"])} if flat else record

    return Made(len(found), make)
