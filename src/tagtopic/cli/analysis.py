"""`tagtopic effects`, `trends`, `contrast`, `hierarchy` and `labels`: what topics depend on, and how they group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, load_model, model_and_corpus
from tagtopic.cli.options import examples, split_names
from tagtopic.cli.output import Column, Result, check_output, emit, notify

if TYPE_CHECKING:
    from tagtopic.analysis import Table

N_SHOWN = 40
PANEL = "Apply a model to documents"
FIGURE_SUFFIXES = (".html", ".svg", ".png", ".pdf")

Figure = Annotated[
    str | None,
    typer.Option(
        "--figure", help="Write a figure: .html, or .svg, .png and .pdf (with the extra figures, and Chrome)."
    ),
]
Topics = Annotated[str | None, typer.Option("--topics", help="Topics to report, separated by commas.")]
Level = Annotated[float, typer.Option("--level", min=0.01, max=0.999, help="The probability of an interval.")]
Groups = Annotated[
    int | None, typer.Option("--groups", min=1, help="Group the topics into this many first (see hierarchy).")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    shared = "movies.tagtopic movies.jsonl --text storyline --tags genre,year"
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            f"tagtopic effects {shared} --formula 'year + genre'",
            f"tagtopic effects {shared} --formula 'bs(year, df=4)' --predict year -o shares.csv",
            f"tagtopic effects {shared} --formula 'year * genre' --predict year --at genre=crime --figure crime.html",
        ),
    )(effects)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(
            f"tagtopic trends {shared} --time year",
            f"tagtopic trends {shared} --time year --by genre -o trends.csv --figure trends.html",
        ),
    )(trends)
    app.command(
        rich_help_panel=PANEL,
        epilog=examples(f"tagtopic contrast {shared} --first genre:crime --second genre:romance --about words"),
    )(contrast)
    app.command(
        rich_help_panel="Inspect a model",
        epilog=examples(
            "tagtopic hierarchy movies.tagtopic --levels 5,20",
            "tagtopic hierarchy movies.tagtopic --levels 5,20 --figure tree.html --json",
        ),
    )(hierarchy)
    app.command(rich_help_panel="Inspect a model", epilog=examples("tagtopic labels movies.tagtopic"))(labels)


def effects(
    model: options.Model,
    files: options.Inputs,
    formula: Annotated[
        str, typer.Option("--formula", help="Covariates: kinds of tags, tags between backquotes, 'bs(year, df=4)', …")
    ],
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    predict: Annotated[
        str | None, typer.Option("--predict", help="Report expected shares by this covariate instead of contrasts.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="Values of other covariates: 'genre=crime', several separated by commas."),
    ] = None,
    clusters: Annotated[
        str | None, typer.Option("--clusters", help="A kind whose documents are not independent of each other.")
    ] = None,
    by_words: Annotated[bool, typer.Option("--by-words", help="Weight documents by their words.")] = False,
    topics: Topics = None,
    groups: Groups = None,
    level: Level = 0.95,
    figure: Figure = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Estimate how topic shares depend on tags and numbers, with intervals.

    A kind of tag is compared level by level with its most frequent one, a number's upper quartile with its lower one.
    `positive` is the probability that the effect is above zero. Fit with `--draws 20` for intervals that include the
    uncertainty of the topics.
    """
    check_output(output, model, *files)
    check_figure(figure)
    fitted, corpus = _documents(
        model, files, text, tags, id_column, tag_separator, file_format, skip_errors, encoding, delimiter, jobs, quiet
    )
    at_level = _grouped(fitted, groups, corpus)
    found = at_level.effects(
        corpus,
        formula,
        topics=_numbers(topics),
        clusters=clusters,
        weights="words" if by_words else None,
        level=level,
    )
    _say_draws(found.n_draws, quiet)
    for note in found.notes:
        notify(note, quiet=quiet)
    fixed = _values_of(at)
    table = found.contrasts(at=fixed) if predict is None else found.predict(predict, at=fixed)
    drawn = None
    if figure is not None:
        drawn = at_level.plot_effects(found, predict, predictions=predict is not None, at=fixed)
    write_figure(drawn, figure, quiet)
    emit(table_result(table), as_json=as_json, output=output, quiet=quiet, max_lines=N_SHOWN)


