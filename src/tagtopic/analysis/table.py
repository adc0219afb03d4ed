"""Tidy tables: named columns that become pandas, polars or Arrow tables, or records; results that are one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tagtopic._core.arrays import Floats
from tagtopic._core.display import html_card
from tagtopic._core.frames import Tabular

SHOWN = 20
"""Rows that a notebook shows."""


class Table(Tabular):
    """A table of named columns, immutable.

    pandas, polars and others read it through Arrow's interface: ``polars.DataFrame(table)`` works as
    ``table.to_polars()`` does.

    Parameters
    ----------
    columns : mapping of str to sequence
        Columns of the same length.
    title : str, default=""
        What a notebook shows above it.

    Examples
    --------
    >>> from tagtopic.analysis import Table
    >>> table = Table({"topic": [0, 1], "share": [0.25, 0.75]})
    >>> len(table), table.columns, table["share"]
    (2, ('topic', 'share'), [0.25, 0.75])
    >>> table.to_dicts()[1]
    {'topic': 1, 'share': 0.75}
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], title: str = "") -> None:
        self._columns = {name: values if isinstance(values, list) else list(values) for name, values in columns.items()}
        self.title = title

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), []))

    def __getitem__(self, column: str) -> list[Any]:
        """Return a column as a list."""
        return self._columns[column]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.columns
        return (dict(zip(names, row, strict=True)) for row in zip(*self._columns.values(), strict=True))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts.

        Examples
        --------
        >>> Table({"topic": [0]}).to_dicts()
        [{'topic': 0}]
        """
        return list(self)

    def to_arrow(self) -> Any:
        """Return a pyarrow Table.

        Examples
        --------
        >>> Table({"topic": [0, 1]}).to_arrow().num_rows
        2
        """
        import pyarrow as pa

        return pa.table(self._columns)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame.

        Examples
        --------
        >>> Table({"topic": [0, 1]}).to_pandas().shape
        (2, 1)
        """
        import pandas as pd

        return pd.DataFrame(self._columns)

    def to_polars(self) -> Any:
        """Return a polars DataFrame.

        Examples
        --------
        >>> Table({"topic": [0, 1]}).to_polars().shape
        (2, 1)
        """
        import polars as pl

        return pl.DataFrame(self._columns)

    def _arrow_table(self, most: int | None = None) -> Any:
        return self.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def filter(self, **values: Any) -> Table:
        """Return the rows whose columns have these values.

        Parameters
        ----------
        **values
            A value by column.

        Returns
        -------
        Table
            The rows, in their order.

        Examples
        --------
        >>> Table({"topic": [0, 1], "share": [0.25, 0.75]}).filter(topic=1)["share"]
        [0.75]
        """
        kept = [i for i, row in enumerate(self) if all(row[name] == value for name, value in values.items())]
        return Table({name: [column[i] for i in kept] for name, column in self._columns.items()}, self.title)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        rows = [[_cell(value) for value in row.values()] for row, _ in zip(self, range(SHOWN), strict=False)]
        more = f", the first {SHOWN} of {len(self):,} rows" if len(self) > SHOWN else ""
        return html_card(f"{self.title or 'table'}{more}", [], list(self.columns), rows)


class TidyResult(Tabular):
    """A result whose values are a tidy ``table``, its data frame.

    pandas, polars and Arrow read it as they read the table.

    Examples
    --------
    >>> from tagtopic.analysis.table import Table, TidyResult
    >>> class Shares(TidyResult):
    ...     table = Table({"topic": [0, 1]})
    >>> Shares().to_pandas().shape
    (2, 1)
    """

    table: Any

    def to_pandas(self) -> Any:
        """Return ``table`` as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """Return ``table`` as a polars DataFrame."""
        return self.table.to_polars()

    def to_arrow(self) -> Any:
        """Return ``table`` as a pyarrow Table."""
        return self.table.to_arrow()

    def _arrow_table(self, most: int | None = None) -> Any:
        return self.table.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def check_level(level: float, example: float) -> None:
    """Raise unless the probability of an interval is between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level={level!r}: expected a probability between 0 and 1, such as {example}")


def summarise(samples: Floats, level: float) -> dict[str, Any]:
    """Return the mean and the ends of the interval of samples, which are on the last axis, by name."""
    low, high = np.quantile(samples, ((1 - level) / 2, (1 + level) / 2), axis=-1)
    return {"estimate": samples.mean(axis=-1), "low": low, "high": high}


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
