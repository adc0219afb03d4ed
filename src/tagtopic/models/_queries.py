"""Rankings and name suggestions behind a fitted model's methods."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tagtopic._core.arrays import Floats
from tagtopic.engines.posterior import largest

MIN_WORDS = 20
"""Documents with fewer words are listed for a topic only if too few have more: their topic mix is uncertain."""


def top_by_share(shares: Floats, lengths: ArrayLike, n: int, *, min_words: int = MIN_WORDS) -> list[tuple[int, float]]:
    """Rank the n documents with the largest shares; those under ``min_words`` words only if fewer than n are longer."""
    long_enough = np.asarray(lengths) >= min_words
    values = np.where(long_enough, shares, -1.0) if long_enough.sum() >= n else np.asarray(shares)
    return largest(values, range(len(values)), n)


def nearest_rows(roots: Floats, row: int, names: Sequence[str], n: int) -> list[tuple[str, float]]:
    """Rank the n rows most similar to one row, itself excluded.

    The similarity is the Bhattacharyya coefficient; ``roots`` are the square roots of distributions.
    """
    similarity = roots @ roots[row]
    similarity[row] = -1.0
    return largest(similarity, names, min(n, len(names) - 1))


def suggest_names(tag: str, names: Sequence[str]) -> list[str]:
    """Up to three known tags close to an unknown one; first those that differ in kind or letter case only."""
    wanted = tag.casefold()
    same = [name for name in names if wanted in (name.casefold(), name.casefold().partition(":")[2])]
    values = {name.partition(":")[2] or name: name for name in names}
    close = [values[value] for value in difflib.get_close_matches(tag, values, 3)]
    return list(dict.fromkeys([*same, *difflib.get_close_matches(tag, names, 3), *close]))[:3]
