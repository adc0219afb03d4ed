"""Output for people: warnings on lines of their own, progress bars on standard error, cards in notebooks."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

BAR, COUNT, ELAPSED, REMAINING = "BarColumn", "MofNCompleteColumn", "TimeElapsedColumn", "TimeRemainingColumn"
"""Columns of a progress bar, beside texts."""

COMPILING = "compiling, once after an install, usually ten to twenty seconds"

LOG_SECONDS, NOTEBOOK_SECONDS = 10.0, 1.0
"""Seconds from one line of progress to the next, in logs and in notebooks."""

WRAPPERS = ("tagtopic", "sklearn")
"""Packages whose frames a warning skips: this one, and scikit-learn, which wraps its methods."""

MAX_CARD_TEXT = 200


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that called this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in WRAPPERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def called_by_sklearn() -> bool:
    """Whether this package was called by scikit-learn, as in a pipeline or a grid search."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tagtopic":
        frame = frame.f_back
    return bool(frame.f_globals.get("__name__", "").partition(".")[0] == "sklearn")


class CompilingNotice:
    """A line on standard error when kernels are being compiled and no progress bar shows it: once, if it takes long.

    Parameters
    ----------
    after : float, default=3.0
        Seconds of compiling after which it is printed.
    clock : callable, default=time.perf_counter
        Returns the time in seconds.

    Attributes
    ----------
    wanted : bool
        Whether to print it.
    """

    def __init__(self, after: float = 3.0, clock: Callable[[], float] = time.perf_counter) -> None:
        self.after = after
        self._clock = clock
        self.wanted = False
        self._seconds = 0.0
        self._began: float | None = None
        self._printed = False

    @property
    def seconds(self) -> float:
        """Seconds that this process has spent compiling, with those of the kernel being compiled."""
        began = self._began
        return self._seconds + (0.0 if began is None else self._clock() - began)

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Count the seconds of the context; print the line at its end if it is wanted and due."""
        self._began = self._clock()
        try:
            yield
        finally:
            self._seconds, self._began = self.seconds, None
        if self.wanted and not self._printed and self._seconds >= self.after:
            self._printed = True
            print(f"tagtopic: {COMPILING}", file=sys.stderr, flush=True)


COMPILING_NOTICE = CompilingNotice()
"""The notice of this process."""


def shows_progress(progress: bool | None) -> bool:
    """Whether a progress bar is drawn; None: if standard error is a terminal, otherwise only a notice of compiling."""
    if progress is None:
        COMPILING_NOTICE.wanted = not sys.stderr.isatty()
        return not COMPILING_NOTICE.wanted
    COMPILING_NOTICE.wanted = False
    return progress


def progress_bar(*columns: str, **options: Any) -> Any:
    """Return a transient bar of rich's that also shows when kernels are being compiled.

    rich is imported here, so that only those who draw a bar wait for it.
    """
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    from tagtopic._core.jit import is_compiling

    class Compiling(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(COMPILING if is_compiling() else "", style="dim")

    known = {name: getattr(progress, name) for name in (BAR, COUNT, ELAPSED, REMAINING)}
    made = [known[column]() if column in known else progress.TextColumn(column) for column in columns]
    return progress.Progress(*made, Compiling(), console=Console(stderr=True, emoji=False), transient=True, **options)


class LineProgress:
    """Progress as lines on standard error, for logs and notebooks: one every so often, none of what is quick.

    It has the methods of a rich progress bar that this package uses. In a notebook one line is written over.

    Parameters
    ----------
    every : float
        Seconds from one line to the next.
    in_place : bool, default=False
        Whether a line is written over the one before.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    """

    def __init__(self, every: float, *, in_place: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._every, self._in_place, self._clock = every, in_place, clock
        self._started = self._printed = clock()
        self._task: dict[str, Any] = {}
        self._has_printed = False

    def add_task(self, description: str, *, total: float | None = None, completed: float = 0, **fields: Any) -> int:
        """Begin a task, which replaces the one before."""
        self._task = {"description": description, "total": total, "completed": completed, **fields}
        self._print_if_due()
        return 0

    def remove_task(self, task: int) -> None:
        """End a task."""
        self._task = {}

    def update(self, task: int, *, advance: float = 0, **fields: Any) -> None:
        """Take the progress of the task."""
        self._task |= fields
        self._task["completed"] = self._task.get("completed", 0) + advance
        self._print_if_due()

    def close(self) -> None:
        """End the line that is written over."""
        if self._in_place and self._has_printed:
            print(file=sys.stderr, flush=True)

    def _print_if_due(self) -> None:
        now = self._clock()
        if now - self._printed < self._every:
            return
        self._printed, self._has_printed = now, True
        line = f"tagtopic: {self._line(now - self._started)}"
        print(
            f"\r{line:<100}" if self._in_place else line,
            end="" if self._in_place else "\n",
            file=sys.stderr,
            flush=True,
        )

    def _line(self, seconds: float) -> str:
        task = dict(self._task)
        description, total, done = task.pop("description", ""), task.pop("total", None), task.pop("completed", 0)
        parts = [description, *([f"{done / total:.0%}"] if total else []), f"{seconds:.0f} s"]
        return ", ".join([*parts, *(str(value) for value in task.values() if value)])


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel."""
    return "ipykernel" in sys.modules


@contextmanager
def progress_display(progress: bool | None, *columns: str, **options: Any) -> Iterator[Any]:
    """Yield a progress bar, lines where standard error is no terminal (unless a bar is asked for), or None if False.

    Parameters
    ----------
    progress : bool or None
        True: a bar; False: nothing; None: a bar on a terminal, else lines.
    *columns, **options
        The columns and options of the bar.
    """
    if shows_progress(progress):
        with progress_bar(*columns, **options) as bar:
            yield bar
    elif progress is None:
        lines = LineProgress(NOTEBOOK_SECONDS if in_notebook() else LOG_SECONDS, in_place=in_notebook())
        try:
            yield lines
        finally:
            lines.close()
    else:
        yield None


def html_card(
    title: str, figures: Iterable[tuple[str, str]], columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> str:
    """Return HTML for a notebook: a title, a line of figures and a table. Everything is escaped, nothing fetched."""
    line = " · ".join(f"<b>{_card_text(value)}</b> {_card_text(name)}" for name, value in figures)
    head = "".join(f'<th style="text-align:left">{_card_text(column)}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{_card_text(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    return f"<div><h4>{_card_text(title)}</h4><p>{line}</p>{table}</div>"


def _card_text(text: str) -> str:
    """Return the text escaped, shortened if it is long, with a writing direction of its own."""
    short = text if len(text) <= MAX_CARD_TEXT else text[: MAX_CARD_TEXT - 1] + "…"
    return f"<bdi>{escape(short)}</bdi>"
