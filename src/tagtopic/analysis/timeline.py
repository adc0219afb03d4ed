"""Time bins: dates of documents, read from tags or columns, cut into years, quarters, months, weeks or days."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int64s

PERIODS = ("year", "quarter", "month", "week", "day")
DATE = re.compile(r"^(\d{4})(?:[-/.]?Q([1-4])|[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?:[T ].*)?$|^(\d{4})(\d{2})(\d{2})$")
MAX_BINS = 2_000
AUTO_BINS = 400
"""The most bins of a period that is chosen by itself."""


@dataclass(frozen=True)
class Timeline:
    """Bins of time.

    Attributes
    ----------
    period : str
        "year", "quarter", "month", "week", "day", or "number" for numbers that are no dates.
    labels : tuple of str
        The bins, without gaps: those that no document is in are included.
    starts, ends : tuple of str
        The first day (or number) of each bin, and of the next one.
    bins : ndarray of int
        The bin of each document, -1 without a date.

    Examples
    --------
    >>> from tagtopic.analysis.timeline import make_timeline
    >>> timeline = make_timeline(["2001", "2003", None])
    >>> timeline.labels, timeline.bins.tolist()
    (('2001', '2002', '2003'), [0, 2, -1])
    """

    period: str
    labels: tuple[str, ...]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    bins: Int64s

    @property
    def sizes(self) -> Int64s:
        """Documents in each bin."""
        return np.bincount(self.bins[self.bins >= 0], minlength=len(self.labels))

    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know: uneven bins, gaps, documents without a date.

        Examples
        --------
        >>> make_timeline(["2001", "2003", None]).notes()
        ('1 of 3 bins is empty: 2002', '1 of 3 documents has no date')
        """
        found = []
        sizes = self.sizes
        filled = sizes[sizes > 0]
        if len(filled) and filled.max() >= 10 * filled.min():
            few, many = int(np.argmin(np.where(sizes > 0, sizes, sizes.max() + 1))), int(np.argmax(sizes))
            found.append(
                f"bins are uneven: {self.labels[few]} has {sizes[few]:,} documents, {self.labels[many]} {sizes[many]:,}"
            )
        empty = [label for label, size in zip(self.labels, sizes, strict=True) if not size]
        if empty:
            shown = ", ".join(empty[:5]) + (" and more" if len(empty) > 5 else "")
            found.append(f"{len(empty)} of {len(sizes)} bins {'is' if len(empty) == 1 else 'are'} empty: {shown}")
        undated = int((self.bins < 0).sum())
        if undated:
            verb = "has" if undated == 1 else "have"
            found.append(f"{undated:,} of {len(self.bins):,} documents {verb} no date")
        return tuple(found)


def make_timeline(values: Any, every: str | float | None = None) -> Timeline:
    """Cut the dates of documents into bins.

    Parameters
    ----------
    values : sequence
        A date per document: texts such as "2001", "2001-05", "2001-Q2", "2001-05-17" or "20010517", dates, or numbers;
        None or NaN without one.
    every : str, float or None, default=None
        The period of a bin: "year", "quarter", "month", "week" or "day", or the width of bins of numbers; None is the
        coarsest that the dates distinguish and that gives at least 8 bins.

    Returns
    -------
    Timeline

    Raises
    ------
    ValueError
        If a date cannot be read, there is none, or there would be too many bins.
    """
    if every is not None and isinstance(every, str) and every not in PERIODS:
        raise ValueError(f"every={every!r}: expected {', '.join(PERIODS)} or a number")
    array = values if isinstance(values, np.ndarray) else np.array(list(values), object)
    if array.dtype.kind == "M":
        return _calendar(array.astype("datetime64[D]"), 2, every)
    days = np.full(len(array), np.datetime64("NaT"), "datetime64[D]")
    detail, numbers = 0, []
    for i, value in enumerate(array.tolist()):
        if value is None or value != value or value == "":
            continue
        if hasattr(value, "isoformat"):
            days[i], detail = np.datetime64(value.isoformat()[:10], "D"), 2
            continue
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
        parsed = parse_date(text)
        if parsed is None:
            numbers.append((i, text))
            continue
        days[i], found = parsed
        detail = max(detail, found)
    if numbers:
        return _numeric(array, numbers, every)
    if isinstance(every, int | float):
        return _numeric(array, [], every)
    return _calendar(days, detail, every)


