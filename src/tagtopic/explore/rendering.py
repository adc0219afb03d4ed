"""Views as HTML and tables as CSV: templates, their filters and static files, shared by pages and report."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tagtopic._core.optional import require
from tagtopic._version import __version__
from tagtopic.explore.charts import line
from tagtopic.models.plotting import DARK, LIGHT, colour_index

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC_FILES = ("explorer.css", "explorer.js", "report.js", "icon.svg")
NAME_LENGTH = 80
"""Characters of a name in lists; its own page has all of it."""

CSV_ROWS = 1000
"""Rows of CSV formatted at a time."""

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that a spreadsheet would evaluate."""

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
        self.environment.globals.update(root=root, has_page=has_page, live=live, version=__version__, line=line)

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


def csv_chunks(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Rows as CSV for spreadsheets, in chunks of many lines: a byte order mark, a header, a line per row.

    Cells that a spreadsheet would evaluate as a formula begin with an apostrophe.
    """
    remaining, byte_order_mark = iter(rows), "\ufeff"
    while chunk := list(islice(remaining, CSV_ROWS)):
        lines = io.StringIO()
        writer = csv.DictWriter(lines, list(chunk[0]), lineterminator="\n")
        if byte_order_mark:
            lines.write(byte_order_mark)
            writer.writeheader()
            byte_order_mark = ""
        writer.writerows({name: _escape_formula(value) for name, value in row.items()} for row in chunk)
        yield lines.getvalue()


def _escape_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_PREFIXES) else value
