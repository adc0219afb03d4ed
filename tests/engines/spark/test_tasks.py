"""What executors do, without a cluster: steps over scratch against the local engine, bit for bit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.base import Statistics
from tagtopic.engines.distributed.scratch import MissingError, Parcel, Rooms, Scratch
from tagtopic.engines.distributed.tasks import (
    Adding,
    AddRows,
    AddUpAndBring,
    CutSums,
    Cutting,
    EStep,
    Ranges,
    Reporting,
    Slot,
    StepAndBring,
    StepAndStay,
)
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import block_posterior
from tagtopic.inference.types import Documents, Parameters

SLOT = Slot(0, (0, 1, 2))
ROOMS = Rooms("run", "run")


def corpus_of(kind: str) -> Corpus:
    drawn = make_tagged_corpus(n_documents=60, n_topics=3, n_tags=8, n_words=80, model="twda", untagged=0.2).corpus
    return drawn if kind == "some tags" else Corpus.from_counts(drawn.counts)


def parameters_of(corpus: Corpus) -> Parameters:
    topics = np.random.default_rng(0).gamma(1.0, size=(corpus.n_words, 3))
    theta = np.full((corpus.n_tags, 3), 1 / 3, np.float32)
    return Parameters((topics / topics.sum(0)).astype(np.float32), theta, np.ones(corpus.n_tags), 5.0, np.ones(3), True)


class Case:
    """A corpus in three blocks: a local step, and scratch from which to make the same."""

    def __init__(self, kind: str) -> None:
        corpus = corpus_of(kind)
        self.parameters = parameters_of(corpus)
        self.expected = Statistics.empty_like(self.parameters)
        self.scratch = Scratch("run")
        entries = -(-corpus.counts.nnz // 3)
        with LocalEngine(1, block_entries=entries).session(corpus, self.parameters, "map") as session:
            assert len(session.blocks) == 3
            for number, block in enumerate(session.blocks):
                parcel = self._parcel(block, session.posterior)
                self.scratch.keep_block(number, parcel)
                self.scratch.keep_state(number, 0, block_posterior(session.posterior, block))
            session.e_step(self.parameters, self.expected, sweeps=3)
            self.states = [block_posterior(session.posterior, block) for block in session.blocks]
        self.step = EStep(SimpleNamespace(value=self.parameters), "map", 0, 1, 3, 0.0)

    @staticmethod
    def _parcel(block: Any, state: Any) -> Parcel:
        whole = block.documents
        words, tags = slice(whole.word_starts[0], whole.word_starts[-1]), slice(*block.tag_range)
        documents = Documents(
            whole.word_starts - words.start, whole.words[words], whole.counts[words],
            whole.tag_starts - tags.start, whole.tags[tags],
        )  # fmt: skip
        return Parcel(documents, block.n_words, block.n_tags, block_posterior(state, block))


@pytest.fixture(params=["some tags", "no tags"])
def case(request: Any, tmp_path: Path, monkeypatch: Any) -> Case:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    return Case(request.param)


def test_sums_added_in_block_order_have_the_local_bits(case: Case) -> None:
    psi, theta, objective = np.zeros_like(case.expected.psi), np.zeros_like(case.expected.theta), 0.0
    for number, sums, state in StepAndBring(case.step)(SLOT, case.scratch):
        psi[sums.words] += sums.psi
        theta[sums.tags] += sums.theta
        objective += float(sums.objective)
        for mine, theirs in zip(state, case.states[number], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(psi, case.expected.psi)
    np.testing.assert_array_equal(theta, case.expected.theta)
    assert objective == case.expected.objective


def test_a_partitions_sums_are_those_of_its_blocks(case: Case) -> None:
    ((numbers, sums, states),) = AddUpAndBring(case.step)(SLOT, case.scratch)
    psi, theta = np.zeros_like(case.expected.psi), np.zeros_like(case.expected.theta)
    psi[sums.words], theta[sums.tags] = sums.psi, sums.theta
    np.testing.assert_array_equal(psi, case.expected.psi)
    np.testing.assert_array_equal(theta, case.expected.theta)
    assert sum(sums.objectives.tolist()) == case.expected.objective
    assert numbers == SLOT.numbers
    for state, expected in zip(states, case.states, strict=True):
        np.testing.assert_array_equal(state.xi, expected.xi)


def test_a_step_that_is_made_again_is_the_same(case: Case) -> None:
    first = list(StepAndBring(case.step)(SLOT, case.scratch))
    again = list(StepAndBring(case.step)(SLOT, case.scratch))
    for (_, sums, _), (_, same, _) in zip(first, again, strict=True):
        np.testing.assert_array_equal(sums.psi, same.psi)


def test_states_that_got_lost_are_made_again(case: Case) -> None:
    stay = StepAndStay(case.step)
    assert sum(objective for _, objective, _ in stay(SLOT, case.scratch)) == case.expected.objective
    (case.scratch.folder / "state-1-1.npz").unlink()
    for number, _, state in StepAndStay(case.step, bring_states=True)(SLOT, case.scratch):
        assert state is not None
        np.testing.assert_array_equal(state.xi, case.states[number].xi)


def test_ranges_add_up_to_the_whole(case: Case) -> None:
    ranges = Ranges(len(case.expected.psi), len(case.expected.theta), 3, case.expected.psi.dtype.name, height=7)
    pairs = Cutting(CutSums(StepAndStay(case.step), ranges), ROOMS, 1)([SLOT])
    total = ranges.empty()
    for key, rows in Adding(AddRows(ranges), n_slots=1)(list(pairs)):
        view = ranges.view(total, key)
        view[:] = rows[: len(view)]
    np.testing.assert_array_equal(total.psi, case.expected.psi)
    np.testing.assert_array_equal(total.theta, case.expected.theta)


def test_a_part_that_misses_something_is_never_taken_for_the_whole(case: Case) -> None:
    slots = [SLOT, Slot(1, (3,))]  # there is no block 3
    ranges = Ranges.of(case.expected, 1 << 22)
    pairs = list(Cutting(CutSums(StepAndStay(case.step), ranges), ROOMS, 1)(slots))
    assert list(Adding(AddRows(ranges), n_slots=2)(pairs)) == [None]
    reported = [(index, missing) for index, missing, _ in Reporting(StepAndBring(case.step), ROOMS)(slots)]
    assert reported == [(0, None)] * 3 + [(1, ([3], [3]))]
    with pytest.raises(MissingError):
        list(StepAndStay(case.step)(slots[1], case.scratch))
