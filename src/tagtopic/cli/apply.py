"""`tagtopic rank`, `predict` and `transform`: a model on documents."""

from __future__ import annotations

from typing import Annotated

import typer

from tagtopic.cli import options
from tagtopic.cli.cluster import Destination, answer_on_cluster
from tagtopic.cli.inputs import Columns, load_model, model_and_corpus, read_corpus, require_tags, tell_of_no_tags
from tagtopic.cli.options import examples
from tagtopic.cli.output import check_output, show
from tagtopic.cli.tables import mixes_answer, predictions_answer, weights_answer
from tagtopic.engines import ENGINES

SHOWN = 20  # documents in a table for a person; --json and --output have all


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        epilog=examples(
            "tagtopic rank movies.tagtopic movies.jsonl --text storyline --tags director,stars,keywords",
            "tagtopic rank movies.tagtopic movies.jsonl --text storyline --tags keywords --top 3 -o weights.csv",
        )
    )(rank)
    app.command(
        epilog=examples(
            "tagtopic predict movies.tagtopic new.jsonl --text storyline --kinds keywords -o tags.csv",
            "tagtopic predict movies.tagtopic - --text storyline --json < new.jsonl",
            "echo 'A heist goes wrong' | tagtopic predict movies.tagtopic -",
        )
    )(predict)
    app.command(
        epilog=examples(
            "tagtopic transform movies.tagtopic new.jsonl --text storyline --tags director -o topics.parquet",
            "tagtopic transform movies.tagtopic - --text storyline --json < new.jsonl",
            "tagtopic transform movies.tagtopic notes.txt --format text -o topics.csv",
            "tagtopic transform m.tagtopic 'posts/*.parquet' --engine spark --master spark://host:7077 -o t.parquet",
        )
    )(transform)


def rank(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    top: Annotated[
        int | None, typer.Option("--top", "-n", min=1, help="At most so many tags of each document.")
    ] = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    engine: options.Engine = options.DEFAULT_ENGINE,
    master: options.Master = None,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank the tags of each document by how much they explain of its text.

    What none of its tags explains is `no_tag`. A file has a row for each tag of a document, and one with an empty tag
    for a document whose tags the model does not know; a .json file has a record for each document.
    """
    options.check_engine(engine, master)
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    if ENGINES[engine].on_cluster:
        to = Destination(engine, master, output, as_json=as_json, quiet=quiet)
        answer_on_cluster(model, files, columns, ["tag_weights", "latent_weight"], to, n_ranked=top)
        return
    check_output(output, model, *files)
    fitted = load_model(model, jobs)
    require_tags(fitted)
    corpus = read_corpus(files, columns, model=fitted, jobs=jobs, quiet=quiet)
    ranked = list(zip(corpus.ids, fitted.rank_tags(corpus), strict=True))
    tell_of_no_tags(fitted, corpus)
    answer = weights_answer(_title(len(corpus), "tags by weight"), ranked, top)
    show(answer, as_json=as_json, output=output, quiet=quiet, at_most=SHOWN)


def predict(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    id_column: options.Id = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="How many tags of each document.")] = 10,
    kinds: Annotated[
        str | None, typer.Option("--kinds", help="Only tags of these kinds (before the colon), with commas between.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="neighbours (calibrated), or likelihood (the paper's score).")
    ] = "neighbours",
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    engine: options.Engine = options.DEFAULT_ENGINE,
    master: options.Master = None,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Predict the tags of each document from its text."""
    options.check_engine(engine, master)
    no_tags = ""  # the tags that documents have are not used, so they need not be readable
    columns = Columns.of(
        text, no_tags, id_column, None, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    if ENGINES[engine].on_cluster:
        to = Destination(engine, master, output, as_json=as_json, quiet=quiet)
        predicting = {"n_predicted": top, "kinds": options.several(kinds), "method": method}
        answer_on_cluster(model, files, columns, ["predicted_tags"], to, **predicting)
        return
    check_output(output, model, *files)
    fitted, corpus = model_and_corpus(model, files, columns, jobs=jobs, quiet=quiet)
    found = fitted.predict_tags(corpus, top, method=method, kinds=options.several(kinds))
    documents = list(zip(corpus.ids, found, strict=True))
    answer = predictions_answer(_title(len(corpus), "most probable tags"), documents)
    show(answer, as_json=as_json, output=output, quiet=quiet, at_most=SHOWN)


def transform(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    engine: options.Engine = options.DEFAULT_ENGINE,
    master: options.Master = None,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Infer the topic mix of each document."""
    options.check_engine(engine, master)
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    if ENGINES[engine].on_cluster:
        to = Destination(engine, master, output, as_json=as_json, quiet=quiet)
        answer_on_cluster(model, files, columns, ["topics"], to)
        return
    check_output(output, model, *files)
    fitted, corpus = model_and_corpus(model, files, columns, jobs=jobs, quiet=quiet)
    answer = mixes_answer(_title(len(corpus), "largest topics"), corpus.ids, fitted.transform(corpus))
    show(answer, as_json=as_json, output=output, quiet=quiet, at_most=SHOWN)


def _title(n_documents: int, what: str) -> str:
    if n_documents == 1:
        return f"1 document and its {what}"
    shown = f"the first {SHOWN} of {n_documents:,}" if n_documents > SHOWN else str(n_documents)
    return f"{shown} documents and their {what}"
