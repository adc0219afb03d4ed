"""Batch EM: convergence, callbacks, learnt priors, interruption."""

import numpy as np
import pytest

from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import LDA, TWDA, TWTM

PLANTED = make_tagged_corpus(400, 4, 12, 150, random_state=5)
CORPUS = PLANTED.corpus


def test_the_fit_ends_when_the_bound_has_converged() -> None:
    loose = TWDA(4, inference="cvb0", random_state=0, tol=1e-4, tag_topic_prior=np.full(4, 0.5)).fit(CORPUS)
    rises = np.diff(loose.bound_) / np.abs(loose.bound_[:-1])
    assert loose.converged_
    assert rises[-1] <= 1e-4
    assert np.all(rises[:-1] > 1e-4)
    assert loose.n_iter_ == len(loose.bound_)


def test_max_iter_limits_the_iterations() -> None:
    model = TWDA(4, random_state=0, max_iter=3, tol=0).fit(CORPUS)
    assert model.n_iter_ == 3
    assert not model.converged_


def test_callbacks_are_called_after_every_iteration() -> None:
    calls: list[tuple[int, float, float]] = []
    model = TWTM(4, random_state=0, max_iter=5, tol=0, callbacks=[lambda *values: calls.append(values)]).fit(CORPUS)
    assert [number for number, _, _ in calls] == [1, 2, 3, 4, 5]
    assert [bound for _, bound, _ in calls] == model.bound_.tolist()
    assert np.all(np.diff([seconds for _, _, seconds in calls]) > 0)


def test_ctrl_c_keeps_the_model_of_the_last_iteration() -> None:
    def interrupt(iteration: int, bound: float, seconds: float) -> None:
        if iteration == 4:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after 4 iterations"):
        stopped = TWDA(4, random_state=0, tol=0, callbacks=[interrupt]).fit(CORPUS)
    whole = TWDA(4, random_state=0, tol=0, max_iter=4).fit(CORPUS)
    assert stopped.n_iter_ == 4
    np.testing.assert_array_equal(stopped.components_, whole.components_)


@pytest.mark.parametrize("method", ["paper", "mixture", "map"])
def test_estimated_priors_change_and_stay_in_range(method: str) -> None:
    model = TWDA(
        4, random_state=0, inference=method, max_iter=45, tol=0,
        tag_weight_prior="estimate", latent_weight_prior="estimate", latent_topic_prior="estimate",
    ).fit(CORPUS)  # fmt: skip
    assert model.prior_updates_ == (10, 20, 30, 40)
    for prior in (model.tag_weight_prior_, model.latent_topic_prior_, np.array(model.latent_weight_prior_)):
        assert np.all((prior > 1e-6) & (prior < 1e3))
    assert np.ptp(model.tag_weight_prior_) > 0


def test_a_diverging_maximum_likelihood_prior_is_a_warning() -> None:
    # each document has two tags of its own: their prior has no finite maximum
    tags = [[f"a{i}", f"b{i}"] for i in range(len(CORPUS))]
    model = TWTM(4, random_state=0, max_iter=400, tol=0, tag_weight_prior="maximum-likelihood")
    with pytest.warns(UserWarning, match="ran away"):
        model.fit(CORPUS, tags=tags)
    assert np.isfinite(model.tag_weight_prior_).all()
    assert model.tag_weight_prior_.min() > 0


def test_the_papers_maximum_likelihood_priors_can_be_used() -> None:
    model = TWDA(
        4, random_state=0, inference="paper", max_iter=40, tol=0,
        tag_weight_prior="maximum-likelihood", latent_weight_prior="maximum-likelihood",
        latent_topic_prior="maximum-likelihood", tag_topic_prior="maximum-likelihood",
        topic_word_prior="maximum-likelihood",
    ).fit(CORPUS)  # fmt: skip
    assert np.isfinite(model.components_).all()
    assert np.all(model.tag_topics_ > 0)
    assert np.all(np.diff(model.bound_[:10]) >= -1e-5 * np.abs(model.bound_[:9]))


@pytest.mark.parametrize("kind", [TWTM, TWDA, LDA])
@pytest.mark.parametrize("method", ["paper", "mixture", "map"])
def test_the_bound_does_not_fall_between_prior_updates(kind: type[TWDA], method: str) -> None:
    model = kind(4, random_state=0, inference=method, max_iter=35, tol=0, dtype="float64").fit(CORPUS)
    change = np.diff(model.bound_)
    same_priors = ~np.isin(np.arange(1, 35), model.prior_updates_)
    assert np.all(change[same_priors] >= -1e-9 * np.abs(model.bound_[:-1][same_priors]))
