"""The progress bar of a fit."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tagtopic._core.display import BAR, ELAPSED, REMAINING, progress_display
from tagtopic.models._batch import Callback, Fit


class NoProgress:
    """The interface of a fit's progress display; this one shows nothing."""

    def start_phase(self, name: str) -> None:
        """Start a phase of unknown length."""

    def callbacks(self, fit: Fit) -> list[Callback]:
        """Start the phase of iterations; return what the fit calls after each of them."""
        return []


class ProgressBar(NoProgress):
    """A bar on standard error: it fills by iterations, and pulses in phases of unknown length."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def start_phase(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Start a phase, of ``total`` steps if that is known."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total, completed=done, count="", status="")

    def callbacks(self, fit: Fit) -> list[Callback]:
        """Start the phase of iterations; return what the fit calls after each of them."""
        self.start_phase("fitting", fit.settings.max_iter, len(fit.history.bound))

        def show(iteration: int, bound: float, seconds: float) -> None:
            count = f"{iteration}/{fit.settings.max_iter}"
            self._progress.update(self._task, completed=iteration, count=count, status=status_line(fit))

        return [show]


@contextmanager
def fit_progress(progress: bool | None) -> Iterator[NoProgress]:
    """A bar if ``progress`` is true, or if it is None and standard error is a terminal; None elsewhere: lines."""
    with progress_display(
        progress, "{task.description}", BAR, "{task.fields[count]}", ELAPSED, REMAINING, "{task.fields[status]}"
    ) as bar:
        yield NoProgress() if bar is None else ProgressBar(bar)


def status_line(fit: Fit) -> str:
    """The bound, the validation perplexity, the speed and the memory after the last iteration."""
    history = fit.history
    parts = [f"bound {history.bound[-1]:,.0f}"]
    if history.perplexity:
        parts.append(f"held-out perplexity {history.perplexity[-1]:,.1f}")
        if since := history.iterations_since_best():
            parts.append(f"(best {min(history.perplexity):,.1f}, {since} ago)")
    last = history.seconds[-1] - (history.seconds[-2] if len(history.seconds) > 1 else 0.0)
    parts.append(f"{fit.n_documents / max(last, 1e-9):,.0f} documents/s")
    if (memory := resident_bytes()) is not None:
        parts.append(f"{memory / 1e6:,.0f} MB")
    return " ".join(parts)


def resident_bytes() -> int | None:
    """The resident memory of this process; None if the system has no /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * mmap.PAGESIZE
