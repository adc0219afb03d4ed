"""Online learning: as good as batch learning in fewer passes."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic._core.memmap import TemporaryArrays
from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.local import LocalEngine
from tagtopic.engines.posterior import initial_posterior
from tagtopic.inference.m_step import m_step
from tagtopic.inference.types import Statistics, VariationalPosterior
from tagtopic.models import LDA, TWDA, TWTM, _settings
from tagtopic.models._base import TagTopicModel
from tagtopic.models._online import (
    NEW_SWEEPS,
    TOLERANCE,
    OnlineLearner,
    PosteriorTable,
    RunningStatistics,
)

PLANTED = make_tagged_corpus(2500, 6, 40, 400, model="twda", random_state=4)
TRAIN, TEST = PLANTED.corpus.split(500, 0)
SMALL = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus
LEARNT: dict[str, Any] = {"tag_weight_prior": "estimate"}


BATCH_FITTED: dict[type[TagTopicModel], TagTopicModel] = {}


def batch_fitted(kind: type[TagTopicModel]) -> TagTopicModel:
    """A batch fit to compare with, which the tests share and do not change."""
    if kind not in BATCH_FITTED:
        BATCH_FITTED[kind] = kind(6, inference="cvb0", random_state=0).fit(TRAIN)
    return BATCH_FITTED[kind]


def learner_of(model: TagTopicModel, corpus: Corpus, engine: LocalEngine) -> OnlineLearner:
    parameters, priors = _settings.initial_parameters(model, corpus)
    tokens, documents = corpus.counts.sum(axis=0).astype(float), corpus.tags.sum(axis=0).astype(float)
    running = RunningStatistics.initial(parameters, tokens, documents)
    return OnlineLearner(running, parameters, priors, _settings.prior_learning(model, corpus), "map", engine)


@pytest.mark.parametrize("kind", [TWTM, TWDA, LDA])
def test_online_perplexity_is_within_a_percent_of_batch(kind: type[TagTopicModel]) -> None:
    batch = batch_fitted(kind)
    online = kind(6, random_state=0, learning="online", batch_size=200).fit(TRAIN)
    assert online.perplexity(TEST) < 1.01 * batch.perplexity(TEST)
    assert online.n_iter_ < batch.n_iter_ / 2
    assert np.all(np.diff(online.bound_[1:]) > -1e-3 * np.abs(online.bound_[1:-1]))


def test_a_mini_batch_of_all_documents_is_one_batch_iteration() -> None:
    model = TWDA(4, inference="map", random_state=0, tag_topic_prior=np.full(4, 0.5), dtype="float64")
    with LocalEngine(1) as engine:
        learner = learner_of(model, SMALL, engine)
        before = learner.parameters()
        learner.step(SMALL)
        after = learner.parameters()
    sums = Statistics.empty_like(before)
    with LocalEngine(1).session(SMALL, before, "map") as session:
        session.e_step(before, sums, sweeps=NEW_SWEEPS, tolerance=TOLERANCE)
        found = m_step(sums, learner.priors, session.method, session)
    np.testing.assert_allclose(after.psi, found[0], rtol=1e-6)
    np.testing.assert_allclose(after.theta, found[1], rtol=1e-6)


def test_running_statistics_add_up_to_the_tokens() -> None:
    with LocalEngine(2) as engine:
        learner = learner_of(TWDA(4, inference="map", random_state=0, dtype="float64"), SMALL, engine)
        for first in range(0, len(SMALL), 70):
            learner.step(SMALL[first : first + 70])
        running = learner.running
    np.testing.assert_allclose(running.psi.sum(axis=1), running.tokens, rtol=1e-9)
    np.testing.assert_allclose(running.topic_sizes, running.psi.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(running.seen_tokens, SMALL.counts.sum(axis=0))


@pytest.mark.parametrize("at", [0, 1 << 20])
@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_posteriors_are_read_and_written_by_document(kind: type[TagTopicModel], at: int, tmp_path: Path) -> None:
    with closing(TemporaryArrays(tmp_path, at=at)) as spill:
        parameters, _ = _settings.initial_parameters(kind(4, inference="map", random_state=0), SMALL)
        posteriors = PosteriorTable(SMALL.tags.indptr, initial_posterior(SMALL, parameters, spill.empty))
        assert bool(list(tmp_path.iterdir())) == (at == 0)
        random = np.random.default_rng(0)
        rows = np.sort(random.permutation(len(SMALL))[:90])
        others = np.setdiff1d(np.arange(len(SMALL)), rows)
        before, moved = (
            posteriors.take(others),
            VariationalPosterior(*(part + random.random(part.shape) for part in posteriors.take(rows))),
        )
        posteriors.put(rows, moved)
        kept = (
            VariationalPosterior._fields if kind is TWDA else ("xi", "xi_latent")
        )  # without a latent tag there is one rho for all
        for name in kept:
            mine, expected = getattr(posteriors.take(rows), name), getattr(moved, name)
            np.testing.assert_array_equal(mine, expected.astype(mine.dtype), err_msg=name)
        for mine, expected in zip(posteriors.take(others), before, strict=True):
            np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_validation_perplexity_falls(kind: type[TagTopicModel]) -> None:
    settings: dict[str, Any] = {"batch_size": 60, "random_state": 0, "validation_fraction": 0.2, "max_iter": 3}
    curve = kind(4, learning="online", **settings).fit(SMALL).validation_perplexity_
    assert np.isfinite(curve).all()
    assert curve[-1] < curve[0] < SMALL.n_words


@pytest.mark.filterwarnings("ignore:there are 2 topics for 1 documents")
def test_one_document_suffices() -> None:
    model = TWDA(2, learning="online", random_state=0, max_iter=3).fit(SMALL[:1])
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.bound_).all()


@pytest.mark.parametrize("method", ["cvb0", "mixture", "paper"])
def test_results_are_bit_identical_for_any_threads(method: str) -> None:
    settings: dict[str, Any] = {"learning": "online", "batch_size": 100, "max_iter": 2, "random_state": 0, **LEARNT}
    fits = [TWDA(4, inference=method, n_jobs=n_jobs, **settings).fit(SMALL) for n_jobs in (1, 3)]
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "bound_"):
        assert np.array(getattr(fits[0], name)).tobytes() == np.array(getattr(fits[1], name)).tobytes(), name


def test_a_resumed_fit_ends_with_the_same_bits(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"learning": "online", "batch_size": 60, "random_state": 0, "validation_fraction": 0.2}
    settings |= {"tag_weight_prior": "estimate", "latent_topic_prior": "estimate"}
    whole = TWDA(4, max_iter=4, **settings).fit(SMALL)
    path = tmp_path / "fit"
    TWDA(4, max_iter=2, checkpoint=path, **settings).fit(SMALL)
    resumed = TWDA(4, max_iter=4, checkpoint=path, **settings).fit(SMALL)
    assert whole.n_iter_ == resumed.n_iter_ > 2
    for name in ("components_", "tag_topics_", "tag_weight_prior_", "latent_topic_prior_", "validation_perplexity_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), err_msg=name)


@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_estimated_weight_priors_are_near_those_of_batch_learning(kind: type[TagTopicModel]) -> None:
    settings: dict[str, Any] = {"random_state": 0, "tag_weight_prior": "estimate"}
    batch = kind(6, **settings).fit(TRAIN)
    online = kind(6, learning="online", batch_size=200, **settings).fit(TRAIN)
    apart = np.abs(np.log(online.tag_weight_prior_ / batch.tag_weight_prior_))
    assert np.median(apart) < 0.5


def test_online_learning_is_refused_on_clusters() -> None:
    class Elsewhere(LocalEngine):
        supports_online = False

        def session(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

    with pytest.raises(ValueError, match="learning='online' runs on this machine, not on a cluster"):
        TWDA(4, learning="online").fit(SMALL, engine=Elsewhere())
    with pytest.raises(ValueError, match="learning='sometimes'"):
        TWDA(4, learning="sometimes").fit(SMALL)
    with pytest.raises(ValueError, match="batch_size=0"):
        TWDA(4, learning="online", batch_size=0).fit(SMALL)
