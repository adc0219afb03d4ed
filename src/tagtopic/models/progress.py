"""A progress bar when a person is watching."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tagtopic.models.em import Callback


@contextmanager
def watched(max_iter: int, progress: bool | None) -> Iterator[list[Callback]]:
    """Callbacks that draw a bar on standard error; none unless ``progress`` is true, or None with a terminal there."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield []
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), TextColumn("bound {task.fields[bound]}"),
    ]  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fit", total=max_iter, bound="-")

        def show(iteration: int, bound: float, seconds: float) -> None:
            bar.update(task, completed=iteration, bound=f"{bound:,.0f}")

        yield [show]
