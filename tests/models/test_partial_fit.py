"""Partial fits: more documents, with new words and tags, for a fitted model."""

from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tagtopic.corpus import Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models import TWDA, TWTM

PLANTED = make_tagged_corpus(2500, 6, 40, 400, model="twda", random_state=4)
TRAIN, TEST = PLANTED.corpus.split(500, 0)
SMALL = make_tagged_corpus(300, 4, 12, 120, random_state=5).corpus


@cache
def batch_fitted() -> TWDA:
    """A batch fit to compare with, which the tests share and do not change."""
    return TWDA(6, random_state=0, max_iter=100).fit(TRAIN)


def test_partial_fits_approach_a_batch_fit_of_all_documents() -> None:
    parts = [TRAIN[first : first + 500] for first in range(0, 2000, 500)]
    model = TWDA(6, random_state=0, batch_size=100, max_iter=100)
    curve = [model.partial_fit(part).perplexity(TEST) for part in parts]
    assert curve[-1] < curve[0]
    assert curve[-1] < 1.03 * batch_fitted().perplexity(TEST)
    assert model.n_documents_ == 2000
    np.testing.assert_allclose(model.word_counts_, TRAIN.counts.sum(axis=0))
    np.testing.assert_allclose(model.tag_frequencies_, TRAIN.tags.sum(axis=0) / 2000)
    assert (model.learning, model.max_iter) == (TWDA().learning, 100)


def test_new_tags_and_words_are_learnt(tmp_path: Path) -> None:
    train, test = make_tagged_corpus(1500, 6, 40, 400, random_state=4).corpus.split(300, 0)
    new_tags, old_tags = train.tag_names[:8], train.tag_names[8:]
    old_words = train.words[:100] + train.words[110:]
    with_new = train.tags.toarray()[:, :8].any(axis=1)
    known, new = train[~with_new].align(old_words, old_tags).corpus, train[with_new]
    model = TWTM(6, random_state=0, batch_size=100, max_iter=100).fit(known)
    model.partial_fit(new)
    assert model.words_[: len(old_words)] == old_words
    assert model.words_[len(old_words) :] == train.words[100:110]
    assert set(model.tag_names_) == set(train.tag_names)
    whole = TWTM(6, random_state=0, max_iter=100).fit(train)
    assert model.perplexity(test) < 1.05 * whole.perplexity(test)
    rows = [model.tag_names_.index(name) for name in new_tags]
    assert np.median(model.tag_topics_[rows].max(axis=1)) > 2 / 6  # far from flat
    model.save(tmp_path / "model")
    again = TWTM.load(tmp_path / "model").partial_fit(test)
    assert again.n_documents_ == len(train) + len(test)
    assert len(again.predict_tags(test[:2], n=3)) == 2


def test_texts_are_read_in_the_models_words() -> None:
    texts = ["red apple pie", "green apple", "blue sea", "deep blue sea", "red pie", "green sea"] * 3
    model = TWDA(2, random_state=0).fit(texts, tags=[["a"]] * 18)
    words = model.words_
    model.partial_fit(["red plum pie"], tags=[["b"]])
    assert model.words_ == words
    assert model.tag_names_ == ("a", "b")


def test_a_partial_fit_after_a_batch_fit_keeps_its_quality() -> None:
    """Documents like those already seen leave a model as good as it was."""
    model = deepcopy(batch_fitted())
    before = model.perplexity(TEST)
    assert model.partial_fit(TRAIN[:200]).perplexity(TEST) < 1.02 * before


@pytest.mark.parametrize("prior", ["tag_weight_prior", "topic_word_prior"])
def test_priors_given_as_arrays_are_extended(prior: str) -> None:
    size = {"tag_weight_prior": SMALL.n_tags, "topic_word_prior": SMALL.n_words}[prior]
    model = TWDA(3, max_iter=3, random_state=0, **{prior: np.full(size, 0.5)}).fit(SMALL)  # type: ignore[arg-type]
    words = list(SMALL.words)
    words[int(SMALL.counts[:10].sum(axis=0).argmax())] = "newer"
    new = Corpus.from_counts(SMALL.counts[:10], [["new"]] * 10, words=words)
    for _ in range(2):
        model.partial_fit(new)
    assert (model.tag_names_[-1], model.words_[-1]) == ("new", "newer")
    assert getattr(model, f"{prior}_")[-1] == pytest.approx(0.5)


def test_the_last_iteration_is_the_best_after_a_partial_fit() -> None:
    model = TWDA(3, max_iter=4, validation_fraction=0.3, patience=2, random_state=0).fit(SMALL)
    for _ in range(4):
        model.partial_fit(SMALL[:20])
    assert model.best_iteration_ == model.n_iter_ == len(model.bound_) == 8
    assert not model.stopped_early_
