"""Which partition has which blocks, and on which executor it is.

Partitions are a small cached RDD of their blocks' numbers: Spark runs a task where its partition is cached, which is
where the blocks' files are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tagtopic.engines.distributed.tasks import Slot

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

PLACING_SECONDS = 0.2
"""How long a task stays when partitions are placed, so that each core takes its share of them."""

Prepare = Callable[[Iterable[Slot]], None]
"""Runs in each worker process before anything is asked of it."""


class Placement(Protocol):
    """Partitions, and how they come to executors."""

    slots: list[Slot]

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Slot]:
        """Put the partitions on executors."""
        ...

    def remove(self, rdd: RDD[Slot]) -> None:
        """Forget where they are."""
        ...

    def wants_new_executors(self) -> bool:
        """Whether partitions should be placed anew when executors came."""
        ...


class Scattered:
    """Blocks that the driver has, spread evenly: any executor can be sent any."""

    def __init__(self, n_blocks: int, partitions: int) -> None:
        n_slots = min(n_blocks, partitions)
        cuts = np.linspace(0, n_blocks, n_slots + 1).astype(int).tolist()
        self.slots = [Slot(index, tuple(range(first, last))) for index, (first, last) in enumerate(pairwise(cuts))]

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Slot]:
        """Spread the partitions over the executors."""
        slots: RDD[Slot] = context.parallelize(self.slots, len(self.slots))
        # workers of different executors become ready at different times; only then is the race for partitions fair
        slots.foreachPartition(prepare)
        placed = slots.map(stay).cache()
        placed.count()
        return placed

    def remove(self, rdd: RDD[Slot]) -> None:
        """Forget where they are."""
        rdd.unpersist()

    def wants_new_executors(self) -> bool:
        """New executors get a share."""
        return True


class Built:
    """Blocks that executors made of a source: a partition is where it was made, or is made anew (see ``corpus.py``)."""

    def __init__(self, rdd: RDD[Slot], slots: list[Slot]) -> None:
        self.rdd = rdd
        self.slots = slots

    def place(self, context: SparkContext, prepare: Prepare) -> RDD[Slot]:
        """They are placed."""
        self.rdd.foreachPartition(prepare)
        return self.rdd

    def remove(self, rdd: RDD[Slot]) -> None:
        """The corpus lets go of them, not a run."""

    def wants_new_executors(self) -> bool:
        """To move a partition is to read its part of the source again: only those that got lost are."""
        return False


def stay(slot: Slot) -> Slot:
    """Pass a partition on, slowly enough that no core takes more than its share."""
    time.sleep(PLACING_SECONDS)
    return slot
