"""Lines and areas for the templates to draw: numbers in, coordinates out.

Charts are plain SVG made on the server: they are there without JavaScript, print, follow the theme, and an overview
weighs kilobytes (docs/decisions/server-side-charts.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RIGHT, TOP, BOTTOM = 8.0, 12.0, 22.0
LETTER, GAP = 7.5, 8.0
"""How wide a letter of a label is, and how far a label stands from the line, which must not run through it."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where, and what it says."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """A line in a box: its points as SVG takes them, marks on the axes, and the places of special points."""

    width: float
    height: float
    left: float
    points: str
    last: tuple[float, float]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[float, ...]

    @property
    def floor(self) -> float:
        """Where the horizontal axis is."""
        return self.height - BOTTOM


def line(
    values: Sequence[tuple[float, float]],
    *,
    width: float = 420,
    height: float = 160,
    marks: Sequence[float] = (),
    from_zero: bool = False,
    percent: bool = False,
) -> Line:
    """The line through these points, scaled to the box; ``marks`` are further places on the horizontal axis."""
    xs, ys = [x for x, _ in values], [y for _, y in values]
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = (0.0 if from_zero else min(ys)), max(ys)
    span_x, span_y = (high_x - low_x) or 1.0, (high_y - low_y) or 1.0
    labels = {y: _label(y, percent=percent) for y in (low_y, high_y)}
    left = round(LETTER * max(map(len, labels.values())) + GAP, 1)

    def across(x: float) -> float:
        return round(left + (x - low_x) / span_x * (width - left - RIGHT), 1)

    def up(y: float) -> float:
        return round(height - BOTTOM - (y - low_y) / span_y * (height - TOP - BOTTOM), 1)

    return Line(
        width=width,
        height=height,
        left=left,
        points=" ".join(f"{across(x)},{up(y)}" for x, y in values),
        last=(across(xs[-1]), up(ys[-1])),
        x_ticks=tuple(Tick(across(x), f"{x:g}") for x in dict.fromkeys((low_x, high_x))),
        y_ticks=tuple(Tick(up(y), label) for y, label in labels.items()),
        marks=tuple(across(x) for x in marks if low_x <= x <= high_x),
    )


def _label(value: float, *, percent: bool) -> str:
    if percent:
        return f"{100 * value:.1f}%"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
