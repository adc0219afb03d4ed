"""The grid of cells of an experiment; a run can be killed at any time and continued, since each cell has its own file.

A cell is a dict of settings. Its rows are written atomically to ``cells/`` under a name derived from the settings and
the corpus; a cell whose file exists is not measured again. The error of a failed cell is stored too, unless an optional
package was missing, which may be installed later.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tagtopic._core.display import BAR, COUNT, ELAPSED, REMAINING, progress_bar, shows_progress
from tagtopic._core.files import write_text
from tagtopic._core.optional import MissingExtraError
from tagtopic._version import __version__

Settings = dict[str, Any]
Row = dict[str, Any]
Measure = Callable[[Settings], list[Row]]
Log = Callable[[str], None]

FAILED = "failed"
"""The name that stands for all cells with an error in ``ExperimentGrid.forget``."""


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
