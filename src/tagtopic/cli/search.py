"""`tagtopic search-topics`: how many topics a collection has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagtopic._core.files import atomic_file
from tagtopic.cli import options
from tagtopic.cli.fit import INTERRUPTED, Kind, estimator_class
from tagtopic.cli.inputs import Columns, read_corpus, rules_of
from tagtopic.cli.options import examples
from tagtopic.cli.output import Answer, Column, remark, show, write_rows

if TYPE_CHECKING:
    from tagtopic.models.topic_search import TopicSearch


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(
        "search-topics",
        epilog=examples(
            "tagtopic search-topics movies.jsonl --text storyline --tags director,stars -k 20,50,100,200",
            "tagtopic search-topics posts.csv --text body --tags tags -k 10,20,40 --output search --json",
        ),
    )(search_topics)


def search_topics(
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    topics: Annotated[
        str, typer.Option("--topics", "-k", metavar="N,…", help="The numbers of topics to try, with commas between.")
    ] = "20,50,100,200",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Keep what is finished, a table and a plot here."),
    ] = None,
    model: Annotated[Kind, typer.Option("--model", "-m", help="twda also learns from untagged documents.")] = Kind.TWDA,
    max_iter: Annotated[int, typer.Option("--max-iter", min=1, help="The most iterations of each fit.")] = 200,
    test_size: Annotated[
        float, typer.Option("--test-size", min=0.0, max=1.0, help="Share of the documents held out.")
    ] = 0.2,
    seed: options.Seed = 0,
    coherence: Annotated[
        bool | None,
        typer.Option(
            "--coherence/--no-coherence", help="Measure coherence with gensim.", show_default="if gensim is there"
        ),
    ] = None,
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
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit models with several numbers of topics, compare them on held-out documents, and recommend one.

    Recommended is the smallest number of topics whose perplexity is at most 1% above the lowest. With --output, a
    search that was stopped goes on when the same command is given again.
    """
    from tagtopic.models.topic_search import search_topics as search

    numbers = options.whole_numbers(topics, "-k")
    columns = Columns.of(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    rules = rules_of(min_df, min_tag_documents, max_words, stop_words, keep_kinds, drop_kinds)
    corpus = read_corpus(files, columns, jobs=jobs, quiet=quiet, **rules)
    remark(f"read {corpus!r}", quiet=quiet)
    try:
        found = search(
            corpus,
            numbers,
            model=estimator_class(model)(max_iter=max_iter, random_state=seed, n_jobs=jobs),
            test_size=test_size,
            random_state=seed,
            coherence=coherence,
            output=output,
            progress=False if quiet else None,
        )
    except KeyboardInterrupt:
        remark(f"what is finished is in {output}: the same command goes on from there" if output else "stopped")
        raise typer.Exit(INTERRUPTED) from None
    if output:
        _write(found, Path(output), quiet=quiet)
    show(_answer(found), as_json=as_json)


def _answer(found: TopicSearch) -> Answer:
    names = ["topics", "perplexity", "coherence", "diversity", "exclusivity", "iterations", "seconds"]
    records = found.records()
    formats = {"perplexity": ",.1f", "coherence": ".3f", "diversity": ".3f", "exclusivity": ".3f", "seconds": ".1f"}
    return Answer(
        title=f"recommended: {found.recommended} topics",
        columns=[Column(name, number=True) for name in names],
        lines=[["-" if r[n] is None else format(r[n], formats.get(n, "d")) for n in names] for r in records],
        value={"recommended": found.recommended, "within": found.within, "table": records},
        rows=records,
    )


def _write(found: TopicSearch, folder: Path, *, quiet: bool) -> None:
    from tagtopic._core.optional import is_installed

    write_rows(found.records(), folder / "table.csv")
    remark(f"wrote {folder / 'table.csv'}", quiet=quiet)
    if is_installed("matplotlib"):
        with atomic_file(folder / "plot.svg") as temporary:
            found.plot().savefig(temporary, format="svg")
        remark(f"wrote {folder / 'plot.svg'}", quiet=quiet)
