"""The E-step on executors: the local engine's own, over blocks in scratch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagtopic.corpus.ragged import owners_of
from tagtopic.engines.base import Statistics
from tagtopic.engines.local import LocalRun, fill_state
from tagtopic.engines.spark.scratch import FRESH, Scratch, ScratchBlock
from tagtopic.engines.spark.wrapping import Slot
from tagtopic.engines.workers import Workers
from tagtopic.inference.arrays import Float64s, Floats, Int32s, State
from tagtopic.inference.parameters import Parameters

if TYPE_CHECKING:
    from pyspark import Broadcast


class BlockSums(NamedTuple):
    """A block's statistics: the rows of psi and theta for the words and tags that occur in it, and its objective."""

    words: Int32s
    psi: Floats
    tags: Int32s
    theta: Floats
    objective: Floats


@dataclass(frozen=True)
class EStep:
    """The E-step of a block: from its state after ``before`` to its state after ``after``.

    Nothing that ``before`` left is touched, so the step can be made again, here or elsewhere, from the same state.
    """

    parameters: Broadcast[Parameters]
    inference: str
    before: int
    after: int
    sweeps: int
    tolerance: float
    each_rho: bool = True

    def make(self, number: int, scratch: Scratch, workers: Workers) -> tuple[BlockSums, State]:
        """Make the step; the block and its state must be in scratch."""
        scratch.forget_before(number, self.before)
        stored = scratch.block(number)
        own = parameters_of(self.parameters.value, stored)
        fresh = self.before == FRESH
        state = first_state(stored, own, each_rho=self.each_rho) if fresh else scratch.state(number, self.before)
        run = LocalRun(self.inference, workers, [stored.block], state)
        sums = Statistics(np.empty_like(own.psi), np.empty_like(own.theta), 0.0)
        run.expect(own, sums, sweeps=self.sweeps, tolerance=self.tolerance)
        scratch.keep_state(number, self.after, run.state)
        return BlockSums(stored.words, sums.psi, stored.tags, sums.theta, np.array(sums.objective)), run.state


@dataclass(frozen=True)
class StepAndBring:
    """For small models: yields (block, its sums, its state)."""

    step: EStep

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, BlockSums, State]]:
        """Step the blocks of a partition, with as many threads as the task has cores."""
        scratch.require(slot.numbers, self.step.before)
        with Workers(task_cores()) as workers:
            for number in slot.numbers:
                yield number, *self.step.make(number, scratch, workers)


class PartSums(NamedTuple):
    """A partition's statistics: the rows of the words and tags that occur in it, and its blocks' objectives."""

    words: Int32s
    psi: Floats
    tags: Int32s
    theta: Floats
    objectives: Float64s


def add_up(step: EStep, slot: Slot, scratch: Scratch) -> tuple[PartSums, list[State]]:
    """Step the blocks of a partition; their sums, added in block order, and their states."""
    words, tags = scratch.columns(slot.numbers)
    like = step.parameters.value
    n_topics, dtype = like.psi.shape[1], like.psi.dtype
    psi, theta = np.zeros((len(words), n_topics), dtype), np.zeros((len(tags), n_topics), dtype)
    objectives, states = [], []
    with Workers(task_cores()) as workers:
        for number in slot.numbers:
            sums, state = step.make(number, scratch, workers)
            psi[np.searchsorted(words, sums.words)] += sums.psi
            theta[np.searchsorted(tags, sums.tags)] += sums.theta
            objectives.append(float(sums.objective))
            states.append(state)
    return PartSums(words, psi, tags, theta, np.array(objectives)), states


@dataclass(frozen=True)
class AddUpAndBring:
    """For models in between: yields (a partition's blocks, their sums added up, their states)."""

    step: EStep

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[tuple[int, ...], PartSums, list[State]]]:
        """Step the blocks of a partition."""
        scratch.require(slot.numbers, self.step.before)
        yield slot.numbers, *add_up(self.step, slot, scratch)


@dataclass(frozen=True)
class StepAndStay:
    """For large models: the sums of a partition stay in scratch, to be fetched in ranges of rows.

    Yields (block, its objective, its state if asked for). A partition whose sums are there is not stepped again.
    """

    step: EStep
    bring_states: bool = False

    def __call__(self, slot: Slot, scratch: Scratch) -> Iterator[tuple[int, float, State | None]]:
        """Step the blocks of a partition."""
        objectives = self.sums(slot, scratch).objectives
        for number, objective in zip(slot.numbers, objectives.tolist(), strict=True):
            yield number, objective, scratch.state(number, self.step.after) if self.bring_states else None

    def sums(self, slot: Slot, scratch: Scratch) -> PartSums:
        """The sums of a partition, added in block order."""
        stored = scratch.sums(slot.index, self.step.after)
        if stored is not None and scratch.has_states(slot.numbers, self.step.after):
            return PartSums(**stored)
        scratch.require(slot.numbers, self.step.before)
        scratch.forget_sums(slot.index, self.step.after)
        sums, _ = add_up(self.step, slot, scratch)
        scratch.keep_sums(slot.index, self.step.after, sums._asdict())
        return sums


def first_state(stored: ScratchBlock, own: Parameters, *, each_rho: bool) -> State:
    """Where the block's documents stand before the first step, by its own parameters."""
    documents = stored.block.documents
    dtype, n_documents = own.psi.dtype, stored.block.n_documents
    state = State(
        np.empty(len(documents.tags), dtype),
        np.empty(n_documents, dtype),
        np.empty((n_documents if each_rho else 1, len(own.mu)), dtype),
    )
    owner = owners_of(documents.word_starts)
    lengths = np.bincount(owner, weights=documents.counts, minlength=n_documents)
    fill_state(state, documents.tag_starts, documents.tags, lengths, own, each_rho=each_rho)
    return state


def parameters_of(parameters: Parameters, stored: ScratchBlock) -> Parameters:
    """The parameters of a block's own words and tags."""
    behind = parameters.behind
    return replace(
        parameters,
        psi=parameters.psi[stored.words],
        theta=parameters.theta[stored.tags],
        pi=parameters.pi[stored.tags],
        behind=behind and replace(behind, tags=behind.tags[stored.tags], word_prior=behind.word_prior[stored.words]),
    )


def task_cores() -> int:
    """The cores that Spark gave to this task (``spark.task.cpus``)."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else context.cpus()
