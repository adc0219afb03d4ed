"""Errors and warnings of reading."""

from dataclasses import dataclass, field

from tagtopic._core.display import warn


class ReadError(ValueError):
    """A source cannot be read; the message names the file and the line or row.

    Examples
    --------
    >>> import io
    >>> from tagtopic import Corpus
    >>> Corpus.read(io.BytesIO(b'{"text": "no end'), format="jsonl")
    Traceback (most recent call last):
    tagtopic.corpus.reading.errors.ReadError: the stream, line 1: ...
    """


class ReadWarning(UserWarning):
    """Rows were skipped, with `on_error="skip"`, or tags seem to be several in one.

    Examples
    --------
    >>> import warnings
    >>> from tagtopic import Corpus
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     len(Corpus.read([{"text": "a good row"}, {"text": {}}], on_error="skip"))
    1
    >>> caught[0].category.__name__
    'ReadWarning'
    """


class BadRow(Exception):
    """A row that cannot become a document; its message is the reason. Not raised to users."""


@dataclass
class RowErrors:
    """Bad rows: the first one is raised as an error, or all are skipped and counted."""

    skip: bool
    n_skipped: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, place: str, reason: str) -> None:
        """Raise or count a bad row."""
        message = f"{place}: {reason}"
        if not self.skip:
            raise ReadError(f'{message}; on_error="skip" (--skip-errors) leaves such rows out')
        self.n_skipped += 1
        if len(self.first) < 3:
            self.first.append(message)

    def warn(self, n_documents: int) -> None:
        """Warn once about all rows that were skipped."""
        if self.n_skipped:
            more = "; …" if self.n_skipped > len(self.first) else ""
            warn(
                f"{self.n_skipped:,} of {n_documents + self.n_skipped:,} rows were skipped: "
                + "; ".join(self.first)
                + more,
                ReadWarning,
            )
