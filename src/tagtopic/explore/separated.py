"""Rows as CSV, for people who open it in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run as a formula."""


def csv_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A line a row, names first; what a spreadsheet would run is kept from running by an apostrophe."""
    first = True
    for row in rows:
        line = io.StringIO()
        writer = csv.DictWriter(line, list(row), lineterminator="\n")
        if first:
            writer.writeheader()
            first = False
        writer.writerow({name: _harmless(value) for name, value in row.items()})
        yield line.getvalue()


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
