"""`tagtopic fit`: fit a model to files."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagtopic.cli import options
from tagtopic.cli.inputs import FileOptions, corpus_rules, load_model, open_ledger, read_with_engine
from tagtopic.cli.options import examples
from tagtopic.cli.output import check_target, emit, naming_errors, notify, print_json, print_text
from tagtopic.cli.results import topics_result
from tagtopic.engines import ENGINES, WEIGHT_UPDATES, engine_class
from tagtopic.inference.methods import AUTO, ESTIMATE, INITS, LEARNT, METHODS, method_of

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus
    from tagtopic.corpus.interface import RemoteCorpus
    from tagtopic.models._base import TagTopicModel

PRIOR = f"NUMBER|{'|'.join(LEARNT)}"
EXIT_INTERRUPTED = 130  # exit code of programs interrupted by Ctrl-C


class ModelName(StrEnum):
    """The models."""

    TWDA = "twda"
    TWTM = "twtm"
    LDA = "lda"


class Preset(StrEnum):
    """Sets of settings."""

    PAPER = "paper"


class Learning(StrEnum):
    """Batch or online updates of the parameters."""

    BATCH = "batch"
    ONLINE = "online"


def _inference_method(name: str) -> str:
    """The name of an inference method, given by name or alias."""
    try:
        return name if name == AUTO else method_of(name).name
    except ValueError as error:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, (AUTO, *METHODS)))}.") from error


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        rich_help_panel="Describe and fit",
        epilog=examples(
            "tagtopic fit movies.jsonl --text storyline --tags director,stars,keywords -k 50 -o movies.tagtopic",
            "tagtopic fit posts.csv --text title,body --tags tags --tag-separator ';' --quiet",
            "tagtopic fit movies.jsonl --text storyline --tags director -k 200 -o movies.tagtopic --resume",
            "tagtopic fit more.jsonl --text storyline --tags director --initial movies.tagtopic --ledger "
            "movies.decisions.jsonl -o more.tagtopic",
            "tagtopic fit movies.jsonl --text storyline --tags director,stars --model twtm --preset paper -k 50",
            "zcat log.jsonl.gz | tagtopic fit - --text message --model lda -k 20 -o log.tagtopic",
            "tagtopic fit 'posts/*.parquet' --text body --tags labels --engine spark --master spark://host:7077",
        ),
    )(fit)


def fit(
    files: options.Inputs,
    text: options.Text = None,
    tags: options.Tags = None,
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Number of topics.")] = 50,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="Model file to write.", show_default="FILE.tagtopic in this folder"
        ),
    ] = None,
    model: Annotated[
        ModelName, typer.Option("--model", "-m", help="twda also uses untagged documents; lda ignores tags.")
    ] = ModelName.TWDA,
    preset: Annotated[
        Preset | None,
        typer.Option(
            "--preset",
            help="paper: the article's algorithm as printed (its equations, maximum-likelihood priors, random start); "
            "options that are given as well replace its settings.",
        ),
    ] = None,
    inference: Annotated[
        str | None,
        typer.Option(
            "--inference",
            parser=_inference_method,
            metavar=options.choices((AUTO, *METHODS)),
            help="Inference method: auto (map for small corpora, gibbs where it can run, cvb0 elsewhere), "
            + ", ".join(f"{method.name} ({method.summary})" for method in METHODS.values())
            + ".",
            show_default=AUTO,
        ),
    ] = None,
    learning: Annotated[
        Learning, typer.Option("--learning", help="online: a few passes over mini-batches.")
    ] = Learning.BATCH,
    max_iter: Annotated[
        int | None,
        typer.Option(
            "--max-iter",
            min=1,
            help="Maximum number of iterations; of gibbs, the number of sweeps.",
            show_default=options.MAX_ITER,
        ),
    ] = None,
    burn_in: Annotated[
        int | None,
        typer.Option("--burn-in", min=0, help="Sweeps of gibbs before the first draw.", show_default="half of them"),
    ] = None,
    thinning: Annotated[
        int, typer.Option("--thinning", min=1, help="Sweeps of gibbs from one draw to the next; draws are averaged.")
    ] = 10,
    n_draws: Annotated[
        int, typer.Option("--draws", min=0, help="Draws of gibbs to keep in the model, for intervals.")
    ] = 0,
    own_words: Annotated[
        bool | None,
        typer.Option(
            "--own-words/--no-own-words",
            help="Whether tags have words of their own beside their topics.",
            show_default="yes for gibbs",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option("--tol", min=0.0, help="Stop when an iteration improves by less than this.", show_default="1e-5"),
    ] = None,
    validation_fraction: Annotated[
        float | None,
        typer.Option(
            "--validation-fraction",
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Hold out half of the words of this share of the documents, and keep the iteration with their lowest "
            "perplexity.",
        ),
    ] = None,
    patience: Annotated[
        int,
        typer.Option(
            "--patience", min=1, help="Stop after this many iterations without a lower perplexity of held-out words."
        ),
    ] = 10,
    tag_weight_prior: Annotated[
        str | None,
        typer.Option(
            "--tag-weight-prior",
            metavar=PRIOR,
            help="Dirichlet parameter of the tag weights: below 1 one tag tends to explain a document, above 1 the "
            "weights tend to be even; estimate: estimated per tag, for gibbs its mean; maximum-likelihood: without a "
            "hyper-prior.",
            show_default="1; 0.2 for gibbs",
        ),
    ] = None,
    latent_weight_prior: Annotated[
        str | None,
        typer.Option(
            "--latent-weight-prior",
            metavar=PRIOR,
            help="The same for the latent tag of twda.",
            show_default="5; 1 for gibbs",
        ),
    ] = None,
    latent_topic_prior: Annotated[
        str | None,
        typer.Option(
            "--latent-topic-prior",
            metavar=PRIOR,
            help="Dirichlet parameter of the topics of the latent tag of twda, and of the documents of lda.",
            show_default="3 / topics, at most 0.1",
        ),
    ] = None,
    tag_topic_prior: Annotated[
        str | None,
        typer.Option(
            "--tag-topic-prior",
            metavar=PRIOR,
            help="Prior tokens of each tag, spread over the topics; 0 or maximum-likelihood: no smoothing.",
            show_default="2",
        ),
    ] = None,
    topic_word_prior: Annotated[
        str | None,
        typer.Option(
            "--topic-word-prior",
            metavar=PRIOR,
            help="Prior tokens of each word in each topic, on average; 0 or maximum-likelihood: no smoothing.",
            show_default="0.07; 0.05 for gibbs, less for over 50 topics",
        ),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            "--init",
            parser=options.one_of(INITS),
            metavar=options.choices(INITS),
            help="Initial topics: merged (seeded from documents), nmf, random, or paper (random topics and tags).",
            show_default="merged",
        ),
    ] = None,
    tag_predictor: Annotated[
        bool,
        typer.Option(
            "--tag-predictor/--no-tag-predictor",
            help="Also fit the tag predictor, which tagtopic predict and tagtopic audit need.",
        ),
    ] = True,
    initial: Annotated[
        str | None,
        typer.Option(
            "--initial",
            metavar="MODEL",
            help="Earlier model file: the fit starts from its topics and keeps their numbers and names.",
        ),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="File of decisions: tags are corrected, words banned, topics seeded, named, merged and hidden.",
        ),
    ] = None,
    seed: options.Seed = 0,
    id_column: options.Id = None,
    title: options.Title = None,
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
    engine: options.Engine = options.DEFAULT_ENGINE,
    master: options.Master = None,
    weight_update: Annotated[
        str | None,
        typer.Option(
            "--weight-update",
            parser=options.one_of(WEIGHT_UPDATES),
            metavar=options.choices(WEIGHT_UPDATES),
            help="How a cluster estimates the prior of the tag weights, with --tag-weight-prior estimate or "
            "maximum-likelihood.",
            show_default="driver",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted fit of the same files with the same settings.")
    ] = False,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=0, help="Iterations between checkpoints; 0 for none.")
    ] = 10,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit topics and the topic distributions of tags to documents.

    Ctrl-C ends the fit early and keeps the model so far. During the fit, its state is saved to MODEL.checkpoint; if it
    is killed, the same command with --resume continues from there.
    """
    output = output or f"{_stem(files[0])}.tagtopic"
    check_target(output, *files, *(given for given in (ledger, initial) if given is not None))
    target = Path(output)
    decisions = None if ledger is None else open_ledger(ledger)
    file_options = FileOptions.parse(
        text, tags, id_column, tag_separator, file_format,
        skip_errors=skip_errors, encoding=encoding, delimiter=delimiter, title=title,
    )  # fmt: skip
    rules = corpus_rules(
        min_df, min_tag_documents, max_words, stop_words, keep_kinds, drop_kinds,
        drop_tags=drop_tag, bigrams=bigrams, stem=stem, keep_markup=keep_markup,
    )  # fmt: skip
    priors = {
        "tag_weight_prior": tag_weight_prior, "latent_weight_prior": latent_weight_prior,
        "latent_topic_prior": latent_topic_prior, "tag_topic_prior": tag_topic_prior,
        "topic_word_prior": topic_word_prior,
    }  # fmt: skip
    settings = _preset(preset, model) | _priors(model, priors)
    given = {"inference": inference, "init": init, "max_iter": max_iter, "tol": tol}
    settings |= {name: value for name, value in given.items() if value is not None}
    if not tag_predictor and model is not ModelName.LDA:  # which has no such setting
        settings["tag_predictor"] = False
    if own_words is not None:
        if model is ModelName.LDA:
            raise ValueError("--own-words and --no-own-words are for models with tags, and lda has none")
        settings["own_words"] = own_words
    _check_weight_update(weight_update, engine, settings.get("tag_weight_prior"))
    if initial is not None:
        settings["initial"] = load_model(initial)
    settings |= _checkpoint_settings(target, checkpoint_every, resume=resume, quiet=quiet)
    estimator = estimator_class(model)(
        n_topics=topics,
        learning=learning.value,
        burn_in=burn_in,
        thinning=thinning,
        n_draws=n_draws,
        validation_fraction=validation_fraction,
        patience=patience,
        random_state=seed,
        n_jobs=jobs,
        progress=False if quiet else None,
        **settings,
    )
    estimator._resumes = resume  # an older checkpoint stays until the first one of this fit replaces it
    options.check_engine(engine, master)
    with engine_class(engine).connect(master, weight_update=weight_update, n_jobs=jobs) as runner:
        corpus = read_with_engine(
            runner, files, file_options, tagged=model is not ModelName.LDA, jobs=jobs, quiet=quiet, **rules
        )
        notify(f"read {corpus!r}", quiet=quiet)
        started = time.perf_counter()
        with _handle_interrupt(target):
            fitted = estimator.fit(corpus, engine=runner, ledger=decisions)
            if decisions is not None:
                fitted = fitted.edit(decisions)
            with naming_errors(target):
                fitted.save(target)
    interrupted = bool(fitted.interrupted_)
    if not interrupted:
        _checkpoint_file(target).unlink(missing_ok=True)
    summary = _summary(fitted, corpus, target, seconds=time.perf_counter() - started, interrupted=interrupted)
    if as_json:
        print_json(summary)
    elif not quiet:
        emit(topics_result(fitted, n_words=8, n_tags=3))
        print_text(_summary_line(summary))
    if interrupted:
        notify(f"the model so far is in {target}")
        raise typer.Exit(EXIT_INTERRUPTED)


