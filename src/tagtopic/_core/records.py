"""Records stored as columns: a million of them are a few arrays, and each becomes an object when it is indexed.

And records as CSV.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.frames import Tabular

T = TypeVar("T")

CSV_ROWS = 1000
"""Rows of CSV formatted at a time."""

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that a spreadsheet would evaluate."""


@dataclass(frozen=True)
class Categorical:
    """A column of names: the index of each record's name, and the names."""

    codes: NDArray[Any]
    names: Sequence[str]


Column = NDArray[Any] | Categorical


class Records(Tabular, Sequence[T], Generic[T]):
    """A sequence of records over shared columns: ``records[i]`` makes one, ``records[a:b]`` is a view.

    As a data frame, a row per record and all columns.
    """

    def __init__(
        self, columns: Mapping[str, Column], make: Callable[[int], T], order: NDArray[Any] | None = None
    ) -> None:
        self._columns = dict(columns)
        self._make = make
        first = next(iter(self._columns.values()))
        self._order = (
            np.arange(len(first.codes if isinstance(first, Categorical) else first)) if order is None else order
        )

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Records[T]: ...
    def __getitem__(self, index: int | slice) -> T | Records[T]:
        if isinstance(index, slice):
            return Records(self._columns, self._make, self._order[index])
        return self._make(int(self._order[index]))

    def __iter__(self) -> Iterator[T]:
        return (self._make(int(i)) for i in self._order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"[{shown}{', …' if len(self) > 3 else ''}] ({len(self):,} records)"

    def column(self, name: str) -> Any:
        """Return one column in the order of the records: numbers as an array, names as a list."""
        found = self._columns[name]
        if isinstance(found, Categorical):
            return [found.names[i] for i in found.codes[self._order]]
        return found[self._order]

    def where(self, kept: NDArray[Any]) -> Records[T]:
        """Return the records for which ``kept``, in their order, is true."""
        return Records(self._columns, self._make, self._order[kept])

    def sorted_by(self, name: str, descending: bool = True) -> Records[T]:
        """Return the records by a column of numbers, by default the largest first; ties stay in their order."""
        values = -self.column(name) if descending else self.column(name)
        return Records(self._columns, self._make, self._order[np.argsort(values, kind="stable")])

    def by(self, name: str) -> dict[str, Records[T]]:
        """Return the records of each name in a column of names, in their order."""
        found = self._columns[name]
        if not isinstance(found, Categorical):
            raise TypeError(f"the column {name!r} has numbers, not names")
        codes = found.codes[self._order]
        order = np.argsort(codes, kind="stable")
        used, starts = np.unique(codes[order], return_index=True)
        groups = np.split(self._order[order], starts[1:])
        return {
            found.names[int(i)]: Records(self._columns, self._make, part) for i, part in zip(used, groups, strict=False)
        }

    def table(self) -> Any:
        """Return all columns as an Arrow table, names dictionary-encoded."""
        import pyarrow as pa

        arrays = {}
        for name, found in self._columns.items():
            if isinstance(found, Categorical):
                used, codes = np.unique(found.codes[self._order], return_inverse=True)
                numbers: dict[str, int] = {}  # ids and titles may repeat, and the names of a dictionary may not
                merged = np.array([numbers.setdefault(found.names[int(i)], len(numbers)) for i in used], np.int32)
                names = pa.array(list(numbers), pa.string())
                arrays[name] = pa.DictionaryArray.from_arrays(pa.array(merged[codes]), names)
            else:
                arrays[name] = pa.array(found[self._order])
        return pa.table(arrays)

    def _arrow_table(self, most: int | None = None) -> Any:
        return (self if most is None else self[:most]).table()

    def _n_rows(self) -> int:
        return len(self)


def _same(first: object, second: object) -> bool:
    return first == second


def csv_chunks(
    rows: Iterable[Mapping[str, Any]],
    names: Sequence[str] = (),
    *,
    separator: str = ",",
    byte_order_mark: bool = False,
    header: bool = True,
) -> Iterator[str]:
    """Yield rows as CSV for spreadsheets, in chunks of many lines: a header, then a line per row.

    Cells that a spreadsheet would evaluate as a formula begin with an apostrophe.

    Parameters
    ----------
    rows : iterable of mappings
        The rows.
    names : sequence of str, default=()
        The columns; none: those of the first row.
    separator : str, default=","
        What separates cells.
    byte_order_mark : bool, default=False
        Whether to begin with a byte order mark, by which spreadsheets recognise UTF-8.
    header : bool, default=True
        Whether there is a header; a part that is appended to others has none.
    """
    remaining = iter(rows)
    chunk = list(islice(remaining, CSV_ROWS))
    lines = io.StringIO("\ufeff" if byte_order_mark and (chunk or names) else "")
    lines.seek(0, io.SEEK_END)
    writer = csv.DictWriter(lines, list(names or (chunk[0] if chunk else ())), delimiter=separator, lineterminator="\n")
    if writer.fieldnames and header:
        writer.writeheader()
    while chunk:
        writer.writerows({name: _escape_formula(value) for name, value in row.items()} for row in chunk)
        yield lines.getvalue()
        lines.seek(0)
        lines.truncate()
        chunk = list(islice(remaining, CSV_ROWS))
    yield lines.getvalue()


def _escape_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_PREFIXES) else value
