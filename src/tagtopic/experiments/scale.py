"""Figures 9 to 11 and Table 3: seconds an iteration, and perplexity, of TWTM on one machine and by the three solutions.

"standard" is one thread of this machine; the solutions run on a Spark cluster on it, where Spark and Java are there.
Seconds are a mean over the iterations after the first (which sends the corpus around), the one that learns the prior of
the weights among them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from sklearn.base import clone

from tagtopic.evaluation.perplexity import perplexity
from tagtopic.experiments.data import Subject, commonest_tags
from tagtopic.experiments.experiment import FOLDS, Experiment, Plan
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.models import fitted
from tagtopic.experiments.plots import legend_below, panels
from tagtopic.experiments.tables import Table, different, mean, mean_and_spread, pivot, where

STANDARD, THREADS, PLDA = "standard", "all threads", "PLDA"
SOLUTIONS = {"Solution I": "driver", "Solution II": "average", "Solution III": "components", "gradient": "gradient"}
TOPICS, QUICK_TOPICS = (10, 20, 50), (10,)
RATIOS, QUICK_RATIOS = (0.1, 0.3, 0.6, 0.8, 1.0), (1.0,)
WORKERS, QUICK_WORKERS = (1, 2), (2,)
ITERATIONS = 21
"""The prior of the weights is learnt after the twentieth (see ``models.priors.Schedule``)."""
WARM_UP_DOCUMENTS = 20
TABLE_TAGS, TABLE_TOPICS = 1000, 5
"""Table 3 of the paper: so many tags, and so many topics for Solution II."""

PLDA_SWEEPS = (2, 12)
"""A sweep takes the difference of these two fits over the difference of their sweeps."""

PAPERS_TABLE = {
    "PLDA": (66.6, 114.8, 193.4, 250.6, 276.4),
    "Solution II": (77.6, 88.6, 104.8, 116.2, 120.8),
}


def cells(subject: Subject, plan: Plan) -> list[Settings]:
    """By topics, by ratio, by workers (a cell that belongs to several is measured once), and the paper's Table 3."""
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
        found += [_cell(name, TABLE_TOPICS, r, most, TABLE_TAGS, plan) for r in ratios for name in pair]
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
    """The numbers of Spark workers; none where Spark or Java is missing."""
    wanted = plan.workers if plan.workers is not None else QUICK_WORKERS if plan.quick else WORKERS
    wanted = tuple(n for n in wanted if n > 0)
    if not wanted:
        return ()
    from tagtopic.engines.spark.session import SparkMissingError, require_java, require_pyspark

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
        return [{"seconds": _seconds_of_plda(train, jobs)}]
    from tagtopic.models import TWTM

    times: list[float] = []
    model = TWTM(
        settings["topics"], max_iter=settings["iterations"], tol=0.0, tag_weight_prior="estimate", random_state=0,
        progress=False, n_jobs=1 if settings["model"] == STANDARD else jobs,
        callbacks=[lambda iteration, bound, seconds: times.append(seconds)],
    )  # fmt: skip
    with _engine(settings) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        # thrown away: whatever is not compiled yet is compiled here, what learns the prior of the weights among it
        fitted(clone(model).set_params(n_topics=2, callbacks=[]), train.corpus[:WARM_UP_DOCUMENTS])
        fitted(model, train.corpus, engine=engine)
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
        _CLUSTER.close()  # whatever it was, the next cell begins with a sound one
        raise


class _KeptCluster:
    """A cluster that stays for the next cell with as many workers: to start one takes longer than to measure."""

    def __init__(self) -> None:
        self.workers = 0
        self.open = ExitStack()
        self.opened: Any = None

    def context(self, workers: int) -> Any:
        if workers != self.workers:
            self.close()
            from tagtopic.engines.spark.session import open_context
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


_CLUSTER = _KeptCluster()


