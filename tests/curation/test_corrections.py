"""Decisions applied to a corpus."""

from pathlib import Path

import numpy as np
import pytest

from tagtopic import Corpus
from tagtopic.curation import Ledger

TAGS = [["sci-fi", "robot"], ["SF", "sci-fi"], [], ["crime"], ["robot", "ship"]]


@pytest.fixture
def corpus() -> Corpus:
    texts = ["a ship in space", "a film of a robot", "a film", "a killer", "a robot on a ship"]
    return Corpus.from_texts(texts, TAGS, ids=["a", "b", "c", "d", "a"], keep_texts=True)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "films.decisions.jsonl")


def tags_of(corpus: Corpus) -> list[set[str]]:
    return [set(document.tags) for document in corpus]


def decide(ledger: Ledger) -> None:
    ledger.record("tags-merge", canonical="science fiction", variants=["sci-fi", "SF"])
    ledger.record("tag-wrong", document="a", tag="robot")
    ledger.record("tag-wrong", document="d", tag="crime")
    ledger.record("tag-add", document="c", tag="drama")
    ledger.record("tag-wrong", document="nowhere", tag="robot")
    ledger.record("words-ban", words=["film", "unheard"])


def test_tags_are_corrected_on_every_document_with_the_id(corpus: Corpus, ledger: Ledger) -> None:
    decide(ledger)
    corrected = ledger.apply(corpus)
    assert tags_of(corrected) == [{"science fiction"}, {"science fiction"}, {"drama"}, set(), {"ship"}]
    assert set(corrected.tag_names) == {"science fiction", "drama", "ship"}
    corrected.check()


def test_the_result_is_that_of_each_document_alone(corpus: Corpus, ledger: Ledger) -> None:
    decide(ledger)
    expected = [set(ledger.state.corrected_tags(d.id, d.tags)) for d in corpus]
    assert tags_of(ledger.apply(corpus)) == expected


def test_the_corpus_itself_is_unchanged_and_applying_twice_changes_nothing(corpus: Corpus, ledger: Ledger) -> None:
    decide(ledger)
    before = corpus.fingerprint()
    once = ledger.apply(corpus)
    assert corpus.fingerprint() == before
    assert ledger.apply(once).fingerprint() == once.fingerprint()


def test_banned_words_keep_their_column_and_lose_their_occurrences(corpus: Corpus, ledger: Ledger) -> None:
    decide(ledger)
    corrected = ledger.apply(corpus)
    assert corrected.words == corpus.words
    film = corpus.words.index("film")
    assert corrected.word_counts()[film] == 0
    np.testing.assert_array_equal(np.delete(corrected.word_counts(), film), np.delete(corpus.word_counts(), film))
    assert corrected.texts is not None


def test_without_decisions_nothing_changes(corpus: Corpus, ledger: Ledger) -> None:
    assert ledger.apply(corpus).fingerprint() == corpus.fingerprint()


def test_tags_that_had_no_documents_are_kept(ledger: Ledger) -> None:
    corpus = Corpus.from_counts([[1], [1]], np.array([[1, 0], [1, 0]]), tag_names=["used", "unused"])
    ledger.record("tag-wrong", document="0", tag="used")
    assert ledger.apply(corpus).tag_names == ("used", "unused")


def test_a_corpus_without_tags_can_get_some(ledger: Ledger) -> None:
    ledger.record("tag-add", document="1", tag="ship")
    assert tags_of(ledger.apply(Corpus.from_texts(["a ship", "the ship"]))) == [set(), {"ship"}]
