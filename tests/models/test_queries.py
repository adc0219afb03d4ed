"""Rankings of words, topics, tags and documents by a fitted model."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import euclidean, jensenshannon

from tagtopic import TWDA, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._queries import (
    MIN_WORDS,
    PRIOR_DOCUMENTS,
    TagMixes,
    distinctive_words,
    main_topics,
    mix_distances,
    nearest_mixes,
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


@pytest.mark.parametrize("distance", ["hellinger", "jensen-shannon"])
def test_distances_of_topic_mixes_are_those_of_scipy_and_within_0_and_1(distance: str) -> None:
    mixes = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 20)
    mixes[:3] = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    found = mix_distances(mixes[0], mixes, distance)
    expected: list[Any]
    if distance == "hellinger":
        expected = [np.sqrt(0.5) * euclidean(np.sqrt(mixes[0]), np.sqrt(mix)) for mix in mixes]
    else:
        expected = [float(jensenshannon(mixes[0], mix, base=2)) for mix in mixes]
    np.testing.assert_allclose(found, np.array(expected, np.float64), atol=1e-12)
    assert found[0] == 0.0
    assert found[1] == pytest.approx(1.0)
    assert nearest_mixes(mixes[0], mixes, 50, distance, leave_out=0)[0][0] != 0
    assert len(nearest_mixes(mixes[0], mixes, 50, distance, leave_out=0)) == 19
    with pytest.raises(ValueError, match="distance='cosine': expected one of 'hellinger'"):
        mix_distances(mixes[0], mixes, "cosine")


def test_similar_documents_have_similar_planted_topics(planted: TWDA) -> None:
    """Neighbours by inferred topics are closer in the topics that documents were drawn from."""
    truth = make_tagged_corpus(80, 3, 6, 40, random_state=0).document_topics
    mixes = planted.transform(CORPUS)
    near, far = [], []
    for row in range(20):
        ids = [int(id) for id, _ in planted.similar_documents(row, CORPUS, 5, topics=mixes)]
        assert row not in ids
        distances = mix_distances(truth[row], truth)
        near.append(distances[ids].mean())
        far.append(distances.mean())
    assert np.mean(near) < 0.5 * np.mean(far)


def test_similar_documents_to_a_document_counts_and_a_number_agree(model: TWDA, corpus: Corpus) -> None:
    by_number = model.similar_documents(0, corpus, 3)
    assert [id for id, _ in by_number] == ["2", "4", "6"]
    assert by_number[0][1] == pytest.approx(1.0)
    by_document = model.similar_documents(corpus[0], corpus, 4)
    assert [id for id, _ in by_document] == ["0", "2", "4", "6"]
    by_counts = model.similar_documents([[8, 2, 0, 0]], [[9, 1, 0, 0], [0, 0, 1, 1]], 1)
    assert by_counts[0][0] == "0"
    with pytest.raises(ValueError, match="query=20: there are 20 documents"):
        model.similar_documents(20, corpus)
    with pytest.raises(ValueError, match="no word or tag that the model knows"):
        model.similar_documents([[0, 0, 0, 0]], corpus)
    with pytest.raises(ValueError, match=r"topics has the shape \(3, 2\): expected \(20, 2\)"):
        model.similar_documents(0, corpus, topics=np.ones((3, 2)))


def test_an_unknown_topic_is_an_error_before_documents_are_read(planted: TWDA) -> None:
    with pytest.raises(ValueError, match="there is no topic 3"):
        planted.top_documents("nowhere.jsonl", 3)


def test_top_documents_have_the_ids_of_the_corpus(planted: TWDA) -> None:
    named = Corpus.from_counts(CORPUS.counts, words=CORPUS.words, ids=[f"film {d}" for d in range(len(CORPUS))])
    assert planted.top_documents(named, 1, 1)[0][0].startswith("film ")


NAMES = ("common", "vampire", "dracula", "lucky", "everywhere")
MEANS = np.array([[0.25, 0.25, 0.5], [0.6, 0.2, 0.2], [0.5, 0.25, 0.25], [0.98, 0.01, 0.01], [0.3, 0.25, 0.45]])
DOCUMENTS = np.array([400.0, 80.0, 40.0, 1.0, 1000.0])


def test_tags_with_few_documents_do_not_crowd_those_of_a_topic() -> None:
    mixes = TagMixes(NAMES, MEANS, DOCUMENTS)
    found = mixes.of_topic(0, 5)
    assert [name for name, _ in found][:2] == ["vampire", "dracula"]  # not the tag of all documents, nor the lucky one
    joint = DOCUMENTS * MEANS[:, 0]
    assert dict(found) == pytest.approx(dict(zip(NAMES, joint / joint.sum(), strict=True)))


def test_similar_tags_share_what_is_above_average_and_need_documents() -> None:
    found = TagMixes(NAMES, MEANS, DOCUMENTS).nearest(NAMES.index("vampire"), 10)
    assert found[0][0] == "dracula"
    assert 0.7 < found[0][1] < 1
    values = dict(found)
    assert values["lucky"] < 0.4  # the same deviation, supported by one document
    assert values["common"] < 0
    assert [value for _, value in found] == sorted(values.values(), reverse=True)


def test_a_similarity_is_a_cosine_of_deviations_times_the_others_reliability() -> None:
    mixes = TagMixes(NAMES, MEANS, DOCUMENTS)
    average = (DOCUMENTS[:, None] * MEANS).sum(axis=0) / DOCUMENTS.sum()
    n = DOCUMENTS[:, None]
    shrunk = (n * MEANS + PRIOR_DOCUMENTS * average) / (n + PRIOR_DOCUMENTS)
    one, other = (np.sqrt(shrunk[i]) - np.sqrt(average) for i in (1, 2))
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other) * np.sqrt(40 / (40 + PRIOR_DOCUMENTS))
    assert dict(mixes.nearest(1, 4))["dracula"] == pytest.approx(expected)


def test_topics_of_a_tags_documents_are_the_mean_of_their_proportions(planted: TWDA) -> None:
    proportions, tags = planted.transform(CORPUS), CORPUS.tags.toarray()
    expected = (tags.T @ proportions) / tags.sum(axis=0)[:, None]
    np.testing.assert_allclose(planted.tag_document_topics_, expected, rtol=1e-4)
    ranked = planted.top_topics(CORPUS.tag_names[2], 3)
    assert dict(ranked) == pytest.approx(dict(enumerate(expected[2].tolist())), rel=1e-4)
    assert dict(planted.top_topics(CORPUS.tag_names[2], 3, of="tag")) == pytest.approx(
        dict(enumerate(planted.tag_topics_[2].tolist()))
    )
    with pytest.raises(ValueError, match="of='words': expected one of 'documents', 'tag'"):
        planted.top_topics(CORPUS.tag_names[2], of="words")


def test_a_sampler_averages_the_topics_of_a_tags_documents_over_draws() -> None:
    model = TWDA(3, inference="gibbs", max_iter=60, random_state=0, progress=False).fit(CORPUS)
    tags = CORPUS.tags.toarray()
    expected = (tags.T @ model.transform(CORPUS)) / tags.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.tag_document_topics_.sum(axis=1), 1.0, rtol=1e-5)
    assert np.abs(model.tag_document_topics_ - expected).max() < 0.1
    assert np.corrcoef(model.tag_document_topics_.ravel(), expected.ravel())[0, 1] > 0.98


def test_a_partial_fit_averages_over_old_and_new_documents() -> None:
    old, new = CORPUS[:50], CORPUS[50:]
    model = TWDA(3, max_iter=5, random_state=0).fit(old)
    before, n_old = model.tag_document_topics_.astype(float), old.tag_sizes()
    model.partial_fit(new)
    added = new.tags.toarray().T @ model.transform(new)
    expected = (before * n_old[:, None] + added) / np.maximum(n_old + new.tag_sizes(), 1)[:, None]
    np.testing.assert_allclose(model.tag_document_topics_, expected, rtol=1e-4)


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
