"""What can be wrong with what is read, and who hears of it."""

from dataclasses import dataclass, field

from tagtopic._core.display import warn


class ReadError(ValueError):
    """Something that cannot be read, with the file and line (or row) where it is.

    Examples
    --------
    >>> import io
    >>> from tagtopic import Corpus
    >>> Corpus.read(io.BytesIO(b'{"text": "no end'), format="jsonl")
    Traceback (most recent call last):
    tagtopic.corpus.reading.errors.ReadError: the stream, line 1: ...
    """


class ReadWarning(UserWarning):
    """Rows were skipped because `on_error="skip"` asked for it, or tags seem to be several in one.

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
    """A row that cannot become a document; its message is the reason. It never leaves this package."""


@dataclass
class Complaints:
    """Bad rows: the first is an error, or all are skipped and counted."""

    skip: bool
    n_skipped: int = 0
    first: list[str] = field(default_factory=list)

    def bad_row(self, place: str, reason: str) -> None:
        """Raise or note a bad row."""
        message = f"{place}: {reason}"
        if not self.skip:
            raise ReadError(f'{message}; on_error="skip" (--skip-errors) leaves such rows out')
        self.n_skipped += 1
        if len(self.first) < 3:
            self.first.append(message)

    def tell(self, n_documents: int) -> None:
        """Warn once of all rows that were skipped."""
        if self.n_skipped:
            more = "; …" if self.n_skipped > len(self.first) else ""
            warn(
                f"{self.n_skipped:,} of {n_documents + self.n_skipped:,} rows were skipped: "
                + "; ".join(self.first)
                + more,
                ReadWarning,
            )
