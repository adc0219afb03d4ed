"""Perplexity: document completion by hand, batches and order, and the bound."""

import numpy as np
import pytest
from scipy.sparse import random_array, vstack

from tagtopic import Corpus
from tagtopic._core.arrays import Floats
from tagtopic.corpus.splits import split_tokens
from tagtopic.datasets import make_tagged_corpus
from tagtopic.evaluation import perplexity
from tagtopic.evaluation.perplexity import log_probabilities
from tagtopic.inference.methods import METHODS
from tagtopic.models import LDA, TWDA, TWTM

CORPUS = make_tagged_corpus(300, 4, 12, 150, random_state=5).corpus
TRAIN, TEST = CORPUS.split(0.3, 0)
MODEL = TWDA(4, random_state=0, max_iter=20).fit(TRAIN)


def test_completion_equals_the_formula() -> None:
    observed, scored = split_tokens(MODEL.aligned(TEST))
    view = Corpus.from_counts(observed, TEST.tags, words=TEST.words, tag_names=TEST.tag_names)
    weights, own_words = MODEL.tag_weights(view), MODEL.own_words_.toarray().astype(float)
    shares = own_words.sum(axis=1, keepdims=True)
    mixes = MODEL.transform(view).astype(float) - weights @ (shares * MODEL.tag_topics_)
    probabilities = mixes @ np.asarray(MODEL.components_, float) + weights @ own_words
    used = (np.diff(observed.indptr) > 0) & (np.diff(scored.indptr) > 0)
    rows = scored.toarray()[used]
    expected = np.exp(-(rows * np.log(probabilities[used])).sum() / rows.sum())
    assert MODEL.perplexity(TEST) == pytest.approx(expected, rel=1e-6)
    assert MODEL.score(TEST) == pytest.approx(-np.log(expected), rel=1e-6)


def test_from_tags_alone_equals_the_formula() -> None:
    planted = make_tagged_corpus(200, 3, 8, 60, random_state=2)
    train, test = planted.corpus[:150], planted.corpus[150:]
    model = TWDA(3, random_state=0, tag_predictor=False).fit(train)
    known = model.aligned(test)
    prior, latent = model.tag_weight_prior_, model.latent_weight_prior_
    own_words = model.own_words_.toarray()
    by_tag = (1 - own_words.sum(axis=1, keepdims=True)) * (model.tag_topics_ @ model.components_) + own_words
    topics_by_tag = model.parameters_.latent_topics_by_tag
    assert topics_by_tag is not None
    total, n_tokens = 0.0, 0.0
    for row in range(len(test)):
        tags, counts = known.tags[[row]].indices, known.counts[[row]].toarray()[0]
        weights = np.append(prior[tags], latent)
        latent_topics = prior[tags] / prior[tags].sum() @ topics_by_tag[tags]  # as in the other documents of the tags
        probabilities = weights / weights.sum() @ np.vstack([by_tag[tags], latent_topics @ model.components_])
        total += float(counts @ np.log(np.maximum(probabilities, 1e-300)))
        n_tokens += counts.sum()
    found = perplexity(model, test, method="tags")
    assert found.value == pytest.approx(np.exp(-total / n_tokens), rel=1e-4)
    assert found.scored_tokens == n_tokens
    assert found.skipped_documents == 0
    assert model.perplexity(test, method="tags") == found.value
    assert model.perplexity(test) < found.value < LDA(3, random_state=0).fit(train).perplexity(test, method="tags")


def test_the_value_does_not_depend_on_batches_and_order() -> None:
    value = MODEL.perplexity(TEST)
    assert MODEL.perplexity(TEST[np.arange(len(TEST))[::-1]]) == value
    one_by_one = [perplexity(MODEL, TEST[i : i + 1]) for i in range(len(TEST))]
    tokens = np.array([part.scored_tokens for part in one_by_one])
    logs = np.log([part.value for part in one_by_one])
    assert np.exp((tokens * logs).sum() / tokens.sum()) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("method", ["completion", "fitted"])
def test_a_large_corpus_is_scored_in_batches_with_the_same_value(method: str) -> None:
    whole = perplexity(MODEL, CORPUS, method=method)
    assert perplexity(MODEL, CORPUS, method=method, batch_entries=300) == whole


