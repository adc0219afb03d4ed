"""A partition of a source becomes documents, on an executor, by the code that reads files on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tagtopic.corpus.reading.errors import Complaints, ReadError
from tagtopic.corpus.reading.read import Request, rows_of_part
from tagtopic.corpus.reading.rowing import Rowing, missing_columns
from tagtopic.corpus.rows import Rows
from tagtopic.engines.spark.source import LINES, unpacked


@dataclass(frozen=True)
class Heard:
    """What reading a partition had to say."""

    n_documents: int = 0
    n_skipped: int = 0
    complaints: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass
class Part:
    """One partition while it is read: its documents, numbered from ``first``."""

    number: int
    kind: str
    request: Request
    first: int = 0

    def __post_init__(self) -> None:
        self._rowing = Rowing(self.request.wanted, Complaints(self.request.skip_bad_rows), patience=None)
        self._rowing.n_documents = self.first

    def rows(self, batches: Iterable[bytes]) -> Iterator[Rows]:
        """Its documents, some at a time."""
        name = f"part {self.number + 1} of the source"
        yield from rows_of_part(unpacked(batches, self.kind), self.request, self._rowing, name)

    def heard(self) -> Heard:
        """What there is to say once it is read."""
        complaints, rowing = self._rowing.complaints, self._rowing
        lines = self.kind in LINES
        return Heard(
            rowing.n_documents - self.first, complaints.n_skipped, complaints.first,
            rowing.unseen if lines else [], rowing.seen if lines else [],
        )  # fmt: skip


def tell(heard: list[Heard], *, skip: bool) -> None:
    """Raise what was wrong with the source as a whole, or warn of rows that were skipped."""
    error = next((part.error for part in heard if part.error is not None), None)
    if error is not None:
        raise ReadError(error)
    filled = [part for part in heard if part.n_documents]
    unseen = set.intersection(*(set(part.unseen) for part in filled)) if filled else set()
    if unseen:
        seen = list(dict.fromkeys(name for part in filled for name in part.seen))
        raise missing_columns(sorted(unseen), seen, "the source", "in all rows, ")
    first = [text for part in heard for text in part.complaints][:3]
    Complaints(skip, sum(part.n_skipped for part in heard), first).tell(sum(part.n_documents for part in heard))
