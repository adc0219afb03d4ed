"""Configuration of the documentation; `make docs` builds it offline, with warnings as errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.ext.napoleon import Config, NumpyDocstring

from tagtopic import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "tagtopic"
author = "The tagtopic authors"
copyright = "2026, the tagtopic authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "command_line", "mathml"]
exclude_patterns = ["extensions"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3  # pages can link to sections of other pages, and a broken link is an error

default_role = "literal"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"tagtopic {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "../src/tagtopic/explore/static/icon.svg"
html_copy_source = False
html_math_renderer = "mathml"

_NAME_LINE = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*):$")
# words of parameter types, such as "table", that are also the names of several attributes
suppress_warnings = ["ref.python"]

_SECTIONS = Config(napoleon_use_rtype=False, napoleon_use_ivar=True)


def _read_sections(app: Any, what: str, name: str, described: Any, options: Any, lines: list[str]) -> None:
    """Parse numpydoc sections, also where a parameter's name is followed by a colon without a type.

    Properties are parsed like methods: otherwise the text before the first colon would be taken for a type.
    """
    plain = [_NAME_LINE.sub(r"\1", line) for line in lines]
    kind = "method" if what in ("property", "attribute") else what
    lines[:] = NumpyDocstring(plain, _SECTIONS, app, kind, name, described, options).lines()


def setup(app: Any) -> None:
    """Register the docstring parser."""
    app.connect("autodoc-process-docstring", _read_sections)