def trends(
    model: options.Model,
    files: options.Inputs,
    time: Annotated[str, typer.Option("--time", help="The kind of tag with the date of a document, such as year.")],
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    by: Annotated[str | None, typer.Option("--by", help="A kind of tag, or tags separated by commas.")] = None,
    every: Annotated[
        str | None, typer.Option("--every", help="Bins: year, quarter, month, week, day, or a number.")
    ] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="Report the change from the first to the last third instead.")
    ] = False,
    topics: Topics = None,
    groups: Groups = None,
    level: Level = 0.9,
    figure: Figure = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Estimate topic shares over time, overall or by tag, with bands.

    Bins without documents are listed without a share.
    """
    check_output(output, model, *files)
    check_figure(figure)
    fitted, corpus = _documents(
        model, files, text, tags, id_column, tag_separator, file_format, skip_errors, encoding, delimiter, jobs, quiet
    )
    at_level = _grouped(fitted, groups, corpus)
    divided: Any = None if by is None else split_names(by)
    if divided is not None and len(divided) == 1:
        divided = divided[0]
    found = at_level.trends(corpus, time, by=divided, every=_period(every), topics=_numbers(topics), level=level)
    _say_draws(found.n_draws, quiet)
    for note in found.notes:
        notify(note, quiet=quiet)
    write_figure(None if figure is None else at_level.plot_trends(found, _numbers(topics)), figure, quiet)
    table = found.changes() if changes else found.table
    emit(table_result(table), as_json=as_json, output=output, quiet=quiet, max_lines=N_SHOWN)


def contrast(
    model: options.Model,
    files: options.Inputs,
    first: Annotated[str, typer.Option("--first", help="A tag: the first set of documents.")],
    second: Annotated[
        str | None, typer.Option("--second", help="A tag: the second set; without it, all other documents.")
    ] = None,
    about: Annotated[str, typer.Option("--about", help="What differs: topics or words.")] = "topics",
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    tag_separator: options.TagSeparator = None,
    level: Level = 0.95,
    figure: Figure = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare the documents of two tags: the topics and words that differ, with intervals."""
    check_output(output, model, *files)
    check_figure(figure)
    if about not in ("topics", "words"):
        raise ValueError(f"--about {about}: expected topics or words")
    fitted, corpus = _documents(
        model, files, text, tags, id_column, tag_separator, file_format, skip_errors, encoding, delimiter, jobs, quiet
    )
    found = fitted.contrast(corpus, first, second, level=level)
    notify(f"{found.first}: {found.n_documents[0]:,} documents; {found.second}: {found.n_documents[1]:,}", quiet=quiet)
    write_figure(None if figure is None else fitted.plot_contrast(found, about), figure, quiet)
    table = found.topics if about == "topics" else found.words
    emit(table_result(table), as_json=as_json, output=output, quiet=quiet, max_lines=2 * N_SHOWN)


