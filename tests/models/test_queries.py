"""Rankings of words, topics, tags and documents by a fitted model."""

import numpy as np
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._queries import (
    MIN_WORDS,
    distinctive_words,
    main_topics,
    nearest_rows,
    suggest_names,
    top_by_share,
    word_lift,
)

CORPUS = make_tagged_corpus(80, 3, 6, 40, random_state=0).corpus


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    counts = [[8, 2, 0, 0], [0, 0, 7, 3]] * 10
    tags = [["author:Ada", "year:1843"], ["author:Mary"]] * 10
    return Corpus.from_counts(counts, tags, words=["engine", "note", "monster", "storm"])


@pytest.fixture(scope="module")
def model(corpus: Corpus) -> TWDA:
    return TWDA(n_topics=2, random_state=0, progress=False).fit(corpus)


def test_top_words_of_a_tag_are_those_of_its_documents(model: TWDA) -> None:
    assert [word for word, _ in model.tag_words("author:Ada", 2)] == ["engine", "note"]
    assert [word for word, _ in model.tag_words("author:Mary", 2)] == ["monster", "storm"]
    assert sum(probability for _, probability in model.tag_words("author:Ada", 4)) == pytest.approx(1)


def test_top_topics_of_a_tag_are_ranked_by_share(model: TWDA) -> None:
    ((topic, share), (_, rest)) = model.top_topics("author:Ada")
    assert share > rest
    assert model.top_words(topic, 1)[0][0] == "engine"
    assert share + rest == pytest.approx(1)


def test_most_used_tags_can_be_limited_to_a_kind(model: TWDA) -> None:
    assert model.most_used_tags(1, kind="author") == ["author:Ada"]
    assert len(model.most_used_tags()) == 3
    with pytest.raises(ValueError, match=r"no tags of kind 'publisher'; it has author, year"):
        model.most_used_tags(kind="publisher")


def test_rank_tags_sorts_each_documents_weights(model: TWDA, corpus: Corpus) -> None:
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


def test_close_names_are_suggested_for_an_unknown_tag() -> None:
    names = ("keyword:heist", "keyword:hero", "Heist", "director:Ridley Scott")
    assert suggest_names("heist", names)[:2] == ["keyword:heist", "Heist"]
    assert suggest_names("ridley scott", names) == ["director:Ridley Scott"]
    assert suggest_names("Ridly Scott", names) == ["director:Ridley Scott"]
    assert suggest_names("zzz", names) == []


@pytest.fixture(scope="module")
def planted() -> TWDA:
    return TWDA(3, max_iter=5, random_state=0).fit(CORPUS)


@pytest.mark.parametrize("topic", range(3))
def test_top_documents_have_the_largest_shares_of_the_topic(planted: TWDA, topic: int) -> None:
    assert CORPUS.lengths().min() >= MIN_WORDS
    shares = planted.transform(CORPUS)[:, topic]
    order = np.argsort(-shares, kind="stable")[:7]
    found = planted.top_documents(CORPUS, topic, 7)
    assert [id for id, _ in found] == [CORPUS.ids[d] for d in order]
    assert [share for _, share in found] == pytest.approx(shares[order])


def test_top_documents_use_tags_beside_counts(planted: TWDA) -> None:
    tags = [list(document.tags) for document in CORPUS]
    assert planted.top_documents(CORPUS.counts, 0, tags=tags) == planted.top_documents(CORPUS, 0)
    assert planted.top_documents(CORPUS.counts, 0) != planted.top_documents(CORPUS, 0)


def test_short_documents_are_listed_only_if_too_few_are_longer() -> None:
    shares, lengths = np.array([0.9, 0.5, 0.7]), np.array([MIN_WORDS - 1, MIN_WORDS, 500])
    assert top_by_share(shares, lengths, 2) == [(2, 0.7), (1, 0.5)]
    assert top_by_share(shares, lengths, 3) == [(0, 0.9), (2, 0.7), (1, 0.5)]


def test_an_unknown_topic_is_an_error_before_documents_are_read(planted: TWDA) -> None:
    with pytest.raises(ValueError, match="there is no topic 3"):
        planted.top_documents("nowhere.jsonl", 3)


def test_top_documents_have_the_ids_of_the_corpus(planted: TWDA) -> None:
    named = Corpus.from_counts(CORPUS.counts, words=CORPUS.words, ids=[f"film {d}" for d in range(len(CORPUS))])
    assert planted.top_documents(named, 1, 1)[0][0].startswith("film ")


def test_nearest_rows_are_ranked_by_bhattacharyya_coefficient_without_the_row_itself() -> None:
    topics = np.array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.1, 0.9]])
    found = nearest_rows(np.sqrt(topics), 0, ("a", "b", "c"), 5)
    assert [name for name, _ in found] == ["b", "c"]
    assert found[0][1] == pytest.approx(np.sqrt(topics[0] * topics[1]).sum())


def test_main_topics_have_a_minimum_share_but_the_largest_is_always_there() -> None:
    assert main_topics(np.array([0.01, 0.3, 0.69])) == [2, 1]
    assert main_topics(np.full(100, 0.01)) == [0]
    assert main_topics(np.full(4, 0.25), most=2) == [0, 1]


def test_distinctive_words_are_ranked_by_lift_and_rare_words_are_left_out() -> None:
    counts = np.array([500.0, 400.0, 99.0, 1.0])
    distribution = np.array([0.3, 0.2, 0.4, 0.1])
    np.testing.assert_allclose(word_lift(distribution, counts), distribution / (counts / 1000))
    ranked = distinctive_words(distribution, counts, 0.04, 3)  # 0.04 of 1000 tokens: 4 of the last word
    assert [word for word, _, _ in ranked] == [2]
    assert ranked[0][1:] == pytest.approx((0.4, 0.4 / 0.099))
    assert [word for word, _, _ in distinctive_words(distribution, counts, 0.5, 3)] == [3, 2]
