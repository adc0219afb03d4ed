"""What a person sees: warnings at their own line, progress bars on standard error, cards in notebooks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

BAR, COUNT, ELAPSED, REMAINING = "BarColumn", "MofNCompleteColumn", "TimeElapsedColumn", "TimeRemainingColumn"
"""Columns of a progress bar, beside texts."""

COMPILING = "compiling, once after an install"

WRAPPERS = ("tagtopic", "sklearn")
"""Packages whose frames a warning skips: this one, and scikit-learn, which wraps its methods."""

MAX_CARD_TEXT = 200


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that called this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in WRAPPERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def shows_progress(progress: bool | None) -> bool:
    """Whether a progress bar is drawn; None: if standard error is a terminal."""
    return sys.stderr.isatty() if progress is None else progress


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
