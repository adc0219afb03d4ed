"""Scratch: stored blocks, posteriors and statistics are read back, by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.engines.blocks import blocks_of
from tagtopic.engines.distributed.scratch import BlockData, MissingBlocksError, Scratch
from tagtopic.engines.posterior import block_posterior
from tagtopic.inference.types import VariationalPosterior


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: Any) -> Scratch:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    return Scratch("session")


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_counts([[0, 2, 0, 1], [0, 0, 0, 3], [1, 0, 0, 0]], [["b"], ["c", "b"], ["a"]])


def posterior_of(corpus: Corpus, value: float) -> VariationalPosterior:
    shapes = (corpus.tags.nnz,), (len(corpus),), (len(corpus), 2)
    return VariationalPosterior(*(np.full(shape, value, np.float32) for shape in shapes))


def data_of(corpus: Corpus) -> BlockData:
    (block,) = blocks_of(corpus)
    return BlockData(block.documents, block.n_words, block.n_tags, block_posterior(posterior_of(corpus, 1), block))


def test_a_stored_block_is_numbered_by_its_own_words_and_tags(scratch: Scratch, corpus: Corpus) -> None:
    first_two = corpus[:2]
    assert scratch.store_block(7, data_of(first_two)) == (2, 2)
    stored = scratch.block(7)
    np.testing.assert_array_equal(stored.words, [1, 3])
    np.testing.assert_array_equal(stored.tags, [1, 2])
    np.testing.assert_array_equal(stored.words[stored.block.documents.words], first_two.counts.indices)
    np.testing.assert_array_equal(stored.tags[stored.block.documents.tags], first_two.tags.indices)
    (block,) = blocks_of(first_two)
    for mine, theirs in zip(stored.block.by_word[1:], block.by_word[1:], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_missing_blocks_are_named(scratch: Scratch, corpus: Corpus) -> None:
    scratch.store_block(0, data_of(corpus))
    scratch.store_posterior(0, 3, posterior_of(corpus, 1))
    scratch.require([0], 3)
    with pytest.raises(MissingBlocksError) as error:
        scratch.require([0, 1], 3)
    assert error.value.numbers == [1]
    with pytest.raises(MissingBlocksError):
        scratch.require([0], 2)  # of another step


def test_results_of_a_step_are_kept_until_they_are_dropped(scratch: Scratch, corpus: Corpus) -> None:
    scratch.store_block(0, data_of(corpus))
    for step in (3, 4):
        scratch.store_posterior(0, step, posterior_of(corpus, step))
        scratch.store_statistics(0, step, {"psi": np.ones(1)})
    scratch.drop_posteriors_before(0, 4)
    scratch.drop_statistics_before(0, 4)
    assert float(scratch.posterior(0, 4).xi[0]) == 4
    assert scratch.statistics(0, 4) is not None
    assert scratch.statistics(0, 3) is None
    with pytest.raises(MissingBlocksError):
        scratch.require([0], 3)


def test_removing_scratch_leaves_no_files(scratch: Scratch, corpus: Corpus, tmp_path: Path) -> None:
    scratch.store_block(0, data_of(corpus))
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_raises(scratch: Scratch, corpus: Corpus, no_room: Any) -> None:
    with no_room(), pytest.raises(OSError, match="File too large"):
        scratch.store_block(0, data_of(corpus))
    with pytest.raises(MissingBlocksError):
        scratch.require([0], 0)
