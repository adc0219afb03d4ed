"""`tagtopic evaluate` and `search-topics`: perplexity of a model, and the choice of the number of topics."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagtopic._core.files import atomic_file
from tagtopic.cli import options
from tagtopic.cli.fit import EXIT_INTERRUPTED, ModelName, estimator_class
from tagtopic.cli.inputs import FileOptions, corpus_rules, model_and_corpus, read_corpus, warn_if_no_known_tags
from tagtopic.cli.options import examples
from tagtopic.cli.output import Column, Result, emit, notify, write_rows
from tagtopic.cli.results import summary_result

if TYPE_CHECKING:
    from tagtopic.models.topic_search import TopicSearch


class Method(StrEnum):
    """The methods to measure perplexity."""

    COMPLETION = "completion"
    TAGS = "tags"
    FITTED = "fitted"
    BOUND = "bound"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Evaluate",
        epilog=examples(
            "tagtopic evaluate movies.tagtopic held-out.jsonl --text storyline --tags director,stars",
            "tagtopic evaluate movies.tagtopic held-out.jsonl --text storyline --json",
        ),
    )(evaluate)
    app.command(
        "search-topics",
        rich_help_panel="Evaluate",
        epilog=examples(
            "tagtopic search-topics movies.jsonl --text storyline --tags director,stars -k 20,50,100,200",
            "tagtopic search-topics posts.csv --text body --tags tags -k 10,20,40 --output search --json",
        ),
    )(search_topics)


def evaluate(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            help="completion: words that were not used to infer the topics; tags: all words, from tags alone.",
        ),
    ] = Method.COMPLETION,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=options.MAX_SEED, help="Seed of the choice of held-out words.")
    ] = 0,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure the perplexity of documents: the effective number of equally likely words; lower is better."""
    from tagtopic.evaluation import perplexity

    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    fitted, corpus = model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)
    warn_if_no_known_tags(fitted, corpus)
    measured = perplexity(fitted, corpus, method=method.value, random_state=seed)
    values = {
        "perplexity": measured.value,
        "method": method.value,
        "documents": len(corpus),
        "scored_words": measured.scored_tokens,
        "skipped_documents": measured.skipped_documents,
    }
    emit(summary_result(f"{model} on {', '.join(files)}", values), as_json=as_json)


def search_topics(
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    topics: Annotated[
        str, typer.Option("--topics", "-k", metavar="N,…", help="Numbers of topics to compare.")
    ] = "20,50,100,200",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder for finished fits, a table and a plot."),
    ] = None,
    model: Annotated[
        ModelName, typer.Option("--model", "-m", help="twda also uses untagged documents; lda ignores tags.")
    ] = ModelName.TWDA,
    max_iter: Annotated[
        int | None,
        typer.Option("--max-iter", min=1, help="Maximum number of iterations per fit.", show_default=options.MAX_ITER),
    ] = None,
    test_size: Annotated[
        float, typer.Option("--test-size", min=0.0, max=1.0, help="Share of held-out documents.")
    ] = 0.2,
    seed: options.Seed = 0,
    coherence: Annotated[
        bool | None,
        typer.Option(
            "--coherence/--no-coherence", help="Measure coherence with gensim.", show_default="if gensim is installed"
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
    drop_tag: options.DropTag = None,
    bigrams: options.Bigrams = None,
    stem: options.Stem = None,
    keep_markup: options.KeepMarkup = False,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit models with several numbers of topics, compare them on held-out documents, and recommend one.

    The recommendation is the smallest number of topics whose perplexity is at most 1% above the lowest. With --output,
    the same command continues an interrupted search.
    """
    from tagtopic.models.topic_search import search_topics as search

    numbers = options.parse_integers(topics, "-k")
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    rules = corpus_rules(
        min_df, min_tag_documents, max_words, stop_words, keep_kinds, drop_kinds,
        drop_tags=drop_tag, bigrams=bigrams, stem=stem, keep_markup=keep_markup,
    )  # fmt: skip
    corpus = read_corpus(files, file_options, jobs=jobs, quiet=quiet, **rules)
    notify(f"read {corpus!r}", quiet=quiet)
    try:
        searched = search(
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
        notify(f"finished fits are in {output}: the same command continues from there" if output else "stopped")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if output:
        _write(searched, Path(output), quiet=quiet)
    emit(_search_result(searched), as_json=as_json)
    if searched.advice:
        notify(searched.advice, quiet=quiet)


def _search_result(searched: TopicSearch) -> Result:
    names = ["topics", "perplexity", "coherence", "diversity", "exclusivity", "iterations", "seconds"]
    records = searched.records()
    formats = {"perplexity": ",.1f", "coherence": ".3f", "diversity": ".3f", "exclusivity": ".3f", "seconds": ".1f"}
    return Result(
        title=f"recommended: {searched.recommended} topics",
        columns=[Column(name, number=True) for name in names],
        lines=[["-" if r[n] is None else format(r[n], formats.get(n, "d")) for n in names] for r in records],
        value={
            "recommended": searched.recommended,
            "within": searched.within,
            "advice": searched.advice,
            "table": records,
        },
        rows=records,
    )


def _write(searched: TopicSearch, folder: Path, *, quiet: bool) -> None:
    from tagtopic._core.optional import is_installed

    write_rows(searched.records(), folder / "table.csv")
    notify(f"wrote {folder / 'table.csv'}", quiet=quiet)
    if is_installed("matplotlib"):
        with atomic_file(folder / "plot.svg") as temporary:
            searched.plot().savefig(temporary, format="svg")
        notify(f"wrote {folder / 'plot.svg'}", quiet=quiet)
    else:
        notify("no plot.svg: a plot needs matplotlib, pip install 'tagtopic[experiments]'", quiet=quiet)
