"""What every model of the family owes its user, and documents at the edges."""

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tagtopic import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import LocalEngine
from tagtopic.models import LDA, TWDA, TWTM

PLANTED = make_tagged_corpus(300, 4, 12, 120, random_state=5)
CORPUS = PLANTED.corpus
FAMILY = [TWTM, TWDA, LDA]


FITTED: dict[type[TWDA], TWDA] = {}


def fitted(kind: type[TWDA]) -> TWDA:
    """Not to be changed: the tests share it."""
    if kind not in FITTED:
        FITTED[kind] = kind(4, random_state=0, max_iter=15).fit(CORPUS)
    return FITTED[kind]


@pytest.mark.parametrize("kind", FAMILY)
def test_topics_tags_and_documents_are_distributions(kind: type[TWDA]) -> None:
    model = fitted(kind)
    topics = model.transform(CORPUS)
    assert model.components_.shape == (4, CORPUS.n_words)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(model.tag_topics_.sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-4)
    assert topics.min() >= 0


def test_weights_and_latent_share_sum_to_one() -> None:
    weights, latent = fitted(TWDA).tag_weights(CORPUS, return_latent=True)
    np.testing.assert_allclose(weights.sum(axis=1) + latent, 1, rtol=1e-5)
    assert np.all(latent > 0)
    assert np.array_equal(weights.indices, CORPUS.tags.indices)
    only = fitted(TWTM).tag_weights(CORPUS)
    np.testing.assert_allclose(only.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("way", ["paper", "mixture", "map"])
def test_twda_without_tags_is_lda(way: str) -> None:
    untagged = Corpus.from_counts(CORPUS.counts)
    twda = TWDA(4, inference=way, random_state=0, max_iter=10).fit(untagged)
    lda = LDA(4, inference=way, random_state=0, max_iter=10).fit(CORPUS)
    np.testing.assert_array_equal(twda.components_, lda.components_)
    np.testing.assert_array_equal(twda.transform(untagged), lda.transform(CORPUS))


def test_untagged_documents_have_scikit_learns_lda_posterior() -> None:
    """The same topics and prior, both run to convergence: the same topics of each document."""
    model = TWDA(4, inference="mixture", dtype="float64", random_state=0, max_iter=10, latent_topic_prior=0.3)
    model.fit(Corpus.from_counts(CORPUS.counts))
    theirs = LatentDirichletAllocation(
        4, doc_topic_prior=0.3, max_doc_update_iter=10_000, mean_change_tol=1e-12, max_iter=1, random_state=0
    ).fit(CORPUS.counts)
    theirs.exp_dirichlet_component_ = np.asarray(model.components_)
    theirs.components_ = np.asarray(model.components_)
    untagged = model.aligned(Corpus.from_counts(CORPUS.counts))
    ours = LocalEngine().infer(untagged, model.parameters_, "mixture", sweeps=10_000, tolerance=1e-13).topics
    np.testing.assert_allclose(ours, theirs.transform(CORPUS.counts), atol=1e-6)


def test_twtm_refuses_untagged_documents_by_name_and_points_to_twda() -> None:
    tags = [["a"], [], ["b"], []]
    corpus = Corpus.from_counts(np.ones((4, 3), int), tags, ids=["p", "q", "r", "s"])
    with pytest.raises(ValueError, match=r"2 of 4 have none \('q', 's'\).*TWDA"):
        TWTM(2).fit(corpus)


def test_twtm_lets_words_alone_decide_for_untagged_documents_after_training() -> None:
    model = fitted(TWTM)
    bare = model.transform(Corpus.from_counts(CORPUS.counts, words=CORPUS.words))
    np.testing.assert_allclose(bare.sum(axis=1), 1, rtol=1e-4)
    with_tags = model.transform(CORPUS)
    assert np.mean(with_tags.argmax(axis=1) == bare.argmax(axis=1)) > 0.7


def test_unknown_tags_are_ignored_with_one_warning_or_an_error() -> None:
    model = fitted(TWDA)
    strange = Corpus.from_counts(CORPUS.counts[:2], [["tag_1", "never"], ["new"]], words=CORPUS.words)
    with pytest.warns(
        UserWarning, match=r"does not know 2 tags \(new, or left out as rare\): 'never', 'new'"
    ) as caught:
        weights = model.tag_weights(strange)
    assert len(caught) == 1
    assert weights.nnz == 1
    with pytest.raises(ValueError, match="does not know"):
        copy(model).set_params(unknown_tags="error").transform(strange)


def test_unknown_words_are_left_out() -> None:
    model = fitted(TWDA)
    wider = sp.hstack([CORPUS.counts, sp.csr_array(np.full((len(CORPUS), 1), 9))]).tocsr()
    corpus = Corpus.from_counts(wider, CORPUS.tags, words=[*CORPUS.words, "xyzzy"], tag_names=CORPUS.tag_names)
    np.testing.assert_array_equal(model.transform(corpus), model.transform(CORPUS))
    alone = Corpus.from_counts([[3]], [["tag_1"]], words=["xyzzy"])
    with pytest.warns(UserWarning, match="none of the words was seen"):
        assert np.isfinite(model.transform(alone)).all()


def test_empty_documents_are_at_their_prior_and_disturb_nothing() -> None:
    counts = sp.vstack([CORPUS.counts, sp.csr_array((2, CORPUS.n_words), dtype=np.int32)]).tocsr()
    tags = sp.vstack([CORPUS.tags, sp.csr_array((2, CORPUS.n_tags), dtype=np.int8)]).tolil()
    tags[len(CORPUS), 0] = tags[len(CORPUS), 3] = 1
    corpus = Corpus.from_counts(counts, tags.tocsr(), words=CORPUS.words, tag_names=CORPUS.tag_names)
    model = TWDA(4, random_state=0, max_iter=15).fit(corpus)
    weights, latent = model.tag_weights(corpus, return_latent=True)
    np.testing.assert_allclose(weights[[len(CORPUS)]].data, 1 / 7, rtol=1e-5)  # pi is 1, 1 and 5 for the latent tag
    assert latent[-1] == pytest.approx(1.0)
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("kind", FAMILY)
def test_one_topic(kind: type[TWDA]) -> None:
    model = kind(1, max_iter=3, random_state=0).fit(CORPUS)
    np.testing.assert_allclose(model.transform(CORPUS), 1, rtol=1e-5)


def test_one_tag_has_all_the_weight() -> None:
    model = TWTM(3, max_iter=5, random_state=0).fit(CORPUS, tags=[["only"]] * len(CORPUS))
    np.testing.assert_allclose(model.tag_weights(CORPUS, tags=[["only"]] * len(CORPUS)).data, 1, rtol=1e-6)


@pytest.mark.parametrize("way", ["paper", "mixture", "map"])
def test_a_thousand_tags_on_one_document(way: str) -> None:
    tags = [[f"t{i}" for i in range(1000)], *([["t0"]] * (len(CORPUS) - 1))]
    model = TWDA(3, inference=way, max_iter=5, random_state=0).fit(CORPUS, tags=tags)
    weights, latent = model.tag_weights(CORPUS, tags=tags, return_latent=True)
    np.testing.assert_allclose(weights[[0]].sum() + latent[0], 1, rtol=1e-4)


@pytest.mark.parametrize("kind", FAMILY)
def test_matrices_and_corpora_give_the_same_model(kind: type[TWDA]) -> None:
    names = [list(document.tags) for document in CORPUS]
    from_matrix = kind(4, random_state=0, max_iter=5).fit(CORPUS.counts, tags=CORPUS.tags)
    from_lists = kind(4, random_state=0, max_iter=5).fit(CORPUS.counts, tags=names)
    from_corpus = kind(4, random_state=0, max_iter=5).fit(CORPUS)
    np.testing.assert_array_equal(from_matrix.components_, from_corpus.components_)
    # lists of names are sorted (tag_0, tag_1, tag_10, …) while a matrix keeps its columns: other sums, other rounding
    np.testing.assert_allclose(from_lists.components_, from_corpus.components_, rtol=1e-3, atol=1e-6)
    assert set(from_lists.tag_names_) == set(from_corpus.tag_names_)


def test_clone_params_set_output_and_pipelines_work() -> None:
    model = TWDA(3, inference="mixture", random_state=1, max_iter=4)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    frame = clone(model).set_output(transform="pandas").fit(CORPUS.counts).transform(CORPUS.counts)
    assert list(frame.columns) == ["twda0", "twda1", "twda2"]
    pipeline = make_pipeline(clone(model), Normalizer()).fit(CORPUS.counts)
    assert pipeline.transform(CORPUS.counts).shape == (len(CORPUS), 3)


def test_the_same_seed_gives_the_same_model_and_another_another() -> None:
    one, two, three = (TWDA(4, random_state=seed, max_iter=5).fit(CORPUS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert not np.array_equal(one.components_, three.components_)


def test_questions_to_a_fitted_model() -> None:
    model = fitted(TWDA)
    words = model.top_words(0, 5)
    assert len(words) == 5
    assert [p for _, p in words] == sorted((p for _, p in words), reverse=True)
    assert words[0][0] == CORPUS.words[int(np.argmax(model.components_[0]))]
    shares = [p for _, p in model.top_tags(1, 100)]
    assert sum(shares) == pytest.approx(1.0, rel=1e-4)
    similar = model.similar_tags("tag_1", 3)
    assert len(similar) == 3
    assert all(0 <= likeness <= 1.0001 for _, likeness in similar)
    assert "tag_1" not in dict(similar)
    with pytest.raises(ValueError, match="there is no topic 4"):
        model.top_words(4)
    with pytest.raises(ValueError, match=r"never seen the tag 'tag_x'; near it are"):
        model.similar_tags("tag_x")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"inference": "gibbs"}, "inference='gibbs': expected one of 'paper', 'mixture', 'map'"),
        ({"init": "best"}, "init='best'"),
        ({"dtype": "int8"}, "dtype='int8'"),
        ({"n_topics": 0}, "n_topics=0: expected a whole number from 1"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"tol": -1}, "tol=-1"),
        ({"tag_weight_prior": 0.0}, "tag_weight_prior must be finite and positive"),
        ({"tag_weight_prior": "guess"}, "tag_weight_prior='guess'"),
        ({"topic_word_prior": [1.0, 2.0]}, r"topic_word_prior has the shape \(2,\): expected one number or 120"),
        ({"latent_topic_prior": float("nan")}, "latent_topic_prior must be finite"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_a_wrong_setting_is_named(setting: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TWDA().set_params(**setting).fit(CORPUS)


def test_a_corpus_without_words_is_an_error() -> None:
    with pytest.raises(ValueError, match="no words in the 2 documents"):
        TWDA(2).fit(Corpus.from_counts([[0, 0], [0, 0]], [["a"], ["b"]]))


def test_given_priors_stay_as_they_are() -> None:
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
def test_a_model_keeps_the_priors_that_it_was_given(learning: str) -> None:
    sizes = {"tag_weight_prior": CORPUS.n_tags, "latent_topic_prior": 4, "tag_topic_prior": 4}
    given = {name: np.full(size, 0.5) for name, size in {**sizes, "topic_word_prior": CORPUS.n_words}.items()}
    model = TWDA(4, random_state=0, max_iter=2, learning=learning).set_params(**given).fit(CORPUS)
    for name, prior in given.items():
        prior[:] = 7.0
        np.testing.assert_array_equal(getattr(model, f"{name}_"), 0.5, err_msg=name)
