"""A minimal SVG writer: shapes and text at given positions, in one self-contained file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

INK, GREY, FAINT, PAPER = "#1f2933", "#66717d", "#d9dee3", "#ffffff"
BLUE, ORANGE, GREEN, PURPLE, RED = "#2f6fb2", "#d9822b", "#3a8f5c", "#7a5195", "#b8423f"
FONT = "font-family='system-ui,Segoe UI,Helvetica,Arial,sans-serif'"


class Picture:
    """An SVG image with a white background, legible on light and dark pages."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def box(
        self, x: float, y: float, w: float, h: float, fill: str = PAPER, line: str = "none", corner: float = 3
    ) -> None:
        """Add a rectangle."""
        self.parts.append(
            f"<rect x='{x:g}' y='{y:g}' width='{w:g}' height='{h:g}' rx='{corner:g}' fill='{fill}' stroke='{line}'/>"
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 13,
        fill: str = INK,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Add a line of text; ``anchor`` is start, middle or end."""
        weight = " font-weight='600'" if bold else ""
        self.parts.append(
            f"<text x='{x:g}' y='{y:g}' font-size='{size:g}' fill='{fill}' text-anchor='{anchor}'{weight}>"
            f"{escape(words)}</text>"
        )

    def line(
        self, points: Sequence[tuple[float, float]], colour: str = GREY, width: float = 1.5, dash: str = ""
    ) -> None:
        """Add a line through points."""
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        self.parts.append(f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='{width:g}'{dashed}/>")

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = GREY, width: float = 1.5) -> None:
        """Add an arrow."""
        self.parts.append(
            f"<path d='M{x1:g} {y1:g}L{x2:g} {y2:g}' stroke='{colour}' stroke-width='{width:g}' "
            "marker-end='url(#tip)'/>"
        )

    def dots(self, points: Sequence[tuple[float, float]], colour: str, size: float = 3) -> None:
        """Add many dots as one path, which keeps the file small."""
        path = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in points)
        self.parts.append(
            f"<path d='{path}' stroke='{colour}' stroke-width='{size:g}' stroke-linecap='round' opacity='.55'/>"
        )

    def bars(
        self, x: float, y: float, values: Sequence[float], colours: Sequence[str], width: float = 14, height: float = 60
    ) -> None:
        """Add bars with their base at y and heights proportional to the values."""
        for i, (value, colour) in enumerate(zip(values, colours, strict=True)):
            self.box(x + i * (width + 3), y - max(value * height, 1), width, max(value * height, 1), colour, corner=1)

    def write(self, path: Path) -> None:
        """Write the file."""
        path.write_text(self.document(), "utf-8")

    def document(self) -> str:
        """Return the file as text."""
        tip = (
            "<marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
            f"<path d='M0 0L8 4L0 8z' fill='{GREY}'/></marker>"
        )
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' width='{self.width}' "
            f"height='{self.height}' role='img' {FONT}><title>{escape(self.title)}</title><defs>{tip}</defs>"
        )
        ground = f"<rect width='{self.width}' height='{self.height}' rx='6' fill='{PAPER}'/>"
        return "\n".join([head, ground, *self.parts, "</svg>", ""])