def test_unknown_words_and_documents_with_an_empty_half_are_counted_and_not_scored() -> None:
    counts = vstack([TEST.counts, [[1] + [0] * (TEST.n_words - 1)]]).tocsr()
    tags = [list(document.tags) for document in TEST] + [["tag_1"]]
    wider = np.hstack([counts.toarray(), np.full((counts.shape[0], 1), 2)])
    corpus = Corpus.from_counts(wider, tags, words=[*TEST.words, "new"], ids=[*TEST.ids, "short"])
    result = perplexity(MODEL, corpus)
    assert result.skipped_documents == 1
    never = (np.asarray(TRAIN.counts.sum(axis=0)) == 0) & (np.asarray(TEST.counts.sum(axis=0)) > 0)
    never_seen = int(TEST.counts.sum(axis=0)[never].sum())
    assert result.unknown_tokens == 2 * len(corpus) + never_seen
    assert result.value == pytest.approx(MODEL.perplexity(TEST), rel=1e-12)


def test_the_planted_model_beats_one_topic_and_fitted_is_optimistic() -> None:
    one = LDA(1, random_state=0).fit(TRAIN).perplexity(TEST)
    assert MODEL.perplexity(TEST) < 0.8 * one
    assert MODEL.perplexity(TEST, method="fitted") < MODEL.perplexity(TEST)


@pytest.mark.parametrize("method", [method.name for method in METHODS.values() if method.is_bound])
def test_the_bound_is_above_the_fitted_perplexity(method: str) -> None:
    model = TWTM(4, inference=method, random_state=0, max_iter=10).fit(TRAIN)
    assert model.perplexity(TEST, method="bound") > model.perplexity(TEST, method="fitted")


def test_the_bound_of_fractional_counts_is_over_their_sum() -> None:
    counts = TEST.counts * 0.01
    parts = Corpus.from_counts(counts, TEST.tags, words=TEST.words, tag_names=TEST.tag_names, fractional=True)
    model = TWTM(4, inference="mixture", random_state=0, max_iter=5).fit(TRAIN)
    bound = model._posteriors(model.aligned(parts), None).objective
    total = model.aligned(parts).counts.data.sum(dtype=np.float64)
    assert model.perplexity(parts, method="bound") == pytest.approx(np.exp(-bound / total), rel=1e-12)


@pytest.mark.filterwarnings("ignore:none of the words was seen")
@pytest.mark.parametrize("method", ["completion", "fitted", "bound"])
def test_no_known_word_is_an_error(method: str) -> None:
    model = TWTM(4, inference="mixture", random_state=0, max_iter=2).fit(TRAIN)
    strange = Corpus.from_counts([[3]], [["tag_1"]], words=["strange"])
    with pytest.raises(ValueError, match="no document has words left to score"):
        model.perplexity(strange, method=method)


def test_methods_without_a_bound_and_unknown_methods_are_errors() -> None:
    with pytest.raises(ValueError, match="does not bound"):
        MODEL.perplexity(TEST, method="bound")
    with pytest.raises(ValueError, match="method='guess'"):
        MODEL.perplexity(TEST, method="guess")


def test_texts_are_scored_as_the_corpus_made_from_them() -> None:
    texts = ["the cat sat on the mat with another cat", "dogs chase cats and dogs chase mice", "cat and dog sat"] * 5
    corpus = Corpus.from_texts(texts)
    model = LDA(2, random_state=0, max_iter=5).fit(corpus)
    result = perplexity(model, texts)
    assert result.unknown_tokens is None
    assert result.value == pytest.approx(perplexity(model, corpus).value, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_probability_of_documents_given_their_mixes(dtype: type) -> None:
    rng = np.random.default_rng(0)
    counts = (5 * random_array((6, 40), density=0.3, format="csr", random_state=rng)).ceil()
    mixes: Floats = rng.dirichlet(np.ones(7), 6).astype(dtype)
    psi: Floats = rng.dirichlet(np.ones(40), 7).T.astype(dtype)
    psi[counts.indices[0]] = 0  # a word without topics has probability 1e-300
    found = log_probabilities(counts.indptr, counts.indices, counts.data, mixes, psi, np.empty(0))
    expected = (counts.toarray() * np.log(np.maximum(mixes.astype(float) @ psi.T.astype(float), 1e-300))).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
