"""Results as data frames of pandas, polars or Arrow, and as HTML tables in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any, Generic, TypeVar

from tagtopic._core.optional import MissingExtraError, is_installed

T = TypeVar("T")

BACKENDS = ("pandas", "polars", "arrow")
MAX_HTML_ROWS = 20
MAX_CELL = 100


def frame_of(table: Any, backend: str | None = None) -> Any:
    """Convert an Arrow table to a data frame.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    backend : {"pandas", "polars", "arrow"} or None, default=None
        The library; None is pandas if it is installed, else Arrow.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Raises
    ------
    ValueError
        If there is no such library.
    MissingExtraError
        If it is not installed.
    """
    chosen = backend or ("pandas" if is_installed("pandas") else "arrow")
    if chosen not in BACKENDS:
        raise ValueError(f"backend={backend!r}: expected one of {', '.join(map(repr, BACKENDS))}")
    if chosen == "arrow":
        return table
    if not is_installed(chosen):
        raise MissingExtraError(f"a {chosen} data frame needs {chosen}, not installed here: pip install {chosen}")
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    return frame.to_pandas() if chosen == "pandas" else frame.to_polars()


def html_of(columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None = None) -> str:
    """Return the first rows as an HTML table, numbers with three digits; all is escaped.

    ``total`` is the number of all rows, if ``rows`` are only the first.
    """
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows[:MAX_HTML_ROWS]
    )
    left_out = (len(rows) if total is None else total) - MAX_HTML_ROWS
    more = f"<p>{left_out:,} more rows</p>" if left_out > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(map(_cell, value))
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


class Tabular:
    """A result that is a data frame on request, and a table in notebooks: the base class of all results.

    Examples
    --------
    >>> from tagtopic._core.frames import Ranking, Tabular
    >>> isinstance(Ranking([("ship", 0.4)], ("word", "probability")), Tabular)
    True
    """

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the result as a data frame; the class describes its rows and columns.

        Parameters
        ----------
        backend : {"pandas", "polars", "arrow"} or None, default=None
            The library; None is pandas if it is installed, else Arrow.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The data frame.
        """
        return frame_of(self._arrow_table(), backend)

    def _arrow_table(self, most: int | None = None) -> Any:
        """All rows as an Arrow table, or at least the first ``most``."""
        raise NotImplementedError

    def _n_rows(self) -> int:
        return int(self._arrow_table().num_rows)

    def _repr_html_(self) -> str:
        table = self._arrow_table(MAX_HTML_ROWS).slice(0, MAX_HTML_ROWS)
        return html_of(table.column_names, [list(row.values()) for row in table.to_pylist()], self._n_rows())


class Ranking(Tabular, list[tuple[T, float]], Generic[T]):
    """A list of pairs of a name and a value, largest first; as a data frame, a row per pair.

    Parameters
    ----------
    pairs : iterable of (name, float)
        The pairs.
    columns : (str, str)
        What the names and the values are.
    titles : sequence of str or None, default=None
        The titles of documents, where the names are ids: a column of tables and data frames.

    Examples
    --------
    >>> from tagtopic._core.frames import Ranking
    >>> words = Ranking([("ship", 0.4), ("planet", 0.1)], ("word", "probability"))
    >>> words[0], words == [("ship", 0.4), ("planet", 0.1)]
    (('ship', 0.4), True)
    >>> words.to_frame("arrow").column_names
    ['word', 'probability']
    """

    def __init__(
        self, pairs: Iterable[tuple[T, float]], columns: tuple[str, str], titles: Sequence[str] | None = None
    ) -> None:
        super().__init__(pairs)
        self.columns = columns
        self.titles = titles

    def _arrow_table(self, most: int | None = None) -> Any:
        import pyarrow as pa

        name, measure = self.columns
        columns: dict[str, Any] = {name: [pair[0] for pair in self[:most]]}
        if self.titles is not None:
            columns["title"] = list(self.titles[:most])
        return pa.table({**columns, measure: pa.array([pair[1] for pair in self[:most]], pa.float64())})

    def _n_rows(self) -> int:
        return len(self)


class Rankings(Tabular, list[list[tuple[str, float]]]):
    """A ranking of tags for each document.

    As a data frame, a row per document and tag, with the columns id, title (if there are titles), rank, tag, and the
    value.

    Parameters
    ----------
    rankings : iterable of lists of (str, float)
        The tags of each document with their values.
    ids : sequence of str
        The ids of the documents.
    measure : str
        What the values are.
    titles : sequence of str or None, default=None
        The titles of the documents: a column of tables and data frames.

    Examples
    --------
    >>> from tagtopic._core.frames import Rankings
    >>> Rankings([[("space", 0.9)], []], ["a", "b"], "probability").to_frame("arrow").to_pylist()
    [{'id': 'a', 'rank': 1, 'tag': 'space', 'probability': 0.9}]
    """

    def __init__(
        self,
        rankings: Iterable[list[tuple[str, float]]],
        ids: Sequence[str],
        measure: str,
        titles: Sequence[str] | None = None,
    ) -> None:
        super().__init__(rankings)
        self.ids, self.measure, self.titles = ids, measure, titles

    def _rows(self, most: int | None = None) -> list[tuple[Any, ...]]:
        """Id, title if there are titles, rank, tag and value of at most ``most`` entries."""
        rows = (
            (self.ids[d], *(() if self.titles is None else (self.titles[d],)), rank, tag, value)
            for d, tags in enumerate(self)
            for rank, (tag, value) in enumerate(tags, 1)
        )
        return list(islice(rows, most))

    @property
    def _columns(self) -> list[str]:
        return ["id", *([] if self.titles is None else ["title"]), "rank", "tag", self.measure]

    def _arrow_table(self, most: int | None = None) -> Any:
        import pyarrow as pa

        rows = self._rows(most)
        types = {name: pa.int64() if name == "rank" else pa.string() for name in self._columns[:-1]}
        types[self.measure] = pa.float64()
        return pa.table(
            {name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(types.items())}
        )

    def _n_rows(self) -> int:
        return sum(map(len, self))


class Rows(Tabular, tuple[T, ...], Generic[T]):
    """A tuple of records (dataclass instances); as a data frame, a row per record and a column per field.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from tagtopic._core.frames import Rows
    >>> @dataclass
    ... class Pair:
    ...     first: str
    ...     documents: tuple[int, int]
    >>> Rows([Pair("ship", (1, 2))]).to_frame("arrow").to_pylist()
    [{'first': 'ship', 'documents': [1, 2]}]
    """

    def _arrow_table(self, most: int | None = None) -> Any:
        import pyarrow as pa

        return pa.Table.from_pylist([dict(vars(record)) for record in self[:most]])

    def _n_rows(self) -> int:
        return len(self)
