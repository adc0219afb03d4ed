"""Held-out words: training never sees them, both curves are told, and the best iteration is kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import LDA, TWDA, TWTM, _validation
from tagtopic.models._base import TagTopicModel
from tagtopic.models._batch import ExpectationMaximisation, History
from tagtopic.models._progress import news, resident_bytes
from tagtopic.models._validation import hold_out

PLANTED = make_tagged_corpus(500, 8, 30, 800, random_state=0).corpus
TRAIN, TEST = PLANTED.split(0.6, 0)
UNPRIORED: dict[str, Any] = {
    "inference": "map", "tag_topic_prior": 0, "topic_word_prior": 0, "tol": 0, "random_state": 0,
}  # fmt: skip
"""The paper's maximum likelihood, which over-fits 200 documents within a few iterations."""


def test_training_and_held_out_words_add_up_to_the_corpus() -> None:
    with hold_out(TRAIN, 0.4, 3) as (training, held):
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


def test_documents_of_one_word_are_left_whole() -> None:
    single = Corpus.from_counts(np.eye(6, dtype=int).repeat(2, axis=0))
    with pytest.raises(ValueError, match="holds out no word of 12 documents"), hold_out(single, 1.0, 0):
        pass


def test_a_large_corpus_goes_through_files_and_comes_out_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with hold_out(TRAIN, 0.3, 0) as (training, _):
        expected = training.fingerprint()
    monkeypatch.setattr(_validation, "BLOCK_ENTRIES", 700)
    with hold_out(TRAIN, 0.3, 0) as (training, _):
        assert training.fingerprint() == expected


@pytest.mark.parametrize("seed", [0, 1])
def test_it_stops_over_fitting_at_the_best_iteration_and_wins_on_new_documents(seed: int) -> None:
    corpus = make_tagged_corpus(500, 8, 30, 800, random_state=seed).corpus
    train, test = corpus.split(0.6, 0)
    watched = TWTM(16, validation_fraction=0.3, max_iter=80, **UNPRIORED).fit(train)
    curve = watched.validation_perplexity_
    assert watched.best_iteration_ == np.argmin(curve) + 1
    assert watched.n_iter_ == watched.best_iteration_ + watched.patience < 80
    assert watched.stopped_early_
    assert not watched.converged_
    blind = TWTM(16, max_iter=80, **UNPRIORED).fit(train)
    assert watched.perplexity(test) < 0.95 * blind.perplexity(test)


def test_the_parameters_of_the_best_iteration_are_kept() -> None:
    watched = TWTM(16, validation_fraction=0.3, max_iter=60, **UNPRIORED).fit(TRAIN)
    best = watched.best_iteration_
    stopped_there = TWTM(16, validation_fraction=0.3, max_iter=best, **UNPRIORED).fit(TRAIN)
    assert best < watched.n_iter_
    np.testing.assert_array_equal(watched.components_, stopped_there.components_)
    np.testing.assert_array_equal(watched.tag_topics_, stopped_there.tag_topics_)
    np.testing.assert_array_equal(watched.topic_shares_, stopped_there.topic_shares_)


@pytest.mark.parametrize("kind", [TWTM, TWDA, LDA])
def test_the_bound_is_that_of_a_fit_without_the_held_out_words(kind: type[TagTopicModel]) -> None:
    watched = kind(4, validation_fraction=0.2, max_iter=12, random_state=3).fit(TRAIN)
    with hold_out(TRAIN, 0.2, 3) as (training, _):
        blind = kind(4, max_iter=12, random_state=3).fit(training)
    np.testing.assert_array_equal(watched.history_["bound"], blind.bound_[: watched.n_iter_])
    assert len(watched.history_["perplexity"]) == watched.n_iter_
    assert set(blind.history_) == {"bound"}
    assert blind.best_iteration_ == blind.n_iter_


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
def test_the_curve_is_the_perplexity_of_the_held_out_words(
    kind: type[TagTopicModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[Any] = []
    look = ExpectationMaximisation._look

    def spying(em: ExpectationMaximisation, state: Any, workers: Any) -> None:
        states.append((state, em.watch))
        look(em, state, workers)

    monkeypatch.setattr(ExpectationMaximisation, "_look", spying)
    model = kind(4, validation_fraction=0.2, max_iter=1, random_state=3).fit(TRAIN)
    assert model.validation_perplexity_[0] == pytest.approx(expected_perplexity(model, *states[0]), rel=1e-5)


def test_threads_do_not_change_the_curve() -> None:
    curves = [
        TWDA(4, validation_fraction=0.5, max_iter=8, random_state=0, n_jobs=n_jobs).fit(TRAIN).validation_perplexity_
        for n_jobs in (1, 2, 4)
    ]
    assert curves[0].tobytes() == curves[1].tobytes() == curves[2].tobytes()


@pytest.mark.parametrize("stopped_after", [4, 15])
def test_a_resumed_fit_keeps_the_same_best_iteration(stopped_after: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"validation_fraction": 0.3, **UNPRIORED}
    whole = TWTM(16, max_iter=80, **settings).fit(TRAIN)
    path = tmp_path / "fit.checkpoint"
    TWTM(16, max_iter=stopped_after, checkpoint=path, **settings).fit(TRAIN)  # before and after the best iteration
    resumed = TWTM(16, max_iter=80, checkpoint=path, **settings).fit(TRAIN)
    assert stopped_after < whole.best_iteration_ or whole.best_iteration_ < stopped_after < whole.n_iter_
    for name in ("components_", "tag_topics_", "bound_", "validation_perplexity_", "topic_shares_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), err_msg=name)


def test_the_curve_is_in_the_model_file(tmp_path: Path) -> None:
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
def test_wrong_settings_are_told(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TWDA(4, **settings).fit(TRAIN)


def test_the_progress_tells_both_curves_the_speed_and_the_memory() -> None:
    fit = ExpectationMaximisation.__new__(ExpectationMaximisation)
    fit.n_documents = 500
    fit.history = History(bound=[-200.0, -100.0], perplexity=[50.0, 60.0], seconds=[1.0, 3.0])
    told = news(fit)
    assert told.startswith("bound -100 held-out perplexity 60.0 (best 50.0, 1 ago) 250 documents/s")
    assert (resident_bytes() is None) == ("MB" not in told)
