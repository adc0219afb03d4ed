"""A fitted model says what a tag is about and which tags matter in a document."""

import numpy as np
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.models._queries import suggest_names


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    counts = [[8, 2, 0, 0], [0, 0, 7, 3]] * 10
    tags = [["author:Ada", "year:1843"], ["author:Mary"]] * 10
    return Corpus.from_counts(counts, tags, words=["engine", "note", "monster", "storm"])


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> TWDA:
    return TWDA(n_topics=2, random_state=0, progress=False).fit(corpus)


def test_the_words_of_a_tag_are_those_of_its_documents(model: TWDA) -> None:
    assert [word for word, _ in model.tag_words("author:Ada", 2)] == ["engine", "note"]
    assert [word for word, _ in model.tag_words("author:Mary", 2)] == ["monster", "storm"]
    assert sum(probability for _, probability in model.tag_words("author:Ada", 4)) == pytest.approx(1)


def test_the_topics_of_a_tag_come_largest_first(model: TWDA) -> None:
    ((topic, share), (_, rest)) = model.top_topics("author:Ada")
    assert share > rest
    assert model.top_words(topic, 1)[0][0] == "engine"
    assert share + rest == pytest.approx(1)


def test_most_used_tags_by_kind(model: TWDA) -> None:
    assert model.most_used_tags(1, kind="author") == ["author:Ada"]
    assert len(model.most_used_tags()) == 3
    with pytest.raises(ValueError, match=r"no tags of kind 'publisher'; it has author, year"):
        model.most_used_tags(kind="publisher")


def test_ranked_tags_are_the_weights_in_order(model: TWDA, corpus: Corpus) -> None:
    ranked = model.rank_tags(corpus)
    weights = model.tag_weights(corpus).toarray()
    for document, tags in enumerate(ranked):
        assert [weight for _, weight in tags] == sorted((w for _, w in tags), reverse=True)
        for tag, weight in tags:
            assert weight == pytest.approx(weights[document, corpus.tag_names.index(tag)])
    assert [len(tags) for tags in ranked[:2]] == [2, 1]
    assert [len(tags) for tags in model.rank_tags(corpus, n=1)] == [1] * 20
    assert repr(ranked) == f"{repr(list(ranked[:3]))[:-1]}, …]"
    assert np.all(weights.sum(axis=1) <= 1 + 1e-6)


def test_similar_names_are_suggested() -> None:
    names = ("keyword:heist", "keyword:hero", "Heist", "director:Ridley Scott")
    assert suggest_names("heist", names)[:2] == ["keyword:heist", "Heist"]
    assert suggest_names("ridley scott", names) == ["director:Ridley Scott"]
    assert suggest_names("Ridly Scott", names) == ["director:Ridley Scott"]
    assert suggest_names("zzz", names) == []
