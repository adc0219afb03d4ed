"""A model trained on texts takes new texts, by the same rules, before and after it was saved."""

from pathlib import Path

import numpy as np
import pytest

from tagtopic import LDA, TWDA, Corpus
from tagtopic.models._base import TagTopicModel

TEXTS = [
    "The Engine weaves numbers",
    "A Monster in the storm",
    "Engine and numbers and engine",
    "storm, monster, storm",
]
TAGS = [["ada"], ["mary"], ["ada"], ["mary"]]


@pytest.mark.parametrize("kind", [TWDA, LDA])
def test_new_texts_go_the_way_of_the_old(kind: type[TagTopicModel], tmp_path: Path) -> None:
    corpus = Corpus.from_texts(TEXTS, TAGS, stop_words="en")
    model = kind(n_topics=2, random_state=0, progress=False).fit(corpus)
    mixes = model.transform(["ENGINE numbers!", "a stormy monster"])
    assert mixes.shape == (2, 2)
    assert mixes.argmax(axis=1)[0] != mixes.argmax(axis=1)[1]
    model.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert loaded.rules_ == corpus.rules
    np.testing.assert_array_equal(loaded.transform(["ENGINE numbers!", "a stormy monster"]), mixes)


def test_fitting_texts_is_fitting_their_corpus() -> None:
    from_texts = TWDA(2, random_state=0, progress=False).fit(TEXTS, tags=TAGS)
    from_corpus = TWDA(2, random_state=0, progress=False).fit(Corpus.from_texts(TEXTS, TAGS))
    np.testing.assert_array_equal(from_texts.components_, from_corpus.components_)
    assert from_texts.tag_names_ == ("ada", "mary")


def test_a_model_of_counts_says_that_it_cannot_read_texts() -> None:
    model = TWDA(2, random_state=0, progress=False).fit([[1, 2], [2, 0]], tags=[["a"], ["b"]])
    with pytest.raises(ValueError, match="trained on counts"):
        model.transform(["some text"])
