"""Coordinates of the charts that templates draw.

Charts are SVG rendered on the server: they need no JavaScript, can be printed, follow the colour scheme and take a few
kilobytes (docs/decisions/server-side-charts.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagtopic.explore.views.analysis import EffectRow, GroupView, HierarchyView, TrendPoint

LEFT, RIGHT, TOP, BOTTOM = 44.0, 8.0, 10.0, 22.0
LINE_TOP = 12.0
CHARACTER_WIDTH, LABEL_GAP = 7.5, 8.0
"""Width of a character of a label, and the gap between label and chart."""

ROW_HEIGHT = 22.0
"""The height of a row of labels."""


@dataclass(frozen=True)
class Tick:
    """A tick of an axis: its coordinate and label."""

    at: float
    label: str


@dataclass(frozen=True)
class LineChart:
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


def line_chart(
    values: Sequence[tuple[float, float]],
    *,
    width: float = 420,
    height: float = 160,
    marks: Sequence[float] = (),
    from_zero: bool = False,
    percent: bool = False,
) -> LineChart:
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
        return round(height - BOTTOM - (y - low_y) / span_y * (height - LINE_TOP - BOTTOM), 1)

    return LineChart(
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


@dataclass(frozen=True)
class BandChart:
    """Lines and bands, each the points of a polyline or polygon; single bins are ``dots`` with their ``bars``."""

    width: float
    height: float
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    dots: tuple[tuple[float, float, float, float], ...]
    ticks: tuple[tuple[float, str], ...]
    top_label: str
    top: float
    baseline: float
    left: float


def band_chart(points: Sequence[TrendPoint], *, width: float = 420, height: float = 150) -> BandChart:
    """Scale the shares of bins, from zero, to a chart of this size."""
    most = max((point.high for point in points if point.high is not None), default=0.0) or 1.0
    step = (width - LEFT - RIGHT) / max(len(points) - 1, 1)
    baseline = height - BOTTOM

    def y(share: float) -> float:
        return round(baseline - share / most * (baseline - TOP), 1)

    runs: list[list[tuple[float, float, float, float]]] = [[]]
    for i, point in enumerate(points):
        if point.share is None or point.low is None or point.high is None:
            runs.append([])
        else:
            runs[-1].append((round(LEFT + i * step, 1), y(point.share), y(point.low), y(point.high)))
    long = [run for run in runs if len(run) > 1]
    return BandChart(
        width,
        height,
        tuple(" ".join(f"{x},{middle}" for x, middle, _, _ in run) for run in long),
        tuple(
            " ".join([*(f"{x},{high}" for x, _, _, high in run), *(f"{x},{low}" for x, _, low, _ in run[::-1])])
            for run in long
        ),
        tuple(run[0] for run in runs if len(run) == 1),
        ((LEFT, points[0].bin), (width - RIGHT, points[-1].bin)) if points else (),
        f"{100 * most:.1f}%",
        TOP,
        baseline,
        LEFT,
    )


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, margin: float, header: float = 0.0) -> Box:
        """The rectangle within margins, below a header."""
        return Box(
            self.x + margin,
            self.y + margin + header,
            max(self.width - 2 * margin, 1.0),
            max(self.height - 2 * margin - header, 1.0),
        )


@dataclass(frozen=True)
class GroupArea:
    """The rectangle of a group of topics; ``depth`` is 0 for the groups of the first level."""

    box: Box
    name: str
    share: float
    depth: int


@dataclass(frozen=True)
class TopicArea:
    """The rectangle of a topic, with the name of its group of the first level."""

    box: Box
    topic: int
    group: str


@dataclass(frozen=True)
class Treemap:
    """Nested rectangles, those of topics with areas about proportional to their shares."""

    width: float
    height: float
    groups: tuple[GroupArea, ...]
    topics: tuple[TopicArea, ...]


GROUP_GAP, SUBGROUP_GAP, TOPIC_GAP = 2.0, 2.0, 1.0
"""Margins around the rectangles of a treemap."""


def treemap(view: HierarchyView, *, width: float = 1000, height: float = 620) -> Treemap:
    """Place the groups of topics, and the topics in them, in nested rectangles."""
    groups: list[GroupArea] = []
    topics: list[TopicArea] = []

    def place(members: Sequence[GroupView], box: Box, depth: int, first: str) -> None:
        for group, own in zip(members, squarified([_size(view, group) for group in members], box), strict=True):
            name = first or group.name
            groups.append(GroupArea(own, group.name, group.share, depth))
            inner = own.inside(GROUP_GAP, ROW_HEIGHT) if depth == 0 else own.inside(SUBGROUP_GAP)
            if group.groups:
                place(group.groups, inner, depth + 1, name)
            else:
                sizes = [view.topics[topic].share for topic in group.topics]
                cells = zip(group.topics, squarified(sizes, inner), strict=True)
                topics.extend(TopicArea(cell.inside(TOPIC_GAP), topic, name) for topic, cell in cells)

    place(view.groups, Box(0.0, 0.0, width, height), 0, "")
    return Treemap(width, height, tuple(groups), tuple(topics))


def _size(view: HierarchyView, group: GroupView) -> float:
    if group.groups:
        return sum(_size(view, child) for child in group.groups)
    return sum(view.topics[topic].share for topic in group.topics)


LEAST_SIZE = 1e-4
"""The size of a rectangle at least, of the sum of all."""


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide a rectangle into rectangles of these sizes that are as square as possible, row by row.

    References
    ----------
    M. Bruls, K. Huizing and J. J. van Wijk, "Squarified treemaps", Data Visualization, 2000.
    """
    total = sum(sizes) or 1.0
    floored = [max(size / total, LEAST_SIZE) for size in sizes]
    scale = box.width * box.height / (sum(floored) or 1.0)
    order = sorted(range(len(sizes)), key=lambda i: -floored[i])
    found: list[Box] = [box] * len(sizes)
    x, y, width, height = box.x, box.y, box.width, box.height
    while order:
        side = max(min(width, height), 1e-9)
        n = 1
        while n < len(order) and _worst(floored, order[: n + 1], scale, side) <= _worst(
            floored, order[:n], scale, side
        ):
            n += 1
        thickness = scale * sum(floored[i] for i in order[:n]) / side
        along = 0.0
        for i in order[:n]:
            length = scale * floored[i] / thickness
            if width >= height:
                found[i] = Box(x, y + along, thickness, length)
            else:
                found[i] = Box(x + along, y, length, thickness)
            along += length
        if width >= height:
            x, width = x + thickness, width - thickness
        else:
            y, height = y + thickness, height - thickness
        order = order[n:]
    return found


