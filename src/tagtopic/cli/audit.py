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
from tagtopic.cli.results import titled

if TYPE_CHECKING:
    from tagtopic.tagging.audit import TagReport

N_SHOWN = 20
TITLE_WIDTH = 24  # the tag and the evidence need the room


class Table(StrEnum):
    """The tables of an audit."""

    ENTRIES = "entries"
    TAGS = "tags"
    DUPLICATES = "duplicates"
    KINDS = "kinds"


class Order(StrEnum):
    """The orders of tags on documents."""

    BOTH = "both"
    RANDOM = "random"
    SIBLING = "sibling"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Apply a model to documents",
        epilog=examples(
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags director,keywords",
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags keywords --about tags -o tags.csv",
            "tagtopic audit movies.tagtopic movies.jsonl --text storyline --tags stars --about duplicates --json",
            "tagtopic audit m.tagtopic movies.jsonl --text storyline --tags stars --kinds stars --min-documents 10",
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
        int | None, typer.Option("--top", "-n", min=1, help="Maximum number of rows, most suspicious first.")
    ] = None,
    order: Annotated[
        Order,
        typer.Option("--order", help="First those that are most probably wrong, look random, or like a wrong sibling."),
    ] = Order.BOTH,
    kinds: Annotated[
        str | None,
        typer.Option(
            "--kinds", "--kind", metavar="KIND,…", help="Only tags of these kinds (the part before the colon)."
        ),
    ] = None,
    min_documents: Annotated[
        int,
        typer.Option("--min-documents", min=0, help="Only tags on at least this many other training documents."),
    ] = 0,
    below: Annotated[
        float, typer.Option("--below", min=0.0, max=1.0, help="Only tags on documents with at most this plausibility.")
    ] = 1.0,
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

    `suspicion` is the probability that a tag is wrong. It combines two scores at even prior odds: `plausibility`, the
    probability that the tag is one of its document's own rather than a random one, and `sibling`, the probability that
    it was confused with a similar tag; the last column has the tag that fits better, if there is one. In JSON and
    files, `id` is the document's id and `document_number` its number in the corpus, from 0, since ids may repeat.
    """
    check_output(output, model, *files)
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    fitted, corpus = model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)
    report = fitted.audit_tags(
        corpus, order=order, kinds=options.split_names(kinds), min_documents=min_documents, below=below
    )
    results = {Table.TAGS: _tags, Table.DUPLICATES: _duplicates, Table.KINDS: _kinds}
    max_lines = N_SHOWN if top is None else top
    result = _entries(report, top, corpus.titles) if about is Table.ENTRIES else results[about](report, top)
    emit(result, as_json=as_json, output=output, quiet=quiet, max_lines=max_lines)


def _entries(report: TagReport, top: int | None, titles: Sequence[str] | None) -> Result:
    entries = report.entries[:top]
    return Result(
        title=f"{len(entries):,} tags on documents, most suspicious first",
        columns=[
            Column("document", one_line=True, ratio=4), Column("tag", ratio=3, min_width=18),
            Column("suspicion", number=True),
            Column("plausibility", number=True),
            Column("sibling", number=True), Column("weight", number=True), Column("expected", number=True),
            Column("evidence against", ratio=3, min_width=12), Column("better", ratio=2, min_width=10),
        ],
        lines=[
            [titled(e.document, titles, e.document_number, TITLE_WIDTH), e.tag, f"{e.suspicion:.2f}",
             f"{e.plausibility:.2f}", f"{e.wrong_sibling:.2f}", f"{e.weight:.2f}", f"{e.expected_weight:.2f}",
             " ".join(e.disagreeing), e.sibling or ""]
            for e in entries[: N_SHOWN if top is None else top]
        ],
        value=_records(entries, titles=titles),
        rows=_records(entries, flat=True, titles=titles),
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


def _records(entries: Sequence[Any], *, flat: bool = False, titles: Sequence[str] | None = None) -> LazyRows:
    """Entries as dicts, without lists if ``flat``; with the titles of their documents if there are any."""

    def row(i: int) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for name, value in vars(entries[i]).items():
            record["id" if name == "document" else name] = value
            if name == "document" and titles is not None:
                record["title"] = titles[entries[i].document_number]
        return {**record, "disagreeing": " ".join(record["disagreeing"])} if flat else record

    return LazyRows(len(entries), row)
