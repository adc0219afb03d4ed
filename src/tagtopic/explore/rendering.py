"""Views as HTML: templates, their filters and static files, shared by pages and report."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tagtopic._core.optional import require
from tagtopic._version import __version__
from tagtopic.explore.charts import band_chart, dendrogram, forest, line_chart, treemap
from tagtopic.models.plotting import DARK_COLOURS, LIGHT_COLOURS, colour_index

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC_FILES = ("explorer.css", "figures.js", "explorer.js", "report.js", "icon.svg")
NAME_LENGTH = 80
"""Characters of a name in lists; its own page has all of it."""

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
    titles : sequence of str or None
        The titles of the documents by number.
    """

    def __init__(
        self,
        *,
        root: str = "",
        has_page: HasPage = lambda kind, number: True,
        live: bool = True,
        titles: Sequence[str] | None = None,
    ) -> None:
        require("jinja2", extra="explore", purpose="the explorer")
        self.environment = _environment()
        self.environment.globals.update(root=root, has_page=has_page, live=live, version=__version__)
        self.environment.globals.update(
            line=line_chart, band=band_chart, treemap=treemap, dendrogram=dendrogram, forest=forest
        )
        self.environment.globals["document_title"] = lambda number: "" if titles is None else titles[number]

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
    environment.filters.update(schema_type=schema_type, nice=nice)
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
    palettes = (LIGHT_COLOURS, DARK_COLOURS)
    light, dark = ("".join(f"--t{i}:{colour};" for i, colour in enumerate(colours)) for colours in palettes)
    classes = f":root{{--topic-colours:{len(LIGHT_COLOURS)}}}\n"
    classes += "".join(f".c{i}{{--c:var(--t{i})}}" for i in range(len(LIGHT_COLOURS)))
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


def nice(value: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below the value; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def schema_type(schema: Any) -> str:
    """A type of an OpenAPI description, in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(schema_type(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {schema_type(schema.get('items', schema.get('prefixItems', [{}])[0]))}"
    if "enum" in schema:
        return " or ".join(map(repr, schema["enum"]))
    return str(schema.get("type", "any"))


def document_name(id: str, number: int) -> str:
    """The id of a document, or its number if the id is blank."""
    return id if id.strip() else f"document {number}"


def letter(index: int) -> str:
    """A letter for a document's tag by its rank; a number after Z."""
    return _LETTERS[index] if 0 <= index < len(_LETTERS) else str(index + 1)
