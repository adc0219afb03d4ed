"""Contrasts of two sets of documents: the topics and the words that differ, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm

from tagtopic._core.frames import Tabular
from tagtopic.analysis.table import Table

PRIOR_WORDS = 50.0
"""Words of the prior of each set's word frequencies, which are those of both sets together."""

N_WORDS = 50


@dataclass(frozen=True)
class Contrast(Tabular):
    """What distinguishes two sets of documents; as a data frame, its ``topics``.

    Attributes
    ----------
    first, second : str
        The names of the sets.
    n_documents : (int, int)
        Their documents.
    topics : Table
        The share of each topic in the first set minus that in the second, largest first.
    words : Table
        The words whose frequencies differ most: the logarithm (base 2) of the ratio of their frequencies, ordered by
        the end of the interval that is nearer to zero. Intervals are by documents, not by tokens.
    level : float
        The probability of an interval.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> from tagtopic.datasets import make_effects_corpus
    >>> planted = make_effects_corpus(200, n_topics=3, random_state=1)
    >>> model = LDA(3, max_iter=100, thinning=10, n_draws=5, random_state=0).fit(planted.corpus)
    >>> contrast = model.contrast(planted.corpus, "venue:A", "venue:B")
    >>> contrast.topics.columns
    ('topic', 'name', 'first', 'second', 'estimate', 'low', 'high', 'positive')
    >>> contrast.words.columns
    ('word', 'first', 'second', 'log_ratio', 'low', 'high')
    """

    first: str
    second: str
    n_documents: tuple[int, int]
    topics: Table
    words: Table
    level: float

    def __repr__(self) -> str:
        a, b = self.n_documents
        return f"Contrast({self.first!r}, {a:,} documents, against {self.second!r}, {b:,})"

    def _arrow_table(self, most: int | None = None) -> Any:
        return self.topics.to_arrow()

    def _repr_html_(self) -> str:
        return self.topics._repr_html_() + self.words._repr_html_()


def contrast_words(first: Any, second: Any, words: Sequence[str], level: float = 0.95, n: int = N_WORDS) -> Table:
    """Compare the word frequencies of two sets of documents.

    The frequency of a word in a set is smoothed by that in both sets. The variance of its logarithm is that of a ratio
    estimator over documents, so that a word which one document repeats is no evidence.

    Parameters
    ----------
    first, second : csr_array of shape (documents, words)
        Counts.
    words : sequence of str
        The words.
    level : float, default=0.95
        The probability of an interval.
    n : int, default=50
        The number of words for each set.

    Returns
    -------
    Table
        The n words that distinguish the first set most, then those of the second, in the order of the contrast.

    Examples
    --------
    >>> counts = sp.csr_array([[3, 1], [2, 1], [4, 1]]), sp.csr_array([[0, 2], [1, 3], [0, 2]])
    >>> contrast_words(*counts, ["ship", "crime"], n=1)["word"]
    ['ship', 'crime']
    """
    together = np.asarray(first.sum(axis=0) + second.sum(axis=0), np.float64)
    prior = PRIOR_WORDS * together / max(float(together.sum()), 1.0)
    rates, variances = zip(*(_log_rates(part, prior) for part in (first, second)), strict=True)
    ratio, spread = rates[0] - rates[1], np.sqrt(variances[0] + variances[1])
    margin = norm.ppf((1 + level) / 2) * spread
    low, high = (ratio - margin) / np.log(2), (ratio + margin) / np.log(2)
    used = together > 0
    best = np.argsort(-np.where(used, low, -np.inf), kind="stable")[:n]
    worst = np.argsort(np.where(used, high, np.inf), kind="stable")[:n]
    chosen = [i for i in best if used[i] and ratio[i] > 0] + [i for i in worst[::-1] if used[i] and ratio[i] < 0]
    return Table(
        {
            "word": [words[i] for i in chosen],
            "first": np.exp(rates[0][chosen]).tolist(),
            "second": np.exp(rates[1][chosen]).tolist(),
            "log_ratio": (ratio[chosen] / np.log(2)).tolist(),
            "low": low[chosen].tolist(),
            "high": high[chosen].tolist(),
        },
        "words that differ",
    )


def _log_rates(counts: Any, prior: Any) -> tuple[Any, Any]:
    """The logarithm of each word's frequency, and its variance over documents."""
    values = sp.csr_array(counts, dtype=np.float64)
    lengths = np.asarray(values.sum(axis=1)).ravel()
    total, size = float(lengths.sum()), len(lengths)
    sums = np.asarray(values.sum(axis=0)).ravel()
    rates = (sums + prior) / (total + prior.sum())
    squares = np.asarray(values.multiply(values).sum(axis=0)).ravel()
    products = np.asarray(values.T @ lengths).ravel()
    # sum_d (c_dw - rate n_d)^2
    spread = squares - 2 * rates * products + rates**2 * float((lengths**2).sum())
    variance = np.maximum(spread, 0.0) * size / max(size - 1, 1) + prior  # the prior's words vary as a Poisson does
    return np.log(np.maximum(rates, 1e-300)), variance / np.maximum((total + prior.sum()) * rates, 1e-100) ** 2
