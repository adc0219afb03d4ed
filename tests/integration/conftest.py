"""One cluster of two workers, and one context on it, for all Spark tests: starting them takes long."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.base import Engine
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.spark.context import SparkMissingError, require_java
from tagtopic.inference.m_step import m_step
from tagtopic.inference.priors.latent_topics import update_latent_prior
from tagtopic.inference.priors.tag_weights import HyperPrior
from tagtopic.inference.types import Parameters, Priors, Statistics
from tagtopic.testing import QUICK_START, SparkCluster

BLOCK_ENTRIES = 2000
N_TOPICS = 4
CONFIG = {"spark.executor.memory": "512m", "spark.log.level": "ERROR"}
ARCHIVE = Path(__file__).parents[2] / "build" / "spark.jsa"
"""A class-data archive of Spark, made by ``make archive``."""


@pytest.fixture(scope="session", autouse=True)
def _java() -> None:
    """Skip without Java; let every Java that any process starts use the archive."""
    try:
        require_java()
    except SparkMissingError as missing:
        pytest.skip(str(missing))
    os.environ["JAVA_TOOL_OPTIONS"] = QUICK_START + (f" -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else "")


@pytest.fixture(scope="session")
def cluster() -> Iterator[SparkCluster]:
    pytest.importorskip("pyspark")
    with SparkCluster(workers=2) as running:
        yield running


@pytest.fixture(scope="session")
def context(cluster: SparkCluster) -> Iterator[Any]:
    from tagtopic.engines.spark.context import open_context

    opened = open_context(cluster.master, CONFIG)
    yield opened
    opened.stop()


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Documents in six groups that share no tags, so that there are several components."""
    parts = [
        make_tagged_corpus(n_documents=40, n_topics=N_TOPICS, n_tags=8, n_words=300, random_state=seed).corpus
        for seed in range(6)
    ]
    counts = np.concatenate([part.counts.toarray() for part in parts])
    tags = [[f"{group}:{tag}" for tag in document.tags] for group, part in enumerate(parts) for document in part]
    order = np.random.default_rng(0).permutation(len(counts))
    return Corpus.from_counts(counts[order], [tags[i] for i in order])


Start = Callable[..., tuple[Parameters, Priors]]


@pytest.fixture(scope="session")
def start() -> Start:
    return start_of


def start_of(corpus: Corpus, *, latent: bool, dtype: str = "float32") -> tuple[Parameters, Priors]:
    topics = np.random.default_rng(0).gamma(1.0, size=(corpus.n_words, N_TOPICS))
    parameters = Parameters(
        psi=(topics / topics.sum(axis=0)).astype(dtype),
        theta=np.full((corpus.n_tags, N_TOPICS), 1 / N_TOPICS, dtype),
        pi=np.ones(corpus.n_tags),
        pi_latent=5.0,
        mu=np.full(N_TOPICS, 0.1),
        latent=latent,
    )
    return parameters, Priors(alpha=np.full(N_TOPICS, 0.5), beta=np.full(corpus.n_words, 0.1))


Fit = Callable[..., Parameters]


@pytest.fixture(scope="session")
def fit(corpus: Corpus) -> Fit:
    """Some iterations of EM on an engine, with priors updated after the third; ``before_step`` may interfere."""

    def fit(
        engine: Engine,
        *,
        latent: bool = False,
        inference: str = "map",
        iterations: int = 5,
        before_step: Callable[[int, Any], None] = lambda iteration, session: None,
    ) -> Parameters:
        parameters, priors = start_of(corpus, latent=latent)
        spare = Statistics.empty_like(parameters)
        learnt = np.ones(len(parameters.all_pi), np.bool_)
        with engine.session(corpus, parameters, inference) as session:
            for iteration in range(1, iterations + 1):
                before_step(iteration, session)
                used = parameters
                psi, theta, *_ = m_step(session.e_step(used, spare, sweeps=3), priors, session.method, session)
                parameters = replace(used, psi=psi, theta=theta)
                spare = Statistics(used.psi, used.theta, 0.0)
                if iteration == 3:
                    parameters = parameters.with_all_pi(session.update_weight_prior(parameters, HyperPrior(), learnt))
                    if latent:
                        parameters = replace(
                            parameters, mu=update_latent_prior(parameters.mu, *session.latent_log_expectations())
                        )
        return parameters

    return fit


@pytest.fixture(scope="session")
def local_engine() -> LocalEngine:
    return LocalEngine(1, block_entries=BLOCK_ENTRIES)


@pytest.fixture
def spark_engine(context: Any) -> Callable[..., Any]:
    """Make engines on the shared context, with the local engine's blocks."""
    from tagtopic.engines import SparkEngine

    def make(**options: Any) -> SparkEngine:
        return SparkEngine(context, block_entries=BLOCK_ENTRIES, n_jobs=1, **options)

    return make
