"""The local engine: statistics of the reference, for any number of threads and any size of blocks."""

import mmap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import block_posterior
from tagtopic.inference import reference
from tagtopic.inference.m_step import log_prior, m_step
from tagtopic.inference.methods import E_STEP_METHODS
from tagtopic.inference.types import CountTotals, Parameters, Priors, Statistics
from tagtopic.models import TWDA, TWTM

CORPUS = make_tagged_corpus(120, 4, 9, 60, model="twda", untagged=0.2, random_state=3).corpus
MONOTONE = [method.name for method in E_STEP_METHODS.values() if method.is_monotone]


def parameters(latent: bool = True, dtype: str = "float64") -> Parameters:
    random = np.random.default_rng(0)
    return Parameters(
        psi=np.ascontiguousarray(random.dirichlet(np.ones(CORPUS.n_words), 4).T, dtype),
        theta=random.dirichlet(np.ones(4), CORPUS.n_tags).astype(dtype),
        pi=random.gamma(2.0, size=CORPUS.n_tags),
        pi_latent=2.0,
        mu=np.full(4, 0.3),
        latent=latent,
    )


@pytest.mark.parametrize("method", E_STEP_METHODS)
def test_statistics_equal_the_sum_over_reference_documents(method: str) -> None:
    random = np.random.default_rng(1)
    totals = CountTotals(
        random.gamma(20.0, size=4), random.gamma(2.0, size=CORPUS.n_tags), np.full(CORPUS.n_words, 0.05)
    )
    given = replace(parameters(), totals=totals)
    expected_psi, expected_theta, expected_objective = np.zeros_like(given.psi), np.zeros_like(given.theta), 0.0
    with LocalEngine(2, block_entries=500).session(CORPUS, given, method) as session:
        starts = [np.array(part) for part in session.posterior]
        found = session.e_step(given, Statistics.empty_like(given), sweeps=2)
    for d in range(CORPUS.n_documents):
        words = slice(CORPUS.counts.indptr[d], CORPUS.counts.indptr[d + 1])
        entries = slice(CORPUS.tags.indptr[d], CORPUS.tags.indptr[d + 1])
        columns, tags = CORPUS.counts.indices[words], CORPUS.tags.indices[entries]
        document = reference.Document(
            psi=given.psi[columns].astype(np.float64),
            counts=CORPUS.counts.data[words].astype(float),
            theta=given.theta[tags].astype(np.float64),
            prior=np.append(given.pi[tags], given.pi_latent),
            xi=np.append(starts[0][entries], starts[1][d]),
            mu=given.mu,
            rho=starts[2][d],
            leave_one_out=reference.LeaveOneOut(1 / totals.topics, 1 / totals.tags[tags], totals.word_prior[columns]),
        )
        _, evaluated, _ = reference.sweep(method, document, 2)
        expected_psi[columns] += evaluated.word_counts
        expected_theta[tags] += evaluated.tag_counts[:-1]
        expected_objective += evaluated.objective
    tolerance = 1e-4 if method == "paper" else 1e-9
    np.testing.assert_allclose(found.psi, expected_psi, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.theta, expected_theta, rtol=tolerance, atol=tolerance)
    assert found.objective == pytest.approx(expected_objective, rel=1e-7)


@pytest.mark.parametrize("kind", [TWTM, TWDA])
@pytest.mark.parametrize("method", E_STEP_METHODS)
def test_parameters_have_the_same_bits_for_any_number_of_threads(kind: type[TWTM], method: str) -> None:
    corpus = make_tagged_corpus(600, 5, 20, 200, random_state=1).corpus
    model = kind(5, max_iter=8, tol=0, prior_warm_up=2, prior_every=2)
    fits = []
    for n_jobs in (1, 2, 4):
        model.set_params(n_jobs=n_jobs, random_state=7, inference=method, tag_weight_prior="estimate")
        # small blocks, so that there are several, and many chunks for the threads to race for
        model.fit(corpus, engine=LocalEngine(n_jobs, block_entries=4000))
        fits.append({name: np.array(getattr(model, name)) for name in ("components_", "tag_topics_", "bound_")})
        assert model.prior_updates_
    for other in fits[1:]:
        for name, value in fits[0].items():
            assert value.tobytes() == other[name].tobytes(), name


