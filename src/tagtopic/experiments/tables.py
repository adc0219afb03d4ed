"""Rows as a person reads them: means over folds, in Markdown; and as programs do, in Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic._core.files import atomic_file
from tagtopic.experiments.grid import Row


@dataclass(frozen=True)
class Table:
    """A title, a header and lines of text."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table in Markdown."""
        rule = ["---", *("---:" for _ in self.header[1:])]
        lines = [self.header, rule, *self.lines]
        return f"**{self.title}**\n\n" + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def different(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column, in the order of their first row."""
    return list(dict.fromkeys(row[name] for row in rows if row.get(name) is not None))


def where(rows: Sequence[Row], **values: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def mean(rows: Sequence[Row], name: str) -> float:
    """The mean of a column; NaN if there is none."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else float("nan")


def spread(rows: Sequence[Row], name: str) -> float:
    """The standard deviation of a column over folds; 0 if there is one only."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def mean_and_spread(rows: Sequence[Row], name: str, digits: int) -> str:
    """``mean ± standard deviation``, or the value alone."""
    values = [row[name] for row in rows if row.get(name) is not None]
    if not values:
        return "–"
    text = f"{mean(rows, name):.{digits}f}"
    return f"{text} ± {spread(rows, name):.{digits}f}" if len(values) > 1 else text


def pivot(
    rows: Sequence[Row],
    *,
    title: str,
    line: str,
    column: str,
    value: str,
    digits: int = 0,
    head: Callable[[Any], str] = str,
) -> Table:
    """One line for each value of ``line``, one column for each of ``column``; means over the rest."""
    columns = sorted(different(rows, column))
    lines = [
        [str(name), *(mean_and_spread(where(rows, **{line: name, column: c}), value, digits) for c in columns)]
        for name in different(rows, line)
    ]
    return Table(title, [line, *map(head, columns)], lines)


def by_topics(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """The rows of each number of topics; models without topics are in all, and alone have the number 0."""
    plain = [row for row in rows if row["topics"] is None]
    numbers = different(rows, "topics") or [0]
    return {k: [row | {"topics": k} for row in where(rows, topics=k) + plain] for k in sorted(numbers)}


def numbered(topics: int) -> str:
    """A number of topics in words; 0 stands for models without topics alone."""
    return f"K = {topics}" if topics else "no topics"


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """All rows, in a file that appears whole or not at all."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    with atomic_file(path) as temporary:
        parquet.write_table(table, temporary)
