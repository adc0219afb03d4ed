"""What a model says before it is fitted, and that nothing of an earlier fit stays after another."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tagtopic import LDA, TWDA, Corpus
from tagtopic.datasets import make_tagged_corpus

CORPUS = make_tagged_corpus(60, 3, 6, 40, random_state=0).corpus
QUESTIONS: dict[str, Callable[[Any], Any]] = {
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


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_model_that_is_not_fitted_says_so(question: str) -> None:
    with pytest.raises(NotFittedError):
        QUESTIONS[question](TWDA(2))


def test_columns_of_an_earlier_frame_are_forgotten() -> None:
    frame = pd.DataFrame(CORPUS.counts.toarray(), columns=[f"f{i}" for i in range(CORPUS.n_words)])
    model = LDA(2, max_iter=2, random_state=0).fit(frame).fit(CORPUS)
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(CORPUS.counts).shape == (60, 2)


def test_intervals_come_with_the_latent_shares_if_asked_for() -> None:
    model = TWDA(3, max_iter=3, random_state=0).fit(CORPUS)
    intervals, latent = model.tag_weights(CORPUS[:5], intervals=0.9, return_latent=True)
    np.testing.assert_array_equal(latent, model.tag_weights(CORPUS[:5], return_latent=True)[1])
    again = model.tag_weights(CORPUS[[3, 3]], intervals=0.9)
    row = slice(*CORPUS[:5].tags.indptr[3:5])
    np.testing.assert_array_equal(again.high.data, np.tile(intervals.high.data[row], 2))


def test_fractional_documents_are_explained() -> None:
    tags = [list(document.tags) for document in CORPUS]
    halves = Corpus.from_counts(CORPUS.counts * 0.5, tags, words=CORPUS.words, fractional=True)
    model = TWDA(3, max_iter=3, random_state=0).fit(halves)
    assert str(model.explain(halves[0])) == str(model.explain(halves[[0]]))


def test_a_model_without_tags_says_so() -> None:
    with pytest.raises(ValueError, match="has learnt no tags"):
        LDA(2, max_iter=2, random_state=0).fit(CORPUS).most_used_tags()
