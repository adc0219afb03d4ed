"""Figures 9 to 11 and Table 3: seconds per iteration, and perplexity, of TWTM locally and by the three Spark solutions.

"standard" is one thread of this machine; the solutions run on a Spark cluster on this machine, if Spark and Java are
installed. Seconds are a mean over the iterations after the first (which distributes the corpus), including the one that
learns the prior of the tag weights.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tagtopic._core.estimator import clone
from tagtopic.evaluation import perplexity
from tagtopic.experiments.dataset import Dataset, with_commonest_tags
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan, Settings
from tagtopic.experiments.models import fit_model
from tagtopic.experiments.results import Row, Table, distinct, format_mean, legend_below, mean, panels, pivot, where

STANDARD, THREADS, PLDA = "standard", "all threads", "PLDA"
SOLUTIONS = {
    "Solution I": "driver",
    "Solution II": "plain-average",
    "Solution II (weighted)": "average",
    "Solution III": "components",
    "gradient": "gradient",
}
"""Solution II as printed is the plain mean of the partitions' priors; the weighted mean and the gradient are ours."""

TOPICS, QUICK_TOPICS = (10, 20, 50), (10,)
RATIOS, QUICK_RATIOS = (0.1, 0.3, 0.6, 0.8, 1.0), (1.0,)
WORKERS, QUICK_WORKERS = (1, 2), (2,)
ITERATIONS = 21
"""The prior of the tag weights is learnt after the twentieth."""
WARM_UP_DOCUMENTS = 20
TABLE_3_TAGS, TABLE_3_TOPICS = 1000, 5
"""The paper's Table 3: numbers of tags, and of topics of Solution II."""

PLDA_SWEEPS = (2, 12)
"""The time of a sweep is the difference of two fits with these numbers of sweeps, divided by 10."""

PAPER_TABLE_3 = {
    "PLDA": (66.6, 114.8, 193.4, 250.6, 276.4),
    "Solution II": (77.6, 88.6, 104.8, 116.2, 120.8),
}


def cells(dataset: Dataset, plan: Plan) -> list[Settings]:
    """Return the cells by topics, ratio and workers, each once, and those of the paper's Table 3."""
    topics = plan.topics or (QUICK_TOPICS if plan.quick else TOPICS)
    ratios = QUICK_RATIOS if plan.quick else RATIOS
    workers = _workers(plan)
    most = max(workers, default=0)
    names = plan.chosen([STANDARD, THREADS, *(SOLUTIONS if workers else ())])
    middle = _middle(topics)
    found = [_cell(name, k, 1.0, most, None, plan) for k in topics for name in names]
    found += [_cell(name, middle, r, most, None, plan) for r in ratios for name in names]
    found += [_cell(name, middle, 1.0, n, None, plan) for n in workers for name in names if name in SOLUTIONS]
    if not plan.quick:
        pair = plan.chosen([PLDA, "Solution II" if workers else THREADS])
        found += [_cell(name, TABLE_3_TOPICS, r, most, TABLE_3_TAGS, plan) for r in ratios for name in pair]
    return [settings for i, settings in enumerate(found) if settings not in found[:i]]


def _cell(name: str, topics: int, ratio: float, workers: int, tags: int | None, plan: Plan) -> Settings:
    return {
        "experiment": "scale", "model": name, "topics": topics, "ratio": ratio,
        "workers": workers if name in SOLUTIONS else 0, "tags": tags,
        "iterations": ITERATIONS,
    }  # fmt: skip


