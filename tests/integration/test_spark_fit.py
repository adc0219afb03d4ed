"""Fits on a real cluster against the same fits on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tagtopic import TWTM, Corpus
from tagtopic.engines.distributed.session import TransferSizes
from tagtopic.engines.local import LocalEngine
from tagtopic.inference.methods import E_STEP_METHODS
from tagtopic.inference.types import Parameters, Statistics
from tagtopic.models._settings import TOPIC_WORD_SCALE, Schedule

FIELDS = ("psi", "theta", "pi", "pi_latent", "mu")


def assert_same_bits(one: Parameters, other: Parameters) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)


def assert_close(one: Parameters, other: Parameters, relative: float) -> None:
    for field in FIELDS:
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=relative, err_msg=field)


def one_step(engine: Any, corpus: Corpus, parameters: Parameters, inference: str) -> tuple[Statistics, Any]:
    sums = Statistics.empty_like(parameters)
    with engine.session(corpus, parameters, inference) as session:
        return session.e_step(parameters, sums, sweeps=3), session.posterior


@pytest.mark.parametrize("inference", E_STEP_METHODS)
def test_an_e_step_has_the_bits_of_the_local_engine(
    inference: str, corpus: Corpus, local_engine: LocalEngine, spark_engine: Callable[..., Any], start: Any
) -> None:
    parameters, _ = start(corpus, latent=True)
    expected, expected_state = one_step(local_engine, corpus, parameters, inference)
    found, state = one_step(spark_engine(), corpus, parameters, inference)
    np.testing.assert_array_equal(found.psi, expected.psi)
    np.testing.assert_array_equal(found.theta, expected.theta)
    assert found.objective == expected.objective
    for mine, theirs in zip(state, expected_state, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("collect", [0, 30_000])
def test_statistics_of_a_larger_model_are_added_by_ranges_or_by_partitions(
    collect: int, corpus: Corpus, local_engine: LocalEngine, spark_engine: Callable[..., Any], start: Any
) -> None:
    transfer = TransferSizes(collect=collect, wave=1600, row_range=800)  # 50 words of 4 topics
    parameters, _ = start(corpus, latent=True)
    expected, expected_state = one_step(local_engine, corpus, parameters, "map")
    found, state = one_step(spark_engine(transfer=transfer), corpus, parameters, "map")
    np.testing.assert_allclose(found.psi, expected.psi, rtol=1e-6)
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-6)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    for mine, theirs in zip(state, expected_state, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_fit_with_the_driver_update_has_the_bits_of_a_local_fit(
    fit: Any, local_engine: LocalEngine, spark_engine: Callable[..., Any]
) -> None:
    assert_same_bits(fit(spark_engine(), latent=True), fit(local_engine, latent=True))


def test_a_fit_with_the_gradient_update_equals_a_local_fit(
    fit: Any, local_engine: LocalEngine, spark_engine: Callable[..., Any]
) -> None:
    assert_close(fit(spark_engine(weight_update="gradient"), latent=True), fit(local_engine, latent=True), 1e-5)


def test_a_fit_with_the_components_update_equals_a_local_fit(
    fit: Any, local_engine: LocalEngine, spark_engine: Callable[..., Any]
) -> None:
    assert_close(fit(spark_engine(weight_update="components")), fit(local_engine), 1e-5)


@pytest.mark.parametrize("average", ["weighted", "plain"])
def test_a_fit_with_the_average_update_has_nearly_the_same_perplexity(
    average: str, corpus: Corpus, fit: Any, local_engine: LocalEngine, spark_engine: Callable[..., Any]
) -> None:
    exact = perplexity(corpus, fit(local_engine))
    averaged = perplexity(corpus, fit(spark_engine(weight_update="average", average=average)))
    assert averaged != exact
    assert averaged == pytest.approx(exact, rel=0.01)


def perplexity(corpus: Corpus, parameters: Parameters) -> float:
    topics = LocalEngine(1).infer(corpus, parameters, "map").topics
    counts = corpus.counts.toarray()
    return float(np.exp(-(counts * np.log(topics @ parameters.psi.T)).sum() / counts.sum()))


def test_an_estimator_equals_that_of_a_local_fit(
    corpus: Corpus, local_engine: LocalEngine, spark_engine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Schedule, "due", lambda _, iteration: iteration == 1)
    monkeypatch.setattr(Schedule, "warm", lambda *_: True)
    held_out: dict[str, Any] = {"validation_fraction": 0.2, "topic_word_prior": "estimate"}
    model = TWTM(n_topics=4, max_iter=2, init="random", random_state=0, **held_out)
    expected, curve = model.fit(corpus, engine=local_engine).transform(corpus), model.validation_perplexity_
    word_prior = model.topic_word_prior_
    found = model.fit(corpus, engine=spark_engine()).transform(corpus)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.validation_perplexity_, curve)
    np.testing.assert_array_equal(model.topic_word_prior_, word_prior)
    assert word_prior.mean() != pytest.approx(TOPIC_WORD_SCALE)
