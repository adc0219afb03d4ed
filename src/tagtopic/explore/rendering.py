"""Views as HTML and tables as CSV: templates, their filters, charts and static files, shared by pages and report.

Charts are SVG rendered on the server: they need no JavaScript, can be printed, follow the colour scheme and take a few
kilobytes (docs/decisions/server-side-charts.md). Functions here compute the coordinates that templates draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tagtopic._core.optional import require
from tagtopic._version import __version__
from tagtopic.models.plotting import DARK, LIGHT, colour_index

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC_FILES = ("explorer.css", "explorer.js", "report.js", "icon.svg")
NAME_LENGTH = 80
"""Characters of a name in lists; its own page has all of it."""

CHART_RIGHT, CHART_TOP, CHART_BOTTOM = 8.0, 12.0, 22.0
CHARACTER_WIDTH, LABEL_GAP = 7.5, 8.0
"""Width of a character of a label, and the gap between label and chart."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

HasPage = Callable[[str, int], bool]


class Renderer:
    """Renders views as HTML.

    Parameters
    ----------
    root : str
        Prefix of all links: "" for served pages, "#" in a report.
    has_page : callable
        Whether there is a page of a topic, tag or document, given as (kind, number); names without one are not links.
    live : bool
        Whether a server answers searches and forms.
    """

    def __init__(self, *, root: str = "", has_page: HasPage = lambda kind, number: True, live: bool = True) -> None:
        require("jinja2", extra="explore", purpose="the explorer")
        self.environment = _environment()
        self.environment.globals.update(root=root, has_page=has_page, live=live, version=__version__, line=line_chart)

    def render(self, template: str, **context: Any) -> str:
        """Render a template."""
        return self.environment.get_template(template).render(**context)

    def fragment(self, name: str, **context: Any) -> str:
        """Render the content of a page, without head, header and footer."""
        return self.render(f"views/{name}.html", **context)


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tagtopic.explore"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent, number=number, short=short, letter=letter, document_name=document_name, query=quote
    )
    environment.tests["long"] = lambda text: len(text) > NAME_LENGTH
    environment.globals["colour"] = lambda topic: f"c{colour_index(topic)}"
    return environment


@cache
def static_file(name: str) -> bytes:
    """The content of one of ``STATIC_FILES``; the palette precedes the style sheet."""
    if name not in STATIC_FILES:
        raise KeyError(name)
    content = (files("tagtopic.explore") / "static" / name).read_text("utf-8")
    return ((_palette_css() + content) if name.endswith(".css") else content).encode()


@cache
def static_version() -> str:
    """A digest of all static files, part of their addresses so that browsers may cache them forever."""
    return hashlib.sha256(b"".join(static_file(name) for name in STATIC_FILES)).hexdigest()[:12]


def _palette_css() -> str:
    """Topic colours as custom properties, light and dark, and a class per colour."""
    light, dark = ("".join(f"--t{i}:{colour};" for i, colour in enumerate(colours)) for colours in (LIGHT, DARK))
    classes = "".join(f".c{i}{{--c:var(--t{i})}}" for i in range(len(LIGHT)))
    return (
        f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n{classes}\n"
    )


def percent(share: float, digits: int | None = None) -> str:
    """A share as a percentage, by default with one decimal below 10%."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if digits is None:
        digits = 0 if share >= 0.1 else 1
    return f"{100 * share:.{digits}f}%"


def number(value: float) -> str:
    """A number with thousands separators, or with three significant digits if it is not an integer."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def short(text: str, length: int = NAME_LENGTH) -> str:
    """A text truncated to a length, with an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def document_name(id: str, number: int) -> str:
    """The id of a document, or its number if the id is blank."""
    return id if id.strip() else f"document {number}"


def letter(index: int) -> str:
    """A letter for a document's tag by its rank; a number after Z."""
    return _LETTERS[index] if 0 <= index < len(_LETTERS) else str(index + 1)


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
        return self.height - CHART_BOTTOM


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
        return round(left + (x - low_x) / span_x * (width - left - CHART_RIGHT), 1)

    def to_y(y: float) -> float:
        return round(height - CHART_BOTTOM - (y - low_y) / span_y * (height - CHART_TOP - CHART_BOTTOM), 1)

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
