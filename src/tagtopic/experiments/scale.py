"""Figures 9 to 11 and Table 3: seconds an iteration, and perplexity, of TWTM on one machine and by the three solutions.

"standard" is one thread of this machine; the solutions run on a Spark cluster of its own for each cell, where Spark and
Java are there. Seconds are a mean over the iterations after the first (which sends the corpus around and compiles),
those that learn the prior of the weights among them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tagtopic.evaluation.perplexity import perplexity
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.plots import legend_below, panels
from tagtopic.experiments.subject import Subject, commonest_tags
from tagtopic.experiments.tables import Table, different, mean, mean_and_spread, pivot, where

STANDARD, THREADS, PLDA = "standard", "all threads", "PLDA"
SOLUTIONS = {"Solution I": "driver", "Solution II": "average", "Solution III": "components", "gradient": "gradient"}
TOPICS, QUICK_TOPICS = (10, 20, 50), (10,)
RATIOS, QUICK_RATIOS = (0.1, 0.3, 0.6, 0.8, 1.0), (1.0,)
WORKERS, QUICK_WORKERS = (1, 2), (2,)
ITERATIONS, QUICK_ITERATIONS = 21, 6
TABLE_TAGS, TABLE_TOPICS = 1000, 5
"""Table 3 of the paper: so many tags, and so many topics for Solution II."""

PLDA_SWEEPS = (2, 12)
"""A sweep takes the difference of these two fits over the difference of their sweeps."""

PAPERS_TABLE = {
    "PLDA": (66.6, 114.8, 193.4, 250.6, 276.4),
    "Solution II": (77.6, 88.6, 104.8, 116.2, 120.8),
}


def cells(subject: Subject, plan: Plan) -> list[Settings]:
    """By topics, by ratio, by workers, and the paper's Table 3."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    ratios = QUICK_RATIOS if plan.quick else RATIOS
    workers = _workers(plan)
    most = max(workers, default=0)
    names = plan.chosen([STANDARD, THREADS, *(SOLUTIONS if workers else ())])
    iterations = QUICK_ITERATIONS if plan.quick else ITERATIONS
    found = [_cell("topics", name, k, 1.0, most, None, iterations) for k in topics for name in names]
    middle = topics[len(topics) // 2]
    found += [_cell("ratio", name, middle, r, most, None, iterations) for r in ratios for name in names]
    found += [
        _cell("workers", name, middle, 1.0, n, None, iterations) for n in workers for name in names if name in SOLUTIONS
    ]
    if not plan.quick:
        pair = plan.chosen([PLDA, "Solution II" if workers else THREADS])
        found += [_cell("table", name, TABLE_TOPICS, r, most, TABLE_TAGS, iterations) for r in ratios for name in pair]
    return found


def _cell(part: str, name: str, topics: int, ratio: float, workers: int, tags: int | None, n: int) -> Settings:
    return {
        "experiment": "scale", "part": part, "model": name, "topics": topics, "ratio": ratio,
        "workers": workers if name in SOLUTIONS else 0, "tags": tags, "iterations": n,
    }  # fmt: skip


def _workers(plan: Plan) -> tuple[int, ...]:
    """The numbers of Spark workers; none where Spark or Java is missing."""
    wanted = plan.workers if plan.workers is not None else QUICK_WORKERS if plan.quick else WORKERS
    wanted = tuple(n for n in wanted if n > 0)
    if not wanted:
        return ()
    from tagtopic.engines.spark.requirements import SparkMissingError, require_java, require_pyspark

    try:
        require_pyspark()
        require_java()
    except SparkMissingError as missing:
        warnings.warn(f"scale is measured without Spark: {missing}", UserWarning, stacklevel=2)
        return ()
    return wanted


def measure(subject: Subject, settings: Settings, jobs: int | None) -> list[Row]:
    """Seconds an iteration; perplexity of a held-out fifth."""
    if settings["tags"] is not None:
        subject = commonest_tags(subject, settings["tags"])
    train, test = subject.fold(0, FOLDS)
    train = train[: max(2, round(settings["ratio"] * len(train.corpus)))]
    if settings["model"] == PLDA:
        return [{"seconds": _seconds_of_plda(train)}]
    from tagtopic.models import TWTM

    times: list[float] = []
    model = TWTM(
        settings["topics"], max_iter=settings["iterations"], tol=0.0, tag_weight_prior="estimate", random_state=0,
        progress=False, n_jobs=1 if settings["model"] == STANDARD else jobs,
        callbacks=[lambda iteration, bound, seconds: times.append(seconds)],
    )  # fmt: skip
    with _engine(settings) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(train.corpus, engine=engine)
        value = perplexity(model, test.corpus).value
    return [{"seconds": (times[-1] - times[0]) / (len(times) - 1), "perplexity": value}]


@contextmanager
def _engine(settings: Settings) -> Iterator[Any]:
    if settings["model"] not in SOLUTIONS:
        yield None
        return
    from tagtopic.engines import SparkEngine
    from tagtopic.testing import SparkCluster

    with SparkCluster(workers=settings["workers"]) as cluster:
        config = {"spark.log.level": "ERROR", "spark.ui.enabled": "false"}
        update = SOLUTIONS[settings["model"]]
        with SparkEngine(master=cluster.master, weight_update=update, config=config) as engine:
            yield engine


def _seconds_of_plda(train: Subject) -> float:
    from tagtopic.baselines import PLDA as Plda

    taken = []
    for sweeps in PLDA_SWEEPS:
        begun = time.perf_counter()
        Plda(sweeps=sweeps, random_state=0, timeout=3600.0).fit(train.corpus)
        taken.append(time.perf_counter() - begun)
    return max(taken[1] - taken[0], 0.0) / (PLDA_SWEEPS[1] - PLDA_SWEEPS[0])


PARTS = {"topics": "number of topics", "ratio": "share of the documents", "workers": "number of workers"}


def tables(rows: list[Row]) -> list[Table]:
    """Seconds and perplexity by topics, seconds by ratio and by workers, and the paper's Table 3."""
    found = []
    for part, meaning in PARTS.items():
        own = where(rows, part=part)
        if own:
            k = "" if part == "topics" else f", K = {own[0]['topics']}"
            found.append(pivot(own, title=f"Seconds an iteration by {meaning}{k}", line="model", column=part,
                               value="seconds", digits=3))  # fmt: skip
    own = where(rows, part="topics")
    if own:
        found.append(pivot(own, title="Perplexity by number of topics", line="model", column="topics",
                           value="perplexity"))  # fmt: skip
    own = where(rows, part="table")
    if own:
        found.append(_beside_the_paper(own))
    return found


def _beside_the_paper(rows: list[Row]) -> Table:
    ratios = sorted(different(rows, "ratio"))
    lines = [
        [f"{name}, here", *(mean_and_spread(where(rows, model=name, ratio=r), "seconds", 3) for r in ratios)]
        for name in different(rows, "model")
    ]
    lines += [[f"{name}, the paper", *map(str, values)] for name, values in PAPERS_TABLE.items() if len(ratios) == 5]
    title = f"Seconds an iteration with {TABLE_TAGS} tags; PLDA with a topic a tag, TWTM with {TABLE_TOPICS} topics"
    return Table(title, ["sampling ratio", *map(str, ratios)], lines)


def draw(rows: list[Row], figure: Any) -> None:
    """Seconds by topics, perplexity by topics, seconds by ratio and by workers."""
    wanted = [("topics", "seconds"), ("topics", "perplexity"), ("ratio", "seconds"), ("workers", "seconds")]
    wanted = [(part, value) for part, value in wanted if where(rows, part=part)]
    titles = [f"{'seconds an iteration' if v == 'seconds' else v} by {PARTS[part]}" for part, v in wanted]
    inks = ["#111111", "#7f7f7f", "#1f77b4", "#c1272d", "#2ca02c", "#e07a1f"]
    colours = dict(zip([STANDARD, THREADS, *SOLUTIONS], inks, strict=True))
    for axis, (part, value) in zip(panels(figure, titles), wanted, strict=True):
        own = where(rows, part=part)
        for i, name in enumerate(different(own, "model")):
            mine = where(own, model=name)
            at = sorted(different(mine, part))
            points = [mean(where(mine, **{part: x}), value) for x in at]
            axis.plot(at, points, marker="os^vDP"[i % 6], color=colours.get(name), label=name)
        axis.set_xticks(sorted(different(own, part)))
        axis.set_xlabel(PARTS[part])
        axis.set_ylabel(value if value == "perplexity" else "seconds")
        if value == "seconds":
            axis.set_ylim(bottom=0)
        legend_below(axis)


MODELS = (STANDARD, THREADS, *SOLUTIONS, PLDA)
EXPERIMENT = Experiment(
    "scale", "Time and perplexity of the distributed solutions", MODELS, cells, measure, tables, draw
)
