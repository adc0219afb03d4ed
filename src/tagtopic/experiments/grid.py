"""A grid of cells that may be killed at any moment and goes on: each finished cell is a file of its own.

A cell is a dict of settings. Measuring it gives rows, which are written to ``cells/`` under a name made from the
settings and the corpus, whole or not at all; a cell whose file is there is not measured again. A cell that fails is
written down too, with its error; but not one that only lacks an optional package, which may be installed meanwhile.
"""

from __future__ import annotations

import hashlib
import json
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
Tell = Callable[[str], None]

FAILED = "failed"
"""What to give to ``forget`` for the cells that ended in an error."""


@dataclass(frozen=True)
class Cell:
    """What became of a cell: its rows, or its error."""

    settings: Settings
    rows: list[Row]
    error: str | None
    seconds: float
    version: str = __version__

    @property
    def table(self) -> list[Row]:
        """Its rows with the settings before them; dicts among the settings are left out."""
        plain = {name: value for name, value in self.settings.items() if not isinstance(value, dict)}
        return [plain | row for row in self.rows]


class Grid:
    """The cells of one corpus in one folder."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder / "cells"
        self.fingerprint = fingerprint

    def finished(self, cells: Sequence[Settings]) -> list[Cell]:
        """Those of the cells that are done, in their order."""
        return [cell for cell in map(self.load, cells) if cell is not None]

    def load(self, settings: Settings) -> Cell | None:
        """What became of a cell; None if it was not measured yet."""
        try:
            found = json.loads(self.path(settings).read_text("utf-8"))
            return Cell(**found)
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def path(self, settings: Settings) -> Path:
        """Where a cell is kept."""
        text = json.dumps([self.fingerprint, settings], sort_keys=True, ensure_ascii=True)
        digest = hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return self.folder / f"{settings.get('experiment', 'cell')}-{digest}.json"

    def forget(self, cells: Sequence[Settings], names: Sequence[str]) -> int:
        """Remove the cells with these models, and those that failed if ``FAILED`` is among them; how many it were."""
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
        tell: Tell = lambda text: None,
    ) -> list[Cell]:
        """Measure the cells that are not done, in order; all that are done then, and last those that lack a package.

        After ``minutes`` no cell is begun. An error of a cell is told and written down, and the next one is begun;
        Ctrl-C ends the run.
        """
        open_cells = [settings for settings in cells if self.load(settings) is None]
        lacking: list[Cell] = []
        begun = time.monotonic()
        with _bar(len(cells), len(cells) - len(open_cells), progress) as advance:
            for settings in open_cells:
                if minutes is not None and time.monotonic() - begun > 60 * minutes:
                    tell(f"{minutes:g} minutes are over: the same command goes on from here")
                    break
                advance(title_of(settings), 0)
                cell, lasting = _measured(settings, measure)
                if lasting:
                    self._save(cell)
                else:
                    lacking.append(cell)
                if cell.error is not None:
                    tell(f"failed: {title_of(settings)}: {cell.error}")
                advance(title_of(settings), 1)
        return self.finished(cells) + lacking

    def _save(self, cell: Cell) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(cell.settings), json.dumps(asdict(cell), ensure_ascii=False, indent=1))


def _measured(settings: Settings, measure: Measure) -> tuple[Cell, bool]:
    """What became of a cell, and whether the next run would find the same."""
    begun = time.perf_counter()
    rows: list[Row] = []
    error, lasting = None, True
    try:
        rows = measure(settings)
    except Exception as problem:
        # whatever a model does: the other cells are worth having
        lasting = not isinstance(problem, MissingExtraError)
        error = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
    return Cell(settings, rows, error, round(time.perf_counter() - begun, 3)), lasting


def title_of(settings: Settings) -> str:
    """A cell in words."""
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
    columns = (BAR, COUNT, "cells,", ELAPSED, "gone,", REMAINING, "left: {task.description}")
    # a cell takes minutes: the speed of the last half hour would forget nearly all of them
    with progress_bar(*columns, speed_estimate_period=86400) as bar:
        task = bar.add_task("", total=total, completed=done)

        def advance(title: str, n: int) -> None:
            bar.update(task, description=title, advance=n)

        yield advance
