"""Time bins: dates of documents, read from tags or columns, cut into years, quarters, months, weeks or days."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagtopic._core.arrays import Int64s

PERIODS = ("year", "quarter", "month", "week", "day")
DATE = re.compile(
    r"^(\d{4})(?:[-/.]?Q([1-4])|-?W(\d\d)|[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?:[T ].*)?$|^(\d{4})(\d{2})(\d{2})?$",
    re.IGNORECASE,
)
"""2001, 2001-Q2, 2001-W05, 2001-05, 2001-05-17, with a time or without, 200105, 20010517."""

NAMED = re.compile(r"^(?:(\d{1,2})\.? )?([a-z]{3,9})\.?(?: (\d{1,2}))?,? (\d{4})$", re.IGNORECASE)
"""May 2001, 17 May 2001, May 17, 2001."""

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december")  # fmt: skip

YEAR, QUARTER, MONTH, WEEK, DAY = range(5)
"""The detail of a date: what it names besides the year."""

PERIODS_OF = {
    YEAR: ("year",), QUARTER: ("year", "quarter"), MONTH: ("year", "quarter", "month"), WEEK: ("year", "week"),
    DAY: PERIODS,
}  # fmt: skip
"""By detail of the dates, the periods into which they can be cut, longest first."""

MAX_BINS = 2_000
MAX_NUMBER = 1e15
"""The largest number of time, of which whole numbers are still apart."""

MIN_BINS = 8
"""Bins of a period that is chosen by itself, if dates have the detail."""


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
    n_coarse : int
        Dates of less detail than the period, such as years cut into months: they are in the first bin of their time.

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
    n_coarse: int = 0

    @property
    def sizes(self) -> Int64s:
        """Documents in each bin."""
        return np.bincount(self.bins[self.bins >= 0], minlength=len(self.labels))

    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know: uneven bins, gaps, dates of little detail, documents without a date.

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
            unit = "document" if sizes[few] == 1 else "documents"
            found.append(
                f"bins are uneven: {self.labels[few]} has {sizes[few]:,} {unit}, {self.labels[many]} {sizes[many]:,}"
            )
        empty = [label for label, size in zip(self.labels, sizes, strict=True) if not size]
        if empty:
            shown = ", ".join(empty[:5]) + (" and more" if len(empty) > 5 else "")
            found.append(f"{len(empty)} of {len(sizes)} bins {'is' if len(empty) == 1 else 'are'} empty: {shown}")
        if self.n_coarse:
            verb, rest = ("date names", "it is") if self.n_coarse == 1 else ("dates name", "they are")
            found.append(f"{self.n_coarse:,} {verb} no {self.period}: {rest} in the first bin of the time named")
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
        A date per document: texts such as "2001", "2001-05", "2001-Q2", "2001-W05", "2001-05-17", "20010517",
        "May 2001" or "17 May 2001", dates, or numbers; None or NaN without one.
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
    if isinstance(every, str) and every not in PERIODS:
        raise ValueError(f"every={every!r}: expected {', '.join(PERIODS)} or a number")
    array = values if isinstance(values, np.ndarray) else np.array(list(values), object)
    if array.dtype.kind == "M":
        detail = {"Y": YEAR, "M": MONTH}.get(np.datetime_data(array.dtype)[0], DAY)
        days = array.astype("datetime64[D]")
        return _calendar(days, np.full(len(days), detail), every)
    days = np.full(len(array), np.datetime64("NaT"), "datetime64[D]")
    details, numbers = np.zeros(len(array), np.int64), []
    for i, value in enumerate(array.tolist()):
        if value is None or value != value or value == "":
            continue
        if hasattr(value, "isoformat"):
            days[i], details[i] = np.datetime64(value.isoformat()[:10], "D"), DAY
            continue
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
        parsed = parse_date(text)
        if parsed is None:
            numbers.append((i, text))
            continue
        days[i], details[i] = parsed
    if numbers:
        dated = np.flatnonzero(details > YEAR)
        if len(dated):
            other = str(array[dated[0]])
            raise ValueError(f"{_unreadable(*numbers[0])}, and that of document {dated[0]}, {other!r}, is not a number")
        return _numeric(array, numbers, every)
    if isinstance(every, int | float):
        if (details > YEAR).any():
            raise ValueError(f"every={every!r}: expected {', '.join(PERIODS)} for dates with months or days")
        return _numeric(array, [], every)
    return _calendar(days, details, every)


def _unreadable(document: int, text: str) -> str:
    return f"document {document}: cannot read the date {text!r} (such as 2001, 2001-05, 2001-05-17 or 17 May 2001)"


def parse_date(text: str) -> tuple[np.datetime64, int] | None:
    """Return the first day of a date, and its detail; None if it is no date."""
    year = quarter = week = month = day = None
    if found := DATE.match(text):
        year, quarter, week, month, day = found[1] or found[6], found[2], found[3], found[4] or found[7], found[5]
        day = day or found[8]
    elif found := NAMED.match(text):
        name = found[2].lower()
        numbers = [i for i, known in enumerate(MONTHS, 1) if known == name or name in (known[:3], known[:4])]
        if not numbers or (found[1] and found[3]):
            return None
        year, month, day = found[4], numbers[0], found[1] or found[3]
    if year is None or not 1000 <= int(year) <= 2999:
        return None
    try:
        if week:
            return np.datetime64(datetime.date.fromisocalendar(int(year), int(week), 1), "D"), WEEK
        start = 3 * int(quarter) - 2 if quarter else int(month or 1)
        date = np.datetime64(f"{year}-{start:02}-{int(day or 1):02}", "D")
    except ValueError:
        return None
    return date, QUARTER if quarter else DAY if day else MONTH if month else YEAR


def _calendar(days: NDArray[np.datetime64], details: Int64s, every: Any) -> Timeline:
    known = ~np.isnat(days)
    if not known.any():
        raise ValueError("no document has a date")
    period = every or _auto_period(days[known], PERIODS_OF[int(details[known].max())])
    numbers = np.full(len(days), -1, np.int64)
    units = _unit_numbers(days[known], period)
    first, last = int(units.min()), int(units.max())
    _check_size(last - first + 1, period)
    numbers[known] = units - first
    edges = [_unit_start(unit, period) for unit in range(first, last + 2)]
    labels = [_label(edge, period) for edge in edges[:-1]]
    texts = [str(edge) for edge in edges]
    coarse = [detail for detail, periods in PERIODS_OF.items() if period not in periods]
    n_coarse = int(np.isin(details[known], coarse).sum())
    return Timeline(period, tuple(labels), tuple(texts[:-1]), tuple(texts[1:]), numbers, n_coarse)


def _auto_period(days: Any, allowed: Sequence[str]) -> str:
    sizes = {period: int(np.ptp(_unit_numbers(days, period))) + 1 for period in allowed}
    for period in allowed:
        if sizes[period] >= MIN_BINS:
            return period
    return allowed[-1]


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
            raise ValueError(_unreadable(i, text)) from None
    if isinstance(every, str):
        raise ValueError(f"every={every!r}: the times are numbers, not dates")
    values = np.array([np.nan if v is None or v == "" else float(v) for v in array.tolist()])
    known = np.isfinite(values)
    if not known.any():
        raise ValueError("no document has a date")
    if np.abs(values[known]).max() > MAX_NUMBER:
        raise ValueError(f"time: {values[known][np.abs(values[known]).argmax()]:g} is too large for a number of time")
    whole = np.equal(values[known], np.round(values[known])).all()
    spread = float(np.ptp(values[known]))
    chosen = _whole_width(spread) if whole else max(spread / 20, 1e-12)
    width = chosen if every is None else float(every)
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


def _whole_width(spread: float) -> float:
    """1, 2, 5, 10, 20, ...: the least width with 60 bins at most."""
    width, steps = 1.0, itertools.cycle((2.0, 2.5, 2.0))
    while spread / width >= 60:
        width *= next(steps)
    return width


def _check_size(n_bins: int, period: str) -> None:
    if n_bins > MAX_BINS:
        raise ValueError(f"{n_bins:,} bins by {period} are more than {MAX_BINS:,}: choose a longer period (every)")
