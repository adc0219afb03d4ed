"""A progress bar when a person is watching."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tagtopic._core.display import BAR, ELAPSED, REMAINING, progress_bar, shows_progress
from tagtopic.models._batch import Callback, Fit


class Watcher:
    """Who hears how far a fit has come; this one keeps it to itself."""

    def begin(self, what: str) -> None:
        """Something is begun of which nobody knows how long it takes."""

    def follow(self, fit: Fit) -> list[Callback]:
        """What the fit is to call after each iteration."""
        return []


class Bar(Watcher):
    """A bar that is filled by iterations, and before and after them only moves."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def begin(self, what: str, total: int | None = None, done: int = 0) -> None:
        """Something else is begun."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=total, completed=done, count="", news="")

    def follow(self, fit: Fit) -> list[Callback]:
        """Fill the bar after each iteration."""
        self.begin("fitting", fit.settings.max_iter, len(fit.history.bound))

        def show(iteration: int, bound: float, seconds: float) -> None:
            count = f"{iteration}/{fit.settings.max_iter}"
            self._progress.update(self._task, completed=iteration, count=count, news=news(fit))

        return [show]


@contextmanager
def fit_progress(progress: bool | None) -> Iterator[Watcher]:
    """A bar on standard error; none unless ``progress`` is true, or None with a terminal there."""
    if not shows_progress(progress):
        yield Watcher()
        return
    with progress_bar(
        "{task.description}", BAR, "{task.fields[count]}", ELAPSED, REMAINING, "{task.fields[news]}"
    ) as bar:
        yield Bar(bar)


def news(fit: Fit) -> str:
    """How the fit stands, in a few words."""
    history = fit.history
    words = [f"bound {history.bound[-1]:,.0f}"]
    if history.perplexity:
        words.append(f"held-out perplexity {history.perplexity[-1]:,.1f}")
        if history.waited():
            words.append(f"(best {min(history.perplexity):,.1f}, {history.waited()} ago)")
    last = history.seconds[-1] - (history.seconds[-2] if len(history.seconds) > 1 else 0.0)
    words.append(f"{fit.n_documents / max(last, 1e-9):,.0f} documents/s")
    if (memory := resident_bytes()) is not None:
        words.append(f"{memory / 1e6:,.0f} MB")
    return " ".join(words)


def resident_bytes() -> int | None:
    """Memory of this process that is in use now; None where the system does not tell (it does on Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * mmap.PAGESIZE
