"""What all models have in common: outputs, priors, limits, and behaviour on unusual documents."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
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
    """A fitted model that the tests share and do not change."""
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


def test_tag_weights_and_latent_weight_sum_to_one() -> None:
    weights, latent = fitted(TWDA).tag_weights(CORPUS, return_latent=True)
    np.testing.assert_allclose(weights.sum(axis=1) + latent, 1, rtol=1e-5)
    assert np.all(latent > 0)
    assert np.array_equal(weights.indices, CORPUS.tags.indices)
    only = fitted(TWTM).tag_weights(CORPUS)
    np.testing.assert_allclose(only.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("method", ["paper", "mixture", "map"])
def test_twda_without_tags_is_lda(method: str) -> None:
    untagged = Corpus.from_counts(CORPUS.counts)
    twda = TWDA(4, inference=method, random_state=0, max_iter=10).fit(untagged)
    lda = LDA(4, inference=method, random_state=0, max_iter=10).fit(CORPUS)
    np.testing.assert_array_equal(twda.components_, lda.components_)
    np.testing.assert_array_equal(twda.transform(untagged), lda.transform(CORPUS))


def test_untagged_documents_have_the_posterior_of_scikit_learns_lda() -> None:
    """The same topics and prior, both run to convergence: the same topics of each document."""
    counts = CORPUS.counts[:40]
    model = TWDA(4, inference="mixture", dtype="float64", random_state=0, max_iter=10, latent_topic_prior=0.3)
    model.fit(Corpus.from_counts(counts))
    theirs = LatentDirichletAllocation(
        4, doc_topic_prior=0.3, max_doc_update_iter=10_000, mean_change_tol=1e-12, max_iter=1, random_state=0
    ).fit(counts)
    theirs.exp_dirichlet_component_ = np.asarray(model.components_)
    theirs.components_ = np.asarray(model.components_)
    untagged = model.aligned(Corpus.from_counts(counts))
    ours = LocalEngine().infer(untagged, model.parameters_, "mixture", sweeps=10_000, tolerance=1e-13).topics
    np.testing.assert_allclose(ours, theirs.transform(counts), atol=1e-6)


def test_twtm_refuses_untagged_documents_by_name_and_points_to_twda() -> None:
    tags = [["a"], [], ["b"], []]
    corpus = Corpus.from_counts(np.ones((4, 3), int), tags, ids=["p", "q", "r", "s"])
    with pytest.raises(ValueError, match=r"2 of 4 have none \('q', 's'\).*TWDA"):
        TWTM(2).fit(corpus)


def test_twtm_infers_untagged_documents_from_their_words() -> None:
    model = fitted(TWTM)
    bare = model.transform(Corpus.from_counts(CORPUS.counts, words=CORPUS.words))
    np.testing.assert_allclose(bare.sum(axis=1), 1, rtol=1e-4)
    with_tags = model.transform(CORPUS)
    assert np.mean(with_tags.argmax(axis=1) == bare.argmax(axis=1)) > 0.7


def test_unknown_tags_are_one_warning_or_an_error() -> None:
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


def test_unknown_words_are_ignored() -> None:
    model = fitted(TWDA)
    wider = sp.hstack([CORPUS.counts, sp.csr_array(np.full((len(CORPUS), 1), 9))]).tocsr()
    corpus = Corpus.from_counts(wider, CORPUS.tags, words=[*CORPUS.words, "xyzzy"], tag_names=CORPUS.tag_names)
    np.testing.assert_array_equal(model.transform(corpus), model.transform(CORPUS))
    alone = Corpus.from_counts([[3]], [["tag_1"]], words=["xyzzy"])
    with pytest.warns(UserWarning, match="none of the words was seen"):
        assert np.isfinite(model.transform(alone)).all()


def test_empty_documents_have_the_weights_of_the_prior() -> None:
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
def test_a_single_topic_is_the_smoothed_word_distribution(kind: type[TWDA]) -> None:
    model = kind(1, inference="cvb0", max_iter=3, random_state=0).fit(CORPUS)
    counts = CORPUS.word_counts() + model.topic_word_prior_
    np.testing.assert_allclose(model.components_[0], counts / counts.sum(), rtol=1e-4)


def test_documents_that_share_a_single_tag_have_its_topics() -> None:
    tags = [["only"]] * len(CORPUS)
    model = TWTM(3, max_iter=5, random_state=0).fit(CORPUS, tags=tags)
    topics = model.transform(CORPUS, tags=tags)
    np.testing.assert_allclose(topics, np.repeat(model.tag_topics_, len(CORPUS), axis=0), rtol=1e-5)
    np.testing.assert_allclose(model.tag_topics_[0], model.topic_shares_, atol=1e-3)


@pytest.mark.filterwarnings("ignore:nearly all documents have the tags 't0'")
@pytest.mark.parametrize("method", ["paper", "mixture", "map"])
def test_a_thousand_tags_of_one_document_share_its_weight_evenly(method: str) -> None:
    tags = [[f"t{i}" for i in range(1000)], *([["t0"]] * (len(CORPUS) - 1))]
    model = TWDA(3, inference=method, max_iter=5, random_state=0).fit(CORPUS, tags=tags)
    weights = model.tag_weights(CORPUS[:1], tags=tags[:1]).toarray()[0]
    own = weights[[name != "t0" for name in model.tag_names_]]  # nothing distinguishes these
    np.testing.assert_allclose(own, own.mean(), rtol=1e-3)
    assert 0 < own.mean() < 1 / 999


@pytest.mark.parametrize("kind", FAMILY)
def test_matrices_and_corpora_give_the_same_model(kind: type[TWDA]) -> None:
    names = [list(document.tags) for document in CORPUS]
    from_matrix = kind(4, inference="cvb0", random_state=0, max_iter=5).fit(CORPUS.counts, tags=CORPUS.tags)
    from_lists = kind(4, inference="cvb0", random_state=0, max_iter=5).fit(CORPUS.counts, tags=names)
    from_corpus = kind(4, inference="cvb0", random_state=0, max_iter=5).fit(CORPUS)
    np.testing.assert_array_equal(from_matrix.components_, from_corpus.components_)
    # lists of names are sorted (tag_0, tag_1, tag_10, …) while a matrix keeps its columns: other sums, other rounding
    np.testing.assert_allclose(from_lists.components_, from_corpus.components_, rtol=1e-3, atol=1e-6)
    assert set(from_lists.tag_names_) == set(from_corpus.tag_names_)


def test_clone_set_output_and_pipelines_work() -> None:
    model = TWDA(3, inference="mixture", random_state=1, max_iter=4)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    frame = clone(model).set_output(transform="pandas").fit(CORPUS.counts).transform(CORPUS.counts)
    assert list(frame.columns) == ["twda0", "twda1", "twda2"]
    pipeline = make_pipeline(clone(model), Normalizer()).fit(CORPUS.counts)
    assert pipeline.transform(CORPUS.counts).shape == (len(CORPUS), 3)


def test_the_seed_determines_the_model() -> None:
    one, two, three = (TWDA(4, random_state=seed, max_iter=5).fit(CORPUS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert not np.array_equal(one.components_, three.components_)


def test_top_words_top_tags_and_similar_tags() -> None:
    model = fitted(TWDA)
    words = model.top_words(0, 5)
    assert len(words) == 5
    assert [p for _, p in words] == sorted((p for _, p in words), reverse=True)
    assert words[0][0] == CORPUS.words[int(np.argmax(model.components_[0]))]
    shares = [p for _, p in model.top_tags(1, 100)]
    assert sum(shares) == pytest.approx(1.0, rel=1e-4)
    similar = model.similar_tags("tag_1", 3)
    assert len(similar) == 3
    assert all(0 <= similarity <= 1.0001 for _, similarity in similar)
    assert "tag_1" not in dict(similar)
    with pytest.raises(ValueError, match="there is no topic 4"):
        model.top_words(4)
    with pytest.raises(ValueError, match=r"never seen the tag 'tag_x'; near it are"):
        model.similar_tags("tag_x")


METHODS: dict[str, Callable[[Any], Any]] = {
    "transform": lambda model: model.transform(CORPUS),
    "tag_weights": lambda model: model.tag_weights(CORPUS),
    "intervals": lambda model: model.tag_weights(CORPUS, intervals=0.9),
    "rank_tags": lambda model: model.rank_tags(CORPUS),
    "explain": lambda model: model.explain(CORPUS[0]),
    "perplexity": lambda model: model.perplexity(CORPUS),
    "top_words": lambda model: model.top_words(0),
    "top_tags": lambda model: model.top_tags(0),
    "top_documents": lambda model: model.top_documents(CORPUS, 0),
    "top_topics": lambda model: model.top_topics("a"),
    "tag_words": lambda model: model.tag_words("a"),
    "similar_tags": lambda model: model.similar_tags("a"),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_a_model_that_is_not_fitted_raise(name: str) -> None:
    with pytest.raises(NotFittedError):
        METHODS[name](TWDA(2))


def test_a_refit_forgets_the_columns_of_an_earlier_data_frame() -> None:
    frame = pd.DataFrame(CORPUS.counts.toarray(), columns=[f"f{i}" for i in range(CORPUS.n_words)])
    model = LDA(2, max_iter=2, random_state=0).fit(frame).fit(CORPUS)
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(CORPUS.counts).shape == (len(CORPUS), 2)


def test_intervals_can_be_returned_with_the_latent_weights() -> None:
    model = TWDA(3, max_iter=3, random_state=0).fit(CORPUS)
    intervals, latent = model.tag_weights(CORPUS[:5], intervals=0.9, return_latent=True)
    np.testing.assert_array_equal(latent, model.tag_weights(CORPUS[:5], return_latent=True)[1])
    again = model.tag_weights(CORPUS[[3, 3]], intervals=0.9)
    row = slice(*CORPUS[:5].tags.indptr[3:5])
    np.testing.assert_array_equal(again.high.data, np.tile(intervals.high.data[row], 2))


def test_documents_with_fractional_counts_are_explained() -> None:
    tags = [list(document.tags) for document in CORPUS]
    fractional = Corpus.from_counts(CORPUS.counts * 0.5, tags, words=CORPUS.words, fractional=True)
    model = TWDA(3, max_iter=3, random_state=0).fit(fractional)
    assert str(model.explain(fractional[0])) == str(model.explain(fractional[[0]]))


def test_most_used_tags_of_a_model_without_tags_raises() -> None:
    with pytest.raises(ValueError, match="has learnt no tags"):
        LDA(2, max_iter=2, random_state=0).fit(CORPUS).most_used_tags()
