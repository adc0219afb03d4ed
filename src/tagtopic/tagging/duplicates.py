"""Tags that may be one tag under two names (``U.S.A.`` and ``USA``), from their names, topics and co-occurrence.

Names are compared by keys, never all against all: tags of a kind are looked at together if their letters and digits are
the same, but for order of the words, accents, case, and at most one letter left out or put in.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tagtopic._core.arrays import Floats

SHORTEST = 6
"""Shorter names must be the same letters: one letter more or less makes another word."""

MOST_ALIKE = 50
"""Names with one key; more are not one tag written in many ways but a numbered series."""


@dataclass(frozen=True)
class NearDuplicate:
    """Two tags that may be one: how alike their topics are (1: the same), and on how many documents they are.

    One tag under two names is seldom on a document twice: ``together`` is small then.
    """

    first: str
    second: str
    topic_likeness: float
    documents: tuple[int, int]
    together: int


def near_duplicates(
    tag_names: Sequence[str], tag_topics: Floats, tags: Any, least_likeness: float = 0.6
) -> list[NearDuplicate]:
    """Pairs of tags that may be one, most alike first; ``tags`` (CSR, documents x tags) says where they occur."""
    by_tag = tags.tocsc()
    found = []
    for i, j in sorted(_pairs(tag_names)):
        rows_i, rows_j = (by_tag.indices[by_tag.indptr[t] : by_tag.indptr[t + 1]] for t in (i, j))
        together = len(np.intersect1d(rows_i, rows_j))
        likeness = float(np.sqrt(tag_topics[i] * tag_topics[j]).sum())
        if likeness >= least_likeness and together <= 0.2 * min(len(rows_i), len(rows_j)):
            sizes = (len(rows_i), len(rows_j))
            found.append(NearDuplicate(tag_names[i], tag_names[j], likeness, sizes, together))
    return sorted(found, key=lambda pair: -pair.topic_likeness)


def _pairs(tag_names: Sequence[str]) -> set[tuple[int, int]]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, name in enumerate(map(_letters, tag_names)):
        digits = "".join(re.findall(r"\d", name))  # numbers are told apart by one: 1999 is not a misspelt 1998
        for key in set(_keys(name)):
            groups[digits, key].append(number)
    return {
        pair
        for members in groups.values()
        if 1 < len(members) <= MOST_ALIKE
        for pair in combinations(sorted(members), 2)
    }


def _letters(tag: str) -> str:
    """The tag's kind, and its name as lower-case words without accents and punctuation, in alphabetical order."""
    kind, colon, name = tag.partition(":")
    if not colon:
        kind, name = "", tag
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    words = re.findall(r"\w+", plain.replace(".", "").replace("'", ""))
    return kind + ":" + "".join(sorted(words))


def _keys(letters: str) -> Iterator[str]:
    """The letters, and the letters with each one left out: two names one letter apart share a key."""
    yield letters
    kind, _, name = letters.partition(":")
    if len(name) >= SHORTEST:
        for place in range(len(name)):
            yield f"{kind}:{name[:place]}{name[place + 1 :]}"
