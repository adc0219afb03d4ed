"""Run an experiment: measure what is not measured yet, then write the table, its Markdown and the plot."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tagtopic._core.files import write_text
from tagtopic.experiments.data import Subject
from tagtopic.experiments.experiment import Experiment, Plan
from tagtopic.experiments.grid import Cell, Grid, Row, Tell, title_of
from tagtopic.experiments.plots import require_matplotlib, write_plot
from tagtopic.experiments.tables import Table, write_parquet

NAMES = ("perplexity", "tags", "classify", "noise", "scale")


@dataclass(frozen=True)
class Outcome:
    """What a run has come to.

    Attributes
    ----------
    rows:
        The table, one row for each measured thing, errors among them.
    tables:
        The same as a person reads it.
    missing:
        How many cells are not measured yet.
    failed:
        The cells that ended in an error, now or in an earlier run.
    files:
        What was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.experiments import Plan, planted, run
    >>> with TemporaryDirectory() as folder:  # nothing is begun after no minutes
    ...     outcome = run("tags", planted(quick=True), folder, Plan(quick=True), minutes=0)
    >>> outcome.missing > 0, outcome.rows
    (True, [])
    """

    experiment: Experiment
    rows: list[Row]
    tables: list[Table]
    missing: int
    failed: list[Cell]
    files: list[Path]


def experiment_of(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in NAMES:
        raise ValueError(f"there is no experiment {name!r}: there are {', '.join(NAMES)}")
    found: Experiment = import_module(f"tagtopic.experiments.{name}").EXPERIMENT
    return found


def run(
    name: str,
    subject: Subject,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    redo: tuple[str, ...] = (),
    minutes: float | None = None,
    progress: bool | None = None,
    tell: Tell = lambda text: None,
) -> Outcome:
    """Run one of the experiments ``NAMES`` and write ``NAME.parquet``, ``.md``, ``.svg`` and ``.png`` into the folder.

    Cells that the folder already has are not measured again, so a run that was killed goes on. ``redo`` names models
    whose cells are to be measured anew ("failed": those that ended in an error); after ``minutes`` no cell is begun.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.experiments import Plan, planted, run
    >>> plan = Plan(quick=True, models=("tf-idf centroid",))
    >>> with TemporaryDirectory() as folder:
    ...     outcome = run("tags", planted(quick=True), folder, plan, progress=False)
    >>> outcome.missing
    0
    """
    require_matplotlib()
    experiment, plan = experiment_of(name), plan or Plan()
    if experiment.needs_labels and subject.labels is None:
        raise ValueError(f"{name} needs documents with labels: say which kind of tag they are (--labels KIND)")
    unknown = [model for model in plan.models or () if model not in experiment.models]
    if unknown:
        raise ValueError(f"{name} does not compare {unknown[0]!r}; it compares {', '.join(experiment.models)}")
    cells = experiment.cells(subject, plan)
    if not cells:
        raise ValueError(f"{name} has nothing to measure with these models here")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    grid = Grid(target, subject.fingerprint)
    if redo:
        tell(f"{name}: {grid.forget(cells, redo)} cells are measured again")
    try:
        done = grid.run(
            cells,
            lambda settings: experiment.measure(subject, settings, plan.jobs),
            minutes=minutes,
            progress=progress,
            tell=tell,
        )
    finally:
        experiment.close()
    return _write(experiment, subject, done, len(cells) - len(done), target)


def _write(experiment: Experiment, subject: Subject, done: list[Cell], missing: int, folder: Path) -> Outcome:
    rows = [row for cell in done if cell.error is None for row in cell.table]
    failed = [cell for cell in done if cell.error is not None]
    tables = experiment.tables(rows) if rows else []
    everything = rows + [_error_row(cell) for cell in failed]
    files = [folder / f"{experiment.name}.{kind}" for kind in ("parquet", "md", "svg", "png")]
    write_parquet(everything, files[0])
    write_text(files[1], _page(experiment, subject, tables, failed, missing))
    if rows:
        write_plot(lambda figure: experiment.draw(rows, figure), folder / experiment.name)
    return Outcome(experiment, everything, tables, missing, failed, files if rows else files[:2])


def _error_row(cell: Cell) -> Row:
    plain = {name: value for name, value in cell.settings.items() if not isinstance(value, dict)}
    return plain | {"error": cell.error}


def _page(experiment: Experiment, subject: Subject, tables: list[Table], failed: list[Cell], missing: int) -> str:
    corpus: Any = subject.corpus
    lines = [f"# {experiment.title}\n", f"{corpus!r}.\n"]
    if missing:
        lines.append(f"{missing} cells are not measured yet: the same command goes on.\n")
    lines += [table.markdown() for table in tables]
    if failed:
        lines.append("## Failed\n")
        lines += [f"- {title_of(cell.settings)}: {cell.error}" for cell in failed]
        lines.append("")
    return "\n".join(lines)
