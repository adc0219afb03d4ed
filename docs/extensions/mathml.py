"""Render formulas as MathML, which browsers support natively: no scripts, no fonts, no downloads."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _display(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
