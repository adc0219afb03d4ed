"""`tagtopic evaluate`, `search-topics` and `experiment`: perplexity, numbers of topics, the figures of the article."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic._core.files import atomic_file
from tagtopic.cli import options
from tagtopic.cli.fit import EXIT_INTERRUPTED, ModelName, estimator_class
from tagtopic.cli.inputs import FileOptions, corpus_rules, model_and_corpus, read_corpus, warn_if_no_known_tags
from tagtopic.cli.options import examples
from tagtopic.cli.output import Column, Result, emit, notify, print_text, write_rows
from tagtopic.cli.results import summary_result

if TYPE_CHECKING:
    from tagtopic.experiments import Dataset, ExperimentResult
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
    app.command(
        rich_help_panel="Evaluate",
        epilog=examples(
            "tagtopic experiment all --corpus embedded --output results --quick",
            "tagtopic experiment perplexity --corpus imdb/documents.twtm --output imdb --folds 2",
            "tagtopic experiment classify --corpus films.jsonl --text plot --tags cast,genres --labels genres -o films",
            "tagtopic experiment tags --corpus papers.jsonl --kinds author --min-tag-documents 5 -o papers",
            "tagtopic experiment perplexity --corpus imdb/documents.twtm --output imdb --redo TWDA",
            "tagtopic experiment replay --corpus imdb/documents.twtm --drop-duplicates --output imdb",
            "tagtopic experiment hybrid --corpus papers.jsonl --kinds author --min-tag-documents 5 -o papers",
        ),
    )(experiment)


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


class ExperimentName(StrEnum):
    """The experiments."""

    PERPLEXITY = "perplexity"
    TAGS = "tags"
    CLASSIFY = "classify"
    NOISE = "noise"
    SCALE = "scale"
    REPLAY = "replay"
    HYBRID = "hybrid"
    ALL = "all"


def experiment(
    name: Annotated[ExperimentName, typer.Argument(help="Experiment of the article.")],
    corpus: Annotated[
        list[str],
        typer.Option(
            "--corpus", metavar="FILE", help="Files as for fit; or embedded (Python's documentation), or planted."
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for cells and results.")],
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small and fast, for a trial run.")] = False,
    topics: Annotated[str | None, typer.Option("--topics", "-k", metavar="N,…", help="Numbers of topics.")] = None,
    folds: Annotated[int | None, typer.Option("--folds", min=1, max=5, help="Number of the five folds to run.")] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="MODEL", help="Only this model (may be repeated).")
    ] = None,
    redo: Annotated[
        list[str] | None,
        typer.Option(
            "--redo", metavar="MODEL", help="Run this model again; failed: all failed cells (may be repeated)."
        ),
    ] = None,
    kinds: Annotated[
        str | None, typer.Option("--kinds", metavar="KIND,…", help="Keep only tags of these kinds.")
    ] = None,
    labels: Annotated[str | None, typer.Option("--labels", metavar="KIND", help="Kind of tag to classify by.")] = None,
    min_tag_documents: Annotated[
        int, typer.Option("--min-tag-documents", min=1, help="Drop tags that occur on fewer documents.")
    ] = 1,
    documents: Annotated[
        int | None, typer.Option("--documents", min=10, help="Size of a random sample of the documents.")
    ] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Drop near-duplicates, so that splits do not reward memory.")
    ] = False,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N,…", help="Numbers of Spark workers for scale; 0 for no Spark.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0.0, help="Start no cell after this time; run again to continue.")
    ] = None,
    jobs: options.Jobs = None,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment of the article on a corpus: a comparison of models, as table and plot.

    Finished cells of the grid are kept in the folder: the same command continues an interrupted run.
    """
    from tagtopic.experiments import EXPERIMENT_NAMES, Plan, Selection, run
    from tagtopic.experiments.results import require_matplotlib

    require_matplotlib()
    if name is ExperimentName.ALL and models:
        raise ValueError("--model is for one experiment: each compares others")
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    selection = Selection(labels, options.split_names(kinds), min_tag_documents, documents, drop_duplicates)
    plan = Plan(
        quick=quick, topics=_numbers(topics, "-k"), folds=folds, models=tuple(models) if models else None,
        workers=_numbers(workers, "--workers", least=0), jobs=jobs,
    )  # fmt: skip
    dataset = _dataset(corpus, file_options, selection, quick=quick, jobs=jobs, quiet=quiet)
    notify(f"on {dataset.corpus!r}", quiet=quiet)
    for note in dataset.notes:
        notify(note, quiet=quiet)
    chosen = [one for one in EXPERIMENT_NAMES if name in (ExperimentName.ALL, one)]
    if name is ExperimentName.ALL and dataset.labels is None:
        notify("classify is skipped: it needs --labels", quiet=quiet)
        chosen.remove("classify")
    failed = 0
    for one in chosen:
        result = run(
            one, dataset, output, plan, redo=tuple(redo or ()), minutes=minutes,
            progress=False if quiet else None, log=lambda message: _log(message, quiet=quiet),
        )  # fmt: skip
        for table in result.tables:
            print_text(table.markdown())
        notify(f"wrote {', '.join(map(str, result.files))}", quiet=quiet)
        _report_failures(result)
        failed += len(result.failed)
    if failed:
        raise typer.Exit(1)


def _log(message: str, *, quiet: bool) -> None:
    """Print a message; failures are printed even if quiet."""
    notify(message, quiet=quiet and not message.startswith("failed"))


def _numbers(value: str | None, option: str, least: int = 1) -> tuple[int, ...] | None:
    return None if value is None else options.parse_integers(value, option, least)


def _report_failures(result: ExperimentResult) -> None:
    """Print how many cells failed, in this run or an earlier one, and why."""
    n = len(result.failed)
    if n:
        cells = "1 cell" if n == 1 else f"{n} cells"
        notify(f"{result.experiment.name}: {cells} failed: --redo failed runs {'it' if n == 1 else 'them'} again")
        for reason, times in Counter(cell.error for cell in result.failed).items():
            notify(f"  {times} × {reason}")


def _dataset(
    files: list[str], file_options: FileOptions, selection: Any, *, quick: bool, jobs: int | None, quiet: bool
) -> Dataset:
    """The embedded or planted dataset, or one from files."""
    from tagtopic.experiments import dataset as datasets

    built_in = files[0] if files in ([datasets.PLANTED], [datasets.EMBEDDED]) else None
    if built_in and (
        selection != datasets.Selection()
        or file_options != FileOptions.parse(None, None, None, None, None, skip_errors=False)
    ):
        raise ValueError(
            f"--corpus {built_in} has documents, tags and labels of its own: options that choose among them are for "
            "files"
        )
    if built_in == datasets.PLANTED:
        return datasets.planted_dataset(quick=quick)
    if built_in == datasets.EMBEDDED:
        notify("reading the documentation of the installed Python…", quiet=quiet)
        return datasets.embedded_dataset(quick=quick)
    rules = datasets.TWTM_FORMAT_RULES if all(".twtm" in file for file in files) else {}
    return datasets.select_dataset(read_corpus(files, file_options, jobs=jobs, quiet=quiet, **rules), selection)
