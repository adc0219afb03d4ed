"""The four updates of pi over documents in scratch, with a cluster that is this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.base import Statistics
from tagtopic.engines.distributed.scratch import Rooms, Scratch
from tagtopic.engines.distributed.session import DriverBlocks
from tagtopic.engines.distributed.tasks import Adding, Cutting, Reporting, Slot
from tagtopic.engines.distributed.weights import weight_update_of
from tagtopic.engines.local import LocalEngine, LocalSession
from tagtopic.engines.posterior import block_posterior
from tagtopic.inference.priors.tag_weights import HyperPrior, weight_prior_gradient
from tagtopic.inference.types import Parameters

STEP = 3
ROOMS = Rooms("run", "run")


class HereCluster:
    """What the updates ask of a cluster, in this process."""

    def __init__(self, n_blocks: int) -> None:
        self.slots = [Slot(0, tuple(range(n_blocks // 2))), Slot(1, tuple(range(n_blocks // 2, n_blocks)))]

    def run(self, task: Any, step: int) -> list[Any]:
        found = list(Reporting(task, ROOMS)(self.slots))
        assert not any(missing for _, missing, _ in found)
        return [result for _, _, result in found]

    def share(self, value: Any) -> Any:
        return nullcontext(SimpleNamespace(value=value))

    def shuffle(self, cut: Any, add: Any, step: int, *, n_out: int, **_: Any) -> Iterator[Any]:
        pairs = list(Cutting(cut, ROOMS, n_out)(self.slots))
        for place in range(n_out):
            yield from Adding(add, len(self.slots))(pair for pair in pairs if pair[0] == place)


def grouped_corpus() -> Corpus:
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


Fitted = tuple[Parameters, LocalSession]


@pytest.fixture(scope="module", params=["TWTM", "TWDA"])
def fitted(request: Any) -> tuple[Parameters, LocalSession]:
    """A few iterations on this machine: parameters, and documents as they then stand."""
    corpus = grouped_corpus()
    topics = np.random.default_rng(1).gamma(1.0, size=(corpus.n_words, 3)).astype(np.float32)
    theta = np.random.default_rng(2).dirichlet(np.ones(3), corpus.n_tags).astype(np.float32)
    parameters = Parameters(
        topics / topics.sum(0), theta, np.ones(corpus.n_tags), 2.0, np.ones(3), request.param == "TWDA"
    )
    session = LocalEngine(1, block_entries=500).session(corpus, parameters, "map")
    statistics = Statistics.empty_like(parameters)
    for _ in range(3):
        session.e_step(parameters, statistics, sweeps=5)
    assert len(session.blocks) >= 4
    return parameters, session


@pytest.fixture
def remote(fitted: Fitted, tmp_path: Path, monkeypatch: Any) -> Any:
    """The same documents in scratch, as a Spark run sees them."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    _, session = fitted
    scratch, blocks = Scratch("run"), DriverBlocks(session.blocks)
    for number, block in enumerate(session.blocks):
        scratch.keep_block(number, blocks.parcel(number, with_documents=True))
        scratch.keep_state(number, STEP, block_posterior(session.posterior, block))
    return SimpleNamespace(
        cluster=HereCluster(len(session.blocks)), store=SimpleNamespace(step=STEP), blocks=blocks,
        weight_evidence=session.weight_evidence,
    )  # fmt: skip


def learn(name: str, remote: Any, parameters: Parameters, learnt: Any = None, average: str = "weighted") -> Any:
    everything = np.ones(len(parameters.all_pi), np.bool_)
    hyper = HyperPrior()
    return weight_update_of(name, average)(remote, parameters, hyper, everything if learnt is None else learnt)


@pytest.mark.parametrize("name", ["gradient", "components"])
def test_exact_updates_find_the_pi_of_the_driver(name: str, remote: Any, fitted: Fitted) -> None:
    parameters, _ = fitted
    np.testing.assert_allclose(learn(name, remote, parameters), learn("driver", remote, parameters), rtol=1e-4)


def test_components_end_where_the_gradient_is_zero(remote: Any, fitted: Fitted) -> None:
    parameters, session = fitted
    pi = learn("components", remote, parameters)
    evidence = session.weight_evidence(parameters)
    slope = pi * weight_prior_gradient(pi, evidence, HyperPrior()) / (evidence.documents + 5)
    np.testing.assert_allclose(slope, 0, atol=1e-4)


@pytest.mark.parametrize("name", ["gradient", "components", "average"])
def test_what_is_not_to_be_learnt_stays(name: str, remote: Any, fitted: Fitted) -> None:
    parameters, _ = fitted
    learnt = np.ones(len(parameters.all_pi), np.bool_)
    learnt[[0, -1]] = False
    found = learn(name, remote, parameters, learnt)
    np.testing.assert_array_equal(found[[0, -1]], parameters.all_pi[[0, -1]])
    assert (found[1:-1] != parameters.all_pi[1:-1]).all()


@pytest.mark.parametrize("average", ["weighted", "plain"])
def test_averages_come_near(average: str, remote: Any, fitted: Fitted) -> None:
    parameters, _ = fitted
    exact, found = learn("driver", remote, parameters), learn("average", remote, parameters, average=average)
    assert np.median(np.abs(np.log(found / exact))) < 0.3


def test_an_update_does_not_depend_on_what_was_learnt_before(remote: Any, fitted: Fitted) -> None:
    parameters, _ = fitted
    update = weight_update_of("components", "weighted")
    learnt = np.ones(len(parameters.all_pi), np.bool_)
    once = update(remote, parameters, HyperPrior(), learnt)
    elsewhere = replace(parameters, pi=parameters.pi * 1.5)
    np.testing.assert_allclose(update(remote, elsewhere, HyperPrior(), learnt), once, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "average"),
    [("gradient", "weighted"), ("components", "weighted"), ("average", "weighted"), ("average", "plain")],
)
def test_a_partition_without_documents_changes_nothing(name: str, average: str, remote: Any, fitted: Fitted) -> None:
    parameters, _ = fitted
    without = learn(name, remote, parameters, average=average)
    remote.cluster.slots = [Slot(0, ()), *(replace(slot, index=slot.index + 1) for slot in remote.cluster.slots)]
    np.testing.assert_allclose(learn(name, remote, parameters, average=average), without, rtol=1e-4)
