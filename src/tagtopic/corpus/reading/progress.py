"""A bar that knows the bytes while files are read, and the words while they are counted, for a person who watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tagtopic.bars import BAR, LEFT, is_watched, new_bar


class Meter:
    """Who hears how far reading has come; this one keeps it to itself."""

    def expect(self, n_bytes: int) -> None:
        """So many bytes are to be read."""

    def read(self, n_bytes: int) -> None:
        """So many bytes in all are read."""

    def counted(self, n_words: int, total: int) -> None:
        """Everything is read, and so many of its words are counted."""


class Bar(Meter):
    """A bar for reading, then one for counting."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None, done="")
        self._counts = False

    def expect(self, n_bytes: int) -> None:
        """So many bytes are to be read."""
        self._progress.update(self._task, total=n_bytes or None)

    def read(self, n_bytes: int) -> None:
        """So many bytes in all are read."""
        self._progress.update(self._task, completed=n_bytes, done=f"{n_bytes / 1e6:,.1f} MB")

    def counted(self, n_words: int, total: int) -> None:
        """Everything is read, and so many of its words are counted."""
        if not self._counts:
            self._counts = True
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task("counting", total=total or None, done="")
        self._progress.update(self._task, completed=n_words, done=f"{n_words:,} words")


@contextmanager
def meter(shown: bool | None) -> Iterator[Meter]:
    """A bar on standard error; None: only if that is a terminal."""
    if not is_watched(shown):
        yield Meter()
        return
    with new_bar("{task.description}", BAR, "{task.fields[done]}", LEFT) as progress:
        yield Bar(progress)
