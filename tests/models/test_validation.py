"""Validation words: held out of training, scored after each iteration, and decisive for which one is kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import LDA, TWDA, TWTM
from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import ExpectationMaximisation
from tagtopic.models._validation import hold_out_words

PLANTED = make_tagged_corpus(500, 8, 30, 800, random_state=0).corpus
TRAIN, TEST = PLANTED.split(0.6, 0)
MAXIMUM_LIKELIHOOD: dict[str, Any] = {
    "inference": "map", "tag_topic_prior": 0, "topic_word_prior": 0, "tol": 0, "random_state": 0,
}  # fmt: skip
"""The paper's maximum likelihood, which overfits 200 documents within a few iterations."""


def test_training_and_validation_words_add_up_to_the_corpus() -> None:
    with hold_out_words(TRAIN, 0.4, 3) as (training, held):
        assert held is not None
        assert isinstance(training, Corpus)
        whole, left = TRAIN.counts.toarray(), training.counts.toarray()
        taken = np.zeros_like(whole)
        taken[held.rows] = held.words.counts.toarray()
        known = left.sum(axis=0) > 0
        np.testing.assert_array_equal(whole[:, known], (left + taken)[:, known])
        assert not taken[:, ~known].any()
        assert training.counts.data.min() > 0
        assert len(held.rows) <= 0.4 * len(TRAIN)
        assert 0.35 < taken.sum() / whole[held.rows].sum() < 0.65
        assert np.all(left[held.rows].sum(axis=1) > 0)
        np.testing.assert_array_equal(TRAIN.tags.indices[held.entries], held.words.tags.indices)


def test_nothing_is_held_out_of_documents_of_one_word() -> None:
    single = Corpus.from_counts(np.eye(6, dtype=int).repeat(2, axis=0))
    with pytest.raises(ValueError, match="holds out no word of 12 documents"), hold_out_words(single, 1.0, 0):
        pass


def test_a_training_corpus_in_files_is_the_same() -> None:
    with hold_out_words(TRAIN, 0.3, 0) as (training, _):
        expected = training.fingerprint()
    with hold_out_words(TRAIN, 0.3, 0, block_entries=700, spill_at=1000) as (training, _):
        assert training.fingerprint() == expected


@pytest.mark.parametrize("seed", [0, 1])
def test_early_stopping_prevents_overfitting(seed: int) -> None:
    corpus = make_tagged_corpus(500, 8, 30, 800, random_state=seed).corpus
    train, test = corpus.split(0.6, 0)
    validated = TWTM(16, validation_fraction=0.3, max_iter=80, **MAXIMUM_LIKELIHOOD).fit(train)
    curve = validated.validation_perplexity_
    assert validated.best_iteration_ == np.argmin(curve) + 1
    assert validated.n_iter_ == validated.best_iteration_ + validated.patience < 80
    assert validated.stopped_early_
    assert not validated.converged_
    plain = TWTM(16, max_iter=80, **MAXIMUM_LIKELIHOOD).fit(train)
    assert validated.perplexity(test) < 0.95 * plain.perplexity(test)


def test_the_parameters_of_the_best_iteration_are_kept() -> None:
    validated = TWTM(16, validation_fraction=0.3, max_iter=60, **MAXIMUM_LIKELIHOOD).fit(TRAIN)
    best = validated.best_iteration_
    stopped_there = TWTM(16, validation_fraction=0.3, max_iter=best, **MAXIMUM_LIKELIHOOD).fit(TRAIN)
    assert best < validated.n_iter_
    np.testing.assert_array_equal(validated.components_, stopped_there.components_)
    np.testing.assert_array_equal(validated.tag_topics_, stopped_there.tag_topics_)
    np.testing.assert_array_equal(validated.topic_shares_, stopped_there.topic_shares_)


