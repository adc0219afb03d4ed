"""Credible intervals of tag weights: coverage and width."""

from typing import Literal

import numpy as np
import pytest

from tagtopic import TWDA, TWTM
from tagtopic.datasets import make_tagged_corpus
from tagtopic.engines import LocalEngine
from tagtopic.inference.types import Parameters
from tagtopic.models._intervals import weight_intervals


@pytest.mark.parametrize(
    ("model", "length", "n_documents"),
    [
        ("twtm", 20, 400),
        ("twtm", 85, 400),
        ("twda", 20, 400),
        pytest.param("twtm", 500, 80, marks=pytest.mark.slow),
    ],
)
def test_intervals_cover_the_truth_as_often_as_their_level(
    model: Literal["twtm", "twda"], length: int, n_documents: int
) -> None:
    # 5 topics for 12 tags: many tags are similar
    planted = make_tagged_corpus(
        n_documents, 5, 12, 300, model=model, tags_per_document=(2, 4), document_length=length,
        tag_concentration=0.5, latent_concentration=0.5, random_state=1,
    )  # fmt: skip
    truth = Parameters(
        psi=np.ascontiguousarray(planted.topic_words.T), theta=planted.tag_topics, pi=np.ones(12), pi_latent=1.0,
        mu=np.full(5, 0.5), latent=model == "twda",
    )  # fmt: skip
    found = weight_intervals([truth], planted.corpus, 0.9, LocalEngine())
    weights = planted.tag_weights.data
    assert np.array_equal(planted.tag_weights.indices, found.low.indices)
    covered = np.mean((found.low.data <= weights) & (weights <= found.high.data))
    assert 0.85 <= covered <= 0.95
    assert np.corrcoef(found.mean.data, weights)[0, 1] > 0.3
    wider = weight_intervals([truth], planted.corpus[:5], 0.99, LocalEngine(1))
    assert np.all(wider.high.data >= weight_intervals([truth], planted.corpus[:5], 0.9, LocalEngine(1)).high.data)


def test_longer_documents_have_narrower_intervals() -> None:
    widths = []
    for length in (20, 200):
        corpus = make_tagged_corpus(50, 4, 8, 200, tags_per_document=2, document_length=length, random_state=0).corpus
        found = TWTM(4, random_state=0, max_iter=20, progress=False).fit(corpus).tag_weights(corpus, intervals=0.9)
        widths.append((found.high.data - found.low.data).mean())
    assert widths[1] < 0.8 * widths[0]


def test_tag_weights_returns_intervals() -> None:
    corpus = make_tagged_corpus(60, 4, 8, 200, untagged=0.2, model="twda", random_state=0).corpus
    model = TWDA(4, random_state=0, max_iter=5, progress=False).fit(corpus)
    found = model.tag_weights(corpus, intervals=0.8)
    assert found.mean.shape == corpus.tags.shape
    assert np.all((found.low.data <= found.mean.data) & (found.mean.data <= found.high.data))
    again = model.set_params(n_jobs=1).tag_weights(corpus, intervals=0.8)
    np.testing.assert_array_equal(again.low.data, found.low.data)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.tag_weights(corpus, intervals=90)
