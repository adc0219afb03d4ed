"""`tagtopic evaluate`: how well a model explains documents."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import Columns, model_and_corpus, tell_of_no_tags
from tagtopic.cli.options import examples
from tagtopic.cli.output import show
from tagtopic.cli.tables import figures_answer


class Method(StrEnum):
    """The ways to measure perplexity."""

    COMPLETION = "completion"
    FITTED = "fitted"
    BOUND = "bound"


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic evaluate movies.tagtopic held-out.jsonl --text storyline --tags director,stars",
            "tagtopic evaluate movies.tagtopic held-out.jsonl --text storyline --json",
        )
    )(evaluate)


def evaluate(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    method: Annotated[
        Method, typer.Option("--method", help="completion scores words that were not used to infer the topics.")
    ] = Method.COMPLETION,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=options.LARGEST_SEED, help="Which words are held back.")
    ] = 0,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure the perplexity of documents under a model: how many words it hesitates between; lower is better."""
    from tagtopic.evaluation import perplexity

    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    fitted, corpus = model_and_corpus(model, files, columns, jobs=jobs, quiet=quiet)
    tell_of_no_tags(fitted, corpus)
    found = perplexity(fitted, corpus, method=method.value, random_state=seed)
    figures = {
        "perplexity": found.value,
        "method": method.value,
        "documents": len(corpus),
        "scored_words": found.scored_tokens,
        "skipped_documents": found.skipped_documents,
    }
    show(figures_answer(f"{model} on {', '.join(files)}", figures), as_json=as_json)
