"""The settings of an estimator: checks, and priors as they were given."""

import numpy as np
import pytest

from tagtopic import LDA, TWDA, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._settings import check_memory

CORPUS = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"inference": "best"}, "inference='best': expected one of 'auto', 'gibbs', 'cvb0', 'map', 'mixture', 'paper'"),
        ({"init": "best"}, "init='best'"),
        ({"dtype": "int8"}, "dtype='int8'"),
        ({"n_topics": 0}, "n_topics=0: expected a whole number from 1"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"tol": -1}, "tol=-1"),
        ({"tag_weight_prior": 0.0}, "tag_weight_prior must be finite and positive"),
        ({"tag_weight_prior": "guess"}, "tag_weight_prior='guess'"),
        ({"topic_word_prior": [1.0, 2.0]}, r"topic_word_prior has the shape \(2,\): expected one number or 120"),
        ({"latent_topic_prior": float("nan")}, "latent_topic_prior must be finite"),
        ({"tag_weight_prior": 1e300}, r"tag_weight_prior has the value 1e\+300: expected numbers from 1e-10 to 1e\+10"),
        ({"latent_weight_prior": 1e-300}, "latent_weight_prior has the value 1e-300"),
        ({"topic_word_prior": 1e300}, "topic_word_prior has the value"),
        ({"n_topics": 2, "tag_topic_prior": [1.0, 1e-300]}, "tag_topic_prior has the value 1e-300"),
        ({"n_topics": 10**9}, r"n_topics=1000000000: topics over \d+ words and tags need .* GB of memory, and this"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_an_invalid_setting_is_an_error_that_names_it(setting: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TWDA().set_params(**setting).fit(CORPUS)


def test_a_corpus_without_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="no words in the 2 documents"):
        TWDA(2).fit(Corpus.from_counts([[0, 0], [0, 0]], [["a"], ["b"]]))


def test_given_priors_are_not_learnt() -> None:
    pi, mu, alpha = np.linspace(0.5, 2, CORPUS.n_tags), np.full(4, 0.2), np.full(4, 0.7)
    beta = np.full(CORPUS.n_words, 0.05)
    model = TWDA(
        4, max_iter=25, random_state=0, tag_weight_prior=pi, latent_weight_prior=3.0, latent_topic_prior=mu,
        tag_topic_prior=alpha, topic_word_prior=beta,
    ).fit(CORPUS)  # fmt: skip
    np.testing.assert_array_equal(model.tag_weight_prior_, pi)
    np.testing.assert_array_equal(model.latent_topic_prior_, mu)
    np.testing.assert_array_equal(model.tag_topic_prior_, alpha)
    np.testing.assert_array_equal(model.topic_word_prior_, beta)
    assert model.latent_weight_prior_ == 3.0
    assert model.prior_updates_ == ()


@pytest.mark.parametrize("learning", ["batch", "online"])
def test_a_model_copies_arrays_of_priors(learning: str) -> None:
    sizes = {"tag_weight_prior": CORPUS.n_tags, "latent_topic_prior": 4, "tag_topic_prior": 4}
    given = {name: np.full(size, 0.5) for name, size in {**sizes, "topic_word_prior": CORPUS.n_words}.items()}
    model = TWDA(4, random_state=0, max_iter=2, learning=learning).set_params(**given).fit(CORPUS)
    for name, prior in given.items():
        prior[:] = 7.0
        np.testing.assert_array_equal(getattr(model, f"{name}_"), 0.5, err_msg=name)


def test_topics_have_to_fit_into_memory() -> None:
    check_memory(10, 1000, 4, memory=80_000)
    with pytest.raises(ValueError, match=r"n_topics=11: topics over 1,000 words and tags need 0.0 GB"):
        check_memory(11, 1000, 4, memory=80_000)


@pytest.mark.filterwarnings("ignore:there are 1000 topics for 40 documents")
@pytest.mark.parametrize("model", [LDA, TWDA])
def test_a_fit_whose_objective_is_not_finite_is_an_error(model: type[LDA] | type[TWDA]) -> None:
    counts = np.random.default_rng(0).poisson(1, (40, 12))  # exp(digamma(0.003)) is 0 in single precision
    with pytest.raises(ValueError, match=r"objective is nan after iteration 1: .* inference='mixture', n_topics=1000"):
        model(n_topics=1000, inference="mixture", max_iter=3, random_state=0).fit(counts)
    model(n_topics=1000, inference="mixture", max_iter=1, random_state=0, dtype="float64").fit(counts)
