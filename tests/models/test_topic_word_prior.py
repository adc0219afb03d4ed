"""The prior of the topics' words (beta), estimated from validation words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic._core.parallel import ThreadPool
from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines.local import LocalEngine
from tagtopic.inference.m_step import m_step
from tagtopic.inference.priors.topic_words import log_occurrences, replace_word_prior, update_word_prior
from tagtopic.inference.types import Statistics
from tagtopic.models import LDA, TWDA, _settings
from tagtopic.models._base import TagTopicModel
from tagtopic.models._validation import ValidationWords, hold_out_words

PLANTED = make_tagged_corpus(400, 8, 30, 600, model="twda", random_state=0).corpus
TRAIN, TEST = PLANTED.split(0.5, 0)
ESTIMATED: dict[str, Any] = {"topic_word_prior": "estimate", "random_state": 0}


def after_iterations(beta: float) -> Any:
    """After a few iterations under this mean beta: the arguments of the update, and the counts behind psi."""
    model = TWDA(20, inference="map", topic_word_prior=beta, dtype="float64", random_state=0)
    with hold_out_words(TRAIN, 0.4, 0) as (training, held):
        assert isinstance(held, ValidationWords)
        assert isinstance(training, Corpus)
        parameters, priors = _settings.initial_parameters(model, training)
        with LocalEngine(1).session(training, parameters, "map") as session:
            for _ in range(12):
                empty = Statistics.empty_like(parameters)
                sums = session.e_step(parameters, empty, sweeps=3)
                counts = sums.psi.copy()
                found = m_step(sums, priors, session.method, session)
                parameters = replace(parameters, psi=found.psi, theta=found.theta, totals=found.totals(priors))
            return held, session.posterior, parameters, priors, found.topic_sizes, counts, training.word_counts()


def psi_under(beta: Any, counts: Any) -> Any:
    """The M-step by hand."""
    return (counts + beta[:, None]) / (counts.sum(axis=0) + beta.sum())


def value_under(beta: Any, held: ValidationWords, state: Any, parameters: Any, counts: Any) -> float:
    """The log probability of the held-out words by hand."""
    mixes, words = held.mixes(state, parameters), held.words.counts.toarray()
    return float((words * np.log(mixes @ psi_under(beta, counts).T + (words == 0))).sum())


@pytest.mark.parametrize("start", [0.02, 3.0])
def test_the_update_is_a_local_maximum_on_validation_words(start: float) -> None:
    held, state, parameters, priors, sizes, counts, occurrences = after_iterations(start)
    logs, beta = log_occurrences(occurrences), priors.beta
    with ThreadPool(1) as workers:
        found = update_word_prior(beta, logs, sizes, held, state, parameters, workers)
    value = value_under(found, held, state, parameters, counts)
    assert value > value_under(beta, held, state, parameters, counts) + 1
    assert 0.5 - 1e-6 <= found.sum() / beta.sum() <= 2 + 1e-6
    tilt = np.polyfit(logs, np.log(found / beta), 1)[0]
    assert abs(tilt) <= 0.1 + 1e-6
    for scale, power in [(0.9, 0.0), (1.1, 0.0), (1.0, 0.03), (1.0, -0.03)]:
        other = scale * found * np.exp(power * logs)
        inside = 0.5 <= other.sum() / beta.sum() <= 2 and abs(tilt + power) <= 0.1
        if inside:
            assert value > value_under(other, held, state, parameters, counts) - 0.5


def test_psi_under_another_prior_is_that_of_the_m_step() -> None:
    _, _, parameters, priors, sizes, counts, _ = after_iterations(0.3)
    beta = priors.beta * np.linspace(0.5, 2.0, len(priors.beta))
    with ThreadPool(2) as workers:
        made = replace_word_prior(parameters, sizes, priors.beta, beta, workers)
    np.testing.assert_allclose(made.psi, psi_under(beta, counts), rtol=1e-9)
    assert made.totals is not None
    np.testing.assert_allclose(made.totals.topics, sizes + beta.sum())
    assert made.totals.word_prior is beta


@pytest.mark.parametrize("kind", [LDA, TWDA])
def test_flatter_topics_have_a_larger_prior(kind: type[TagTopicModel]) -> None:
    means = {}
    for planted in (0.02, 2.0):
        corpus = make_tagged_corpus(400, 5, 20, 400, word_concentration=planted, random_state=1).corpus
        means[planted] = kind(5, max_iter=60, **ESTIMATED).fit(corpus).topic_word_prior_.mean()
    assert means[0.02] < means[2.0]


def test_estimation_helps_where_the_default_is_wrong() -> None:
    corpus = make_tagged_corpus(300, 5, 20, 400, word_concentration=3.0, random_state=2).corpus
    train, test = corpus.split(0.5, 0)
    given = LDA(20, inference="cvb0", max_iter=80, random_state=0).fit(train)
    learnt = LDA(20, max_iter=80, **ESTIMATED).fit(train)
    assert learnt.perplexity(test) < given.perplexity(test)


def test_words_held_out_for_the_prior_alone_are_not_in_the_history() -> None:
    model = TWDA(4, max_iter=25, **ESTIMATED).fit(TRAIN)
    assert set(model.history_) == {"bound"}
    assert model.prior_updates_ == (10, 20)
    assert not model.stopped_early_
    assert model.best_iteration_ == model.n_iter_


def test_with_a_validation_fraction_the_best_iteration_is_kept() -> None:
    model = TWDA(4, max_iter=25, validation_fraction=0.3, patience=25, **ESTIMATED).fit(TRAIN)
    assert len(model.validation_perplexity_) == 25
    assert model.best_iteration_ == np.argmin(model.validation_perplexity_) + 1


def test_without_validation_words_the_prior_keeps_its_initial_value() -> None:
    model = TWDA(4, max_iter=25, validation_fraction=0, **ESTIMATED).fit(TRAIN)
    given = TWDA(4, inference="cvb0", max_iter=25, random_state=0).fit(TRAIN)
    np.testing.assert_array_equal(model.topic_word_prior_, given.topic_word_prior_)


def test_the_prior_is_bit_identical_for_any_threads() -> None:
    models = [TWDA(4, max_iter=32, n_jobs=n_jobs, **ESTIMATED).fit(TRAIN) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        assert other.topic_word_prior_.tobytes() == models[0].topic_word_prior_.tobytes()
        assert other.components_.tobytes() == models[0].components_.tobytes()


@pytest.mark.parametrize("stopped_after", [20, 25])
def test_a_resumed_fit_ends_with_the_same_bits(stopped_after: int, tmp_path: Path) -> None:
    whole = TWDA(4, max_iter=40, tol=0, **ESTIMATED).fit(TRAIN)
    path = tmp_path / "fit.checkpoint"
    TWDA(4, max_iter=stopped_after, tol=0, checkpoint=path, **ESTIMATED).fit(TRAIN)
    resumed = TWDA(4, max_iter=40, tol=0, checkpoint=path, **ESTIMATED).fit(TRAIN)
    for name in ("components_", "topic_word_prior_", "bound_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), err_msg=name)


def test_online_learning_estimates_it_too() -> None:
    settings: dict[str, Any] = {"learning": "online", "batch_size": 64, "max_iter": 4}
    model = TWDA(4, **settings, **ESTIMATED).fit(TRAIN)
    given = TWDA(4, **settings, random_state=0).fit(TRAIN)
    assert not np.allclose(model.topic_word_prior_, given.topic_word_prior_)
    assert np.all(model.topic_word_prior_ > 0)


def test_partial_fit_keeps_the_estimate() -> None:
    model = TWDA(4, max_iter=30, **ESTIMATED).fit(TRAIN)
    learnt = model.topic_word_prior_
    model.partial_fit(TEST)
    np.testing.assert_array_equal(model.topic_word_prior_[: len(learnt)], learnt)
    first = TWDA(4, **ESTIMATED).partial_fit(TRAIN)
    assert first.topic_word_prior_.mean() == pytest.approx(_settings.TOPIC_WORD_SCALE)


def test_the_estimate_is_in_the_model_file(tmp_path: Path) -> None:
    model = TWDA(4, max_iter=30, **ESTIMATED).fit(TRAIN)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(TWDA.load(tmp_path / "model").topic_word_prior_, model.topic_word_prior_)


def test_the_default_of_a_sampler_falls_with_many_topics() -> None:
    counts = np.array([3.0, 0.0, 5.0])

    def prior(n_topics: int, **given: Any) -> Any:
        return _settings.topic_word_prior(TWDA(n_topics, **{"inference": "gibbs", **given}), counts)

    assert prior(20)[[0, 2]].tolist() == prior(50)[[0, 2]].tolist() == [0.05, 0.05]
    np.testing.assert_allclose(prior(1600)[[0, 2]], 0.05 / 4)
    assert prior(1600)[1] < 0.01
    assert prior(1600, topic_word_prior=0.05)[0] == 0.05
    np.testing.assert_array_equal(prior(1600, inference="map"), prior(50, inference="map"))
