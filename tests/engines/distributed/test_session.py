"""A distributed session over a cluster in this process: statistics, posteriors and pi of the local engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines.distributed.in_process import InProcessCluster

from tagtopic import Corpus
from tagtopic._core.parallel import ThreadPool
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.blocks import blocks_of
from tagtopic.engines.distributed.session import (
    DistributedSession,
    DriverBlocks,
    PosteriorStore,
    TransferSizes,
    block_data_source,
    weight_update_of,
)
from tagtopic.engines.distributed.tasks import Partition
from tagtopic.engines.local import LocalEngine, LocalSession
from tagtopic.engines.posterior import initial_posterior
from tagtopic.inference.priors.tag_weights import HyperPrior, weight_prior_gradient
from tagtopic.inference.types import Parameters, Statistics

BLOCK_ENTRIES = 500
Open = Callable[..., DistributedSession]


def corpus_of_groups() -> Corpus:
    """Documents in four groups that share no tags, so that there are several components."""
    parts = [
        make_tagged_corpus(
            n_documents=30, n_topics=3, n_tags=6, n_words=60, tags_per_document=(1, 3), random_state=seed
        )
        for seed in range(4)
    ]
    counts = np.concatenate([part.corpus.counts.toarray() for part in parts])
    tags = [[f"{group}:{tag}" for tag in doc.tags] for group, part in enumerate(parts) for doc in part.corpus]
    order = np.random.default_rng(0).permutation(len(counts))
    return Corpus.from_counts(counts[order], [tags[i] for i in order])


CORPUS = corpus_of_groups()


@pytest.fixture(params=["TWTM", "TWDA"])
def parameters(request: Any) -> Parameters:
    topics = np.random.default_rng(1).gamma(1.0, size=(CORPUS.n_words, 3)).astype(np.float32)
    theta = np.random.default_rng(2).dirichlet(np.ones(3), CORPUS.n_tags).astype(np.float32)
    return Parameters(topics / topics.sum(0), theta, np.ones(CORPUS.n_tags), 2.0, np.ones(3), request.param == "TWDA")


@pytest.fixture
def open_session(tmp_path: Path, monkeypatch: Any) -> Iterator[Open]:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    resources = ExitStack()

    def make(
        parameters: Parameters, weight_update: str = "driver", average: str = "weighted", **transfer: int
    ) -> DistributedSession:
        shutil.rmtree(tmp_path / "tagtopic-session", ignore_errors=True)
        blocks = DriverBlocks(list(blocks_of(CORPUS, BLOCK_ENTRIES)))
        posterior = initial_posterior(CORPUS, parameters)
        store = PosteriorStore(posterior, blocks.extents, each_rho=True, initialised=True)
        cluster = InProcessCluster(len(blocks.blocks), block_data_source(blocks, store))
        update = weight_update_of(weight_update, average)
        pool = resources.enter_context(ThreadPool(1))
        sizes = TransferSizes(**transfer)
        return DistributedSession("map", pool, blocks, store, cluster, update, resources, sizes)

    yield make
    resources.close()


@pytest.fixture
def local(parameters: Parameters) -> Iterator[LocalSession]:
    with LocalEngine(1, block_entries=BLOCK_ENTRIES).session(CORPUS, parameters, "map") as session:
        assert len(session.blocks) >= 4
        yield session


def after_steps(session: Any, parameters: Parameters, n: int = 3) -> Statistics:
    statistics = Statistics.empty_like(parameters)
    for _ in range(n):
        session.e_step(parameters, statistics, sweeps=5)
    return statistics


def learn(session: DistributedSession, parameters: Parameters, learnt: Any = None) -> Any:
    after_steps(session, parameters)
    everything = np.ones(len(parameters.all_pi), np.bool_)
    return session.update_weight_prior(parameters, HyperPrior(), everything if learnt is None else learnt)


def test_statistics_collected_by_block_have_the_bits_of_the_local_engine(
    parameters: Parameters, open_session: Open, local: LocalSession
) -> None:
    session = open_session(parameters)
    expected, found = after_steps(local, parameters), after_steps(session, parameters)
    np.testing.assert_array_equal(found.psi, expected.psi)
    np.testing.assert_array_equal(found.theta, expected.theta)
    assert found.objective == expected.objective
    for mine, theirs in zip(session.posterior, local.posterior, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for one, other in zip(session.latent_log_expectations(), local.latent_log_expectations(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("collect", [0, 15_000])
def test_statistics_collected_by_range_or_partition_are_those_of_the_local_engine(
    collect: int, parameters: Parameters, open_session: Open, local: LocalSession
) -> None:
    session = open_session(parameters, collect=collect, wave=1600, row_range=240)
    expected, found = after_steps(local, parameters), after_steps(session, parameters)
    np.testing.assert_allclose(found.psi, expected.psi, rtol=1e-6)
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-6)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    for mine, theirs in zip(session.posterior, local.posterior, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_blocks_that_are_lost_between_steps_are_sent_again(
    parameters: Parameters, open_session: Open, local: LocalSession, tmp_path: Path
) -> None:
    session = open_session(parameters)
    after_steps(session, parameters, 1)
    shutil.rmtree(tmp_path / "tagtopic-session" / "block-1")
    (tmp_path / "tagtopic-session" / "state-2-2.npz").unlink()
    expected, found = after_steps(local, parameters), after_steps(session, parameters, 2)
    np.testing.assert_array_equal(found.psi, expected.psi)
    assert session.cluster.sent == len(session.blocks.extents) + 2  # type: ignore[attr-defined]


def test_a_restored_session_continues_from_the_saved_posteriors(
    parameters: Parameters, open_session: Open, local: LocalSession
) -> None:
    after_steps(local, parameters, 2)
    session = open_session(parameters)
    after_steps(session, parameters, 1)
    session.restore(local.posterior)
    expected, found = after_steps(local, parameters, 1), after_steps(session, parameters, 1)
    np.testing.assert_array_equal(found.psi, expected.psi)


@pytest.mark.parametrize("name", ["gradient", "components"])
def test_exact_updates_give_the_pi_of_the_driver(name: str, parameters: Parameters, open_session: Open) -> None:
    exact = learn(open_session(parameters), parameters)
    np.testing.assert_allclose(learn(open_session(parameters, name), parameters), exact, rtol=1e-4)


def test_the_driver_update_has_the_bits_of_the_local_engine(
    parameters: Parameters, open_session: Open, local: LocalSession
) -> None:
    after_steps(local, parameters)
    everything = np.ones(len(parameters.all_pi), np.bool_)
    expected = local.update_weight_prior(parameters, HyperPrior(), everything)
    np.testing.assert_array_equal(learn(open_session(parameters), parameters), expected)


def test_the_gradient_is_zero_at_the_pi_of_components(parameters: Parameters, open_session: Open) -> None:
    session = open_session(parameters, "components")
    pi = learn(session, parameters)
    evidence = session.weight_evidence(parameters)
    slope = pi * weight_prior_gradient(pi, evidence, HyperPrior()) / (evidence.documents + 5)
    np.testing.assert_allclose(slope, 0, atol=1e-4)


@pytest.mark.parametrize("name", ["gradient", "components", "average"])
def test_fixed_elements_of_pi_do_not_change(name: str, parameters: Parameters, open_session: Open) -> None:
    learnt = np.ones(len(parameters.all_pi), np.bool_)
    learnt[[0, -1]] = False
    found = learn(open_session(parameters, name), parameters, learnt)
    np.testing.assert_array_equal(found[[0, -1]], parameters.all_pi[[0, -1]])
    assert (found[1:-1] != parameters.all_pi[1:-1]).all()


@pytest.mark.parametrize("average", ["weighted", "plain"])
def test_averages_are_near_the_exact_pi(average: str, parameters: Parameters, open_session: Open) -> None:
    exact = learn(open_session(parameters), parameters)
    found = learn(open_session(parameters, "average", average), parameters)
    assert np.median(np.abs(np.log(found / exact))) < 0.3


def test_an_update_does_not_depend_on_the_current_pi(parameters: Parameters, open_session: Open) -> None:
    session = open_session(parameters, "components")
    once = learn(session, parameters)
    learnt = np.ones(len(parameters.all_pi), np.bool_)
    elsewhere = replace(parameters, pi=parameters.pi * 1.5)
    again = session.update_weight_prior(elsewhere, HyperPrior(), learnt)
    np.testing.assert_allclose(again, once, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "average"),
    [("gradient", "weighted"), ("components", "weighted"), ("average", "weighted"), ("plain-average", "weighted")],
)
def test_a_partition_without_documents_changes_nothing(
    name: str, average: str, parameters: Parameters, open_session: Open
) -> None:
    without = learn(open_session(parameters, name, average), parameters)
    session = open_session(parameters, name, average)
    others = (replace(part, index=part.index + 1) for part in session.cluster.partitions)
    session.cluster.partitions = [Partition(0, ()), *others]
    np.testing.assert_allclose(learn(session, parameters), without, rtol=1e-4)