def parse_date(text: str) -> tuple[np.datetime64, int] | None:
    """Return the first day of a date, and its detail: 0 for a year, 1 for a month, 2 for a day."""
    found = DATE.match(text)
    if not found:
        return None
    year, quarter, month, day = found[1] or found[5], found[2], found[3] or found[6], found[4] or found[7]
    if not 1000 <= int(year) <= 2999:
        return None
    if quarter:
        return np.datetime64(f"{year}-{3 * int(quarter) - 2:02}-01", "D"), 1
    try:
        date = np.datetime64(f"{year}-{int(month or 1):02}-{int(day or 1):02}", "D")
    except ValueError:
        return None
    return date, 2 if day else 1 if month else 0


def _calendar(days: NDArray[np.datetime64], detail: int, every: Any) -> Timeline:
    known = ~np.isnat(days)
    if not known.any():
        raise ValueError("no document has a date")
    period = every or _auto_period(days[known], detail)
    numbers = np.full(len(days), -1, np.int64)
    units = _unit_numbers(days[known], period)
    first, last = int(units.min()), int(units.max())
    _check_size(last - first + 1, period)
    numbers[known] = units - first
    edges = [_unit_start(unit, period) for unit in range(first, last + 2)]
    labels = [_label(edge, period) for edge in edges[:-1]]
    texts = [str(edge) for edge in edges]
    return Timeline(period, tuple(labels), tuple(texts[:-1]), tuple(texts[1:]), numbers)


def _auto_period(days: Any, detail: int) -> str:
    allowed = ("year",) if not detail else ("year", "quarter", "month") if detail == 1 else PERIODS
    for period in allowed:
        units = _unit_numbers(days, period)
        if np.ptp(units) + 1 >= 8:
            return period
    return allowed[-1] if np.ptp(_unit_numbers(days, allowed[-1])) + 1 <= AUTO_BINS else "month"


def _unit_numbers(days: Any, period: str) -> Int64s:
    if period == "year":
        return np.asarray(days.astype("datetime64[Y]").astype(np.int64))
    months = days.astype("datetime64[M]").astype(np.int64)
    if period in ("quarter", "month"):
        return np.asarray(months // 3 if period == "quarter" else months)
    numbers = days.astype(np.int64)
    return np.asarray((numbers + 3) // 7 if period == "week" else numbers)  # 1 January 1970 was a Thursday


def _unit_start(unit: int, period: str) -> Any:
    if period == "year":
        return np.datetime64(unit, "Y").astype("datetime64[D]")
    if period in ("quarter", "month"):
        return np.datetime64(unit * (3 if period == "quarter" else 1), "M").astype("datetime64[D]")
    return np.datetime64(7 * unit - 3 if period == "week" else unit, "D")


def _label(start: Any, period: str) -> str:
    text = str(start)
    if period == "year":
        return text[:4]
    if period == "quarter":
        return f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}"
    return text[:7] if period == "month" else text


def _numeric(array: Any, unparsed: list[tuple[int, str]], every: Any) -> Timeline:
    """Bins of numbers that are not dates."""
    for i, text in unparsed:
        try:
            float(text)
        except ValueError:
            raise ValueError(
                f"document {i}: cannot read the date {text!r} (such as 2001, 2001-05 or 2001-05-17)"
            ) from None
    if isinstance(every, str):
        raise ValueError(f"every={every!r}: the times are numbers, not dates")
    values = np.array([np.nan if v is None or v == "" else float(v) for v in array.tolist()])
    known = np.isfinite(values)
    if not known.any():
        raise ValueError("no document has a date")
    whole = np.equal(values[known], np.round(values[known])).all()
    spread = float(np.ptp(values[known]))
    width = float(every) if every else 1.0 if whole and spread < 60 else max(spread / 20, 1e-12)
    if not width > 0:
        raise ValueError(f"every={every!r}: expected a positive number")
    units = np.floor((values[known] - (0.0 if whole else values[known].min())) / width + 1e-9).astype(np.int64)
    offset = 0.0 if whole else float(values[known].min())
    first, last = int(units.min()), int(units.max())
    _check_size(last - first + 1, f"{width:g}")
    numbers = np.full(len(values), -1, np.int64)
    numbers[known] = units - first
    edges = [f"{offset + unit * width:g}" for unit in range(first, last + 2)]
    return Timeline("number", tuple(edges[:-1]), tuple(edges[:-1]), tuple(edges[1:]), numbers)


def _check_size(n_bins: int, period: str) -> None:
    if n_bins > MAX_BINS:
        raise ValueError(f"{n_bins:,} bins by {period} are more than {MAX_BINS:,}: choose a longer period (every)")