def _stem(file: str) -> str:
    """A file name without the suffixes of its format and compression."""
    from tagtopic.corpus.reading.sources import COMPRESSION_SUFFIXES, FORMATS

    if file == "-":
        return "stdin"
    name = re.sub(r"[*?\[\]]", "", Path(file).name)
    for suffixes in (COMPRESSION_SUFFIXES, (*FORMATS, ".txt", ".corpus")):
        suffix = next((suffix for suffix in suffixes if name.lower().endswith(suffix)), "")
        name = name[: len(name) - len(suffix)]
    return name.strip(".") or "model"


def _preset(preset: Preset | None, model: ModelName) -> dict[str, Any]:
    """The settings of a preset."""
    if preset is None:
        return {}
    if model is ModelName.LDA:
        raise ValueError("--preset paper is for twtm and twda, the models of the article")
    from tagtopic.models._published import published_settings

    return published_settings(latent=model is ModelName.TWDA)


def _priors(model: ModelName, given: dict[str, str | None]) -> dict[str, Any]:
    """The estimator's settings for priors, as given."""
    return {name: _prior(model, name, value) for name, value in given.items() if value is not None}


def _prior(model: ModelName, name: str, value: str) -> Any:
    option = f"--{name.replace('_', '-')} {value}"
    if model is ModelName.LDA and name in ("tag_weight_prior", "tag_topic_prior"):
        raise ValueError(f"{option} is for models with tags, and lda has none")
    has_prior = model is ModelName.TWDA or (model is ModelName.LDA and name == "latent_topic_prior")
    if name.startswith("latent") and not has_prior:
        raise ValueError(f"{option} is for twda, whose documents have a latent tag")
    if value in LEARNT:
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{option}: expected a number above 0, or {' or '.join(LEARNT)}") from None


