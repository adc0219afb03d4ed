"""The definition of an experiment, and its run: measure the missing cells, then write the tables and the plot.

A cell is a dict of settings. Its rows are written atomically to ``cells/`` under a name derived from the settings and
the corpus; a cell whose file exists is not measured again, so that a run can be killed at any time and continued. The
error of a failed cell is stored too, unless an optional package was missing, which may be installed later.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tagtopic._core.display import BAR, COUNT, ELAPSED, REMAINING, progress_bar, shows_progress
from tagtopic._core.files import write_text
from tagtopic._core.optional import MissingExtraError
from tagtopic._version import __version__
from tagtopic.experiments.dataset import Dataset
from tagtopic.experiments.results import Row, Table, require_matplotlib, write_parquet, write_plot

EXPERIMENT_NAMES = ("perplexity", "tags", "classify", "noise", "scale", "replay", "hybrid")
FOLDS = 5

Settings = dict[str, Any]
Measure = Callable[[Settings], list[Row]]
Log = Callable[[str], None]

FAILED = "failed"
"""The name that stands for all cells with an error in ``ExperimentGrid.forget``."""


@dataclass(frozen=True)
class Plan:
    """How much of an experiment is run; None leaves the choice to the experiment.

    Parameters
    ----------
    quick : bool, default False
        Few topics, one fold, short fits: a trial run whose figures should not be quoted.
    topics : tuple of int, optional
        Numbers of topics.
    folds : int, optional
        How many of the five cross-validation folds are measured.
    models : tuple of str, optional
        Names of the models to compare.
    workers : tuple of int, optional
        Numbers of Spark workers in ``scale``; an empty tuple runs without Spark.
    jobs : int, optional
        Number of threads.

    Examples
    --------
    >>> from tagtopic.experiments import Plan
    >>> Plan(quick=True, topics=(20, 50)).folds is None
    True
    """

    quick: bool = False
    topics: tuple[int, ...] | None = None
    folds: int | None = None
    models: tuple[str, ...] | None = None
    workers: tuple[int, ...] | None = None
    jobs: int | None = None

    def chosen(self, models: Sequence[str]) -> list[str]:
        """Select models.

        Parameters
        ----------
        models : sequence of str
            The models of an experiment.

        Returns
        -------
        list of str
            Those of them that the plan includes.
        """
        return [name for name in models if self.models is None or name in self.models]

    def fold_numbers(self, full: int) -> range:
        """Select cross-validation folds.

        Parameters
        ----------
        full : int
            Number of folds in a full run.

        Returns
        -------
        range
            The folds to measure.
        """
        return range(min(self.folds or (1 if self.quick else full), FOLDS))


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments.

    Parameters
    ----------
    name : str
        Name on the command line and of the files.
    title : str
        Heading of the tables.
    models : sequence of str
        Names of all models that are compared.
    cells : callable
        From a dataset and a plan to the settings of each cell.
    measure : callable
        From a dataset, the settings of a cell and a number of threads to the rows of the cell.
    tables : callable
        From the rows of all cells to the tables of the result.
    draw : callable
        Draws the rows on an empty matplotlib figure.
    needs_labels : bool, default False
        Whether documents need labels.
    close : callable, optional
        Releases what cells keep for the next cell.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.experiments import Plan, planted_dataset, run
    >>> with TemporaryDirectory() as folder:  # with a limit of 0 minutes no cell is started
    ...     run("tags", planted_dataset(quick=True), folder, Plan(quick=True), minutes=0).experiment.name
    'tags'
    """

    name: str
    title: str
    models: Sequence[str]
    cells: Callable[[Dataset, Plan], list[Settings]]
    measure: Callable[[Dataset, Settings, int | None], list[Row]]
    tables: Callable[[list[Row]], list[Table]]
    draw: Callable[[list[Row], Any], None]
    needs_labels: bool = False
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class ExperimentResult:
    """The result of a run.

    Attributes
    ----------
    experiment : Experiment
        The experiment.
    rows : list of dict
        All measurements, and one row with the error for each failed cell.
    tables : list of Table
        The measurements as tables.
    missing : int
        Number of cells that are not measured yet.
    failed : list of CellResult
        Cells that ended in an error, in this run or an earlier one.
    files : list of Path
        The files that were written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.experiments import Plan, planted_dataset, run
    >>> with TemporaryDirectory() as folder:  # with a limit of 0 minutes no cell is started
    ...     result = run("tags", planted_dataset(quick=True), folder, Plan(quick=True), minutes=0)
    >>> result.missing > 0, result.rows
    (True, [])
    """

    experiment: Experiment
    rows: list[Row]
    tables: list[Table]
    missing: int
    failed: list[CellResult]
    files: list[Path]


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name."""
    if name not in EXPERIMENT_NAMES:
        raise ValueError(f"there is no experiment {name!r}: there are {', '.join(EXPERIMENT_NAMES)}")
    found: Experiment = import_module(f"tagtopic.experiments.{name}").EXPERIMENT
    return found


def run(
    experiment: str | Experiment,
    dataset: Dataset,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    redo: tuple[str, ...] = (),
    minutes: float | None = None,
    progress: bool | None = None,
    log: Log = lambda text: None,
) -> ExperimentResult:
    """Run an experiment and write ``NAME.parquet``, ``.md``, ``.svg`` and ``.png`` into a folder.

    Cells that the folder already has are not measured again, so a run that was interrupted can be continued.

    Parameters
    ----------
    experiment : str or Experiment
        One of ``EXPERIMENT_NAMES``, or an experiment.
    dataset : Dataset
        The documents.
    folder : str or Path
        Where cells and results are written.
    plan : Plan, optional
        How much of the experiment is run.
    redo : tuple of str, default ()
        Models whose cells are measured again; ``"failed"`` stands for all cells that ended in an error.
    minutes : float, optional
        Time after which no further cell is started.
    progress : bool, optional
        Show a progress bar; by default if standard error is a terminal.
    log : callable, optional
        Receives messages about failed and repeated cells.

    Returns
    -------
    ExperimentResult
        Rows, tables and files.

    Raises
    ------
    ValueError
        If the experiment or a model does not exist, labels are missing, or no cell is left to measure.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.experiments import Plan, planted_dataset, run
    >>> plan = Plan(quick=True, models=("tf-idf centroid",))
    >>> with TemporaryDirectory() as folder:
    ...     result = run("tags", planted_dataset(quick=True), folder, plan, progress=False)
    >>> result.missing
    0
    """
    require_matplotlib()
    found = find_experiment(experiment) if isinstance(experiment, str) else experiment
    name, plan = found.name, plan or Plan()
    if found.needs_labels and dataset.labels is None:
        raise ValueError(f"{name} needs documents with labels: say which kind of tag they are (--labels KIND)")
    unknown = [model for model in plan.models or () if model not in found.models]
    if unknown:
        raise ValueError(f"{name} does not compare {unknown[0]!r}; it compares {', '.join(found.models)}")
    cells = found.cells(dataset, plan)
    if not cells:
        raise ValueError(f"{name} has nothing to measure with these models here")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    grid = ExperimentGrid(target, dataset.fingerprint)
    if redo:
        log(f"{name}: {grid.forget(cells, redo)} cells are measured again")
    try:
        done = grid.run(
            cells,
            lambda settings: found.measure(dataset, settings, plan.jobs),
            minutes=minutes,
            progress=progress,
            log=log,
        )
    finally:
        found.close()
    return _write(found, dataset, done, len(cells) - len(done), target)


def _write(
    experiment: Experiment, dataset: Dataset, done: list[CellResult], missing: int, folder: Path
) -> ExperimentResult:
    rows = [row for cell in done if cell.error is None for row in cell.table]
    failed = [cell for cell in done if cell.error is not None]
    tables = experiment.tables(rows) if rows else []
    all_rows = rows + [_error_row(cell) for cell in failed]
    files = [folder / f"{experiment.name}.{kind}" for kind in ("parquet", "md", "svg", "png")]
    write_parquet(all_rows, files[0])
    write_text(files[1], _page(experiment, dataset, tables, failed, missing))
    if rows:
        write_plot(lambda figure: experiment.draw(rows, figure), folder / experiment.name)
    return ExperimentResult(experiment, all_rows, tables, missing, failed, files if rows else files[:2])


def _error_row(cell: CellResult) -> Row:
    plain = {name: value for name, value in cell.settings.items() if not isinstance(value, dict)}
    return plain | {"error": cell.error}


def _page(experiment: Experiment, dataset: Dataset, tables: list[Table], failed: list[CellResult], missing: int) -> str:
    corpus: Any = dataset.corpus
    lines = [f"# {experiment.title}\n", f"{corpus!r}.\n", *(f"{note}.\n" for note in dataset.notes)]
    if missing:
        lines.append(f"{missing} cells are not measured yet: run the same command again to continue.\n")
    lines += [table.markdown() for table in tables]
    if failed:
        lines.append("## Failed\n")
        lines += [f"- {cell_title(cell.settings)}: {cell.error}" for cell in failed]
        lines.append("")
    return "\n".join(lines)


@dataclass(frozen=True)
class CellResult:
    """The result of a cell: its rows, or its error."""

    settings: Settings
    rows: list[Row]
    error: str | None
    seconds: float
    version: str = __version__
    cpu_seconds: float = 0.0

    @property
    def table(self) -> list[Row]:
        """The rows, each with the settings of the cell; settings that are dicts are omitted."""
        plain = {name: value for name, value in self.settings.items() if not isinstance(value, dict)}
        return [plain | row for row in self.rows]


class ExperimentGrid:
    """The cells of one dataset, stored in one folder."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder / "cells"
        self.fingerprint = fingerprint

    def finished(self, cells: Sequence[Settings]) -> list[CellResult]:
        """Return the results of the cells that are done, in their order."""
        return [cell for cell in map(self.load, cells) if cell is not None]

    def load(self, settings: Settings) -> CellResult | None:
        """Return the result of a cell, or None if it is not measured yet."""
        try:
            found = json.loads(self.path(settings).read_text("utf-8"))
            return CellResult(**found)
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def path(self, settings: Settings) -> Path:
        """Return the file of a cell."""
        text = json.dumps([self.fingerprint, settings], sort_keys=True, ensure_ascii=True)
        digest = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return self.folder / f"{settings.get('experiment', 'cell')}-{digest}.json"

    def forget(self, cells: Sequence[Settings], names: Sequence[str]) -> int:
        """Remove the results of these models, and all errors if ``FAILED`` is among the names; return their number."""
        chosen = [
            cell.settings
            for cell in self.finished(cells)
            if {cell.settings.get("model"), cell.settings.get("topic_model")} & {*names}
            or (cell.error is not None and FAILED in names)
        ]
        for settings in chosen:
            self.path(settings).unlink(missing_ok=True)
        return len(chosen)

    def run(
        self,
        cells: Sequence[Settings],
        measure: Measure,
        *,
        minutes: float | None = None,
        progress: bool | None = None,
        log: Log = lambda text: None,
    ) -> list[CellResult]:
        """Measure the missing cells in order; return all results, those that lack an optional package last.

        After ``minutes`` no further cell is started. The error of a cell is logged and stored, and the run continues;
        Ctrl-C ends the run.
        """
        pending = [settings for settings in cells if self.load(settings) is None]
        unavailable: list[CellResult] = []
        started = time.monotonic()
        with _bar(len(cells), len(cells) - len(pending), progress) as advance:
            for settings in pending:
                if minutes is not None and time.monotonic() - started > 60 * minutes:
                    log(f"{minutes:g} minutes are over: the same command goes on from here")
                    break
                advance(cell_title(settings), 0)
                cell, is_final = _measure(settings, measure)
                if is_final:
                    self._save(cell)
                else:
                    unavailable.append(cell)
                if cell.error is not None:
                    log(f"failed: {cell_title(settings)}: {cell.error}")
                advance(cell_title(settings), 1)
        return self.finished(cells) + unavailable

    def _save(self, cell: CellResult) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(cell.settings), json.dumps(asdict(cell), ensure_ascii=False, indent=1))


