"""A bar that knows the bytes, for a person who watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Meter(Protocol):
    """Who hears how many bytes have been read."""

    def __call__(self, n_bytes: int) -> None:
        """So many bytes in all are read."""


@contextmanager
def meter(total: int, shown: bool | None) -> Iterator[Meter]:
    """A bar on standard error; None: only if that is a terminal."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda n_bytes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total or None)
        yield lambda n_bytes: bar.update(task, completed=n_bytes)
