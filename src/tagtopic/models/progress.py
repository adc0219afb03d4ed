"""A progress bar when a person is watching."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tagtopic.models.em import Callback, ExpectationMaximisation


@contextmanager
def watched(em: ExpectationMaximisation, progress: bool | None) -> Iterator[list[Callback]]:
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
        TimeRemainingColumn(), TextColumn("{task.fields[news]}"),
    ]  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fit", total=em.settings.max_iter, completed=len(em.history.bound), news="")

        def show(iteration: int, bound: float, seconds: float) -> None:
            bar.update(task, completed=iteration, news=news(em))

        yield [show]


def news(em: ExpectationMaximisation) -> str:
    """How the fit stands, in a few words."""
    words = [f"bound {em.history.bound[-1]:,.0f}"]
    if em.history.perplexity:
        best = em.history.waited()
        words.append(f"held-out perplexity {em.history.perplexity[-1]:,.1f}")
        if best:
            words.append(f"(best {min(em.history.perplexity):,.1f}, {best} ago)")
    return " ".join(words)