@pytest.mark.parametrize("kind", [TWTM, TWDA, LDA])
def test_the_bound_is_that_of_a_fit_to_the_training_words(kind: type[TagTopicModel]) -> None:
    validated = kind(4, validation_fraction=0.2, max_iter=12, random_state=3).fit(TRAIN)
    with hold_out_words(TRAIN, 0.2, 3) as (training, _):
        plain = kind(4, max_iter=12, random_state=3).fit(training)
    np.testing.assert_array_equal(validated.history_["bound"], plain.bound_[: validated.n_iter_])
    assert len(validated.history_["perplexity"]) == validated.n_iter_
    assert set(plain.history_) == {"bound"}
    assert plain.best_iteration_ == plain.n_iter_


def expected_perplexity(model: TagTopicModel, state: Any, held: Any) -> float:
    """By hand, one document at a time."""
    total, n_words = 0.0, 0.0
    psi = np.asarray(model.components_, float)
    for place, row in enumerate(held.rows):
        tags = TRAIN.tags.indices[TRAIN.tags.indptr[row] : TRAIN.tags.indptr[row + 1]]
        xi = np.append(state.xi[TRAIN.tags.indptr[row] : TRAIN.tags.indptr[row + 1]], state.xi_latent[row]).astype(
            float
        )
        own = state.rho[row].astype(float) if len(state.rho) > 1 else np.ones(len(psi))
        rows: NDArray[Any] = np.vstack([model.tag_topics_[tags], own / own.sum()])
        words = held.words.counts.toarray()[place]
        total += (words * np.log(np.maximum(xi / xi.sum() @ rows @ psi, 1e-300))).sum()
        n_words += words.sum()
    return float(np.exp(-total / n_words))


@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_validation_perplexity_agrees_with_dense_matrices(
    kind: type[TagTopicModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    validate = ExpectationMaximisation._validate

    def recorded(fit: ExpectationMaximisation, posterior: Any, parallel: Any) -> None:
        calls.append((posterior, fit.validation))
        validate(fit, posterior, parallel)

    monkeypatch.setattr(ExpectationMaximisation, "_validate", recorded)
    model = kind(4, inference="cvb0", validation_fraction=0.2, max_iter=1, random_state=3).fit(TRAIN)
    assert model.validation_perplexity_[0] == pytest.approx(expected_perplexity(model, *calls[0]), rel=1e-5)


def test_validation_perplexity_is_bit_identical_for_any_threads() -> None:
    curves = [
        TWDA(4, validation_fraction=0.5, max_iter=8, random_state=0, n_jobs=n_jobs).fit(TRAIN).validation_perplexity_
        for n_jobs in (1, 2, 4)
    ]
    assert curves[0].tobytes() == curves[1].tobytes() == curves[2].tobytes()


@pytest.mark.parametrize("stopped_after", [4, 15])
def test_a_resumed_fit_keeps_the_same_best_iteration(stopped_after: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"validation_fraction": 0.3, **MAXIMUM_LIKELIHOOD}
    whole = TWTM(16, max_iter=80, **settings).fit(TRAIN)
    path = tmp_path / "fit.checkpoint"
    TWTM(16, max_iter=stopped_after, checkpoint=path, **settings).fit(TRAIN)  # before and after the best iteration
    resumed = TWTM(16, max_iter=80, checkpoint=path, **settings).fit(TRAIN)
    assert stopped_after < whole.best_iteration_ or whole.best_iteration_ < stopped_after < whole.n_iter_
    for name in ("components_", "tag_topics_", "bound_", "validation_perplexity_", "topic_shares_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), err_msg=name)


def test_validation_perplexity_is_in_the_model_file(tmp_path: Path) -> None:
    model = TWTM(4, validation_fraction=0.2, max_iter=5, random_state=0).fit(TRAIN)
    model.save(tmp_path / "model")
    again = TWTM.load(tmp_path / "model")
    np.testing.assert_array_equal(again.validation_perplexity_, model.validation_perplexity_)
    assert again.best_iteration_ == model.best_iteration_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation_fraction": 1.5}, "validation_fraction=1.5"),
        ({"validation_fraction": "half"}, "validation_fraction='half'"),
        ({"patience": 0}, "patience=0"),
    ],
)
def test_invalid_settings_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TWDA(4, **settings).fit(TRAIN)
