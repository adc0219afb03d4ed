"""The sums of a large model, by ranges of words and tags.

Each partition adds up its own blocks and cuts the sum into ranges of rows; each range is added up on one executor, in
partition order, and only the whole comes to the driver, a part at a time. What the driver holds does not grow with the
number of partitions, a partition has no more rows than words and tags occur in it, and the bits depend on nothing but
the partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tagtopic.engines.base import Statistics
from tagtopic.engines.spark.cluster import WAVE_BYTES, Cluster
from tagtopic.engines.spark.scratch import Scratch
from tagtopic.engines.spark.tasks import StepAndStay
from tagtopic.engines.spark.wrapping import Slot
from tagtopic.inference.arrays import Floats, Int32s

RANGE_BYTES = 1 << 22
"""About so many bytes in a range."""


class Rows(NamedTuple):
    """Some rows of a range, numbered within it."""

    numbers: Int32s
    values: Floats


@dataclass(frozen=True)
class Ranges:
    """Rows of psi, then rows of theta, cut into ranges of ``height`` rows that are numbered on and on."""

    n_words: int
    n_tags: int
    n_topics: int
    dtype: str
    height: int

    @classmethod
    def of(cls, sums: Statistics) -> Ranges:
        """Ranges of a good size for these sums."""
        (n_words, n_topics), n_tags = sums.psi.shape, len(sums.theta)
        height = max(1, RANGE_BYTES // (n_topics * sums.psi.itemsize))
        return cls(n_words, n_tags, n_topics, sums.psi.dtype.name, height)

    @property
    def word_ranges(self) -> int:
        """How many ranges psi has: the first of theta has this number."""
        return -(-self.n_words // self.height)

    @property
    def n_ranges(self) -> int:
        """How many ranges there are."""
        return self.word_ranges + -(-self.n_tags // self.height)

    def view(self, sums: Statistics, key: int) -> Floats:
        """The rows of a range."""
        array, number = (sums.psi, key) if key < self.word_ranges else (sums.theta, key - self.word_ranges)
        return array[number * self.height : (number + 1) * self.height]

    def cut(self, numbers: Int32s, values: Floats, *, first: int, n_rows: int) -> Iterator[tuple[int, Rows]]:
        """(range, rows) of some rows of an array, ascending, whose ranges are numbered from ``first``."""
        bounds = np.searchsorted(numbers, np.arange(0, n_rows + self.height, self.height))
        for place, (start, stop) in enumerate(pairwise(bounds.tolist())):
            yield first + place, Rows(numbers[start:stop] - np.int32(place * self.height), values[start:stop])

    def empty(self) -> Statistics:
        """Sums of nothing."""
        psi, theta = ((n, self.n_topics) for n in (self.n_words, self.n_tags))
        return Statistics(np.zeros(psi, self.dtype), np.zeros(theta, self.dtype), 0.0)


@dataclass(frozen=True)
class CutSums:
    """Yields (range, rows) of a partition's sums."""

    stay: StepAndStay
    ranges: Ranges

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, Rows]]:
        """Add up the blocks, then cut."""
        sums, ranges = self.stay.sums(slot, scratch), self.ranges
        yield from ranges.cut(sums.words, sums.psi, first=0, n_rows=ranges.n_words)
        yield from ranges.cut(sums.tags, sums.theta, first=ranges.word_ranges, n_rows=ranges.n_tags)


@dataclass(frozen=True)
class AddRows:
    """Makes (range, its whole rows) of the partitions' rows."""

    ranges: Ranges

    def __call__(self, key: int, parts: list[Rows]) -> tuple[int, Floats]:
        """Add, in the order of the partitions."""
        total = np.zeros((self.ranges.height, self.ranges.n_topics), self.ranges.dtype)
        for part in parts:
            total[part.numbers] += part.values
        return key, total


def bring_sums(cluster: Cluster, stay: StepAndStay, sums: Statistics) -> None:
    """Fill ``sums`` with the whole corpus's."""
    ranges = Ranges.of(sums)
    n_out = min(ranges.n_ranges, max(len(cluster.slots), ranges.n_ranges * RANGE_BYTES // WAVE_BYTES))
    n_jobs = max(1, ranges.n_ranges * RANGE_BYTES // WAVE_BYTES)
    found = cluster.shuffle(
        CutSums(stay, ranges), AddRows(ranges), stay.step.before, n_out=n_out, n_jobs=n_jobs, repair=stay
    )
    for key, rows in found:  # a range may come twice, with the same rows
        view = ranges.view(sums, key)
        view[:] = rows[: len(view)]
