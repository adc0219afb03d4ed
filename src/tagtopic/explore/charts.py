"""Line charts: the coordinates that templates draw as SVG.

Charts are SVG rendered on the server: they need no JavaScript, can be printed, follow the colour scheme and take a few
kilobytes (docs/decisions/server-side-charts.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RIGHT, TOP, BOTTOM = 8.0, 12.0, 22.0
CHARACTER_WIDTH, LABEL_GAP = 7.5, 8.0
"""Width of a character of a label, and the gap between label and chart."""


@dataclass(frozen=True)
class Tick:
    """A tick of an axis: its coordinate and label."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """A line chart in SVG coordinates: points of the line, ticks of the axes, and vertical marks."""

    width: float
    height: float
    left: float
    points: str
    last: tuple[float, float]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[float, ...]

    @property
    def baseline(self) -> float:
        """The vertical coordinate of the horizontal axis."""
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
    """Scale points (x, y) to a chart of this size; ``marks`` are values of x to mark."""
    xs, ys = [x for x, _ in values], [y for _, y in values]
    low_x, high_x = min(xs), max(xs)
    low_y, high_y = (0.0 if from_zero else min(ys)), max(ys)
    span_x, span_y = (high_x - low_x) or 1.0, (high_y - low_y) or 1.0
    labels = {y: _label(y, percent=percent) for y in (low_y, high_y)}
    left = round(CHARACTER_WIDTH * max(map(len, labels.values())) + LABEL_GAP, 1)

    def to_x(x: float) -> float:
        return round(left + (x - low_x) / span_x * (width - left - RIGHT), 1)

    def to_y(y: float) -> float:
        return round(height - BOTTOM - (y - low_y) / span_y * (height - TOP - BOTTOM), 1)

    return Line(
        width=width,
        height=height,
        left=left,
        points=" ".join(f"{to_x(x)},{to_y(y)}" for x, y in values),
        last=(to_x(xs[-1]), to_y(ys[-1])),
        x_ticks=tuple(Tick(to_x(x), f"{x:g}") for x in dict.fromkeys((low_x, high_x))),
        y_ticks=tuple(Tick(to_y(y), label) for y, label in labels.items()),
        marks=tuple(to_x(x) for x in marks if low_x <= x <= high_x),
    )


def _label(value: float, *, percent: bool) -> str:
    if percent:
        return f"{100 * value:.1f}%"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
