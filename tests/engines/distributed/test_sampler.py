"""A distributed sampler over a cluster in this process: the bits of a local sampler with the same rounds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines.distributed.in_process import InProcessCluster

from tagtopic import Corpus
from tagtopic._core.memmap import TemporaryArrays
from tagtopic._core.parallel import ThreadPool
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.base import Sampler
from tagtopic.engines.blocks import blocks_of
from tagtopic.engines.distributed.own_words import distributed_candidates
from tagtopic.engines.distributed.sampler import AssignmentStore, DistributedSampler
from tagtopic.engines.distributed.sampler_tasks import RoundCounts
from tagtopic.engines.distributed.session import DriverBlocks
from tagtopic.engines.distributed.sparse_counts import (
    LARGE,
    PartitionColumns,
    SparseCounts,
    add_rows,
    narrow,
    sparse_rows,
)
from tagtopic.engines.distributed.tasks import Partition
from tagtopic.engines.sampler import InterleavedRounds, LocalSampler, zero_counts
from tagtopic.inference.gibbs import Assignments, SamplerPriors, sampler_priors
from tagtopic.inference.own_words import OwnWordCandidates, own_word_candidates
from tagtopic.inference.types import Parameters, Priors, VariationalPosterior

K, ROUNDS = 3, 3
Open = Callable[..., DistributedSampler]


def tagged_corpus() -> Corpus:
    """Documents with few words and tags; one without words, one without tags."""
    made = make_tagged_corpus(
        n_documents=90, n_topics=K, n_tags=6, n_words=60, tags_per_document=(1, 3), random_state=0
    ).corpus
    counts = made.counts.toarray()
    counts[7] = 0
    return Corpus.from_counts(counts, [[] if d == 40 else list(made[d].tags) for d in range(len(made))])


CORPUS = tagged_corpus()
CANDIDATES = own_word_candidates(CORPUS.counts, CORPUS.tags)


def start(*, own: bool = True) -> tuple[Parameters, SamplerPriors]:
    rng = np.random.default_rng(1)
    psi = rng.gamma(1.0, size=(CORPUS.n_words, K)).astype(np.float32)
    theta = rng.dirichlet(np.ones(K), CORPUS.n_tags).astype(np.float32)
    parameters = Parameters(
        psi / psi.sum(0), theta, rng.uniform(0.1, 1, CORPUS.n_tags), 0.7, rng.uniform(0.1, 1, K), True
    )
    priors = Priors(rng.uniform(0.1, 1, K), rng.uniform(0.01, 0.1, CORPUS.n_words))
    return parameters, sampler_priors(parameters, priors, CANDIDATES if own else None)


def test_a_partition_takes_the_counts_of_its_own_columns() -> None:
    rng = np.random.default_rng(0)
    counts = zero_counts(40, 20, K, 9)
    for values, large in ((counts.word_topics, 3000), (counts.tag_topics, 200)):
        values[:] = rng.poisson(0.5, values.shape) * np.where(rng.random(values.shape) < 0.2, large, 1)
    counts.own_words[:] = rng.poisson(100, 9)
    words = np.flatnonzero(rng.random(40) < 0.5).astype(np.int32)
    tags = np.flatnonzero(rng.random(20) < 0.5).astype(np.int32)
    own = PartitionColumns(words, tags, np.array([1, 5, 8]))
    everything = PartitionColumns(np.arange(40, dtype=np.int32), np.arange(20, dtype=np.int32), np.arange(9))
    found = RoundCounts(SparseCounts.of(counts, everything), counts.topics).of_partition(own)
    expected = SparseCounts.of(counts, own)
    assert len(expected.words.large) > 0
    assert (expected.words.sizes == 0).any()
    for mine, theirs in zip((*found.words, *found.tags), (*expected.words, *expected.tags), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(found.own_words, expected.own_words)


@pytest.fixture
def open_sampler(tmp_path: Path, monkeypatch: Any) -> Iterator[Open]:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    resources = ExitStack()

    def make(
        candidates: OwnWordCandidates | None = CANDIDATES, *, block_entries: int = 300, empty: bool = False
    ) -> DistributedSampler:
        blocks = DriverBlocks(list(blocks_of(CORPUS, block_entries)))
        store = AssignmentStore(blocks.extents, InterleavedRounds(len(CORPUS), ROUNDS))
        cluster = InProcessCluster(len(blocks.blocks), store.block_data_source(blocks))
        if empty:
            cluster.partitions.append(Partition(2, ()))
        sizes = CORPUS.n_words, CORPUS.n_tags, K, int(np.diff(CORPUS.tags.indptr).max())
        return DistributedSampler(
            ThreadPool(1), blocks, store, cluster, sizes, candidates, resources, TemporaryArrays()
        )

    yield make
    resources.close()


def local_sampler(candidates: OwnWordCandidates | None = CANDIDATES) -> LocalSampler:
    return LocalSampler(
        CORPUS, K, ThreadPool(1), TemporaryArrays(), ExitStack(), n_rounds=ROUNDS, candidates=candidates
    )


def sweeps(sampler: Sampler, numbers: Any, *, own: bool = True) -> list[float]:
    return [sampler.sweep(start(own=own)[1], 5, number) for number in numbers]


def assert_same_state(one: Sampler, other: Sampler) -> None:
    for name in Assignments._fields:
        np.testing.assert_array_equal(getattr(one.tokens, name), getattr(other.tokens, name), err_msg=name)
    for name in one.counts._fields:
        np.testing.assert_array_equal(getattr(one.counts, name), getattr(other.counts, name), err_msg=name)


@pytest.mark.parametrize("own", [True, False])
def test_sweeps_have_the_bits_of_a_local_sampler_with_the_same_rounds(own: bool, open_sampler: Open) -> None:
    candidates = CANDIDATES if own else None
    local, distributed = local_sampler(candidates), open_sampler(candidates, empty=True)
    assert len(distributed.blocks.extents) >= 4
    for sampler in (local, distributed):
        sampler.initialise(start()[0], 11)
    assert_same_state(distributed, local)
    assert sweeps(distributed, range(1, 4), own=own) == sweeps(local, range(1, 4), own=own)
    assert_same_state(distributed, local)
    assert (local.counts.own_words.sum() > 0) == own
    rows = np.array([3, 40, 41, 89])
    for mine, theirs in zip(
        distributed.document_counts(rows, start()[0]), local.document_counts(rows, start()[0]), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_the_bits_do_not_depend_on_blocks(open_sampler: Open, tmp_path: Path) -> None:
    one = open_sampler(block_entries=200)
    one.initialise(start()[0], 11)
    bounds = sweeps(one, [1, 2])
    shutil.rmtree(tmp_path / "tagtopic-session")
    other = open_sampler(block_entries=700)
    assert len(other.blocks.extents) < len(one.blocks.extents)
    other.initialise(start()[0], 11)
    assert sweeps(other, [1, 2]) == bounds
    assert_same_state(other, one)


def test_initial_assignments_may_follow_posteriors(open_sampler: Open) -> None:
    rng = np.random.default_rng(3)
    posterior = VariationalPosterior(
        rng.uniform(1, 5, CORPUS.tags.nnz), rng.uniform(1, 5, len(CORPUS)), rng.uniform(1, 5, (len(CORPUS), K))
    )
    local, distributed = local_sampler(), open_sampler()
    for sampler in (local, distributed):
        sampler.initialise(start()[0], 2, posterior=posterior)
    assert_same_state(distributed, local)


def test_lost_blocks_and_assignments_are_sent_again(open_sampler: Open, tmp_path: Path) -> None:
    local, distributed = local_sampler(), open_sampler()
    for sampler in (local, distributed):
        sampler.initialise(start()[0], 11)
    bounds = sweeps(local, range(1, 4))
    folder = tmp_path / "tagtopic-session"
    assert sweeps(distributed, [1]) == bounds[:1]
    shutil.rmtree(folder / "block-1")
    shutil.rmtree(folder / "round-0-1")
    for state in folder.glob("state-2-*"):
        state.unlink()
    sent = distributed.cluster.sent  # type: ignore[attr-defined]
    assert sweeps(distributed, [2]) == bounds[1:2]
    assert distributed.cluster.sent == sent + 1 + ROUNDS  # type: ignore[attr-defined]
    shutil.rmtree(folder)  # an executor
    assert sweeps(distributed, [3]) == bounds[2:]
    assert_same_state(distributed, local)
    assert len(list(folder.glob("state-0-*"))) <= 2 * ROUNDS  # earlier ones are removed


def test_a_restored_sampler_continues_from_the_saved_assignments(open_sampler: Open) -> None:
    local, distributed = local_sampler(), open_sampler()
    local.initialise(start()[0], 11)
    sweeps(local, [1, 2])
    distributed.restore(local.tokens)
    assert_same_state(distributed, local)
    assert sweeps(distributed, [3]) == sweeps(local, [3])
    assert_same_state(distributed, local)


@pytest.mark.parametrize("batch_pairs", [500, 1 << 24])
def test_candidates_for_own_words_are_those_of_one_machine(batch_pairs: int, open_sampler: Open) -> None:
    cluster = open_sampler(empty=True).cluster
    sizes, frequencies = CORPUS.tag_sizes(), CORPUS.word_counts()
    words_per_document = float(np.diff(CORPUS.counts.indptr).mean())
    found = distributed_candidates(cluster, sizes, frequencies, words_per_document, batch_pairs=batch_pairs)
    assert len(found.words)
    for name in ("starts", "words", "tokens", "prior"):
        np.testing.assert_array_equal(getattr(found, name), getattr(CANDIDATES, name), err_msg=name)


@pytest.mark.parametrize("n_documents", [1, 5, 90, 1000, 100_000])
@pytest.mark.parametrize("n_rounds", [1, 4, 40])
def test_each_document_belongs_to_one_round(n_documents: int, n_rounds: int) -> None:
    rounds = InterleavedRounds(n_documents, n_rounds)
    rows = [np.concatenate([np.arange(*part) for part in rounds.ranges(i, 0, n_documents)]) for i in range(len(rounds))]
    np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(n_documents))
    middle = n_documents // 3
    for number, mine in enumerate(rows):
        parts = rounds.ranges(number, 0, middle) + rounds.ranges(number, middle, n_documents)
        assert [d for part in parts for d in range(*part)] == mine.tolist()
    sizes = [len(mine) for mine in rows]
    assert max(sizes) <= 1.1 * min(sizes) + 1 or max(sizes) - min(sizes) <= 64


@pytest.mark.parametrize("n_topics", [5, 300])
def test_sparse_rows_are_the_matrix(n_topics: int) -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.integers(-300, 300, (40, n_topics)) * (rng.random((40, n_topics)) < 0.3)).astype(np.int32)
    matrix[3, :2] = LARGE, 127
    rows = np.array([3, 4, 9, 39], np.int32)
    found = sparse_rows(matrix, rows)
    copied, totals, column_totals = np.zeros_like(matrix), np.zeros(40, np.int64), np.zeros(n_topics, np.int64)
    add_rows(found, rows, copied, totals, column_totals)
    np.testing.assert_array_equal(copied[rows], matrix[rows])
    np.testing.assert_array_equal(totals, copied.sum(axis=1))
    np.testing.assert_array_equal(column_totals, copied.sum(axis=0))
    assert [narrow(np.array([0, each])).dtype for each in (-128, 128, 1 << 20)] == [np.int8, np.int16, np.int32]
