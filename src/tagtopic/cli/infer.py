"""`tagtopic rank`, `predict`, `similar` and `transform`: inference on documents, on this machine or a cluster."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import (
    NO_KNOWN_TAGS,
    FileOptions,
    load_model,
    model_and_corpus,
    read_corpus,
    require_tags,
    warn_if_no_known_tags,
    warn_of_unknown_tags,
)
from tagtopic.cli.options import examples
from tagtopic.cli.output import Result, check_output, emit, emit_parts, is_written_in_parts, notify
from tagtopic.cli.results import predictions_result, similar_result, topic_mixes_result, weights_result, with_titles
from tagtopic.engines import ENGINES, engine_class

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.models._base import TagTopicModel

N_SHOWN = 20  # documents in printed tables; --json and --output have all
PART_DOCUMENTS = 10_000  # whose results are in memory at a time, if they are written to a file of rows
INTERVAL = 0.9
TAG_WEIGHTS = "tag_weights"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Apply a model to documents",
        epilog=examples(
            "tagtopic rank movies.tagtopic movies.jsonl --text storyline --tags director,stars,keywords",
            "tagtopic rank movies.tagtopic movies.jsonl --text storyline --tags keywords --top 3 -o weights.csv",
        ),
    )(rank)
    app.command(
        rich_help_panel="Apply a model to documents",
        epilog=examples(
            "tagtopic predict movies.tagtopic new.jsonl --text storyline --kinds keywords -o tags.csv",
            "tagtopic predict movies.tagtopic - --text storyline --json < new.jsonl",
            "echo 'A heist goes wrong' | tagtopic predict movies.tagtopic -",
            "tagtopic predict movies.tagtopic movies.jsonl --text storyline --tags keywords --given own --json",
        ),
    )(predict)
    app.command(
        rich_help_panel="Apply a model to documents",
        epilog=examples(
            "tagtopic similar movies.tagtopic movies.jsonl --text storyline --query 'a heist goes wrong'",
            "tagtopic similar movies.tagtopic movies.jsonl --text storyline --tags stars --id title --like Heat --json",
        ),
    )(similar)
    app.command(
        rich_help_panel="Apply a model to documents",
        epilog=examples(
            "tagtopic transform movies.tagtopic new.jsonl --text storyline --tags director -o topics.parquet",
            "tagtopic transform movies.tagtopic - --text storyline --json < new.jsonl",
            "tagtopic transform movies.tagtopic notes.txt --format text -o topics.csv",
            "tagtopic transform m.tagtopic 'posts/*.parquet' --engine spark --master spark://host:7077 -o t.parquet",
        ),
    )(transform)


def similar(
    model: options.Model,
    files: options.Inputs,
    query: Annotated[
        str | None, typer.Option("--query", metavar="TEXT", help="Text to find similar documents to.")
    ] = None,
    query_id: Annotated[
        str | None, typer.Option("--like", metavar="ID", help="Id of the document to find similar documents to.")
    ] = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Number of documents.")] = 10,
    distance: Annotated[
        str, typer.Option("--distance", help="Distance of topic mixes: hellinger or jensen-shannon.")
    ] = "hellinger",
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title_column: options.Title = None,
    tag_separator: options.TagSeparator = None,
    file_format: options.Format = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_errors: options.SkipErrors = False,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Find the documents whose topics are most similar to those of a text, or of one of the documents."""
    if (query is None) == (query_id is None):
        raise ValueError("give either --query TEXT or --like ID, so that it is clear what to compare with")
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter, title=title_column,
    )  # fmt: skip
    check_output(output, model, *files)
    fitted, corpus = model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)
    asked: Any = query if query_id is None else _row_of(query_id, corpus)
    ranked = fitted.similar_documents(asked, corpus, top, distance=distance)
    title = f"documents most similar to {'the text' if query_id is None else query_id}"
    emit(similar_result(title, ranked), as_json=as_json, output=output, quiet=quiet)


def _row_of(name: str, corpus: Any) -> int:
    """The number of the first document of this id."""
    row = next((row for row, id in enumerate(corpus.ids) if id == name), None)
    if row is None:
        raise ValueError(f"--like {name}: there is no document of this id among the {len(corpus):,} of the files")
    return row


