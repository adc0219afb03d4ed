"""Small HTML for notebooks: everything escaped, nothing fetched, no style but its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

LONGEST = 200


def card(title: str, figures: Iterable[tuple[str, str]], columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A title, a line of figures, and a table."""
    line = " · ".join(f"<b>{_text(value)}</b> {_text(name)}" for name, value in figures)
    head = "".join(f'<th style="text-align:left">{_text(column)}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{_text(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    return f"<div><h4>{_text(title)}</h4><p>{line}</p>{table}</div>"


def _text(text: str) -> str:
    """A name as text, cut where it is long, with its own direction."""
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f"<bdi>{escape(short)}</bdi>"
