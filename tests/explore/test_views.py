"""Views have the results of the model."""

import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagtopic import LDA, TWDA, Corpus, Ledger
from tagtopic._core.arrays import largest
from tagtopic.corpus import TextRules
from tagtopic.explore import Explorer, views
from tagtopic.explore.explorer import NotFoundError
from tagtopic.explore.views.audit import audit_rows
from tagtopic.explore.views.document import find_spans
from tagtopic.explore.views.items import topic_mix


def topic_of(explorer: Explorer, word: str) -> int:
    return int(explorer.model.components_[:, explorer.word_numbers[word]].argmax())


def test_overview_has_counts_quality_and_topics(explorer: Explorer) -> None:
    view = views.overview(explorer)
    assert (view.name, view.kind, view.n_topics, view.n_tags, view.n_documents) == ("letters", "TWDA", 3, 7, 60)
    assert [summary.share for summary in view.topics] == sorted((s.share for s in view.topics), reverse=True)
    assert {bubble.topic for bubble in view.map} == {0, 1, 2}
    assert view.quality is not None
    assert view.quality.perplexity < view.quality.by_frequency / 2  # three authors, three vocabularies
    assert len(view.curve.bound) == view.iterations
    assert {kind.kind: kind.tags for kind in view.kinds} == {"author": 3, "year": 4}


def test_views_without_documents_have_no_quality_and_no_documents(bare: Explorer) -> None:
    view = views.overview(bare)
    assert (view.quality, view.n_documents) == (None, None)
    assert views.topic(bare, 0).documents is None
    assert views.tag(bare, 0).documents is None
    assert views.tag(bare, 0).weight is None
    assert views.tag(bare, 0).document_topics  # of the training documents


def test_overview_has_validation_perplexity_by_iteration(explorer: Explorer) -> None:
    assert views.overview(explorer).curve.held_out == ()
    corpus = explorer.documents
    validated = TWDA(2, random_state=0, progress=False, max_iter=4, validation_fraction=0.2).fit(corpus)
    curve = views.overview(Explorer(validated)).curve
    assert [iteration for iteration, _ in curve.held_out] == list(range(1, validated.n_iter_ + 1))


def test_topic_has_words_tags_documents_and_trend(explorer: Explorer) -> None:
    number = topic_of(explorer, "monster")
    view = views.topic(explorer, number, 8)
    words = {word.word for word in view.words}
    assert words == {"monster", "storm", "lightning", "laboratory", "creature", "night", "fear", "ice"}
    assert {word.word for word in view.distinctive} == words
    assert all(word.lift > 2 for word in view.distinctive)
    assert view.tags[0].tag == "author:Mary"
    assert view.documents is not None
    assert all(document.number % 3 == 1 for document in view.documents)
    assert [year.year for year in view.trend] == [1800, 1801, 1802, 1803]
    assert all(0.2 < year.share < 0.5 for year in view.trend)
    assert len(view.near) == 2


def test_tag_has_topics_documents_similar_tags_and_suspicious_uses(explorer: Explorer) -> None:
    _ = explorer.audit
    number = explorer.tag_numbers["author:Mary"]
    view = views.tag(explorer, number)
    assert (view.tag, view.kind, view.value) == ("author:Mary", "author", "Mary")
    assert view.topics[0].topic == topic_of(explorer, "monster")
    assert view.n_documents == 21
    assert view.document_topics is not None
    ranked = explorer.model.top_topics("author:Mary", explorer.model.n_topics)  # the command line gives the same
    assert {part.topic: part.share for part in view.document_topics} == pytest.approx(
        {topic: share for topic, share in ranked if share >= 0.02}
    )
    own = explorer.documents.tags.toarray()[:, number] > 0
    mean = explorer.model.transform(explorer.documents)[own].mean(axis=0)
    assert dict(ranked) == pytest.approx(dict(enumerate(mean)), rel=1e-4)  # without words of the tag's own
    assert view.documents is not None
    assert view.suspicious is not None
    assert 0 not in [document.number for document in view.documents[:10]]
    assert view.suspicious[0].document.number == 0  # a letter with Ada's words
    assert "author:Jane" in [tag.tag for tag in view.similar]


