"""Rankings and name suggestions behind a fitted model's methods."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagtopic._core.arrays import Float64s, Floats, largest

MIN_WORDS = 20
"""Documents with fewer words are listed for a topic only if too few have more: their topic mix is uncertain."""

MIN_TOKENS = 5.0
"""Expected tokens from which a word is ranked by lift: a rarer word can have any lift."""

LIFT_SMOOTHING = 1e-4
"""Added to each word's frequency when words are ranked by lift: hundreds may occur in one topic only."""


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


def main_topics(mix: Any, *, least: float = 0.02, most: int = 10) -> list[int]:
    """The at most ``most`` topics with a share of at least ``least``, largest first; the largest in any case."""
    order = np.argsort(-np.asarray(mix), kind="stable")[:most]
    return [int(k) for place, k in enumerate(order) if place == 0 or mix[k] >= least]


def word_lift(distribution: Any, word_counts: Any) -> Float64s:
    """How many times as probable each word is under a distribution as in the training documents."""
    return np.asarray(np.asarray(distribution, np.float64) / _frequencies(word_counts))


def distinctive_words(distribution: Any, word_counts: Any, share: float, n: int) -> list[tuple[int, float, float]]:
    """Rank the n words of largest lift as (word, probability, lift).

    Only words that are expected at least a few times in ``share`` of the training words, and whose lift is above 1.
    """
    values = np.asarray(distribution, np.float64)
    expected = values * share * word_counts.sum()
    enough = expected >= min(MIN_TOKENS, expected.max())
    rank = np.where(enough, values / (_frequencies(word_counts) + LIFT_SMOOTHING), -1.0)
    lift = word_lift(values, word_counts)
    words = [word for word, value in largest(rank, range(len(rank)), n) if value > 0 and lift[word] > 1]
    return [(word, float(values[word]), float(lift[word])) for word in words]


def _frequencies(word_counts: Any) -> Float64s:
    counts = np.asarray(word_counts, np.float64)
    return np.asarray(np.maximum(counts, 0.5) / max(float(counts.sum()), 1.0))
