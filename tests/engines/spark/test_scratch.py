"""Scratch: what comes back is what was kept, whole, by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.engines.blocks import blocks_of
from tagtopic.engines.distributed.scratch import MissingError, Parcel, Scratch
from tagtopic.engines.posterior import block_posterior
from tagtopic.inference.types import State


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: Any) -> Scratch:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    return Scratch("run")


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_counts([[0, 2, 0, 1], [0, 0, 0, 3], [1, 0, 0, 0]], [["b"], ["c", "b"], ["a"]])


def state_of(corpus: Corpus, value: float) -> State:
    shapes = (corpus.tags.nnz,), (len(corpus),), (len(corpus), 2)
    return State(*(np.full(shape, value, np.float32) for shape in shapes))


def parcel_of(corpus: Corpus) -> Parcel:
    (block,) = blocks_of(corpus)
    return Parcel(block.documents, block.n_words, block.n_tags, block_posterior(state_of(corpus, 1), block))


def test_a_block_is_numbered_by_its_own_words_and_tags(scratch: Scratch, corpus: Corpus) -> None:
    first_two = corpus[:2]
    assert scratch.keep_block(7, parcel_of(first_two)) == (2, 2)
    stored = scratch.block(7)
    np.testing.assert_array_equal(stored.words, [1, 3])
    np.testing.assert_array_equal(stored.tags, [1, 2])
    np.testing.assert_array_equal(stored.words[stored.block.documents.words], first_two.counts.indices)
    np.testing.assert_array_equal(stored.tags[stored.block.documents.tags], first_two.tags.indices)
    (block,) = blocks_of(first_two)
    for mine, theirs in zip(stored.block.by_word[1:], block.by_word[1:], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_what_is_missing_is_named(scratch: Scratch, corpus: Corpus) -> None:
    scratch.keep_block(0, parcel_of(corpus))
    scratch.keep_state(0, 3, state_of(corpus, 1))
    scratch.require([0], 3)
    with pytest.raises(MissingError) as error:
        scratch.require([0, 1], 3)
    assert error.value.numbers == [1]
    with pytest.raises(MissingError):
        scratch.require([0], 2)  # another step's state is no state


def test_the_step_before_stays_until_the_next_has_ended(scratch: Scratch, corpus: Corpus) -> None:
    scratch.keep_block(0, parcel_of(corpus))
    for step in (3, 4):
        scratch.keep_state(0, step, state_of(corpus, step))
        scratch.keep_sums(0, step, {"psi": np.ones(1)})
    scratch.forget_before(0, 4)
    scratch.forget_sums(0, 4)
    assert float(scratch.state(0, 4).xi[0]) == 4
    assert scratch.sums(0, 4) is not None
    assert scratch.sums(0, 3) is None
    with pytest.raises(MissingError):
        scratch.require([0], 3)


def test_nothing_is_left_when_a_run_ends(scratch: Scratch, corpus: Corpus, tmp_path: Path) -> None:
    scratch.keep_block(0, parcel_of(corpus))
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told(scratch: Scratch, corpus: Corpus, no_room: Any) -> None:
    with no_room(), pytest.raises(OSError, match="File too large"):
        scratch.keep_block(0, parcel_of(corpus))
    with pytest.raises(MissingError):
        scratch.require([0], 0)
