"""The site: `make docs` builds it, offline, with warnings as errors."""

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
myst_heading_anchors = 3  # so that pages can link to each other's sections, and a wrong link is an error

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
_SECTIONS = Config(napoleon_use_rtype=False, napoleon_use_ivar=True)


def _read_sections(app: Any, what: str, name: str, described: Any, options: Any, lines: list[str]) -> None:
    """Docstrings have numpydoc's sections, with a colon after each parameter's name, which numpydoc does without.

    A property is read as a method is: else what stands before its first colon would be taken for its type.
    """
    plain = [_NAME_LINE.sub(r"\1", line) for line in lines]
    kind = "method" if what in ("property", "attribute") else what
    lines[:] = NumpyDocstring(plain, _SECTIONS, app, kind, name, described, options).lines()


def setup(app: Any) -> None:
    """Let docstrings be read as they are written."""
    app.connect("autodoc-process-docstring", _read_sections)