def _middle(topics: Sequence[int]) -> int:
    return sorted(topics)[len(topics) // 2]


def _workers(plan: Plan) -> tuple[int, ...]:
    """Return the numbers of Spark workers; none if Spark or Java is missing."""
    wanted = plan.workers if plan.workers is not None else QUICK_WORKERS if plan.quick else WORKERS
    wanted = tuple(n for n in wanted if n > 0)
    if not wanted:
        return ()
    from tagtopic.engines.spark.context import SparkMissingError, require_java, require_pyspark

    try:
        require_pyspark()
        require_java()
    except SparkMissingError as missing:
        warnings.warn(f"scale is measured without Spark: {missing}", UserWarning, stacklevel=2)
        return ()
    return wanted


def measure(dataset: Dataset, settings: Settings, jobs: int | None) -> list[Row]:
    """Measure seconds per iteration, and the perplexity of a held-out fifth."""
    if settings["tags"] is not None:
        dataset = with_commonest_tags(dataset, settings["tags"])
    train, test = dataset.fold(0, FOLDS)
    train = train[: max(2, round(settings["ratio"] * len(train.corpus)))]
    if settings["model"] == PLDA:
        return [{"seconds": _plda_sweep_seconds(train, jobs)}]
    from tagtopic.models import TWTM

    times: list[float] = []
    model = TWTM(
        settings["topics"], max_iter=settings["iterations"], tol=0.0, tag_weight_prior="estimate", random_state=0,
        progress=False, n_jobs=1 if settings["model"] == STANDARD else jobs,
        callbacks=[lambda iteration, bound, seconds: times.append(seconds)],
    )  # fmt: skip
    with _engine(settings) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        # an untimed fit compiles all kernels, including those that learn the prior of the tag weights
        fit_model(clone(model).set_params(n_topics=2, callbacks=[]), train.corpus[:WARM_UP_DOCUMENTS])
        fit_model(model, train.corpus, engine=engine)
        value = perplexity(model, test.corpus).value
    return [{"seconds": (times[-1] - times[0]) / (len(times) - 1), "perplexity": value}]


@contextmanager
def _engine(settings: Settings) -> Iterator[Any]:
    if settings["model"] not in SOLUTIONS:
        yield None
        return
    from tagtopic.engines import SparkEngine

    try:
        yield SparkEngine(_CLUSTER.context(settings["workers"]), weight_update=SOLUTIONS[settings["model"]])
    except BaseException:
        _CLUSTER.close()  # the next cell starts a new cluster
        raise


class _SharedCluster:
    """A cluster kept for the next cell with the same number of workers: starting one takes longer than a cell."""

    def __init__(self) -> None:
        self.workers = 0
        self.open = ExitStack()
        self.opened: Any = None

    def context(self, workers: int) -> Any:
        if workers != self.workers:
            self.close()
            from tagtopic.engines.spark.context import open_context
            from tagtopic.testing import QUICK_START, SparkCluster

            config = {
                "spark.log.level": "ERROR", "spark.ui.enabled": "false",
                "spark.driver.extraJavaOptions": QUICK_START, "spark.executor.extraJavaOptions": QUICK_START,
            }  # fmt: skip
            cluster = self.open.enter_context(SparkCluster(workers=workers))
            self.opened = open_context(cluster.master, config)
            self.open.callback(self.opened.stop)
            self.workers = workers
        return self.opened

    def close(self) -> None:
        self.open.close()
        self.workers = 0


_CLUSTER = _SharedCluster()


def _plda_sweep_seconds(train: Dataset, jobs: int | None) -> float:
    from tagtopic.baselines import PLDA as Plda

    seconds = []
    for sweeps in PLDA_SWEEPS:
        started = time.perf_counter()
        Plda(sweeps=sweeps, n_jobs=jobs, random_state=0, timeout=3600.0).fit(train.corpus)
        seconds.append(time.perf_counter() - started)
    return max(seconds[1] - seconds[0], 0.0) / (PLDA_SWEEPS[1] - PLDA_SWEEPS[0])


PARTS = {"topics": "number of topics", "ratio": "share of the documents", "workers": "number of workers"}


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    """Group rows by part; parts other than the first need several values to make a curve."""
    usual = where(rows, tags=None)
    if not usual:
        return {}
    most = max(distinct(usual, "workers"))
    middle = where(usual, topics=_middle(distinct(usual, "topics")))
    by_workers = [row for row in where(middle, ratio=1.0) if row["model"] in SOLUTIONS]
    parts = {
        "topics": [row for row in where(usual, ratio=1.0) if row["workers"] in (0, most)],
        "ratio": [row for row in middle if row["workers"] in (0, most)],
        "workers": by_workers,
    }
    return {part: own for part, own in parts.items() if part == "topics" or len(distinct(own, part)) > 1}


def tables(rows: list[Row]) -> list[Table]:
    """Make tables of seconds and perplexity by topics, seconds by ratio and by workers, and the paper's Table 3."""
    found = []
    for part, own in _parts(rows).items():
        k = "" if part == "topics" else f", K = {own[0]['topics']}"
        title = f"Seconds per iteration by {PARTS[part]}{k}"
        found.append(pivot(own, title=title, line="model", column=part, value="seconds", digits=3))
        if part == "topics":
            title = "Perplexity by number of topics"
            found.append(pivot(own, title=title, line="model", column="topics", value="perplexity"))
    own = [row for row in rows if row["tags"] is not None]
    return [*found, _comparison_with_paper(own)] if own else found


def _comparison_with_paper(rows: list[Row]) -> Table:
    ratios = sorted(distinct(rows, "ratio"))
    lines = [
        [f"{name}, here", *(format_mean(where(rows, model=name, ratio=r), "seconds", 3) for r in ratios)]
        for name in distinct(rows, "model")
    ]
    lines += [[f"{name}, paper", *map(str, values)] for name, values in PAPER_TABLE_3.items() if len(ratios) == 5]
    title = (
        f"Seconds per iteration, {TABLE_3_TAGS} tags; PLDA with one topic per tag, TWTM with {TABLE_3_TOPICS} topics"
    )
    return Table(title, ["sampling ratio", *map(str, ratios)], lines)


def draw(rows: list[Row], figure: Any) -> None:
    """Draw seconds and perplexity by topics, seconds by ratio and by workers, and the paper's Table 3."""
    curves = _curves(rows)
    # without curves there is one empty panel
    for axis, (_, part, value, own) in zip(panels(figure, [title for title, *_ in curves]), curves, strict=False):
        for name in distinct(own, "model"):
            mine = where(own, model=name)
            at = sorted(distinct(mine, part))
            points = [mean(where(mine, **{part: x}), value) for x in at]
            axis.plot(at, points, label=name, **STYLES[name])
        axis.set_xticks(sorted(distinct(own, part)))
        axis.set_xlabel(PARTS[part])
        axis.set_ylabel(value if value == "perplexity" else "seconds")
        if value == "seconds":
            axis.set_ylim(bottom=0)
        legend_below(axis)


def _curves(rows: list[Row]) -> list[tuple[str, str, str, list[Row]]]:
    """Return the title, the variables of both axes and the rows of each panel."""
    wanted = [("topics", "seconds"), ("topics", "perplexity"), ("ratio", "seconds"), ("workers", "seconds")]
    parts = _parts(rows)
    found = [
        (f"{'seconds per iteration' if value == 'seconds' else value} by {PARTS[part]}", part, value, parts[part])
        for part, value in wanted
        if part in parts
    ]
    table = [row for row in rows if row["tags"] is not None]
    return [*found, (f"Table 3: {TABLE_3_TAGS} tags", "ratio", "seconds", table)] if table else found


MODELS = (STANDARD, THREADS, *SOLUTIONS, PLDA)
COLOURS = ("#111111", "#7f7f7f", "#1f77b4", "#c1272d", "#e59a9d", "#2ca02c", "#e07a1f", "#6a3d9a")
STYLES = {
    name: {"color": colour, "marker": marker} for name, colour, marker in zip(MODELS, COLOURS, "os^vxDP*", strict=True)
}
EXPERIMENT = Experiment(
    "scale", "Time and perplexity of the distributed solutions", MODELS, cells, measure, tables, draw,
    close=_CLUSTER.close,
)  # fmt: skip
