"""A model's fit with and without the tag predictor."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic import TWDA, TWTM, Corpus, TagPredictor
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(120, 3, 8, 60, random_state=0).corpus


@pytest.mark.parametrize("kind", [TWTM, TWDA])
def test_without_it_the_topics_are_the_same_and_predictions_are_refused(kind: Any) -> None:
    settings: dict[str, Any] = {"n_topics": 3, "max_iter": 5, "random_state": 0}
    model, usual = kind(tag_predictor=False, **settings).fit(CORPUS), kind(**settings).fit(CORPUS)
    assert model.tag_predictor_ is None
    assert usual.tag_predictor_ is not None
    np.testing.assert_array_equal(model.components_, usual.components_)
    missing = r"no tag predictor \(it was fitted with tag_predictor=False\): fit_tag_predictor\(corpus\) makes one"
    with pytest.raises(ValueError, match=missing):
        model.predict_tags(CORPUS)
    with pytest.raises(ValueError, match=missing):
        model.audit_tags(CORPUS)
    model.fit_tag_predictor(CORPUS)
    assert model.predict_tags(CORPUS) == usual.predict_tags(CORPUS)
    assert list(model.audit_tags(CORPUS).entries) == list(usual.audit_tags(CORPUS).entries)


def test_it_is_fitted_when_first_used_and_once_for_all_threads_and_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    fits, fit = [], TagPredictor._fit

    def counted(predictor: TagPredictor, corpus: Corpus) -> bool:
        fits.append(predictor)
        return fit(predictor, corpus)

    monkeypatch.setattr(TagPredictor, "_fit", counted)
    model = TWDA(3, max_iter=2, random_state=0).fit(CORPUS)
    model.transform(CORPUS)
    twin = copy(model)
    assert not fits
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: model.predict_tags(CORPUS[:3]), range(4)))
    assert all(answer == answers[0] for answer in answers)
    assert twin.tag_predictor_ is model.tag_predictor_
    assert len(fits) == 1


def test_it_does_not_follow_changes_of_the_matrix_that_was_fitted() -> None:
    counts, tags = CORPUS.counts.copy(), CORPUS.tags.toarray()
    model = TWDA(3, max_iter=2, random_state=0).fit(counts, tags=tags)
    expected = TWDA(3, max_iter=2, random_state=0).fit(counts, tags=tags).predict_tags(CORPUS.counts[:5])
    counts.data, tags[:] = np.ones_like(counts.data), 0
    assert model.predict_tags(CORPUS.counts[:5]) == expected


def test_a_model_whose_predictor_was_not_used_can_be_pickled() -> None:
    model = TWDA(3, max_iter=2, random_state=0).fit(CORPUS)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_tags(CORPUS[:5]) == model.predict_tags(CORPUS[:5])


def test_it_is_fitted_at_once_if_the_corpus_is_in_files(tmp_path: Path) -> None:
    CORPUS.save(tmp_path / "corpus")
    model = TWDA(3, max_iter=2, random_state=0).fit(Corpus.open(tmp_path / "corpus"))
    assert isinstance(model._predictor, TagPredictor)
    assert model.tag_predictor_ == TWDA(3, max_iter=2, random_state=0).fit(CORPUS).tag_predictor_


def test_it_survives_a_file_and_a_refit(tmp_path: Path) -> None:
    model = TWDA(3, max_iter=2, random_state=0).fit(CORPUS).set_params(tag_predictor=False).fit(CORPUS)
    model.save(tmp_path / "model")
    loaded = TWDA.load(tmp_path / "model")
    assert loaded.tag_predictor is False
    assert loaded.tag_predictor_ is None


def test_partial_fit_neither_adds_nor_drops_it() -> None:
    new = Corpus.from_counts(CORPUS.counts[:10], [["new"]] * 10, words=CORPUS.words)
    model = TWDA(3, max_iter=2, tag_predictor=False, random_state=0).fit(CORPUS).partial_fit(new)
    assert model.tag_predictor_ is None
    model = TWDA(3, max_iter=2, tag_predictor=False, random_state=0).fit(CORPUS).fit_tag_predictor(CORPUS)
    assert len(model.partial_fit(new).predict_tags(CORPUS[:2], n=3)) == 2


def test_a_checkpoint_is_resumed_with_and_without_it(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    TWDA(3, max_iter=2, tol=0, random_state=0, checkpoint=path).fit(CORPUS)
    calls: list[int] = []
    TWDA(
        3, max_iter=3, tol=0, random_state=0, checkpoint=path, tag_predictor=False,
        callbacks=[lambda iteration, *_: calls.append(iteration)],
    ).fit(CORPUS)  # fmt: skip
    assert calls == [3]


def test_a_corpus_without_tags_has_no_predictor() -> None:
    untagged = Corpus.from_counts(CORPUS.counts, words=CORPUS.words)
    model = TWDA(3, max_iter=2, random_state=0).fit(untagged)
    assert model.tag_predictor_ is None
    with pytest.raises(ValueError, match="learnt no tags"):
        model.predict_tags(CORPUS)