def _measure(settings: Settings, measure: Measure) -> tuple[CellResult, bool]:
    """Return the result of a cell, and whether it should be stored."""
    started, cpu_started = time.perf_counter(), _cpu_seconds()
    rows: list[Row] = []
    error, is_final = None, True
    try:
        rows = measure(settings)
    except Exception as problem:
        # the failure of one model must not end the run
        is_final = not isinstance(problem, MissingExtraError)
        error = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
    seconds, cpu_seconds = time.perf_counter() - started, _cpu_seconds() - cpu_started
    return CellResult(settings, rows, error, round(seconds, 3), cpu_seconds=round(cpu_seconds, 3)), is_final


def _cpu_seconds() -> float:
    """The CPU time of this process and of those it has waited for: external libraries run in processes of their own."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def cell_title(settings: Settings) -> str:
    """Describe a cell."""
    hidden = {"folds"}
    return ", ".join(
        f"{value}" if isinstance(value, str) else f"{name} {value}"
        for name, value in settings.items()
        if name not in hidden and not isinstance(value, dict)
    )


@contextmanager
def _bar(total: int, done: int, progress: bool | None) -> Iterator[Callable[[str, int], None]]:
    if not shows_progress(progress):
        yield lambda title, n: None
        return
    columns = (BAR, COUNT, "cells,", ELAPSED, "elapsed,", REMAINING, "left: {task.description}")
    # a cell takes minutes: a speed estimated from the last half hour would ignore nearly all of them
    with progress_bar(*columns, speed_estimate_period=86400) as bar:
        task = bar.add_task("", total=total, completed=done)

        def advance(title: str, n: int) -> None:
            bar.update(task, description=title, advance=n)

        yield advance