def test_block_size_changes_only_the_rounding_of_statistics() -> None:
    """Within a block sums carry double precision and are rounded once a block: hence single precision's 1e-7, grown."""
    corpus = make_tagged_corpus(600, 5, 20, 200, random_state=1).corpus
    fits = [
        TWDA(5, max_iter=20, tol=0, random_state=7).fit(corpus, engine=LocalEngine(2, block_entries=entries))
        for entries in (3000, 1 << 19)
    ]
    np.testing.assert_allclose(fits[0].components_, fits[1].components_, rtol=5e-3, atol=1e-6)
    np.testing.assert_allclose(fits[0].bound_, fits[1].bound_, rtol=1e-6)
    single = [LocalEngine(1, block_entries=entries) for entries in (3000, 1 << 19)]
    given = parameters(dtype="float32")
    sums = []
    for engine in single:
        with engine.session(CORPUS, given, "map") as session:
            sums.append(session.e_step(given, Statistics.empty_like(given), sweeps=2))
    np.testing.assert_allclose(sums[0].psi, sums[1].psi, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", MONOTONE)
@pytest.mark.parametrize("sweeps", [1, 4])
def test_the_objective_is_monotone_while_priors_are_fixed(method: str, sweeps: int) -> None:
    given, priors = parameters(), Priors(alpha=np.full(4, 0.5), beta=np.full(CORPUS.n_words, 0.1))
    objectives = []
    with LocalEngine(2, block_entries=700).session(CORPUS, given, method) as session:
        for _ in range(25):
            sums = session.e_step(given, Statistics.empty_like(given), sweeps=sweeps + (method == "paper"))
            objectives.append(sums.objective + log_prior(given, priors, session.method, session))
            psi, theta, *_ = m_step(sums, priors, session.method, session)
            given = Parameters(psi, theta, given.pi, given.pi_latent, given.mu, given.latent)
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1]))
    assert objectives[-1] > objectives[0] + 1


def test_without_priors_parameters_stay_positive_and_finite() -> None:
    """The limit of maximum likelihood, in which the paper's log theta must stay finite."""
    given, none = parameters(), Priors(alpha=np.zeros(4), beta=np.zeros(CORPUS.n_words))
    with LocalEngine(1).session(CORPUS, given, "paper") as session:
        for _ in range(30):
            psi, theta, *_ = m_step(
                session.e_step(given, Statistics.empty_like(given), sweeps=3), none, session.method, session
            )
            given = Parameters(psi, theta, given.pi, given.pi_latent, given.mu, given.latent)
    assert given.psi.min() > 0
    assert given.theta.min() > 0
    assert np.isfinite(given.psi).all()


def test_a_blocks_posterior_is_a_view() -> None:
    given = parameters()
    with LocalEngine(1, block_entries=500).session(CORPUS, given, "map") as session:
        block = session.blocks[1]
        block_posterior(session.posterior, block).xi_latent[:] = -1.0
        assert np.all(session.posterior.xi_latent[block.first : block.last] == -1.0)
        assert np.all(session.posterior.xi_latent[: block.first] != -1.0)


@pytest.mark.parametrize("latent", [True, False])
def test_a_streamed_corpus_gives_the_same_bits_as_one_in_memory(latent: bool, tmp_path: Path) -> None:
    corpus = make_tagged_corpus(600, 5, 20, 200, random_state=1).corpus
    corpus.save(tmp_path / "corpus")
    model = (TWDA if latent else TWTM)(5, max_iter=12, tol=0, random_state=7, tag_weight_prior="estimate")
    whole = model.fit(corpus, engine=LocalEngine(2, block_entries=4000)).parameters_
    streaming = LocalEngine(2, block_entries=4000, kept_entries=0, spill_at=0, scratch=tmp_path)
    streamed = model.fit(Corpus.open(tmp_path / "corpus"), engine=streaming).parameters_
    for name in ("psi", "theta", "pi", "mu"):
        assert getattr(whole, name).tobytes() == getattr(streamed, name).tobytes(), name
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_a_streamed_session_keeps_only_posteriors_in_files(tmp_path: Path) -> None:
    given = parameters()
    streaming = LocalEngine(1, block_entries=500, kept_entries=0, spill_at=0, scratch=tmp_path)
    with streaming.session(CORPUS, given, "map") as session:
        session.e_step(given, Statistics.empty_like(given), sweeps=1)
        assert not any({"by_word", "by_tag"} & set(vars(block)) for block in session.blocks)
        assert all(is_mapped(array) for array in session.posterior)
        assert len(list(tmp_path.rglob("*"))) == 4  # a folder and three arrays
    assert not list(tmp_path.iterdir())


def is_mapped(array: object) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)
