"""Progress bars on standard error, for a person who watches."""

from __future__ import annotations

import sys
from typing import Any

BAR, COUNT, GONE, LEFT = "BarColumn", "MofNCompleteColumn", "TimeElapsedColumn", "TimeRemainingColumn"
"""What can stand in a bar beside texts."""

COMPILING = "compiling, once after an install"


def is_watched(progress: bool | None) -> bool:
    """Whether a bar is to be drawn; None: if standard error is a terminal."""
    return sys.stderr.isatty() if progress is None else progress


def new_bar(*columns: str, **options: Any) -> Any:
    """A bar of rich's that is gone when it is done, and that says when kernels are compiled.

    rich is imported now, and not by everybody who might need it.
    """
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    from tagtopic._core.jit import is_compiling

    class Compiling(progress.ProgressColumn):
        def render(self, task: progress.Task) -> Text:
            return Text(COMPILING if is_compiling() else "", style="dim")

    known = {name: getattr(progress, name) for name in (BAR, COUNT, GONE, LEFT)}
    made = [known[column]() if column in known else progress.TextColumn(column) for column in columns]
    return progress.Progress(*made, Compiling(), console=Console(stderr=True, emoji=False), transient=True, **options)
