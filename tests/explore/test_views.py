"""Views say what the model says."""

from dataclasses import replace

import numpy as np
import pytest

from tagtopic import LDA, TWDA, Corpus
from tagtopic.explore import Explorer, views
from tagtopic.explore.explorer import NothingToShowError, years_of
from tagtopic.explore.views.audit import audit_rows


def topic_of(explorer: Explorer, word: str) -> int:
    return int(explorer.model.components_[:, explorer.word_numbers[word]].argmax())


def test_the_overview_counts_and_measures(explorer: Explorer) -> None:
    view = views.overview(explorer)
    assert (view.name, view.kind, view.n_topics, view.n_tags, view.n_documents) == ("letters", "TWDA", 3, 7, 60)
    assert [summary.share for summary in view.topics] == sorted((s.share for s in view.topics), reverse=True)
    assert {bubble.topic for bubble in view.map} == {0, 1, 2}
    assert view.quality is not None
    assert view.quality.perplexity < view.quality.by_frequency / 2  # three authors, three vocabularies
    assert len(view.curve.bound) == view.iterations
    assert {kind.kind: kind.tags for kind in view.kinds} == {"author": 3, "year": 4}


def test_without_documents_there_is_no_quality(bare: Explorer) -> None:
    view = views.overview(bare)
    assert (view.quality, view.n_documents) == (None, None)
    assert views.topic(bare, 0).documents is None
    assert views.tag(bare, 0).documents is None
    assert views.tag(bare, 0).document_topics is None


def test_held_out_perplexity_is_shown_where_there_is_one(explorer: Explorer) -> None:
    assert views.overview(explorer).curve.held_out == ()
    corpus = explorer.documents
    watched = TWDA(2, random_state=0, progress=False, max_iter=4, validation_fraction=0.2).fit(corpus)
    curve = views.overview(Explorer(watched)).curve
    assert [iteration for iteration, _ in curve.held_out] == list(range(1, watched.n_iter_ + 1))


def test_a_topic_has_its_author_words_documents_and_years(explorer: Explorer) -> None:
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


def test_years_are_a_kind_whose_tags_are_years() -> None:
    assert list(years_of(("year:2001", "year:1999", "year:2000", "by:Ada"))) == [1999, 2000, 2001]
    assert years_of(("code:1999", "code:x", "code:y", "by:Ada")) == {}


def test_a_tag_has_its_topics_words_documents_and_doubtful_uses(explorer: Explorer) -> None:
    _ = explorer.audit
    number = explorer.tag_numbers["author:Mary"]
    view = views.tag(explorer, number)
    assert (view.tag, view.kind, view.value) == ("author:Mary", "author", "Mary")
    assert view.topics[0].topic == topic_of(explorer, "monster")
    assert view.n_documents == 21
    own = explorer.documents.tags.toarray()[:, number] > 0
    mean = explorer.model.transform(explorer.documents)[own].mean(axis=0)
    assert view.document_topics is not None
    assert {part.topic: part.share for part in view.document_topics} == pytest.approx(
        {topic: share for topic, share in enumerate(mean) if share >= 0.02}, rel=1e-4
    )
    assert view.documents is not None
    assert view.suspicious is not None
    assert 0 not in [document.number for document in view.documents[:10]]
    assert view.suspicious[0].document.number == 0  # a letter with Ada's words
    assert "author:Jane" in [tag.tag for tag in view.similar]


def test_a_document_is_read_as_the_model_reads_it(explorer: Explorer) -> None:
    view = views.document(explorer, 4)
    weights = dict(explorer.model.rank_tags(explorer.documents[4:5])[0])
    assert {tag.tag: tag.weight for tag in view.tags} == pytest.approx(weights)
    assert sum(weights.values()) + view.no_tag == pytest.approx(1, abs=1e-5)
    assert all(tag.low is not None and tag.high is not None and tag.low <= tag.high for tag in view.tags)
    assert {word.topic for word in view.words} == {topic_of(explorer, "monster")}
    assert view.text is not None
    assert explorer.texts is not None
    assert "".join(piece.text for piece in view.text) == explorer.texts[4]
    for piece in view.text:
        if piece.word >= 0:
            assert view.words[piece.word].word == piece.text.lower()
    assert not {tag.tag for tag in view.missing} & set(weights)


def test_a_typed_text_is_a_document_too(explorer: Explorer) -> None:
    view = views.examine(explorer, "The Monster feared a STORM at night", ["author:Mary", "author:Nobody"])
    assert view.unknown_tags == ("author:Nobody",)
    assert [tag.tag for tag in view.tags] == ["author:Mary"]
    assert view.text is not None
    assert [p.text for p in view.text if p.word >= 0] == ["Monster", "STORM", "night"]
    assert view.n_words == 3
    empty = views.examine(explorer, "?!", [])
    assert (empty.n_words, empty.words, empty.tags) == (0, (), ())


def test_what_is_not_there_is_told(explorer: Explorer, bare: Explorer) -> None:
    for ask in (
        lambda: views.topic(explorer, 3),
        lambda: views.tag(explorer, 7),
        lambda: views.document(explorer, 60),
        lambda: views.document(bare, 0),
        lambda: views.find_documents(bare),
        lambda: views.audit(bare),
        lambda: views.compare(bare),
    ):
        with pytest.raises(NothingToShowError):
            ask()
    with pytest.raises(ValueError, match="there are 1 texts for 60 documents"):
        Explorer(explorer.model, explorer.corpus, texts=["one"])


def test_tags_are_found_by_a_part_of_their_name(explorer: Explorer) -> None:
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


def test_the_audit_has_rows_to_act_on(explorer: Explorer) -> None:
    view = views.audit(explorer, 5)
    assert view.n_entries == 120
    assert len(view.entries) == 5
    assert view.entries[0].entry in explorer.audit.entries
    for part, n in (("entries", 120), ("tags", 7), ("duplicates", 0)):
        assert len(list(audit_rows(explorer, part))) == n
    with pytest.raises(ValueError, match="no part 'all'"):
        next(audit_rows(explorer, "all"))


def test_a_model_is_most_like_itself(explorer: Explorer) -> None:
    twin = Explorer(explorer.model, explorer.corpus, other=explorer.model)
    view = views.compare(twin)
    assert view.mean_likeness == pytest.approx(1)
    assert all(pair.topic == pair.other for pair in view.pairs)
    assert view.moved[0].value == pytest.approx(1, abs=1e-3)
    different = views.compare(explorer)
    assert len(different.pairs) == 4
    assert [pair for pair in different.pairs if pair.topic is None]
    assert replace(different.first, quality=None, name="") == replace(view.first, quality=None, name="")


def test_models_without_words_in_common_cannot_be_compared(explorer: Explorer) -> None:
    foreign = LDA(2, max_iter=2, progress=False).fit(Corpus.from_counts([[1, 2], [2, 1]], words=["x", "y"]))
    with pytest.raises(NothingToShowError, match="no word in common"):
        views.compare(Explorer(explorer.model, other=foreign))


def test_a_model_without_tags_has_views_too() -> None:
    corpus = Corpus.from_counts(np.eye(6, dtype=int) + 1)
    explorer = Explorer(LDA(2, max_iter=3, progress=False, random_state=0).fit(corpus), corpus)
    assert views.overview(explorer).n_tags == 0
    assert views.topic(explorer, 0).tags == ()
    assert views.document(explorer, 0).missing == ()
    assert views.find_tags(explorer).total == 0
    assert not explorer.can_audit
    with pytest.raises(ValueError, match="trained on counts"):
        views.examine(explorer, "a text")
