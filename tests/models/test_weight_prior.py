"""The prior of new documents' tag weights, learnt from documents that training has not seen."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tagtopic import LDA, TWDA, TWTM, Corpus
from tagtopic.corpus.tags import with_noise_tags
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import LocalEngine
from tagtopic.models import _weight_prior as weight_prior
from tagtopic.models._weight_prior import learn_weight_prior


def drawn(weight_prior: float, model: Any = "twtm") -> tuple[Corpus, Corpus]:
    made = make_tagged_corpus(
        900, 6, 15, 300, model=model, weight_prior=weight_prior, tags_per_document=(2, 5), tag_concentration=0.05,
        random_state=1,
    )  # fmt: skip
    return made.corpus[:450], made.corpus[450:]


LEANING, EVEN = drawn(0.1), drawn(8.0)


@pytest.fixture(scope="module")
def leaning() -> TWDA:
    return TWDA(6, max_iter=40, random_state=0).fit(LEANING[0])


def again(model: Any, new: Corpus, noise: float = 0.0) -> Any:
    return copy.deepcopy(model).fit_weight_prior(new, noise=noise)


def test_the_planted_prior_is_found() -> None:
    found = {}
    for true, (train, new) in {0.1: LEANING, 8.0: EVEN}.items():
        found[true] = TWTM(6, max_iter=60, random_state=0).fit(train).fit_weight_prior(new).tag_weight_prior_[0]
    assert found[0.1] < 0.4
    assert found[8.0] > 2


def test_what_is_found_tells_other_new_documents_better(leaning: TWDA) -> None:
    learnt = again(leaning, LEANING[1][:300])
    assert learnt.perplexity(LEANING[1][300:]) < leaning.perplexity(LEANING[1][300:])


def test_expected_noise_is_listened_to_less(leaning: TWDA) -> None:
    noisy = with_noise_tags(LEANING[1][300:], 1.0)[0]
    plain, wary = (again(leaning, LEANING[1][:300], noise) for noise in (0.0, 1.0))
    assert wary.tag_weight_prior_[0] < plain.tag_weight_prior_[0]
    assert wary.perplexity(noisy) < plain.perplexity(noisy) < leaning.perplexity(noisy)


def test_no_neighbour_is_better(leaning: TWDA) -> None:
    """By hand, with dense matrices and the whole mix of each document."""
    corpus = leaning.aligned(LEANING[1][:200])
    given, scored = weight_prior._halves(corpus, 0.0)
    counts, psi = scored.toarray(), leaning.parameters_.psi

    def value(parameters: Any) -> float:
        mixes = LocalEngine().infer(given, parameters, "map").topics
        moves = np.log([parameters.pi[0] / 1.0, parameters.pi_latent / 5.0])
        return float((counts * np.log(mixes @ psi.T + (counts == 0))).sum() - 0.5 * ((moves / 0.5) ** 2).sum())

    found = learn_weight_prior(leaning.parameters_, "map", corpus, 0.0, LocalEngine(1))
    best = value(found)
    assert best > value(leaning.parameters_)
    for factor in (0.7, 1.4):
        assert best > value(replace(found, pi=found.pi * factor))
        assert best > value(replace(found, pi_latent=found.pi_latent * factor))


def test_each_tag_keeps_its_part_and_threads_change_nothing() -> None:
    train, new = LEANING
    prior = np.linspace(0.5, 2, train.n_tags)
    found = []
    for n_jobs in (1, 2):
        model = TWDA(6, tag_weight_prior=prior, max_iter=10, n_jobs=n_jobs, random_state=0).fit(train)
        model.fit_weight_prior(new)
        np.testing.assert_allclose(model.tag_weight_prior_ / prior, model.tag_weight_prior_[0] / prior[0])
        found.append((model.tag_weight_prior_.tobytes(), model.latent_weight_prior_))
    assert found[0] == found[1]


def test_it_is_saved(leaning: TWDA, tmp_path: Path) -> None:
    learnt = again(leaning, LEANING[1])
    learnt.save(tmp_path / "model.tagtopic")
    loaded = TWDA.load(tmp_path / "model.tagtopic")
    np.testing.assert_array_equal(loaded.tag_weight_prior_, learnt.tag_weight_prior_)
    assert loaded.latent_weight_prior_ == learnt.latent_weight_prior_
    np.testing.assert_array_equal(loaded.transform(LEANING[1]), learnt.transform(LEANING[1]))


def test_of_many_documents_some_are_asked(leaning: TWDA, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = again(leaning, LEANING[1]).tag_weight_prior_[0]
    monkeypatch.setattr(weight_prior, "MOST_DOCUMENTS", 300)
    assert again(leaning, LEANING[1]).tag_weight_prior_[0] == pytest.approx(whole, rel=0.3)


@pytest.mark.parametrize("inference", ["paper", "mixture", "map"])
def test_every_way_of_inference(inference: str) -> None:
    model = TWDA(6, inference=inference, max_iter=10, random_state=0).fit(LEANING[0])
    before = model.perplexity(LEANING[1])
    assert model.fit_weight_prior(LEANING[1]).perplexity(LEANING[1]) < before


def test_what_cannot_be_is_refused(leaning: TWDA) -> None:
    new = LEANING[1]
    with pytest.raises(ValueError, match="noise=-1: expected a number from 0"):
        leaning.fit_weight_prior(new, noise=-1)
    untagged = Corpus.from_counts(new.counts, words=new.words)
    with pytest.raises(ValueError, match="no document has a tag that the model knows"):
        leaning.fit_weight_prior(untagged)
    with pytest.raises(ValueError, match="no document has a tag that the model knows"):
        LDA(6, max_iter=3, random_state=0).fit(LEANING[0]).fit_weight_prior(new)
