"""Explanations: each word is assigned to the tag that it came from."""

from dataclasses import replace

import numpy as np
import pytest

from tagtopic import TWDA, TWTM, Corpus
from tagtopic.inference import reference
from tagtopic.inference.methods import E_STEP_METHODS
from tagtopic.models._base import TagTopicModel
from tagtopic.tagging.explanation import joint_assignment

TEXTS = ["engine wheel gear engine", "storm night ice storm", "ball letter dance ball"] * 6
TEXTS += ["engine wheel storm ice", "storm gear night engine"] * 3
TAGS = [["by:Ada"], ["by:Mary"], ["by:Jane"]] * 6 + [["by:Ada", "by:Mary"]] * 6
CORPUS = Corpus.from_texts(TEXTS, TAGS, min_df=1, stop_words=None)


def fitted(kind: type[TagTopicModel], method: str) -> TagTopicModel:
    model: TagTopicModel = kind().set_params(n_topics=3, inference=method, random_state=0, max_iter=40, progress=False)
    if kind is TWDA:
        model.set_params(latent_weight_prior=0.5, tag_topic_prior=0.1)
    model.fit(CORPUS)
    return model


@pytest.mark.parametrize("method", E_STEP_METHODS)
def test_words_are_assigned_to_the_tag_that_uses_them(method: str) -> None:
    found = fitted(TWTM, method).explain(CORPUS[18])
    assigned = {word.word: word.tag for word in found.words}
    assert assigned == {"engine": "by:Ada", "wheel": "by:Ada", "storm": "by:Mary", "ice": "by:Mary"}
    assert sum(found.tag_shares.values()) == pytest.approx(1)
    assert found.latent_share == 0
    topics = {word.word: word.topic for word in found.words}
    assert topics["engine"] == topics["wheel"] != topics["storm"]


@pytest.mark.parametrize("method", ["map", "mixture"])
def test_assignments_equal_the_expected_counts(method: str) -> None:
    model = fitted(TWTM, method)
    corpus = model.aligned(CORPUS[[20]])
    parameters = replace(model.parameters_, psi=model.parameters_.psi.astype(float))
    tags, words = corpus.tags.indices, corpus.counts.indices
    prior, theta = parameters.pi[tags], parameters.theta[tags].astype(float)
    document = reference.Document(parameters.psi[words], corpus.counts.data, theta, prior, prior * 2)
    _, evaluated, _ = reference.sweep(method, document, 500)
    expected = np.einsum("w,wjk->jk", corpus.counts.data, joint_assignment(model.parameters_, method, corpus))
    assert expected[-1] == pytest.approx(0)  # TWTM has no latent tag
    np.testing.assert_allclose(expected[:-1, :-1], evaluated.tag_counts, atol=0.03)
    assert expected[:, -1] == pytest.approx(0)  # nor own words


def test_words_that_no_tag_explains_are_assigned_to_the_latent_tag() -> None:
    model = fitted(TWDA, "map")
    foreign = model.explain("ball letter dance letter " * 9, tags=["by:Ada"])
    own = model.explain("engine gear wheel engine " * 9, tags=["by:Ada"])
    assert foreign.latent_share > 0.9 > own.latent_share + 0.1
    assert all(word.tag is None for word in foreign.words)
    assert foreign.tag_shares["by:Ada"] + foreign.latent_share == pytest.approx(1)
    assert "by:Ada" in str(own)
    assert model.explain("engine").tag_shares == {}


def test_more_than_one_document_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected one document, not 24"):
        fitted(TWDA, "map").explain(CORPUS)
