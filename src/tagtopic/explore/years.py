"""Which tags are years."""

from __future__ import annotations

import re
from collections import defaultdict

from tagtopic.corpus.kinds import kind_of

YEAR = re.compile(r"(1[5-9]|20)\d\d")


def years_of(tag_names: tuple[str, ...]) -> dict[int, list[int]]:
    """The tags of each year, in order, if most tags of some kind are years; of several such kinds, the largest."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for column, name in enumerate(tag_names):
        by_kind[kind_of(name)].append(column)
    best: dict[int, list[int]] = {}
    for columns in by_kind.values():
        years: dict[int, list[int]] = defaultdict(list)
        for column in columns:
            value = tag_names[column].rpartition(":")[2].strip()
            if YEAR.fullmatch(value):
                years[int(value)].append(column)
        if len(years) > len(best) and len(years) >= 0.8 * len(columns):
            best = dict(sorted(years.items()))
    return best
