"""`tagtopic describe`, `topics`, `tags` and `info`: the content of files and of models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, corpus_rules, load_model, read_corpus
from tagtopic.cli.options import examples
from tagtopic.cli.output import check_output, emit, print_json, print_text
from tagtopic.cli.results import summary_result, tag_result, tags_result, topics_result


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
    drop_tag: options.DropTag = None,
    bigrams: options.Bigrams = None,
    stem: options.Stem = None,
    keep_markup: options.KeepMarkup = False,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Count the documents, words and tags of files, as read by `fit`."""
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    rules = corpus_rules(
        min_df, min_tag_documents, max_words, stop_words, keep_kinds, drop_kinds,
        drop_tags=drop_tag, bigrams=bigrams, stem=stem, keep_markup=keep_markup,
    )  # fmt: skip
    description = read_corpus(files, file_options, quiet=quiet, **rules).describe()
    if as_json:
        print_json(asdict(description))
    else:
        print_text(str(description))


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Describe and fit",
        epilog=examples(
            "tagtopic describe movies.jsonl --text storyline --tags director,stars",
            "tagtopic describe 'posts/*.parquet' --text body --tags tags --json",
            "tagtopic describe letters --format files --tags folder",
        ),
    )(describe)
    app.command(
        rich_help_panel="Inspect a model",
        epilog=examples(
            "tagtopic topics movies.tagtopic",
            "tagtopic topics movies.tagtopic --topic 3 --words 30",
            "tagtopic topics movies.tagtopic --json | jq '.[0].words'",
        ),
    )(topics)
    app.command(
        rich_help_panel="Inspect a model",
        epilog=examples(
            "tagtopic tags movies.tagtopic --kind director",
            "tagtopic tags movies.tagtopic 'director:Jane Campion'",
            "tagtopic tags movies.tagtopic --top 1000 -o tags.csv",
        ),
    )(tags)
    app.command(
        rich_help_panel="Inspect a model",
        epilog=examples("tagtopic info movies.tagtopic", "tagtopic info movies.tagtopic --json"),
    )(info)


def topics(
    model: options.Model,
    topic: Annotated[list[int] | None, typer.Option("--topic", help="Only this topic (may be repeated).")] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Number of words per topic.")] = 10,
    tags: Annotated[int, typer.Option("--tags", min=0, help="Number of tags per topic.")] = 5,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """List the topics of a model, largest first, with their words and tags."""
    check_output(output, model)
    result = topics_result(load_model(model), topics=topic or None, n_words=words, n_tags=tags)
    emit(result, as_json=as_json, output=output, quiet=quiet)


def tags(
    model: options.Model,
    tag: Annotated[str | None, typer.Argument(metavar="[TAG]", help="Full name of a tag.")] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Only tags of this kind (the part before the colon).")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", "-n", min=1, help="Number of tags, or of words and similar tags of TAG.")
    ] = 10,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Show what the documents of a tag are about, what the tag itself adds, its words, and similar tags.

    Without TAG, list the most frequent tags.
    """
    check_output(output, model)
    if tag and kind:
        raise ValueError(f"--kind {kind} is for lists of tags: leave it out, or the tag {tag}")
    fitted = load_model(model)
    if not fitted.tag_names_:
        raise ValueError("the model has learnt no tags, so it has none to show")
    result = tag_result(fitted, tag, top) if tag else tags_result(fitted, fitted.most_used_tags(top, kind=kind))
    emit(result, as_json=as_json, output=output, quiet=quiet)


def info(model: options.Model, as_json: options.Json = False) -> None:
    """Summarise a model file: size, inference method, iterations."""
    fitted = load_model(model)
    figures = {
        "file": model,
        "bytes": Path(model).stat().st_size,
        "kind": type(fitted).__name__,
        "inference": fitted.inference_,
        "topics": len(fitted.components_),
        "words": len(fitted.words_),
        "tags": len(fitted.tag_names_),
        "training_words": int(fitted.word_counts_.sum()),
        "iterations": int(fitted.n_iter_),
        "converged": bool(fitted.converged_),
        "seed": fitted.random_state,
    }
    emit(summary_result(Path(model).name, figures), as_json=as_json)
