"""The documents that show a topic."""

import numpy as np
import pytest

from tagtopic import TWDA, Corpus
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._queries import MIN_WORDS, top_by_share

CORPUS = make_tagged_corpus(80, 3, 6, 40, random_state=0).corpus


@pytest.fixture(scope="module")
def model() -> TWDA:
    return TWDA(3, max_iter=5, random_state=0).fit(CORPUS)


@pytest.mark.parametrize("topic", range(3))
def test_they_are_those_with_the_largest_shares(model: TWDA, topic: int) -> None:
    assert CORPUS.lengths().min() >= MIN_WORDS
    shares = model.transform(CORPUS)[:, topic]
    order = np.argsort(-shares, kind="stable")[:7]
    found = model.top_documents(CORPUS, topic, 7)
    assert [id for id, _ in found] == [CORPUS.ids[d] for d in order]
    assert [share for _, share in found] == pytest.approx(shares[order])


def test_tags_beside_counts_are_taken_into_account(model: TWDA) -> None:
    tags = [list(document.tags) for document in CORPUS]
    assert model.top_documents(CORPUS.counts, 0, tags=tags) == model.top_documents(CORPUS, 0)
    assert model.top_documents(CORPUS.counts, 0) != model.top_documents(CORPUS, 0)


def test_short_documents_come_only_where_longer_ones_are_too_few() -> None:
    shares, lengths = np.array([0.9, 0.5, 0.7]), np.array([MIN_WORDS - 1, MIN_WORDS, 500])
    assert top_by_share(shares, lengths, 2) == [(2, 0.7), (1, 0.5)]
    assert top_by_share(shares, lengths, 3) == [(0, 0.9), (2, 0.7), (1, 0.5)]


def test_a_topic_that_is_not_there_is_an_error_before_anything_is_read(model: TWDA) -> None:
    with pytest.raises(ValueError, match="there is no topic 3"):
        model.top_documents("nowhere.jsonl", 3)


def test_ids_are_those_of_the_source(model: TWDA) -> None:
    named = Corpus.from_counts(CORPUS.counts, words=CORPUS.words, ids=[f"film {d}" for d in range(len(CORPUS))])
    assert model.top_documents(named, 1, 1)[0][0].startswith("film ")