def _seconds_of_plda(train: Subject, jobs: int | None) -> float:
    from tagtopic.baselines import PLDA as Plda

    taken = []
    for sweeps in PLDA_SWEEPS:
        begun = time.perf_counter()
        Plda(sweeps=sweeps, n_jobs=jobs, random_state=0, timeout=3600.0).fit(train.corpus)
        taken.append(time.perf_counter() - begun)
    return max(taken[1] - taken[0], 0.0) / (PLDA_SWEEPS[1] - PLDA_SWEEPS[0])


PARTS = {"topics": "number of topics", "ratio": "share of the documents", "workers": "number of workers"}


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each part; one with a single number of topics, ratio or workers is no curve, but for the first."""
    usual = where(rows, tags=None)
    if not usual:
        return {}
    most = max(different(usual, "workers"))
    middle = where(usual, topics=_middle(different(usual, "topics")))
    by_workers = [row for row in where(middle, ratio=1.0) if row["model"] in SOLUTIONS]
    parts = {
        "topics": [row for row in where(usual, ratio=1.0) if row["workers"] in (0, most)],
        "ratio": [row for row in middle if row["workers"] in (0, most)],
        "workers": by_workers,
    }
    return {part: own for part, own in parts.items() if part == "topics" or len(different(own, part)) > 1}


def tables(rows: list[Row]) -> list[Table]:
    """Seconds and perplexity by topics, seconds by ratio and by workers, and the paper's Table 3."""
    found = []
    for part, own in _parts(rows).items():
        k = "" if part == "topics" else f", K = {own[0]['topics']}"
        title = f"Seconds an iteration by {PARTS[part]}{k}"
        found.append(pivot(own, title=title, line="model", column=part, value="seconds", digits=3))
        if part == "topics":
            title = "Perplexity by number of topics"
            found.append(pivot(own, title=title, line="model", column="topics", value="perplexity"))
    own = [row for row in rows if row["tags"] is not None]
    return [*found, _beside_the_paper(own)] if own else found


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
    """Seconds by topics, perplexity by topics, seconds by ratio and by workers, and the paper's Table 3."""
    curves = _curves(rows)
    # with nothing to draw there is one empty panel
    for axis, (_, part, value, own) in zip(panels(figure, [title for title, *_ in curves]), curves, strict=False):
        for name in different(own, "model"):
            mine = where(own, model=name)
            at = sorted(different(mine, part))
            points = [mean(where(mine, **{part: x}), value) for x in at]
            axis.plot(at, points, label=name, **LOOKS[name])
        axis.set_xticks(sorted(different(own, part)))
        axis.set_xlabel(PARTS[part])
        axis.set_ylabel(value if value == "perplexity" else "seconds")
        if value == "seconds":
            axis.set_ylim(bottom=0)
        legend_below(axis)


def _curves(rows: list[Row]) -> list[tuple[str, str, str, list[Row]]]:
    """Title, what is on the axis below, what on the left, and the rows of each panel."""
    wanted = [("topics", "seconds"), ("topics", "perplexity"), ("ratio", "seconds"), ("workers", "seconds")]
    parts = _parts(rows)
    found = [
        (f"{'seconds an iteration' if value == 'seconds' else value} by {PARTS[part]}", part, value, parts[part])
        for part, value in wanted
        if part in parts
    ]
    table = [row for row in rows if row["tags"] is not None]
    return [*found, (f"Table 3: {TABLE_TAGS} tags", "ratio", "seconds", table)] if table else found


MODELS = (STANDARD, THREADS, *SOLUTIONS, PLDA)
INKS = ("#111111", "#7f7f7f", "#1f77b4", "#c1272d", "#2ca02c", "#e07a1f", "#6a3d9a")
LOOKS = {
    name: {"color": ink, "marker": marker} for name, ink, marker in zip(MODELS, INKS, "os^vDP*", strict=True)
}  # the same in all panels
EXPERIMENT = Experiment(
    "scale", "Time and perplexity of the distributed solutions", MODELS, cells, measure, tables, draw,
    close=_CLUSTER.close,
)  # fmt: skip
