"""What an experiment is: cells to measure, tables to read and a plot to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tagtopic.experiments.data import Subject
from tagtopic.experiments.grid import Row, Settings
from tagtopic.experiments.tables import Table


@dataclass(frozen=True)
class Plan:
    """How much of an experiment is asked for; None is the experiment's own choice.

    Attributes
    ----------
    quick:
        Few topics, one fold, short fits: to see it run, not to be quoted.
    topics:
        Numbers of topics.
    folds:
        How many of the five folds are measured (each holds out a fifth of the documents).
    models:
        Names of the models to compare.
    workers:
        Numbers of Spark workers in ``scale``; empty is this machine's threads only.
    jobs:
        Threads.

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
        """Those of an experiment's models that are asked for."""
        return [name for name in models if self.models is None or name in self.models]

    def fold_numbers(self, full: int) -> range:
        """The folds to measure, ``full`` of them unless asked otherwise."""
        return range(min(self.folds or (1 if self.quick else full), FOLDS))


FOLDS = 5


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments.

    Attributes
    ----------
    name, title:
        On the command line, and above its tables.
    models:
        Names of all that it compares.
    cells:
        The settings of each cell.
    measure:
        A cell's rows.
    tables:
        What a person reads, from the rows of all cells.
    draw:
        The plot, on an empty matplotlib figure.
    needs_labels:
        Whether documents need labels.
    close:
        Ends what cells have left running for the next.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tagtopic.experiments import Plan, planted, run
    >>> with TemporaryDirectory() as folder:  # nothing is begun after no minutes
    ...     run("tags", planted(quick=True), folder, Plan(quick=True), minutes=0).experiment.name
    'tags'
    """

    name: str
    title: str
    models: Sequence[str]
    cells: Callable[[Subject, Plan], list[Settings]]
    measure: Callable[[Subject, Settings, int | None], list[Row]]
    tables: Callable[[list[Row]], list[Table]]
    draw: Callable[[list[Row], Any], None]
    needs_labels: bool = False
    close: Callable[[], None] = lambda: None
