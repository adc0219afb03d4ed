"""Topic shares over time, overall and by tag, with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from tagtopic._core.arrays import Floats, Int64s
from tagtopic._core.parallel import Parallel
from tagtopic.analysis.composition import SAMPLES, draw_shares, sample_regressions
from tagtopic.analysis.regression import Regression
from tagtopic.analysis.table import Table, TidyResult, check_level, summarise
from tagtopic.analysis.timeline import Timeline
from tagtopic.inference.types import Parameters

if TYPE_CHECKING:
    from tagtopic.corpus import Corpus

ALL = "all"
"""The name of the group of all documents."""


@dataclass(frozen=True)
class Trends(TidyResult):
    """Topic shares over time, with bands.

    The share of a bin is the expected share of a document of that time. A band holds it with probability ``level``, at
    each bin by itself. Bins without documents have no share.

    Attributes
    ----------
    timeline : Timeline
        The bins.
    topics : tuple of int
        The topics.
    names : tuple of str
        Their names or labels.
    groups : tuple of str
        "all", or the levels or tags by which documents are divided.
    documents : ndarray of shape (groups, bins)
        Documents in each bin.
    level : float
        The probability of a band.
    notes : tuple of str
        Uneven bins, gaps, and documents without a date.
    n_draws : int
        The draws of the topics; 1 if none were kept.
    samples : mapping of str to ndarray of shape (topics, bins, samples)
        Samples of the shares by group, NaN in bins without documents.

    Examples
    --------
    >>> from tagtopic import LDA
    >>> from tagtopic.datasets import make_effects_corpus
    >>> planted = make_effects_corpus(200, n_topics=3, random_state=1)
    >>> model = LDA(3, max_iter=100, thinning=10, n_draws=5, random_state=0).fit(planted.corpus)
    >>> trends = model.trends(planted.corpus, time="year")
    >>> trends
    Trends(3 topics, 20 bins from 2000 to 2019)
    >>> trends.table.columns
    ('group', 'topic', 'name', 'bin', 'start', 'end', 'documents', 'estimate', 'low', 'high')
    """

    timeline: Timeline
    topics: tuple[int, ...]
    names: tuple[str, ...]
    groups: tuple[str, ...]
    documents: Int64s
    level: float
    notes: tuple[str, ...]
    n_draws: int
    samples: Mapping[str, Floats]

    @cached_property
    def table(self) -> Table:
        """The shares as a tidy table; of bins without documents they are None.

        Examples
        --------
        >>> trends.table.filter(topic=0)["bin"][:2]
        ['2000', '2001']
        """
        names = ("group", "topic", "name", "bin", "start", "end", "documents", "estimate", "low", "high")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        line = self.timeline
        for g, group in enumerate(self.groups):
            for position, topic in enumerate(self.topics):
                found = summarise(self.samples[group][position], self.level)
                for b, size in enumerate(self.documents[g].tolist()):
                    values = [float(column[b]) if size else None for column in found.values()]
                    cells = (group, topic, self.names[position], line.labels[b], line.starts[b], line.ends[b], size)
                    for name, value in zip(names, (*cells, *values), strict=True):
                        columns[name].append(value)
        return Table(columns, "topic shares over time")

    def changes(self) -> Table:
        """Compare the last third of the bins with the first third, weighted by their documents.

        Returns
        -------
        Table
            A row per group and topic, with the probability that the share has risen, in the order of the change.

        Examples
        --------
        >>> trends.changes().columns
        ('group', 'topic', 'name', 'estimate', 'low', 'high', 'positive')
        """
        names = ("group", "topic", "name", "estimate", "low", "high", "positive")
        rows: list[tuple[Any, ...]] = []
        for g, group in enumerate(self.groups):
            filled = np.flatnonzero(self.documents[g])
            if len(filled) < 2:
                continue
            third = max(1, len(filled) // 3)
            first, last = filled[:third], filled[-third:]
            for position, topic in enumerate(self.topics):
                samples = self.samples[group][position]
                before = np.average(samples[first], axis=0, weights=self.documents[g][first])
                after = np.average(samples[last], axis=0, weights=self.documents[g][last])
                change = after - before
                found = map(float, summarise(change, self.level).values())
                rows.append((group, topic, self.names[position], *found, float((change > 0).mean())))
        rows.sort(key=lambda row: (self.groups.index(row[0]), -row[3]))
        return Table({name: [row[i] for row in rows] for i, name in enumerate(names)}, "changes of topic shares")

    def __repr__(self) -> str:
        by = f" in {len(self.groups)} groups" if self.groups != (ALL,) else ""
        labels = self.timeline.labels
        return f"Trends({len(self.topics)} topics{by}, {len(labels)} bins from {labels[0]} to {labels[-1]})"

    def _repr_html_(self) -> str:
        return self.changes()._repr_html_()


def estimate_trends(
    corpus: Corpus,
    draws: Sequence[Parameters],
    timeline: Timeline,
    members: Mapping[str, Any],
    *,
    groups: Any,
    topics: Sequence[int],
    names: Sequence[str],
    level: float,
    parallel: Parallel,
    seed: int,
) -> Trends:
    """Estimate the topic shares of each bin.

    Parameters
    ----------
    corpus : Corpus
        The documents in the model's words and tags.
    draws : sequence of Parameters
        Draws of the topics.
    timeline : Timeline
        The bins of the documents.
    members : mapping of str to ndarray of bool
        The groups: a mask of the documents of each.
    groups : ndarray of int or None
        For each fitted topic, the number of the topic that it is part of.
    topics : sequence of int
        The topics to report.
    names : sequence of str
        The names of all topics.
    level : float
        The probability of a band.
    parallel : Parallel
        Threads over documents and topics.
    seed : int
        Seed.

    Returns
    -------
    Trends
    """
    check_level(level, 0.9)
    usable = (timeline.bins >= 0) & (np.asarray(corpus.lengths()) > 0)
    sizes, samples = [], {}
    for group, mask in members.items():
        rows = np.flatnonzero(usable & mask)
        if not len(rows):
            raise ValueError(f"no document of {group!r} has words and a date")
        bins = timeline.bins[rows]
        sizes.append(np.bincount(bins, minlength=len(timeline.labels)))
        samples[group] = _bin_shares(corpus[rows], draws, bins, len(timeline.labels), groups, topics, parallel, seed)
    chosen = tuple(names[topic] for topic in topics)
    return Trends(
        timeline, tuple(topics), chosen, tuple(members), np.array(sizes), level, timeline.notes(), len(draws), samples
    )


def _bin_shares(
    corpus: Corpus,
    draws: Sequence[Parameters],
    bins: Int64s,
    n_bins: int,
    groups: Any,
    topics: Sequence[int],
    parallel: Parallel,
    seed: int,
) -> Floats:
    """Samples of the share of each bin (topics, bins, samples): a regression on indicators of the bins."""
    filled, cells = np.unique(bins, return_inverse=True)
    n, width = len(corpus), len(filled) + 1
    columns = np.column_stack([np.zeros(n, np.int64), 1 + cells]).ravel()
    matrix = sp.csr_array((np.ones(2 * n), columns, 2 * np.arange(n + 1)), shape=(n, width))
    regression = Regression(matrix, np.ones(n), np.arange(width) > 0)
    drawn = draw_shares(corpus, draws, regression, parallel, seed)
    coefficients = sample_regressions(drawn, regression, topics, groups, SAMPLES, parallel, seed)
    found = np.full((len(topics), n_bins, coefficients.shape[2]), np.nan, np.float32)
    found[:, filled] = expit(coefficients[:, :1] + coefficients[:, 1:])
    return found
