"""Views as HTML: the templates, and what they may call. Pages and report are made by the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tagtopic._core.optional import require
from tagtopic._version import __version__
from tagtopic.explore import charts
from tagtopic.models.plotting import DARK, LIGHT, colour_index

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = ("explorer.css", "explorer.js", "report.js", "icon.svg")
SHORT = 80
"""Characters of a name that are shown in lists; its own page shows the whole."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Has = Callable[[str, int], bool]


class Renderer:
    """Makes HTML of views.

    ``root`` stands before every link ("" on the served pages, "#" in a report), and ``has`` says whether there is a
    page of a topic, tag or document: where there is none, its name is not a link.
    """

    def __init__(self, *, root: str = "", has: Has = lambda kind, number: True, live: bool = True) -> None:
        require("jinja2", extra="explore", purpose="the explorer")
        self.environment = _environment()
        self.environment.globals.update(root=root, has=has, live=live, version=__version__, line=charts.line)

    def render(self, template: str, **context: Any) -> str:
        """One template."""
        return self.environment.get_template(template).render(**context)

    def fragment(self, inside: str, **context: Any) -> str:
        """The inside of a page."""
        return self.render(f"views/{inside}.html", **context)


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
        percent=percent, number=number, short=short, letter=letter, or_number=or_number, query=quote
    )
    environment.tests["long"] = lambda text: len(text) > SHORT
    environment.globals["colour"] = lambda topic: f"c{colour_index(topic)}"
    return environment


@cache
def static_file(name: str) -> bytes:
    """A file that pages need: one of ``STATIC``; the style sheet begins with the palette."""
    if name not in STATIC:
        raise KeyError(name)
    content = (files("tagtopic.explore") / "static" / name).read_text("utf-8")
    return ((palette_css() + content) if name.endswith(".css") else content).encode()


@cache
def static_version() -> str:
    """Changes whenever one of the files does, so that browsers may keep them for good."""
    return hashlib.sha256(b"".join(static_file(name) for name in STATIC)).hexdigest()[:12]


def palette_css() -> str:
    """The colours of topics as custom properties, light and dark, and a class for each."""
    light, dark = ("".join(f"--t{i}:{colour};" for i, colour in enumerate(colours)) for colours in (LIGHT, DARK))
    classes = "".join(f".c{i}{{--c:var(--t{i})}}" for i in range(len(LIGHT)))
    return (
        f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n{classes}\n"
    )


def percent(share: float, digits: int | None = None) -> str:
    """A share as a person reads it: more digits when it is small."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if digits is None:
        digits = 0 if share >= 0.1 else 1
    return f"{100 * share:.{digits}f}%"


def number(value: float) -> str:
    """A number with commas, or with three digits if it is not whole."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def short(text: str, length: int = SHORT) -> str:
    """The beginning of a long name."""
    return text if len(text) <= length else text[: length - 1] + "…"


def or_number(name: str, number: int) -> str:
    """A document's name, or its number where nothing of the name can be seen."""
    return name if name.strip() else f"document {number}"


def letter(place: int) -> str:
    """A letter for the n-th tag of a document; numbers after Z."""
    return LETTERS[place] if 0 <= place < len(LETTERS) else str(place + 1)