def hierarchy(
    model: options.Model,
    levels: Annotated[str, typer.Option("--levels", help="Numbers of groups, separated by commas.")] = "5,20",
    figure: Figure = None,
    tree: Annotated[bool, typer.Option("--tree", help="Draw the whole tree instead of nested rectangles.")] = False,
    save: Annotated[
        str | None, typer.Option("--save", help="Write the model at the level with the fewest groups to this file.")
    ] = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Group topics into nested levels, named by the words that distinguish them from their siblings."""
    check_output(output, model)
    check_figure(figure)
    numbers = _numbers(levels) or []
    found = load_model(model).hierarchy(numbers)
    drawn = None if figure is None else found.plot_dendrogram() if tree else found.plot_treemap()
    write_figure(drawn, figure, quiet)
    if save is not None:
        found.model(found.levels[0]).save(save)
        notify(f"wrote a model of {found.levels[0]} topics to {save}", quiet=quiet)
    emit(table_result(found.table), as_json=as_json, output=output, quiet=quiet)


def labels(
    model: options.Model,
    n_words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words of a label.")] = 3,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Label topics by words that are frequent in them and rare elsewhere (FREX)."""
    from tagtopic.analysis import Table

    check_output(output, model)
    fitted = load_model(model)
    found = fitted.label_topics(n_words=n_words)
    shares = fitted.topic_shares_.tolist()
    table = Table(
        {"topic": list(range(len(found))), "share": shares, "name": list(fitted.topic_names_), "label": found},
        f"{len(found)} topics",
    )
    emit(table_result(table), as_json=as_json, output=output, quiet=quiet)


def table_result(table: Table) -> Result:
    """A tidy table as the result of a command."""
    rows = table.to_dicts()
    numeric = {name for name in table.columns if any(isinstance(row[name], int | float) for row in rows[:50])}
    return Result(
        title=table.title,
        columns=[Column(name, number=name in numeric, ratio=None if name in numeric else 1) for name in table.columns],
        lines=[[_cell(value) for value in row.values()] for row in rows],
        value=rows,
        rows=rows,
    )


def check_figure(path: str | None) -> None:
    """Raise, before any work, if a figure's file has an unknown suffix, or its writer is not installed."""
    if path is None:
        return
    suffix = Path(path).suffix.lower()
    if suffix not in FIGURE_SUFFIXES:
        raise ValueError(f"--figure {path}: expected a file ending in {', '.join(FIGURE_SUFFIXES)}")
    from tagtopic._core.optional import require

    if suffix == ".html":
        require("plotly", extra="explore", purpose="a figure")
    else:
        require("plotly", "kaleido", extra="figures", purpose=f"a figure as {suffix} (not as .html)")


def write_figure(figure: Any, path: str | None, quiet: bool) -> None:
    """Write a figure to a file, atomically."""
    if path is None or figure is None:
        return
    from tagtopic._core.files import atomic_file

    suffix = Path(path).suffix.lower()
    with atomic_file(Path(path)) as temporary:
        if suffix == ".html":
            Path(temporary).write_text(figure.to_html(include_plotlyjs=True), encoding="utf-8")
        else:
            Path(temporary).write_bytes(_image_of(figure, suffix, path))
    notify(f"wrote a figure to {path}", quiet=quiet)


def _image_of(figure: Any, suffix: str, path: str) -> bytes:
    """Draw a figure in a browser without a window, by kaleido."""
    try:
        found: bytes = figure.to_image(format=suffix[1:])
    except RuntimeError as error:  # no Chrome, or one that does not start; plotly's message has several paragraphs
        reason = " ".join(str(error).split())
        raise ValueError(
            f"--figure {path}: kaleido draws {suffix} with Chrome or Chromium, and could not: install one of them, or "
            f"write .html (kaleido: {reason[:200]})"
        ) from error
    return found


def _documents(
    model: str, files: Any, text: str | None, tags: str | None, id_column: str | None, tag_separator: str | None,
    file_format: Any, skip_errors: bool, encoding: str | None, delimiter: str | None, jobs: int | None, quiet: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """The model, and the documents with all their tags."""
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter,
    )  # fmt: skip
    return model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)


def _grouped(model: Any, groups: int | None, corpus: Any) -> Any:
    return model if groups is None else model.hierarchy([groups], corpus).model(groups)


def _say_draws(n_draws: int, quiet: bool) -> None:
    if n_draws < 2:
        notify("the model has no draws of its topics: intervals are given its topics (fit --draws 20)", quiet=quiet)


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{text!r}: expected whole numbers separated by commas") from None


def _values_of(text: str | None) -> dict[str, Any]:
    """Values by covariate, of "genre=crime,year=1990"."""
    found = {}
    for part in (split_names(text) if text else None) or []:
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ValueError(f"--at {text}: expected a covariate and a value, such as genre=crime")
        found[name.strip()] = value.strip()
    return found


def _period(text: str | None) -> str | float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