def rank(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title: options.Title = None,
    tag_separator: options.TagSeparator = None,
    top: Annotated[int | None, typer.Option("--top", "-n", min=1, help="Maximum number of tags per document.")] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Also 90% intervals of the weights, and places that tags with overlapping intervals share, in --json "
            "and --output; printed tables always have them.",
        ),
    ] = False,
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
    """Rank the tags of each document by weight: the share of its words that each tag explains.

    `no_tag` is the share that no tag explains. Output files have a row per tag of a document, with an empty tag for
    documents without known tags; .json files have a record per document.
    """
    options.check_engine(engine, master)
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    if ENGINES[engine].on_cluster and intervals:
        raise ValueError(f"--intervals are sampled on this machine only: leave out --engine {engine}")
    if ENGINES[engine].on_cluster:
        to = Destination(engine, master, output, as_json=as_json, quiet=quiet)
        apply_on_cluster(model, files, file_options, ["tag_weights", "latent_weight"], to, n_ranked=top)
        return
    check_output(output, model, *files)
    fitted = load_model(model, jobs)
    require_tags(fitted)
    corpus = read_corpus(files, file_options, model=fitted, jobs=jobs, quiet=quiet)
    warn_if_no_known_tags(fitted, corpus)
    if is_written_in_parts(output) and not intervals:

        def weights_of(part: Corpus) -> Result:
            return weights_result("", list(zip(part.ids, fitted.rank_tags(part), strict=True)), top)

        emit_parts(results_of_parts(fitted, corpus, weights_of), str(output), quiet=quiet)
        return
    ranked = list(zip(corpus.ids, fitted.rank_tags(corpus), strict=True))
    sampled = None
    if intervals or (output is None and not as_json):
        part = corpus if intervals else corpus[:N_SHOWN]
        with_ends = fitted.rank_tags(part, intervals=INTERVAL)
        sampled = [with_ends.with_intervals(d) for d in range(len(part))]
    result = weights_result(_title(len(corpus), "tags by weight"), ranked, top, sampled)
    emit(with_titles(result, corpus), as_json=as_json, output=output, quiet=quiet, max_lines=N_SHOWN)


