"""Refits that keep the names of topics, and topics that are seeded with words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tagtopic import LDA, TWDA, TWTM, Corpus, Ledger
from tagtopic.curation.matching import similarity_of_topics
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._base import TagTopicModel
from tagtopic.models._checkpoint import CheckpointError

PLANTED = make_tagged_corpus(880, 8, 30, 400, model="twda", word_concentration=0.05, random_state=3)
CORPUS = PLANTED.corpus
FIRST = CORPUS[:800]
TRUTH = np.asarray(PLANTED.topic_words)
SETTINGS: dict[str, Any] = {"max_iter": 40, "tag_predictor": False}


def planted_topic(model: TagTopicModel, topic: int) -> int:
    """The planted topic that a topic is most similar to."""
    frequencies = CORPUS.word_counts() / CORPUS.word_counts().sum()
    topics = model.components_[[topic]]
    return int(similarity_of_topics(topics, model.words_, TRUTH, CORPUS.words, frequencies).argmax())


@pytest.fixture(scope="module")
def old() -> TWDA:
    return TWDA(8, random_state=0, **SETTINGS).fit(FIRST)


@pytest.fixture
def ledger(old: TWDA, tmp_path: Path) -> Ledger:
    """Each topic is named after its planted one."""
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    for topic in range(8):
        ledger.record("topic-rename", topic=old.topic_reference(topic), name=f"planted {planted_topic(old, topic)}")
    return ledger


def assert_names_are_right(model: TagTopicModel, least: int) -> None:
    named = {topic: name for topic, name in enumerate(model.topic_names_) if name}
    assert len(named) >= least
    for topic, name in named.items():
        assert name == f"planted {planted_topic(model, topic)}"


def test_names_survive_a_refit_with_more_documents_and_a_ledger(ledger: Ledger) -> None:
    new = TWDA(8, random_state=11, **SETTINGS).fit(CORPUS, ledger=ledger)
    assert_names_are_right(new, 7)
    assert set(new.topic_matches_) == {f"planted {topic}" for topic in range(8)}


def test_names_and_numbers_survive_a_refit_from_the_earlier_model(old: TWDA, ledger: Ledger) -> None:
    named = old.edit(ledger)
    new = TWDA(8, random_state=11, initial=named, **SETTINGS).fit(CORPUS)
    assert_names_are_right(new, 7)
    kept = [topic for topic, name in enumerate(new.topic_names_) if name]
    assert [new.topic_names_[topic] for topic in kept] == [named.topic_names_[topic] for topic in kept]


def test_decisions_about_the_earlier_model_hold_for_one_that_started_from_it(old: TWDA, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "other.jsonl")
    ledger.record("topic-merge", topics=[old.topic_reference(0), old.topic_reference(1)])
    new = TWDA(8, random_state=11, initial=old, **SETTINGS).fit(CORPUS)
    groups = new.edit(ledger).topic_groups_.tolist()
    assert groups == [0, 0, 1, 2, 3, 4, 5, 6]
    new.save(tmp_path / "new.tagtopic")
    assert TWDA.load(tmp_path / "new.tagtopic").edit(ledger).topic_groups_.tolist() == groups


def test_more_topics_than_the_earlier_model_has_are_found_besides(old: TWDA, ledger: Ledger) -> None:
    few = TWDA(5, random_state=0, **SETTINGS).fit(FIRST)
    new = TWDA(8, random_state=11, initial=few, **SETTINGS).fit(CORPUS)
    assert len({planted_topic(new, topic) for topic in range(8)}) >= 7
    with pytest.warns(UserWarning, match="of 8 topics are left out"):
        fewer = TWDA(4, random_state=11, initial=old.edit(ledger), max_iter=2, tag_predictor=False).fit(CORPUS)
    assert len(fewer.components_) == 4


@pytest.mark.parametrize("kind", [TWTM, LDA])
def test_other_models_start_from_an_earlier_one_too(kind: Any, old: TWDA, ledger: Ledger) -> None:
    new = kind(8, random_state=11, initial=old.edit(ledger), max_iter=20).fit(CORPUS)
    assert_names_are_right(new, 5)


def test_topics_of_other_documents_are_reported_as_doubtful(ledger: Ledger) -> None:
    other = make_tagged_corpus(400, 8, 30, 400, model="twda", word_concentration=0.05, random_state=99).corpus
    with pytest.warns(UserWarning, match="their counterparts in this model are doubtful"):
        new = TWDA(8, random_state=0, **SETTINGS).fit(other, ledger=ledger)
    doubtful = [name for name, match in new.topic_matches_.items() if not match.is_clear]
    assert len(doubtful) >= 6
    assert not set(doubtful) & set(new.topic_names_)


def test_a_fit_with_a_ledger_uses_corrected_tags_and_no_banned_words(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    first, second = CORPUS.tag_names[:2]
    ledger.record("tags-merge", canonical=first, variants=[second])
    ledger.record("words-ban", words=[CORPUS.words[0]])
    settings: dict[str, Any] = {"random_state": 0, "max_iter": 3}
    model = TWDA(4, **settings).fit(CORPUS, ledger=ledger)
    assert second not in model.tag_names_
    assert model.word_counts_[0] == 0
    by_hand = TWDA(4, **settings).fit(ledger.apply(CORPUS))
    np.testing.assert_array_equal(model.components_, by_hand.components_)


def test_hidden_topics_stay_hidden(old: TWDA, ledger: Ledger) -> None:
    ledger.record("topic-hide", topic=old.topic_reference(2))
    name = old.edit(ledger).topic_names_[2]
    new = TWDA(8, random_state=11, **SETTINGS).fit(CORPUS, ledger=ledger)
    assert [new.topic_names_[topic] for topic in new.hidden_topics_] == [name]


@pytest.mark.parametrize("inference", ["cvb0", "gibbs", "map"])
def test_a_seeded_topic_is_about_its_words_in_ten_seeds_of_ten(inference: str, tmp_path: Path) -> None:
    """Judged by the words that are not in the seed: the topic is the planted one whose words were given."""
    frequencies = CORPUS.word_counts() / CORPUS.word_counts().sum()
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    for planted in (1, 5):
        lift = np.where(frequencies > 0, TRUTH[planted] / np.maximum(frequencies, 1e-12), 0.0)
        best = np.argsort(-lift * (TRUTH[planted] > 0.01), kind="stable")[:4]
        ledger.record("topic-seed", name=f"planted {planted}", words=[CORPUS.words[word] for word in best])
    seeded = {word for words in ledger.state.seeds.values() for word in words}
    others = [word for word in range(CORPUS.n_words) if CORPUS.words[word] not in seeded]
    for random_state in range(10):
        model = TWDA(8, inference=inference, random_state=random_state, max_iter=15, tag_predictor=False)
        model.fit(CORPUS, ledger=ledger)
        for planted in (1, 5):
            topic = model.components_[[model.topic_names_.index(f"planted {planted}")]][:, others]
            names = [CORPUS.words[word] for word in others]
            found = similarity_of_topics(topic, names, TRUTH[:, others], names, frequencies[others])[0]
            assert found.argmax() == planted
            assert found.max() > 0.3


def test_shares_of_topics_do_not_include_the_prior_counts_of_seeds(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    ledger.record("topic-seed", name="rare", words=["b", "never seen"])
    counts = Corpus.from_counts([[40, 0, 0], [0, 1, 0]] * 5, [["x"], ["y"]] * 5, words=["a", "b", "c"])
    model = TWDA(2, random_state=0, max_iter=20, tag_predictor=False).fit(counts, ledger=ledger)
    assert model.topic_names_[0] == "rare"
    assert model.topic_shares_[0] < 0.1
    np.testing.assert_allclose(model.topic_shares_.sum(), 1)


def test_seeds_and_named_topics_have_different_numbers(old: TWDA, ledger: Ledger) -> None:
    ledger.record("topic-seed", name="planted 3", words=[CORPUS.words[0]])
    model = TWDA(8, random_state=0, max_iter=1, tag_predictor=False).fit(CORPUS, ledger=ledger)
    assert len(model.components_) == 8
    ledger.record("topic-seed", name="new", words=[CORPUS.words[1]])
    with pytest.raises(ValueError, match="n_topics=8: there is no topic left for the seed 'new'"):
        TWDA(8, random_state=0, max_iter=1).fit(CORPUS, ledger=ledger)
    TWDA(9, random_state=0, max_iter=1, tag_predictor=False).fit(CORPUS, ledger=ledger)


def test_seeds_that_cannot_hold_are_refused(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    seed = ledger.record("topic-seed", name="Space", words=["ship"])
    with pytest.raises(ValueError, match=r"'Space' cannot be seeded: none of its words \(ship\)"):
        TWDA(4).fit(CORPUS, ledger=ledger)
    ledger.undo(seed)
    ledger.record("topic-seed", name="Space", words=[CORPUS.words[0]])
    with pytest.raises(ValueError, match='seeded with learning="batch" only'):
        TWDA(4, learning="online").fit(CORPUS, ledger=ledger)


def test_an_initial_model_has_to_be_fitted() -> None:
    with pytest.raises(ValueError, match="expected a fitted TWDA"):
        TWDA(4, initial=TWDA(3)).fit(CORPUS)


def test_a_clone_keeps_the_initial_model_fitted(old: TWDA) -> None:
    model = TWDA(8, initial=old, max_iter=1)
    made = clone(model)
    assert made.initial is old
    assert made.get_params(deep=False) == model.get_params(deep=False)
    assert not hasattr(made, "components_")


@pytest.mark.parametrize("inference", ["cvb0", "gibbs"])
def test_a_seeded_fit_resumes_with_the_same_bits(inference: str, old: TWDA, ledger: Ledger, tmp_path: Path) -> None:
    ledger.record("topic-seed", name="planted 3", words=[CORPUS.words[0]])
    path = tmp_path / "checkpoint"
    settings: dict[str, Any] = {"inference": inference, "random_state": 0, "tag_predictor": False, "burn_in": 4}
    whole = TWDA(8, max_iter=8, **settings).fit(CORPUS, ledger=ledger)
    TWDA(8, max_iter=5, checkpoint=path, checkpoint_every=5, **settings).fit(CORPUS, ledger=ledger)
    resumed = TWDA(8, max_iter=8, checkpoint=path, checkpoint_every=5, **settings).fit(CORPUS, ledger=ledger)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    assert resumed.topic_names_ == whole.topic_names_
    with pytest.raises(CheckpointError, match="another run"):
        TWDA(8, max_iter=8, checkpoint=path, initial=old, **settings).fit(CORPUS, ledger=ledger)
    ledger.record("topic-seed", name="planted 4", words=[CORPUS.words[1]])
    with pytest.raises(CheckpointError, match="another run"):
        TWDA(8, max_iter=8, checkpoint=path, **settings).fit(CORPUS, ledger=ledger)
