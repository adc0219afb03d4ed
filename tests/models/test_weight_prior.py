"""The prior of the tag weights, scaled on documents that were not in training."""

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
from tagtopic.models._weight_prior import scale_weight_prior


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


def test_the_planted_prior_is_approached() -> None:
    found = {}
    for true, (train, new) in {0.1: LEANING, 8.0: EVEN}.items():
        found[true] = TWTM(6, max_iter=60, random_state=0).fit(train).fit_weight_prior(new).tag_weight_prior_[0]
    assert found[0.1] < 0.4
    assert found[8.0] > 2


def test_other_new_documents_are_predicted_better(leaning: TWDA) -> None:
    learnt = again(leaning, LEANING[1][:300])
    assert learnt.perplexity(LEANING[1][300:]) < leaning.perplexity(LEANING[1][300:])


def test_with_expected_noise_tags_get_less_weight(leaning: TWDA) -> None:
    noisy = with_noise_tags(LEANING[1][300:], 1.0)[0]
    plain, robust = (again(leaning, LEANING[1][:300], noise) for noise in (0.0, 1.0))
    assert robust.tag_weight_prior_[0] < plain.tag_weight_prior_[0]
    assert robust.perplexity(noisy) < plain.perplexity(noisy) < leaning.perplexity(noisy)


def test_the_result_is_a_local_maximum(leaning: TWDA) -> None:
    """Against dense matrices."""
    corpus = leaning.aligned(LEANING[1][:200])
    given, scored = weight_prior._token_split(corpus, 0.0)
    prior = leaning.parameters_
    counts, theta, own_words = scored.counts.toarray(), prior.theta, leaning.own_words_.toarray()
    by_tag = (1 - own_words.sum(axis=1, keepdims=True)) * (theta @ prior.psi.T) + own_words

    def value(parameters: Any) -> float:
        found = LocalEngine().infer(given, parameters, "map")
        probabilities = (found.topics - found.weights @ theta) @ prior.psi.T + found.weights @ by_tag
        moves = np.log([parameters.pi[0] / prior.pi[0], parameters.pi_latent / prior.pi_latent])
        return float((counts * np.log(probabilities + (counts == 0))).sum() - 0.5 * ((moves / 0.5) ** 2).sum())

    found = scale_weight_prior(leaning.parameters_, "map", corpus, 0.0, LocalEngine(1))
    best = value(found)
    assert best > value(leaning.parameters_)
    for factor in (0.7, 1.4):
        assert best > value(replace(found, pi=found.pi * factor))
        assert best > value(replace(found, pi_latent=found.pi_latent * factor))


def test_ratios_between_tags_stay_and_threads_do_not_matter() -> None:
    train, new = LEANING
    prior = np.linspace(0.5, 2, train.n_tags)
    found = []
    for n_jobs in (1, 2):
        model = TWDA(6, tag_weight_prior=prior, max_iter=10, n_jobs=n_jobs, random_state=0).fit(train)
        model.fit_weight_prior(new)
        np.testing.assert_allclose(model.tag_weight_prior_ / prior, model.tag_weight_prior_[0] / prior[0])
        found.append((model.tag_weight_prior_.tobytes(), model.latent_weight_prior_))
    assert found[0] == found[1]


def test_the_result_is_in_the_model_file(leaning: TWDA, tmp_path: Path) -> None:
    learnt = again(leaning, LEANING[1])
    learnt.save(tmp_path / "model.tagtopic")
    loaded = TWDA.load(tmp_path / "model.tagtopic")
    np.testing.assert_array_equal(loaded.tag_weight_prior_, learnt.tag_weight_prior_)
    assert loaded.latent_weight_prior_ == learnt.latent_weight_prior_
    np.testing.assert_array_equal(loaded.transform(LEANING[1]), learnt.transform(LEANING[1]))


def test_a_sample_of_the_documents_gives_nearly_the_same(leaning: TWDA) -> None:
    corpus = leaning.aligned(LEANING[1])
    whole, part = (
        scale_weight_prior(leaning.parameters_, "map", corpus, 0.0, LocalEngine(), max_documents=number).pi[0]
        for number in (len(corpus), 300)
    )
    assert part != whole
    assert part == pytest.approx(whole, rel=0.3)


@pytest.mark.parametrize("inference", ["paper", "mixture", "map"])
def test_every_inference_method_improves(inference: str) -> None:
    model = TWDA(6, inference=inference, max_iter=10, random_state=0).fit(LEANING[0])
    before = model.perplexity(LEANING[1])
    assert model.fit_weight_prior(LEANING[1]).perplexity(LEANING[1]) < before


def test_invalid_arguments_are_errors(leaning: TWDA) -> None:
    new = LEANING[1]
    with pytest.raises(ValueError, match="noise=-1: expected a number from 0"):
        leaning.fit_weight_prior(new, noise=-1)
    untagged = Corpus.from_counts(new.counts, words=new.words)
    with pytest.raises(ValueError, match="no document has a tag that the model knows"):
        leaning.fit_weight_prior(untagged)
    with pytest.raises(ValueError, match="no document has a tag that the model knows"):
        LDA(6, max_iter=3, random_state=0).fit(LEANING[0]).fit_weight_prior(new)