def _check_weight_update(update: str | None, engine: str, prior: Any) -> None:
    """Raise if the option would have no effect."""
    if update is not None and update not in ENGINES[engine].weight_updates:
        others = " or ".join(name for name, entry in ENGINES.items() if update in entry.weight_updates)
        raise ValueError(f"--weight-update {update} is for --engine {others}")
    if update is not None and prior not in LEARNT:
        raise ValueError(
            f"--weight-update {update} is how the prior of the tag weights is learnt: add --tag-weight-prior "
            f"{ESTIMATE}, or leave it out"
        )


def _checkpoint_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.checkpoint")


def _checkpoint_settings(target: Path, every: int, *, resume: bool, quiet: bool) -> dict[str, Any]:
    """The estimator's settings for checkpoints."""
    file = _checkpoint_file(target)
    if resume and not file.exists():
        notify(f"there is no {file} to resume from: starting from the beginning", quiet=quiet)
    elif resume:
        notify(f"resuming from {file}", quiet=quiet)
    return {"checkpoint": file, "checkpoint_every": max(every, 1)} if every or resume else {}


@contextmanager
def _handle_interrupt(target: Path) -> Iterator[None]:
    """Report what is left after Ctrl-C while the model is being completed, when it cannot be kept."""
    try:
        yield
    except KeyboardInterrupt:
        file = _checkpoint_file(target)
        further = f"; the same command with --resume continues from {file}" if file.exists() else ""
        notify(f"stopped: {target} is not written{further}")
        raise typer.Exit(EXIT_INTERRUPTED) from None


