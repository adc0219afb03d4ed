"""The E-step over blocks in scratch: the statistics and posteriors of the local engine, bit for bit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.distributed.e_step import (
    AddRanges,
    CollectBlocks,
    CollectPartition,
    EStep,
    RowRanges,
    SplitStatistics,
    StorePartition,
)
from tagtopic.engines.distributed.scratch import MissingBlocksError, Scratch, ScratchNames
from tagtopic.engines.distributed.session import DriverBlocks
from tagtopic.engines.distributed.tasks import MapTask, Partition, ReduceTask, RunTask
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import block_posterior
from tagtopic.inference.types import Parameters, Statistics

PARTITION = Partition(0, (0, 1, 2))
NAMES = ScratchNames("session", "session")


def corpus_of(kind: str) -> Corpus:
    drawn = make_tagged_corpus(n_documents=60, n_topics=3, n_tags=8, n_words=80, model="twda", untagged=0.2).corpus
    return drawn if kind == "some tags" else Corpus.from_counts(drawn.counts)


def parameters_of(corpus: Corpus) -> Parameters:
    topics = np.random.default_rng(0).gamma(1.0, size=(corpus.n_words, 3))
    theta = np.full((corpus.n_tags, 3), 1 / 3, np.float32)
    return Parameters((topics / topics.sum(0)).astype(np.float32), theta, np.ones(corpus.n_tags), 5.0, np.ones(3), True)


class Case:
    """A corpus in three blocks: a local E-step, and scratch with the same blocks and posteriors."""

    def __init__(self, kind: str) -> None:
        corpus = corpus_of(kind)
        self.parameters = parameters_of(corpus)
        self.expected = Statistics.empty_like(self.parameters)
        self.scratch = Scratch("session")
        entries = -(-corpus.counts.nnz // 3)
        with LocalEngine(1, block_entries=entries).session(corpus, self.parameters, "map") as session:
            assert len(session.blocks) == 3
            blocks = DriverBlocks(session.blocks)
            for number, block in enumerate(session.blocks):
                self.scratch.store_block(number, blocks.block_data(number, with_documents=True))
                self.scratch.store_posterior(number, 0, block_posterior(session.posterior, block))
            session.e_step(self.parameters, self.expected, sweeps=3)
            self.posteriors = [block_posterior(session.posterior, block) for block in session.blocks]
        self.step = EStep(SimpleNamespace(value=self.parameters), "map", 0, 1, 3, 0.0)


@pytest.fixture(params=["some tags", "no tags"])
def case(request: Any, tmp_path: Path, monkeypatch: Any) -> Case:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    return Case(request.param)


def test_block_statistics_added_in_order_equal_the_local_e_step(case: Case) -> None:
    psi, theta, objective = np.zeros_like(case.expected.psi), np.zeros_like(case.expected.theta), 0.0
    for number, sums, state in CollectBlocks(case.step)(PARTITION, case.scratch):
        psi[sums.words] += sums.psi
        theta[sums.tags] += sums.theta
        objective += float(sums.objective)
        for mine, theirs in zip(state, case.posteriors[number], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(psi, case.expected.psi)
    np.testing.assert_array_equal(theta, case.expected.theta)
    assert objective == case.expected.objective


def test_partition_statistics_are_the_sum_over_its_blocks(case: Case) -> None:
    ((numbers, sums, states),) = CollectPartition(case.step)(PARTITION, case.scratch)
    psi, theta = np.zeros_like(case.expected.psi), np.zeros_like(case.expected.theta)
    psi[sums.words], theta[sums.tags] = sums.psi, sums.theta
    np.testing.assert_array_equal(psi, case.expected.psi)
    np.testing.assert_array_equal(theta, case.expected.theta)
    assert sum(sums.objectives.tolist()) == case.expected.objective
    assert numbers == PARTITION.blocks
    for state, expected in zip(states, case.posteriors, strict=True):
        np.testing.assert_array_equal(state.xi, expected.xi)


def test_a_repeated_step_gives_the_same_statistics(case: Case) -> None:
    first = list(CollectBlocks(case.step)(PARTITION, case.scratch))
    again = list(CollectBlocks(case.step)(PARTITION, case.scratch))
    for (_, sums, _), (_, same, _) in zip(first, again, strict=True):
        np.testing.assert_array_equal(sums.psi, same.psi)


def test_lost_posteriors_are_computed_again(case: Case) -> None:
    store = StorePartition(case.step)
    assert sum(objective for _, objective, _ in store(PARTITION, case.scratch)) == case.expected.objective
    (case.scratch.folder / "state-1-1.npz").unlink()
    for number, _, state in StorePartition(case.step, with_posteriors=True)(PARTITION, case.scratch):
        assert state is not None
        np.testing.assert_array_equal(state.xi, case.posteriors[number].xi)


def test_row_ranges_add_up_to_all_statistics(case: Case) -> None:
    ranges = RowRanges(len(case.expected.psi), len(case.expected.theta), 3, case.expected.psi.dtype.name, height=7)
    pairs = MapTask(SplitStatistics(StorePartition(case.step), ranges), NAMES, 1)([PARTITION])
    total = Statistics(np.zeros_like(case.expected.psi), np.zeros_like(case.expected.theta))
    for key, rows in ReduceTask(AddRanges(ranges), n_partitions=1)(list(pairs)):
        view = ranges.view(total, key)
        view[:] = rows[: len(view)]
    np.testing.assert_array_equal(total.psi, case.expected.psi)
    np.testing.assert_array_equal(total.theta, case.expected.theta)


def test_a_partition_with_missing_blocks_is_reported_and_not_reduced(case: Case) -> None:
    partitions = [PARTITION, Partition(1, (3,))]  # there is no block 3
    ranges = RowRanges.of(case.expected, 1 << 22)
    pairs = list(MapTask(SplitStatistics(StorePartition(case.step), ranges), NAMES, 1)(partitions))
    assert list(ReduceTask(AddRanges(ranges), n_partitions=2)(pairs)) == [None]
    reported = [(index, missing) for index, missing, _ in RunTask(CollectBlocks(case.step), NAMES)(partitions)]
    assert reported == [(0, None)] * 3 + [(1, ([3], [3]))]
    with pytest.raises(MissingBlocksError):
        list(StorePartition(case.step)(partitions[1], case.scratch))