def _worst(sizes: Sequence[float], row: Sequence[int], scale: float, side: float) -> float:
    """The largest ratio of the sides of the rectangles in a row along ``side``."""
    areas = [scale * sizes[i] for i in row]
    total = sum(areas)
    return max(side * side * max(areas) / total**2, total**2 / (side * side * min(areas)))


@dataclass(frozen=True)
class Dendrogram:
    """A tree from left to right: brackets as SVG paths, and the topics of the leaves from top to bottom."""

    width: float
    height: float
    brackets: tuple[str, ...]
    leaves: tuple[tuple[float, int], ...]
    label_x: float


LABELS_WIDTH = 420.0
"""The width of the labels of a tree."""


def dendrogram(view: HierarchyView, *, width: float = 1000) -> Dendrogram:
    """Place the tree of all topics."""
    n = len(view.topics)
    right, top = width - LABELS_WIDTH, ROW_HEIGHT / 2
    farthest = max((merge.distance for merge in view.tree), default=1.0) or 1.0
    order, waiting = [], [n + len(view.tree) - 1 if view.tree else 0]
    while waiting:
        node = waiting.pop()
        if node < n:
            order.append(node)
        else:
            merge = view.tree[node - n]
            waiting += [merge.second, merge.first]
    place = {topic: (right, top + ROW_HEIGHT * i) for i, topic in enumerate(order)}
    brackets = []
    for i, merge in enumerate(view.tree):
        (x1, y1), (x2, y2) = place[merge.first], place[merge.second]
        x = right - merge.distance / farthest * (right - RIGHT)
        brackets.append(f"M{x1:.1f},{y1:.1f}H{x:.1f}V{y2:.1f}H{x2:.1f}")
        place[n + i] = x, (y1 + y2) / 2
    leaves = tuple((place[topic][1], topic) for topic in order)
    return Dendrogram(width, ROW_HEIGHT * n, tuple(brackets), leaves, right + LABEL_GAP)


@dataclass(frozen=True)
class ForestRow:
    """An estimate with its interval, in SVG coordinates."""

    y: float
    low: float
    middle: float
    high: float
    row: EffectRow


@dataclass(frozen=True)
class Forest:
    """Estimates with intervals, one below the other, with the line of no effect and ticks in percentage points."""

    width: float
    height: float
    left: float
    zero: float
    rows: tuple[ForestRow, ...]
    ticks: tuple[Tick, ...]


FOREST_LABELS = 520.0
"""The width of the labels of estimates."""


def forest(rows: Sequence[EffectRow], *, width: float = 1000, n: int = 20) -> Forest:
    """Place the first n estimates, largest first."""
    chosen = sorted(rows[:n], key=lambda row: -row.estimate)
    low = min([0.0, *(row.low for row in chosen)])
    high = max([0.0, *(row.high for row in chosen)])
    span = (high - low) or 1.0

    def to_x(value: float) -> float:
        return round(FOREST_LABELS + (value - low) / span * (width - FOREST_LABELS - 3 * RIGHT), 1)

    placed = tuple(
        ForestRow(ROW_HEIGHT * (i + 0.5), to_x(row.low), to_x(row.estimate), to_x(row.high), row)
        for i, row in enumerate(chosen)
    )
    ticks = tuple(Tick(to_x(value), f"{100 * value:+.1f}" if value else "0") for value in sorted({low, 0.0, high}))
    return Forest(width, ROW_HEIGHT * len(chosen) + BOTTOM, FOREST_LABELS, to_x(0.0), placed, ticks)
