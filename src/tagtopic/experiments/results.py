"""Tables (Markdown, Parquet) and plots (SVG, PNG) of the rows that an experiment has measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagtopic._core.files import atomic_file
from tagtopic._core.optional import require

Row = dict[str, Any]
"""A row of the measurements of an experiment: its settings and its values."""

COLOURS = {
    "TWDA": "#c1272d", "TWDA (prior learnt)": "#c1272d", "TWDA (paper)": "#c1272d", "TWDA, tagged part": "#c1272d",
    "TWDA with latent tag": "#c1272d",
    "TWTM": "#e07a1f", "TWTM (paper)": "#e07a1f", "LDA": "#1f77b4", "LDA (ours)": "#17becf",
    "LDA with tags": "#1f77b4", "CTM": "#2ca02c", "CTM with tags": "#2ca02c", "DMR": "#6a3d9a", "ATM": "#8c564b",
    "CorrLDA": "#7f7f7f", "PLDA": "#111111", "PLDA, 2 topics a tag": "#111111", "Labeled LDA": "#bcbd22",
    "tf-idf centroid": "#b0b0b0",
}  # fmt: skip
MARKERS = {
    "TWDA": "o", "TWDA (prior learnt)": "o", "TWDA (paper)": "x", "TWDA, tagged part": "1", "TWDA with latent tag": "2",
    "TWTM": "s",
    "TWTM (paper)": "+", "LDA": "v", "LDA (ours)": "<", "LDA with tags": "v",
    "CTM": "^", "CTM with tags": "^", "DMR": "D", "ATM": "X", "CorrLDA": "P", "PLDA": "*", "PLDA, 2 topics a tag": "p",
    "Labeled LDA": "h",
}  # fmt: skip
VARIANTS = ("with tags", "with latent tag", "(prior learnt)", "(paper)", "tagged part")
DPI = 130


def require_matplotlib() -> None:
    """Raise if matplotlib is not installed; called before anything is measured."""
    require("matplotlib", extra="experiments", purpose="The plot of an experiment")


def write_plot(draw: Callable[[Any], None], path: Path) -> None:
    """Call ``draw`` with an empty figure and write it to ``path`` with the suffixes .svg and .png."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "tagtopic", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.color": "#e5e5e5", "axes.axisbelow": True, "legend.frameon": False,
        "lines.linewidth": 1.5, "lines.markersize": 5,
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(6, 4), layout="constrained")
        draw(figure)
        for kind in ("svg", "png"):
            # without a date the same numbers give the same bytes
            metadata = {"Date": None} if kind == "svg" else None
            with atomic_file(path.with_name(f"{path.name}.{kind}")) as temporary:
                figure.savefig(temporary, format=kind, dpi=DPI, metadata=metadata)


def style(name: str) -> dict[str, Any]:
    """Return the colour and marker of a model, the same in all plots; variants of a model are dashed."""
    return {
        "color": COLOURS.get(name),
        "marker": MARKERS.get(name, "."),
        "linestyle": "--" if name.endswith(VARIANTS) else "-",
        "label": name,
    }


def panels(figure: Any, titles: Sequence[str], *, width: float = 4.0, height: float = 3.4) -> list[Any]:
    """Create axes side by side, lettered as in the paper if there are several."""
    figure.set_size_inches(width * max(len(titles), 1), height)
    axes = figure.subplots(1, max(len(titles), 1), squeeze=False)[0]
    for letter, axis, title in zip("abcdefgh", axes, titles, strict=False):
        axis.set_title(f"({letter}) {title}" if len(titles) > 1 else title, fontsize=9)
    return list(axes)


def legend_below(axis: Any, columns: int = 3) -> None:
    """Place the legend below the axis."""
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=columns, fontsize=7)


@dataclass(frozen=True)
class Table:
    """A table of strings with a title and a header."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rule = ["---", *("---:" for _ in self.header[1:])]
        lines = [self.header, rule, *self.lines]
        return f"**{self.title}**\n\n" + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def distinct(rows: Sequence[Row], name: str) -> list[Any]:
    """Return the distinct values of a column, in order of first occurrence."""
    return list(dict.fromkeys(row[name] for row in rows if row.get(name) is not None))


def where(rows: Sequence[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def mean(rows: Sequence[Row], name: str) -> float:
    """Return the mean of a column; NaN without values."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else float("nan")


def standard_deviation(rows: Sequence[Row], name: str) -> float:
    """Return the standard deviation of a column over folds; 0 with fewer than two values."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def format_mean(rows: Sequence[Row], name: str, digits: int) -> str:
    """Format ``mean ± standard deviation``, or a single value."""
    values = [row[name] for row in rows if row.get(name) is not None]
    if not values:
        return "–"
    text = f"{mean(rows, name):.{digits}f}"
    return f"{text} ± {standard_deviation(rows, name):.{digits}f}" if len(values) > 1 else text


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
    """Make a table with a line per value of ``line`` and a column per value of ``column``, of means over the rest."""
    columns = sorted(distinct(rows, column))
    lines = [
        [str(name), *(format_mean(where(rows, **{line: name, column: c}), value, digits) for c in columns)]
        for name in distinct(rows, line)
    ]
    return Table(title, [line, *map(head, columns)], lines)


def by_topics(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Group rows by number of topics; models without topics are in every group, or in group 0 if there is no other."""
    plain = [row for row in rows if row["topics"] is None]
    numbers = distinct(rows, "topics") or [0]
    return {k: [row | {"topics": k} for row in where(rows, topics=k) + plain] for k in sorted(numbers)}


def topics_title(topics: int) -> str:
    """Describe a number of topics; 0 stands for models without topics."""
    return f"K = {topics}" if topics else "no topics"


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write all rows atomically."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    with atomic_file(path) as temporary:
        parquet.write_table(table, temporary)
