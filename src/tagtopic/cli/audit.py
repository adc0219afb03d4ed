"""`tagtopic audit`: implausible tags, near-duplicate tags, and what each kind of tag explains."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, model_and_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import Column, LazyRows, Result, check_output, emit

if TYPE_CHECKING:
    from tagtopic.tagging.audit import TagReport

N_SHOWN = 20


class Table(StrEnum):
    """The tables of an audit."""

    ENTRIES = "entries"
    TAGS = "tags"
    DUPLICATES = "duplicates"
    KINDS = "kinds"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Apply a model to documents",
        epilog=examples(
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags director,keywords",
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags keywords --about tags -o tags.csv",
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags stars --about duplicates --json",
        ),
    )(audit)


def audit(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    about: Annotated[
        Table,
        typer.Option(
            "--about", help="Tags on documents (entries), tags over all their documents, near-duplicate tags, or kinds."
        ),
    ] = Table.ENTRIES,
    top: Annotated[
        int | None, typer.Option("--top", "-n", min=1, help="Maximum number of rows, least plausible first.")
    ] = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Audit the tags of documents: find implausible and near-duplicate tags.

    `plausibility` is the probability that a tag is one of its document's own rather than a random one, at even prior
    odds, and `p` the share of random tags that would score as high. In JSON and files, `id` is the document's id and
    `document_number` its number in the corpus, from 0, since ids may repeat.
    """
    check_output(output, model, *files)
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    fitted, corpus = model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)
    report = fitted.audit_tags(corpus)
    results = {
        Table.ENTRIES: _entries, Table.TAGS: _tags, Table.DUPLICATES: _duplicates, Table.KINDS: _kinds,
    }  # fmt: skip
    max_lines = N_SHOWN if top is None else top
    emit(results[about](report, top), as_json=as_json, output=output, quiet=quiet, max_lines=max_lines)


def _entries(report: TagReport, top: int | None) -> Result:
    entries = report.entries[:top]
    return Result(
        title=f"{len(entries):,} tags on documents, least plausible first",
        columns=[
            Column("document"), Column("tag"), Column("plausibility", number=True), Column("p", number=True),
            Column("weight", number=True), Column("expected", number=True), Column("evidence against", ratio=1),
        ],
        lines=[
            [e.document, e.tag, f"{e.plausibility:.3f}", f"{e.p_value:.3f}", f"{e.weight:.2f}",
             f"{e.expected_weight:.2f}", " ".join(e.disagreeing)]
            for e in entries[: N_SHOWN if top is None else top]
        ],
        value=_records(entries),
        rows=_records(entries, flat=True),
        table=lambda: _rename_id(entries.table()),
    )  # fmt: skip


def _tags(report: TagReport, top: int | None) -> Result:
    tags = report.tags[:top]
    return Result(
        title=f"{len(tags):,} tags, least plausible first",
        columns=[
            Column("tag", ratio=1), Column("documents", number=True), Column("plausibility", number=True),
            Column("p", number=True), Column("weight", number=True), Column("expected", number=True),
        ],
        lines=[
            [t.tag, f"{t.documents:,}", f"{t.plausibility:.3f}", f"{t.p_value:.2g}", f"{t.weight:.2f}",
             f"{t.expected_weight:.2f}"]
            for t in tags[: N_SHOWN if top is None else top]
        ],
        value=_records(tags),
        rows=_records(tags),
        table=tags.table,
    )  # fmt: skip


def _duplicates(report: TagReport, top: int | None) -> Result:
    pairs = report.duplicates[:top]
    rows = [
        {
            "first": pair.first, "second": pair.second, "topic_similarity": pair.topic_similarity,
            "first_documents": pair.documents[0], "second_documents": pair.documents[1], "together": pair.together,
        }
        for pair in pairs
    ]  # fmt: skip
    return Result(
        title=f"{len(pairs):,} pairs of near-duplicate tags",
        columns=[
            Column("first"), Column("second"), Column("similarity", number=True), Column("documents", number=True),
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


def _kinds(report: TagReport, top: int | None) -> Result:
    kinds = report.kinds[:top]
    rest = {"kind": None, "tags": None, "documents": None, "share": report.latent_share, "plausibility": None}
    rows: list[dict[str, Any]] = [*map(vars, kinds), rest]
    return Result(
        title="share of the words explained by each kind of tag",
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


def _rename_id(table: Any) -> Any:
    """Rename the column of documents to ``id``, as in the results of other commands."""
    return table.rename_columns(["id" if name == "document" else name for name in table.column_names])


def _records(entries: Sequence[Any], *, flat: bool = False) -> LazyRows:
    """Entries as dicts, without lists if ``flat``."""

    def row(i: int) -> dict[str, Any]:
        record = {"id" if name == "document" else name: value for name, value in vars(entries[i]).items()}
        return {**record, "disagreeing": " ".join(record["disagreeing"])} if flat else record

    return LazyRows(len(entries), row)
