"""Results as data frames of pandas, polars or Arrow, and as HTML tables in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
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


def html_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as an HTML table, numbers with three digits; all is escaped."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows[:MAX_HTML_ROWS]
    )
    more = f"<p>{len(rows) - MAX_HTML_ROWS:,} more rows</p>" if len(rows) > MAX_HTML_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


class Ranking(list[tuple[T, float]], Generic[T]):
    """A list of pairs of a name and a value, largest first; a table in notebooks, and a data frame on request.

    Parameters
    ----------
    pairs : iterable of (name, float)
        The pairs.
    columns : (str, str)
        What the names and the values are.

    Examples
    --------
    >>> from tagtopic._core.frames import Ranking
    >>> words = Ranking([("ship", 0.4), ("planet", 0.1)], ("word", "probability"))
    >>> words[0], words == [("ship", 0.4), ("planet", 0.1)]
    (('ship', 0.4), True)
    >>> words.to_frame("arrow").column_names
    ['word', 'probability']
    """

    def __init__(self, pairs: Iterable[tuple[T, float]], columns: tuple[str, str]) -> None:
        super().__init__(pairs)
        self.columns = columns

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the pairs as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "arrow"} or None, default=None
            The library; None is pandas if it is installed, else Arrow.

        Returns
        -------
        data frame
            One row per pair.
        """
        import pyarrow as pa

        values = zip(*self, strict=True) if self else ((), ())
        arrays = [pa.array(list(column)) for column in values]
        return frame_of(pa.table(dict(zip(self.columns, arrays, strict=True))), backend)

    def _repr_html_(self) -> str:
        return html_of(self.columns, self)


class Rankings(list[list[tuple[str, float]]]):
    """A ranking of tags for each document; a table in notebooks, and a data frame on request.

    Parameters
    ----------
    rankings : iterable of lists of (str, float)
        The tags of each document with their values.
    ids : sequence of str
        The ids of the documents.
    measure : str
        What the values are.

    Examples
    --------
    >>> from tagtopic._core.frames import Rankings
    >>> Rankings([[("space", 0.9)], []], ["a", "b"], "probability").to_frame("arrow").to_pylist()
    [{'id': 'a', 'rank': 1, 'tag': 'space', 'probability': 0.9}]
    """

    def __init__(self, rankings: Iterable[list[tuple[str, float]]], ids: Sequence[str], measure: str) -> None:
        super().__init__(rankings)
        self.ids, self.measure = ids, measure

    def _rows(self) -> list[tuple[str, int, str, float]]:
        return [
            (name, rank, tag, value)
            for name, tags in zip(self.ids, self, strict=True)
            for rank, (tag, value) in enumerate(tags, 1)
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per document and tag, with the columns id, rank, tag and the value.

        Parameters
        ----------
        backend : {"pandas", "polars", "arrow"} or None, default=None
            The library; None is pandas if it is installed, else Arrow.

        Returns
        -------
        data frame
        """
        import pyarrow as pa

        rows = self._rows()
        types = {"id": pa.string(), "rank": pa.int64(), "tag": pa.string(), self.measure: pa.float64()}
        arrays = {name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(types.items())}
        return frame_of(pa.table(arrays), backend)

    def _repr_html_(self) -> str:
        return html_of(["id", "rank", "tag", self.measure], self._rows())
