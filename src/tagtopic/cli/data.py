"""`tagtopic describe`: what is in the files."""

from __future__ import annotations

from dataclasses import asdict

import typer

from tagtopic.cli import options
from tagtopic.cli.help import examples
from tagtopic.cli.inputs import Columns, read_corpus, rules_of
from tagtopic.cli.output import print_json, print_text


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic describe movies.jsonl --text storyline --tags director,stars",
            "tagtopic describe 'posts/*.parquet' --text body --tags tags --json",
            "tagtopic describe letters --format files --tags folder",
        )
    )(describe)


def describe(
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    min_df: options.MinDf = None,
    min_tag_documents: options.MinTagDocuments = 1,
    max_words: options.MaxWords = None,
    stop_words: options.StopWords = None,
    keep_kinds: options.KeepKinds = None,
    drop_kinds: options.DropKinds = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Count the documents, words and tags of files, as `fit` would read them."""
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    rules = rules_of(min_df, min_tag_documents, max_words, stop_words, keep_kinds, drop_kinds)
    description = read_corpus(files, columns, quiet=quiet, **rules).describe()
    if as_json:
        print_json(asdict(description))
    else:
        print_text(str(description))
