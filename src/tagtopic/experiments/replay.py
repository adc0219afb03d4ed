"""The article's algorithm as printed, and what each of its parts costs: perplexity of held-out documents.

"all as published" is ``as_published``. Algorithm 1, read to the letter, updates xi and then gamma once per iteration,
where the authors' code repeats both until they converge: "one update per E-step" is the former. The other rows start
from ``inference="paper"`` with priors and a start that are otherwise tagtopic's defaults ("equations only"), and switch
on one part of the article each; "all, but" switches one off. Two rows replace the update equations instead: "mixture"
leaves out the second use of Jensen's inequality, "default" is the default method.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

from tagtopic.evaluation import perplexity
from tagtopic.experiments.dataset import Dataset
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import NO_PREDICTOR, SEED, fit_model
from tagtopic.experiments.results import Row, Table, distinct, format_mean, mean, panels, where
from tagtopic.models._published import published_settings

MODELS = ("TWTM", "TWDA")
TOPICS, QUICK_TOPICS = (50,), (10,)
MAX_ITER, QUICK_MAX_ITER = 100, 10
MEASURES = {
    "completion": "document completion",
    "tags": "from the tags alone",
    "fitted": "the paper's: on the words that were fitted",
}
LEARNT = {"prior_warm_up": 0, "prior_every": 1}
"""Priors that are learnt by maximum likelihood are updated in every iteration, as in Algorithm 1."""


def variants(model: str) -> dict[str, dict[str, Any]]:
    """Return the settings of each row of a model, beside the number of topics and of iterations."""
    full = published_settings(latent=model == "TWDA")
    equations = {"inference": "paper"}

    def part(*names: str) -> dict[str, Any]:
        return equations | {name: full[name] for name in names if name in full}

    def without(*names: str) -> dict[str, Any]:
        return {name: value for name, value in full.items() if name not in names}

    found = {
        "all as published": full,
        "all, but one update per E-step": full | {"sweeps": 2, "sweep_tol": 0.0},
        "all, but fixed pi and mu": without("tag_weight_prior", "latent_weight_prior", "latent_topic_prior"),
        "all, but smoothed theta and psi": without("tag_topic_prior", "topic_word_prior"),
        "all, but seeded topics": without("init"),
        "equations only": equations,
        "random start": part("init"),
        "E-steps to convergence": part("sweeps", "sweep_tol"),
        "theta not smoothed": part("tag_topic_prior"),
        "psi not smoothed": part("topic_word_prior"),
        "theta and psi not smoothed": part("tag_topic_prior", "topic_word_prior"),
        "pi by maximum likelihood": part("tag_weight_prior", "latent_weight_prior") | LEARNT,
    }
    if "latent_topic_prior" in full:
        found["mu by maximum likelihood"] = part("latent_topic_prior") | LEARNT
    return {**found, "mixture": {"inference": "mixture"}, "default": {}}


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return a cell for each model, variant, number of topics and fold; by default the first fold only."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    return [
        {
            "experiment": "replay", "model": model, "variant": variant, "topics": k, "fold": fold, "folds": FOLDS,
            "arguments": _arguments(settings, quick=plan.quick),
        }
        for fold in plan.fold_numbers(1)
        for k in topics
        for variant in variants(MODELS[-1])
        for model in plan.chosen(MODELS)
        for settings in [variants(model).get(variant)]
        if settings is not None
    ]  # fmt: skip


def _arguments(settings: dict[str, Any], *, quick: bool) -> dict[str, Any]:
    given = NO_PREDICTOR | {"random_state": SEED} | settings
    if quick or settings:  # the default has its own number of sweeps
        given["max_iter"] = QUICK_MAX_ITER if quick else MAX_ITER
    return dict(sorted(given.items()))


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure the perplexities of one fit on one fold, and its iterations."""
    from tagtopic import models

    train, test = dataset.fold(settings["fold"], settings["folds"])
    estimator = getattr(models, settings["model"])(
        settings["topics"], **settings["arguments"], n_jobs=jobs, progress=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tags in the test part only, and a pi without a maximum
        started = time.process_time()
        model = fit_model(estimator, train.corpus)
        cpu_seconds = time.process_time() - started
        values: Row = {method: perplexity(model, test.corpus, method=method).value for method in MEASURES}
    return [
        values
        | {"iterations": model.n_iter_, "converged": bool(model.converged_), "cpu_seconds": round(cpu_seconds, 1)}
    ]


def tables(rows: list[Row]) -> list[Table]:
    """Make a table per model and number of topics: perplexities, change against the equations alone, iterations."""
    found = []
    for model in distinct(rows, "model"):
        for k in distinct(where(rows, model=model), "topics"):
            part = where(rows, model=model, topics=k)
            base = mean(where(part, variant="equations only"), "completion")
            lines = []
            for variant in distinct(part, "variant"):
                own = where(part, variant=variant)
                change = 100 * (mean(own, "completion") / base - 1)
                numbers = [format_mean(own, method, 0) for method in MEASURES]
                lines.append([
                    variant, *numbers, f"{change:+.1f}%",
                    format_mean(own, "iterations", 0), format_mean(own, "cpu_seconds", 0),
                ])  # fmt: skip
            header = ["variant", *MEASURES.values(), "completion, change", "iterations", "CPU seconds"]
            found.append(Table(f"{model}, K = {k}: perplexity", header, lines))
    return found


def draw(rows: list[Row], figure: Any) -> None:
    """Draw completion perplexity by variant as bars, in a panel for each model and number of topics."""
    parts = [(model, k) for model in distinct(rows, "model") for k in distinct(where(rows, model=model), "topics")]
    for axis, (model, k) in zip(panels(figure, [f"{m}, K = {k}" for m, k in parts], width=5.0), parts, strict=True):
        part = where(rows, model=model, topics=k)
        names = distinct(part, "variant")
        axis.barh(names, [mean(where(part, variant=name), "completion") for name in names], color="#c1272d")
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("perplexity (lower is better)")


EXPERIMENT = Experiment("replay", "The article's algorithm as printed", MODELS, cells, measure, tables, draw)