def estimator_class(model: ModelName) -> Any:
    """The class of a model."""
    import tagtopic

    return getattr(tagtopic, model.value.upper())


def _summary(
    model: TagTopicModel, corpus: Corpus | RemoteCorpus, target: Path, *, seconds: float, interrupted: bool
) -> dict[str, Any]:
    return {
        "model": str(target),
        "kind": type(model).__name__,
        "topics": len(model.components_),
        "documents": len(corpus),
        "words": corpus.n_words,
        "tags": len(model.tag_names_),
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        **_validation_summary(model),
        "interrupted": interrupted,
        "seconds": round(seconds, 3),
    }


def _validation_summary(model: TagTopicModel) -> dict[str, Any]:
    """Best iteration and perplexity of the validation words, if there are any."""
    curve = model.validation_perplexity_
    if not len(curve):
        return {}
    return {"best_iteration": model.best_iteration_, "validation_perplexity": round(float(curve.min()), 3)}


def _summary_line(summary: dict[str, Any]) -> str:
    end = "converged" if summary["converged"] else "stopped"
    kept = ""
    if "best_iteration" in summary:
        kept = (
            f"kept iteration {summary['best_iteration']}, where held-out words have perplexity "
            f"{summary['validation_perplexity']:,.1f}; "
        )
    return (
        f"{summary['kind']} with {summary['topics']} topics {end} after {summary['iterations']} iterations, "
        f"{summary['seconds']:.1f} s; {kept}wrote {summary['model']}"
    )