def test_document_has_the_weights_and_assignments_of_the_model(explorer: Explorer) -> None:
    view = views.document(explorer, 4)
    weights = dict(explorer.model.rank_tags(explorer.documents[4:5])[0])
    assert {tag.tag: tag.weight for tag in view.tags} == pytest.approx(weights)
    assert sum(weights.values()) + view.no_tag == pytest.approx(1, abs=1e-5)
    assert all(tag.low is not None and tag.high is not None and tag.low <= tag.high for tag in view.tags)
    assert {word.topic for word in view.words} == {topic_of(explorer, "monster")}
    assert view.text is not None
    assert explorer.texts is not None
    assert "".join(span.text for span in view.text) == explorer.texts[4]
    for span in view.text:
        if span.word >= 0:
            assert view.words[span.word].word == span.text.lower()
    assert not {tag.tag for tag in view.missing} & set(weights)
    similar = explorer.model.similar_documents(4, explorer.documents, 8)
    assert [one.id for one in view.similar] == [id for id, _ in similar]
    assert [one.value for one in view.similar] == pytest.approx([value for _, value in similar])
    assert 4 not in {one.number for one in view.similar}


def test_new_text_is_described_like_a_document(explorer: Explorer) -> None:
    view = views.new_document(explorer, "The Monster feared a STORM at night", ["author:Mary", "author:Nobody"])
    assert view.unknown_tags == ("author:Nobody",)
    assert [tag.tag for tag in view.tags] == ["author:Mary"]
    assert view.text is not None
    assert [p.text for p in view.text if p.word >= 0] == ["Monster", "STORM", "night"]
    assert view.n_words == 3
    empty = views.new_document(explorer, "?!", [])
    assert (empty.n_words, empty.words, empty.tags) == (0, (), ())


def test_missing_topics_tags_documents_and_models_raise(explorer: Explorer, bare: Explorer) -> None:
    for request in (
        lambda: views.topic(explorer, 3),
        lambda: views.tag(explorer, 7),
        lambda: views.document(explorer, 60),
        lambda: views.document(bare, 0),
        lambda: views.find_documents(bare),
        lambda: views.audit(bare),
        lambda: views.compare(bare),
    ):
        with pytest.raises(NotFoundError):
            request()
    with pytest.raises(ValueError, match="there are 1 texts for 60 documents"):
        Explorer(explorer.model, explorer.corpus, texts=["one"])


def test_tags_are_found_by_part_of_their_name(explorer: Explorer) -> None:
    assert [tag.tag for tag in views.find_tags(explorer, "ada").tags] == ["author:Ada"]
    assert [tag.tag for tag in views.find_tags(explorer, "a").tags][:3] == ["author:Mary", "author:Jane", "author:Ada"]
    assert views.find_tags(explorer, kind="year").total == 4
    assert views.find_tags(explorer, kind="").total == 0
    page = views.find_tags(explorer, limit=2, offset=6)
    assert (page.total, len(page.tags)) == (7, 1)


def test_documents_are_found_by_id_and_by_words(explorer: Explorer) -> None:
    assert views.find_documents(explorer, "letter 59").documents[0].number == 59
    found = views.find_documents(explorer, "Monster storm", limit=100)
    counts = explorer.documents.counts
    both = (
        counts[:, [explorer.word_numbers["monster"]]].toarray() * counts[:, [explorer.word_numbers["storm"]]].toarray()
    )
    assert {d.number for d in found.documents} == set(np.flatnonzero(both.ravel()).tolist())
    assert views.find_documents(explorer, "no such words").total == 0


def test_audit_view_and_rows_are_those_of_the_report(explorer: Explorer) -> None:
    view = views.audit(explorer, 5)
    assert view.n_entries == 120
    assert len(view.entries) == 5
    assert view.entries[0].entry in explorer.audit.entries
    for part, n in (("entries", 120), ("tags", 7), ("duplicates", 0)):
        assert len(list(audit_rows(explorer, part))) == n
    with pytest.raises(ValueError, match="no part 'all'"):
        next(audit_rows(explorer, "all"))