def predict(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title: options.Title = None,
    tag_separator: options.TagSeparator = None,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Number of tags per document.")] = 10,
    kinds: Annotated[
        str | None,
        typer.Option("--kinds", metavar="KIND,…", help="Only tags of these kinds (the part before the colon)."),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option("--given", metavar="own", help="own: use the tags that documents have, and predict others."),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option("--exclude", metavar="TAG,…", help="Tags to leave out, or kinds with a colon, such as year:."),
    ] = None,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Say why, in JSON: words, similar documents, other tags, name.")
    ] = False,
    method: Annotated[
        str, typer.Option("--method", help="neighbours (calibrated probabilities) or likelihood (the article's score).")
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
    """Predict tags of each document from its text, and with `--given own` from the tags it has."""
    options.check_engine(engine, master)
    if given not in (None, "own"):
        raise ValueError(f"--given {given}: the only choice is own")
    # unless they are given, the documents' own tags are not used and need not be readable
    file_options = FileOptions.parse(
        text, tags if given else "", id_column, tag_separator if given else None, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    if ENGINES[engine].on_cluster:
        if given or exclude or reasons:
            raise ValueError(f"--given, --exclude and --reasons are not available with --engine {engine}")
        to = Destination(engine, master, output, as_json=as_json, quiet=quiet)
        prediction = {"n_predicted": top, "kinds": options.split_names(kinds), "method": method}
        apply_on_cluster(model, files, file_options, ["predicted_tags"], to, **prediction)
        return
    check_output(output, model, *files)
    fitted, corpus = model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)
    asked: dict[str, Any] = {
        "method": method, "kinds": options.split_names(kinds), "given": given, "exclude": options.split_names(exclude)
    }  # fmt: skip
    if is_written_in_parts(output):

        def predictions_of(part: Corpus) -> Result:
            return predictions_result("", list(zip(part.ids, fitted.predict_tags(part, top, **asked), strict=True)))

        emit_parts(results_of_parts(fitted, corpus, predictions_of), str(output), quiet=quiet)
        return
    predicted = fitted.predict_tags(corpus, top, **asked)
    documents = list(zip(corpus.ids, predicted, strict=True))
    why = None
    if reasons:
        why = [
            fitted.reasons(corpus[i : i + 1], [tag for tag, _ in ranked], given=given)
            for i, ranked in enumerate(predicted)
        ]
    result = predictions_result(_title(len(corpus), "most probable tags"), documents, why)
    emit(with_titles(result, corpus), as_json=as_json, output=output, quiet=quiet, max_lines=N_SHOWN)


def transform(
    model: options.Model,
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    id_column: options.Id = None,
    title: options.Title = None,
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
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    if ENGINES[engine].on_cluster:
        to = Destination(engine, master, output, as_json=as_json, quiet=quiet)
        apply_on_cluster(model, files, file_options, ["topics"], to)
        return
    check_output(output, model, *files)
    fitted, corpus = model_and_corpus(model, files, file_options, jobs=jobs, quiet=quiet)
    if is_written_in_parts(output):

        def mixes_of(part: Corpus) -> Result:
            return topic_mixes_result("", part.ids, fitted.transform(part))

        emit_parts(results_of_parts(fitted, corpus, mixes_of), str(output), quiet=quiet)
        return
    result = topic_mixes_result(_title(len(corpus), "largest topics"), corpus.ids, fitted.transform(corpus))
    emit(with_titles(result, corpus), as_json=as_json, output=output, quiet=quiet, max_lines=N_SHOWN)


def results_of_parts(
    model: TagTopicModel, corpus: Corpus, answer: Callable[[Corpus], Result], size: int = PART_DOCUMENTS
) -> Iterator[Result]:
    """Yield the results of consecutive documents, at most ``size`` at a time, so that memory is bounded by these.

    What is reported of unknown tags and words is about all documents, and not repeated for each part.
    """
    if len(corpus) <= size:
        yield answer(corpus)
        return
    warn_of_unknown_tags(model, corpus)
    for first in range(0, len(corpus), size):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer(corpus[first : first + size])
        yield found


def _title(n_documents: int, what: str) -> str:
    if n_documents == 1:
        return f"{what} of 1 document"
    shown = f"the first {N_SHOWN} of {n_documents:,}" if n_documents > N_SHOWN else str(n_documents)
    return f"{what} of {shown} documents"


@dataclass(frozen=True)
class Destination:
    """A cluster and the folder that it writes."""

    engine: str
    master: str | None
    output: str | None
    as_json: bool
    quiet: bool

    def address(self) -> str:
        """Return the address of the folder, or raise."""
        if self.output is None or self.as_json or not self.output.removesuffix("/").endswith(".parquet"):
            raise ValueError(
                f"--engine {self.engine} writes a folder of Parquet files: give its name, as in -o answers.parquet"
            )
        if "://" in self.output:
            return self.output
        if Path(self.output).exists():
            raise FileExistsError(f"{self.output} is there already: give another name, or remove it")
        return f"file://{Path(self.output).resolve()}"

    @contextmanager
    def removed_on_error(self) -> Iterator[str]:
        """Yield the address; after an error a local folder is removed, so that the command can be repeated."""
        address = self.address()
        try:
            yield address
        except BaseException:
            if address != self.output:
                shutil.rmtree(str(self.output), ignore_errors=True)
            raise


def apply_on_cluster(
    model: str, files: Sequence[str], file_options: FileOptions, outputs: Sequence[str], to: Destination, **options: Any
) -> None:
    """Write a folder of Parquet files with the documents' own columns and the results."""
    _check_file_options(file_options)
    with to.removed_on_error() as target:
        from tagtopic.corpus.reading.options import ReadOptions

        fitted = load_model(model)
        if TAG_WEIGHTS in outputs:
            require_tags(fitted)
        read_options = ReadOptions(**file_options.arguments())
        with engine_class(to.engine).connect(to.master) as engine:
            tagged = engine.apply(
                fitted, list(files), read_options, target, outputs, format=file_options.format, **options
            )
        if not tagged:
            warnings.warn(NO_KNOWN_TAGS, stacklevel=1)
    notify(f"wrote {to.output}", quiet=to.quiet)


def _check_file_options(file_options: FileOptions) -> None:
    """Raise for options that a cluster does not support."""
    if file_options.encoding is not None:
        raise ValueError(
            f"--encoding {file_options.encoding} is for files that this machine reads: Spark expects UTF-8"
        )
    if file_options.delimiter is not None:
        raise ValueError(f"--delimiter {file_options.delimiter} is for CSV, which a cluster does not read: use Parquet")
