"""Models edited by a ledger: sums of merged topics are exact, and no edit needs another fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.test_io import rewrite

from tagtopic import LDA, TWDA, TWTM, Ledger
from tagtopic.datasets import make_tagged_corpus
from tagtopic.models._base import TagTopicModel
from tagtopic.models._io import ModelFileError

PLANTED = make_tagged_corpus(300, 6, 20, 200, random_state=1)
CORPUS = PLANTED.corpus


@pytest.fixture(scope="module")
def model() -> TWDA:
    return TWDA(6, random_state=0, max_iter=20).fit(CORPUS)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "films.decisions.jsonl")


def merge(ledger: Ledger, model: TagTopicModel, *topics: int) -> Any:
    return ledger.record("topic-merge", topics=[model.topic_reference(topic) for topic in topics])


def rename(ledger: Ledger, model: TagTopicModel, topic: int, name: str) -> Any:
    return ledger.record("topic-rename", topic=model.topic_reference(topic), name=name)


@pytest.mark.parametrize("fitted", [TWTM(6), TWDA(6, dtype="float64"), LDA(6), TWDA(6, inference="gibbs", n_draws=2)])
def test_shares_and_mixes_of_merged_topics_are_exactly_the_sums(fitted: TagTopicModel, ledger: Ledger) -> None:
    fitted.set_params(random_state=0, max_iter=40, **({} if isinstance(fitted, LDA) else {"tag_predictor": False}))
    fitted.fit(CORPUS)
    merge(ledger, fitted, 4, 1)
    edited = fitted.edit(ledger)
    assert edited.topic_groups_.tolist() == [0, 1, 2, 3, 1, 4]
    before, after = fitted.transform(CORPUS), edited.transform(CORPUS)
    np.testing.assert_array_equal(after[:, 1], before[:, 1] + before[:, 4])
    np.testing.assert_array_equal(np.delete(after, 1, axis=1), before[:, [0, 2, 3, 5]])
    tags = fitted.tag_topics_
    np.testing.assert_array_equal(edited.tag_topics_[:, 1], tags[:, 1] + tags[:, 4])
    assert edited.topic_shares_[1] == fitted.topic_shares_[1] + fitted.topic_shares_[4]
    shares = fitted.topic_shares_[[1, 4]]
    words = shares @ fitted.components_[[1, 4]] / shares.sum()
    np.testing.assert_allclose(edited.components_[1], words, rtol=1e-5)
    np.testing.assert_allclose(edited.components_.sum(axis=1), 1, rtol=1e-5)
    if len(fitted.tag_topic_draws_):
        draws = fitted.tag_topic_draws_
        np.testing.assert_array_equal(edited.tag_topic_draws_[:, :, 1], draws[:, :, 1] + draws[:, :, 4])
        np.testing.assert_allclose(edited.topic_word_draws_.sum(axis=-1), 1, rtol=1e-5)


def test_what_does_not_depend_on_topics_is_unchanged_by_merges(model: TWDA, ledger: Ledger) -> None:
    merge(ledger, model, 0, 2, 3)
    edited = model.edit(ledger)
    np.testing.assert_array_equal(edited.tag_weights(CORPUS).data, model.tag_weights(CORPUS).data)
    assert edited.predict_tags(CORPUS[:5]) == model.predict_tags(CORPUS[:5])
    likelihood = [each.predict_tags(CORPUS[:5], method="likelihood") for each in (edited, model)]
    assert likelihood[0] == likelihood[1]
    assert edited.audit_tags(CORPUS).entries[0] == model.audit_tags(CORPUS).entries[0]
    assert model.perplexity(CORPUS) < edited.perplexity(CORPUS) < CORPUS.n_words


def test_the_words_of_an_explanation_are_of_merged_topics(model: TWDA, ledger: Ledger) -> None:
    before = {word.word: word for word in model.explain(CORPUS[0]).words}
    merge(ledger, model, *range(6))
    for word in model.edit(ledger).explain(CORPUS[0]).words:
        assert (word.topic, word.tag) == (0, before[word.word].tag)
        assert word.topic_share + word.own_share == pytest.approx(1)


def test_the_model_itself_is_not_changed(model: TWDA, ledger: Ledger) -> None:
    before = {name: np.array(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    merge(ledger, model, 0, 1)
    ledger.record("words-ban", words=list(CORPUS.words[:5]))
    model.edit(ledger)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
    assert model.topic_names_ == ("",) * 6
    assert model.topic_groups_.tolist() == [*range(6)]


def test_names_and_hidden_topics_change_no_number(model: TWDA, ledger: Ledger) -> None:
    rename(ledger, model, 2, "First name")
    rename(ledger, model, 2, "Space")
    ledger.record("topic-hide", topic=model.topic_reference(4))
    edited = model.edit(ledger)
    assert edited.topic_names_ == ("", "", "Space", "", "", "")
    assert edited.hidden_topics_ == (4,)
    assert edited.components_ is model.components_
    np.testing.assert_array_equal(edited.transform(CORPUS), model.transform(CORPUS))


def test_a_merged_topic_has_the_last_name_and_is_hidden_only_if_all_its_topics_are(model: TWDA, ledger: Ledger) -> None:
    rename(ledger, model, 3, "Three")
    rename(ledger, model, 0, "Nought")
    merge(ledger, model, 3, 0)
    ledger.record("topic-hide", topic=model.topic_reference(3))
    assert model.edit(ledger).topic_names_[0] == "Nought"
    assert model.edit(ledger).hidden_topics_ == ()
    rename(ledger, model, 3, "Both")
    ledger.record("topic-hide", topic=model.topic_reference(0))
    assert model.edit(ledger).topic_names_[0] == "Both"
    assert model.edit(ledger).hidden_topics_ == (0,)


def test_decisions_about_an_edited_model_are_about_its_fitted_topics(model: TWDA, ledger: Ledger) -> None:
    merge(ledger, model, 1, 4)
    edited = model.edit(ledger)
    merge(ledger, edited, 1, 4)  # the merged topic, and what was topic 5
    assert model.edit(ledger).topic_groups_.tolist() == edited.edit(ledger).topic_groups_.tolist() == [0, 1, 2, 3, 1, 1]
    rename(ledger, edited, 4, "Five")
    assert model.edit(ledger).topic_names_[1] == "Five"


def test_what_is_undone_is_gone_also_from_a_model_that_was_edited_before(model: TWDA, ledger: Ledger) -> None:
    decisions = [
        merge(ledger, model, 1, 4),
        rename(ledger, model, 2, "Space"),
        ledger.record("topic-hide", topic=model.topic_reference(0)),
        ledger.record("words-ban", words=[CORPUS.words[0]]),
    ]
    edited = model.edit(ledger)
    for decision in decisions:
        ledger.undo(decision)
    restored = edited.edit(ledger)
    assert restored.topic_names_ == ("",) * 6
    assert restored.hidden_topics_ == ()
    np.testing.assert_array_equal(restored.components_, model.components_)
    np.testing.assert_array_equal(restored.transform(CORPUS), model.transform(CORPUS))
    assert restored.perplexity(CORPUS) == model.perplexity(CORPUS)


def test_names_of_an_earlier_edit_stay(model: TWDA, ledger: Ledger, tmp_path: Path) -> None:
    rename(ledger, model, 2, "Space")
    other = Ledger.open(tmp_path / "other.jsonl")
    rename(other, model, 3, "Crime")
    assert model.edit(ledger).edit(other).topic_names_ == ("", "", "Space", "Crime", "", "")


def test_banned_words_are_in_no_topic_and_no_document(model: TWDA, ledger: Ledger) -> None:
    banned = [word for word, _ in model.top_words(0, 3)]
    ledger.record("words-ban", words=[*banned, "unheard"])
    edited = model.edit(ledger)
    columns = [CORPUS.words.index(word) for word in banned]
    assert not edited.components_[:, columns].any()
    np.testing.assert_allclose(edited.components_.sum(axis=1), 1, rtol=1e-5)
    rest = np.delete(model.components_[0], columns)
    np.testing.assert_allclose(np.delete(edited.components_[0], columns), rest / rest.sum(), rtol=1e-4)
    without = ledger.apply(CORPUS)
    np.testing.assert_array_equal(edited.transform(CORPUS), edited.transform(without))
    assert edited.perplexity(CORPUS) == edited.perplexity(without)
    assert np.isfinite(edited.perplexity(CORPUS))


def test_banned_words_are_no_tag_s_own(ledger: Ledger) -> None:
    model = TWDA(3, inference="gibbs", max_iter=20, thinning=5, n_draws=2, random_state=0, tag_predictor=False)
    model.fit(CORPUS)
    first = int(model.own_word_words_[0])
    ledger.record("words-ban", words=[model.words_[first]])
    edited = model.edit(ledger)
    assert model.own_words_[:, [first]].sum() > 0
    assert not edited.own_words_[:, [first]].sum()
    assert all(not draw.own_words.omega[edited.own_word_words_ == first].any() for draw in edited.draws_)  # type: ignore[union-attr]
    assert edited.tag_words(model.tag_names_[0])[0][0] != model.words_[first]
    assert np.isfinite(edited.perplexity(CORPUS))
    assert edited.edit(Ledger.open(ledger.path.with_name("empty.jsonl"))).own_words_.sum() == model.own_words_.sum()


def test_not_all_words_can_be_banned(model: TWDA, ledger: Ledger) -> None:
    ledger.record("words-ban", words=list(CORPUS.words))
    with pytest.raises(ValueError, match="all 200 words of the model are banned"):
        model.edit(ledger)


def test_an_edited_model_survives_its_file(model: TWDA, ledger: Ledger, tmp_path: Path) -> None:
    rename(ledger, model, 2, "Räume")
    merge(ledger, model, 1, 4)
    ledger.record("topic-hide", topic=model.topic_reference(0))
    ledger.record("words-ban", words=[CORPUS.words[0]])
    edited = model.edit(ledger)
    edited.save(tmp_path / "edited.tagtopic")
    again = TWDA.load(tmp_path / "edited.tagtopic")
    assert (again.topic_names_, again.hidden_topics_) == (edited.topic_names_, edited.hidden_topics_)
    np.testing.assert_array_equal(again.components_, edited.components_)
    np.testing.assert_array_equal(again.transform(CORPUS), edited.transform(CORPUS))
    assert again.perplexity(CORPUS) == edited.perplexity(CORPUS)
    for decision in ledger.entries:
        ledger.undo(decision)
    np.testing.assert_array_equal(again.edit(ledger).components_, model.components_)


@pytest.mark.parametrize(
    "change",
    [
        {"groups": [0, 1, 2]},
        {"groups": [0, 1, 2, 3, 4, 9]},
        {"groups": [0, 1, 2, 3, 4, -1]},
        {"groups": [0, 1, 2, 3, 4, True]},
        {"names": ["", "", "", "", "", 5]},
        {"names": None},
        {"hidden": [77]},
        {"hidden": [{}]},
        {"sources": [[["x"]]] * 6},
        {"sources": [3] * 6},
        {"banned": [1]},
        {"more": []},
    ],
)
def test_edits_in_a_file_that_do_not_fit_its_topics_are_refused(
    change: dict[str, Any], model: TWDA, ledger: Ledger, tmp_path: Path
) -> None:
    rename(ledger, model, 2, "Space")
    edited = model.edit(ledger)
    edited.save(tmp_path / "edited.tagtopic")
    assert edited._edits is not None
    rewrite(tmp_path / "edited.tagtopic", topics=edited._edits.to_json() | change)
    with pytest.raises(ModelFileError, match="is damaged"):
        TWDA.load(tmp_path / "edited.tagtopic")


def test_decisions_follow_topics_to_another_fit_by_their_words(model: TWDA, ledger: Ledger) -> None:
    for topic in range(6):
        rename(ledger, model, topic, f"was {topic}")
    other = TWDA(6, random_state=7, max_iter=20).fit(CORPUS)
    edited = other.edit(ledger)
    assert sorted(edited.topic_names_) == [f"was {topic}" for topic in range(6)]
    for topic, name in enumerate(edited.topic_names_):
        old = model.components_[int(name.removeprefix("was "))]
        similarity = np.sqrt(old * other.components_[topic]).sum()
        assert similarity == pytest.approx(np.sqrt(old * other.components_).sum(axis=1).max(), rel=1e-4)


def test_topics_without_a_clear_counterpart_are_reported(model: TWDA, ledger: Ledger) -> None:
    rename(ledger, model, 2, "Space")
    renamed = CORPUS.from_counts(CORPUS.counts, CORPUS.tags, words=[f"other_{word}" for word in CORPUS.words])
    other = TWDA(6, random_state=0, max_iter=3).fit(renamed)
    with pytest.warns(UserWarning, match=r"1 of 1 topics are left out, .*'Space' \(word_"):
        edited = other.edit(ledger)
    assert edited.topic_names_ == ("",) * 6


def test_edits_outlast_a_partial_fit(model: TWDA, ledger: Ledger) -> None:
    merge(ledger, model, 1, 4)
    rename(ledger, model, 5, "Last")
    edited = model.edit(ledger)
    edited.partial_fit(CORPUS[:50])
    assert edited.topic_names_ == ("", "", "", "", "Last")
    assert edited.components_.shape == (5, 200)
    assert edited.edit(ledger).topic_groups_.tolist() == [0, 1, 2, 3, 1, 4]
    before = edited.edit(Ledger(ledger.path.with_name("empty"))).transform(CORPUS)
    np.testing.assert_array_equal(edited.transform(CORPUS)[:, 1], before[:, 1] + before[:, 4])


def test_a_new_fit_forgets_edits(ledger: Ledger) -> None:
    fresh = TWDA(3, random_state=0, max_iter=2).fit(CORPUS)
    merge(ledger, fresh, 0, 1)
    edited = fresh.edit(ledger)
    edited.fit(CORPUS)
    assert edited.components_.shape[0] == 3
    np.testing.assert_array_equal(edited.components_, fresh.components_)


def test_there_is_no_reference_to_a_topic_that_does_not_exist(model: TWDA) -> None:
    with pytest.raises(ValueError, match="there is no topic 6"):
        model.topic_reference(6)


def test_figures_and_notebooks_show_names_and_leave_out_hidden_topics(model: TWDA, ledger: Ledger) -> None:
    rename(ledger, model, 2, "Space & <time>")
    ledger.record("topic-hide", topic=model.topic_reference(4))
    edited = model.edit(ledger)
    html = edited._repr_html_()
    assert "2: Space &amp; &lt;time&gt;" in html
    assert len(edited.plot_topics().data[0].text) == 5
    assert any("Space" in text for text in edited.plot_topics().data[0].text)
    tag = int(model.tag_topics_[:, 2].argmax())
    assert any("Space" in name for name in edited.plot_tag(model.tag_names_[tag]).data[0].y)


def test_a_topic_of_banned_words_only_has_the_frequencies_of_the_others(ledger: Ledger) -> None:
    counts = np.array([[3, 2, 0, 0], [0, 0, 2, 4]] * 10)
    model = TWDA(2, topic_word_prior=0, init="nmf", random_state=0, max_iter=30).fit(counts, tags=[["a"], ["b"]] * 10)
    topic = int(model.components_[:, 0].argmax())
    ledger.record("words-ban", words=[word for word, share in model.top_words(topic, 4) if share > 1e-6])
    edited = model.edit(ledger)
    np.testing.assert_allclose(edited.components_.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(edited.perplexity(counts, tags=[["a"], ["b"]] * 10))