def test_a_model_compared_with_itself_matches_every_topic(explorer: Explorer) -> None:
    twin = Explorer(explorer.model, explorer.corpus, other=explorer.model)
    view = views.compare(twin)
    assert view.mean_similarity == pytest.approx(1)
    assert all(pair.topic == pair.other for pair in view.pairs)
    assert view.moved[0].value == pytest.approx(1, abs=1e-3)
    different = views.compare(explorer)
    assert len(different.pairs) == 4
    assert [pair for pair in different.pairs if pair.topic is None]
    assert replace(different.first, quality=None, name="") == replace(view.first, quality=None, name="")


def test_models_without_shared_words_cannot_be_compared(explorer: Explorer) -> None:
    foreign = LDA(2, max_iter=2, progress=False).fit(Corpus.from_counts([[1, 2], [2, 1]], words=["x", "y"]))
    with pytest.raises(NotFoundError, match="no word in common"):
        views.compare(Explorer(explorer.model, other=foreign))


def test_views_of_a_model_without_tags() -> None:
    corpus = Corpus.from_counts(np.eye(6, dtype=int) + 1)
    explorer = Explorer(LDA(2, max_iter=3, progress=False, random_state=0).fit(corpus), corpus)
    assert views.overview(explorer).n_tags == 0
    assert views.topic(explorer, 0).tags == ()
    assert views.document(explorer, 0).missing == ()
    assert views.find_tags(explorer).total == 0
    assert not explorer.can_audit
    with pytest.raises(ValueError, match="trained on counts"):
        views.new_document(explorer, "a text")


@given(st.lists(st.text(max_size=6) | st.sampled_from(["engine", "a_b", "été", "ﬁ", "-", " "])).map("".join))
def test_spans_concatenate_to_the_text_and_name_its_words(text: str) -> None:
    rules = TextRules(stop_words=None, min_length=1)
    vocabulary = {"engine", "a_b", "été", "fi", "a"}
    spans = find_spans(text, rules, vocabulary)
    assert "".join(span.text for span in spans) == text
    found = [span.word for span in spans if span.word is not None]
    expected = Counter(word for word in rules.tokens(text) if word in vocabulary)
    # characters that stand for several ("℀" is "a/c") are highlighted as a whole or not at all
    assert Counter(found) <= expected
    if unicodedata.is_normalized("NFKC", text):
        assert Counter(found) == expected


def test_bigrams_are_one_span() -> None:
    rules = TextRules(stop_words=None, bigrams=0.5)
    vocabulary = {"machine translation", "machine", "of"}
    found = [p for p in find_spans("Machine translation of a machine. Translation", rules, vocabulary) if p.word]
    assert [(p.text, p.word) for p in found] == [
        ("Machine translation", "machine translation"),
        ("of", "of"),
        ("machine", "machine"),
    ]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 35))
def test_largest_equals_a_stable_sort(values: list[int], n: int) -> None:
    array = np.array(values, np.float64)
    order = np.argsort(-array, kind="stable")[:n]
    assert largest(array, range(len(array)), n) == [(int(i), float(array[i])) for i in order]


def test_views_show_names_and_list_no_hidden_topics(explorer: Explorer, tmp_path: Path) -> None:
    model = explorer.model
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    ledger.record("topic-rename", topic=model.topic_reference(1), name="Engines")
    ledger.record("topic-hide", topic=model.topic_reference(0))
    edited = Explorer(model.edit(ledger), explorer.corpus)
    summaries = {summary.topic: summary for summary in views.overview(edited).topics}
    assert 0 not in summaries
    assert summaries[1].name == "Engines"
    assert {circle.topic for circle in views.overview(edited).map} == set(summaries)
    assert views.topic(edited, 1).name == "Engines"
    assert views.topic(edited, 0).topic == 0
    mix = np.zeros(len(model.components_))
    mix[1] = 1
    assert [part.name for part in topic_mix(edited, mix)] == ["Engines"]
