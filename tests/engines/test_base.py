"""The engine contract, and the table of engines."""

import threading
from typing import Any

import numpy as np
import pytest

from tagtopic import TWDA
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import ENGINES, LocalEngine, engine_class
from tagtopic.engines.base import Engine, Session
from tagtopic.engines.posterior import DocumentPosteriors
from tagtopic.inference.types import Parameters, Statistics

CORPUS = make_tagged_corpus(150, 3, 8, 90, model="twda", untagged=0.2, random_state=1).corpus


class OtherEngine(Engine):
    """An engine written against the contract alone; it counts its sessions."""

    supports_online = True

    def __init__(self) -> None:
        self.local = LocalEngine(1)
        self.n_sessions = 0

    def session(self, corpus: Any, parameters: Parameters, inference: str, *, posterior: Any = None) -> Session:
        self.n_sessions += 1
        return self.local.session(corpus, parameters, inference, posterior=posterior)

    def infer(self, corpus: Any, parameters: Parameters, inference: str, **options: Any) -> DocumentPosteriors:
        return self.local.infer(corpus, parameters, inference, **options)


def parameters() -> Parameters:
    random = np.random.default_rng(0)
    psi = np.ascontiguousarray(random.dirichlet(np.ones(CORPUS.n_words), 3).T)
    theta = random.dirichlet(np.ones(3), CORPUS.n_tags)
    return Parameters(psi, theta, np.ones(CORPUS.n_tags), 2.0, np.ones(3), latent=True)


@pytest.mark.parametrize("learning", ["batch", "online"])
def test_models_fit_with_any_engine_of_the_contract(learning: str) -> None:
    settings: dict[str, Any] = {"learning": learning, "max_iter": 3, "random_state": 0, "batch_size": 60}
    settings["inference"] = "cvb0"
    engine = OtherEngine()
    found = TWDA(3, **settings).fit(CORPUS, engine=engine)
    expected = TWDA(3, **settings).fit(CORPUS, engine=LocalEngine(2))
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.tag_topics_, expected.tag_topics_)
    n_batches = -(-len(CORPUS) // 60)
    assert engine.n_sessions == (1 if learning == "batch" else 1 + found.n_iter_ * n_batches)


def test_threads_are_shared_in_a_with_block_and_end_with_it() -> None:
    def names() -> set[str]:
        barrier = threading.Barrier(2, timeout=30)  # two items at once, so that two threads take part

        def name(_: int) -> str:
            barrier.wait()
            return threading.current_thread().name

        return set(engine.map(name, range(2)))

    engine, given = LocalEngine(2), parameters()
    before = threading.active_count()
    with engine:
        first = names()
        with engine, engine.session(CORPUS, given, "map") as session:
            session.e_step(given, Statistics.empty_like(given), sweeps=1)
            assert names() == first
        assert names() == first
    assert threading.active_count() == before
    names()
    assert threading.active_count() == before


def test_a_session_starts_from_given_posteriors_and_updates_them_in_place() -> None:
    engine, given = LocalEngine(1), parameters()
    with engine.session(CORPUS, given, "map") as session:
        session.e_step(given, Statistics.empty_like(given), sweeps=1)
        posterior = type(session.posterior)(*(array.copy() for array in session.posterior))
        expected = session.e_step(given, Statistics.empty_like(given), sweeps=1)
    with engine.session(CORPUS, given, "map", posterior=posterior) as again:
        found = again.e_step(given, Statistics.empty_like(given), sweeps=1)
        assert again.posterior is posterior
    np.testing.assert_array_equal(found.psi, expected.psi)


def test_inferring_with_enough_sweeps_equals_a_converged_e_step() -> None:
    engine, given = LocalEngine(1), parameters()
    found = engine.infer(CORPUS, given, "map", sweeps=300, tolerance=1e-7)
    with engine.session(CORPUS, given, "map") as session:
        session.e_step(given, Statistics.empty_like(given), sweeps=300, tolerance=1e-7)
        rho = session.posterior.rho
    assert found.topics.sum(axis=1) == pytest.approx(1.0)
    untagged = np.flatnonzero(np.diff(CORPUS.tags.indptr) == 0)
    assert found.latent[untagged] == pytest.approx(1.0)
    np.testing.assert_allclose(found.topics[untagged], (rho / rho.sum(axis=1, keepdims=True))[untagged], rtol=1e-5)


def test_engines_are_found_by_name() -> None:
    assert engine_class("local") is LocalEngine
    assert next(iter(ENGINES)) == "local"
    assert isinstance(LocalEngine.connect(None, n_jobs=1), LocalEngine)
    with pytest.raises(ValueError, match="engine='grid': expected one of 'local', 'spark'"):
        engine_class("grid")


def test_an_engine_that_reads_no_files_says_so() -> None:
    assert not LocalEngine(1).can_read(["posts.parquet"])
    with pytest.raises(NotImplementedError, match=r"use Corpus\.read"):
        LocalEngine(1).read("posts.parquet")


def test_an_engine_without_a_sampler_says_so() -> None:
    with pytest.raises(ValueError, match='OtherEngine has no sampler: use inference="cvb0"'):
        TWDA(2, inference="gibbs", tag_predictor=False).fit(CORPUS, engine=OtherEngine())
