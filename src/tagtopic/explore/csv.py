"""Rows as CSV, for people who open it in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would run as a formula."""


PIECE = 1000
"""Rows that are made at a time."""


def csv_pieces(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The rows' names, then a line a row, many lines at a time.

    What a spreadsheet would run is kept from running by an apostrophe, and a mark says that it is all UTF-8.
    """
    remaining, mark = iter(rows), "\ufeff"
    while piece := list(islice(remaining, PIECE)):
        lines = io.StringIO()
        writer = csv.DictWriter(lines, list(piece[0]), lineterminator="\n")
        if mark:
            lines.write(mark)
            writer.writeheader()
            mark = ""
        writer.writerows({name: _harmless(value) for name, value in row.items()} for row in piece)
        yield lines.getvalue()


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
