"""Trends, contrasts, hierarchies and labels on planted corpora."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from tagtopic.analysis.contrast import contrast_words
from tagtopic.analysis.hierarchy import cut_tree, merge_tree, topic_distances, use_similarity, word_similarity
from tagtopic.analysis.labels import TopicDescription, distinctive_words
from tagtopic.analysis.timeline import make_timeline
from tagtopic.datasets import PlantedEffects


def test_bands_hold_most_planted_shares_and_gaps_are_shown(planted: PlantedEffects, model: Any, truth_of: Any) -> None:
    kept = np.flatnonzero(planted.years != 2007)
    trends = model.trends(planted.corpus[kept], "year")
    assert trends.notes == ("1 of 20 bins is empty: 2007",)
    inside = []
    for row in trends.table:
        if row["bin"] == "2007":
            assert (row["documents"], row["estimate"], row["high"]) == (0, None, None)
            continue
        own = planted.expected_shares()[planted.years == int(row["bin"])].mean(axis=0)[truth_of[row["topic"]]]
        inside.append(row["low"] <= own <= row["high"])
        assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    assert np.mean(inside) > 0.8


def test_trends_by_kind_are_those_of_its_documents(planted: PlantedEffects, model: Any) -> None:
    trends = model.trends(planted.corpus, "year", by="region", topics=[1])
    assert trends.groups == ("N", "S")
    south = planted.corpus[planted.corpus.tags[:, [planted.corpus.tag_names.index("region:S")]].toarray()[:, 0] > 0]
    assert trends.documents[1].sum() == len(south)
    alone = model.trends(south, "year", topics=[1])
    assert trends.table.filter(group="S")["estimate"] == alone.table["estimate"]


def test_figures_show_gaps_and_bands(planted: PlantedEffects, model: Any) -> None:
    kept = np.flatnonzero(planted.years != 2007)
    trends = model.trends(planted.corpus[kept], "year", topics=[0, 1])
    figure = model.plot_trends(trends)
    band, line = figure.data[:2]
    gap = list(band.x).index(None)
    assert list(band.x)[:gap] == [*map(str, range(2000, 2007)), *map(str, range(2006, 1999, -1))]
    assert {*band.x[gap + 1 :]} == {*map(str, range(2008, 2020))}
    rows = trends.table.filter(topic=0)
    assert list(band.y)[:7] == rows["high"][:7]
    assert list(line.y) == rows["estimate"]
    assert list(figure.layout.xaxis.categoryarray) == list(trends.timeline.labels)


def test_figures_of_contrasts_have_the_rows_of_their_tables(planted: PlantedEffects, model: Any) -> None:
    found = model.contrast(planted.corpus, "venue:A", "venue:B")
    topics, words = model.plot_contrast(found).data[0], model.plot_contrast(found, "words").data[0]
    assert sorted(topics.x) == sorted(found.topics["estimate"])
    assert set(words.x) <= set(found.words["log_ratio"])
    with pytest.raises(ValueError, match="expected topics or words"):
        model.plot_contrast(found, "tags")
    effects = model.effects(planted.corpus, "year * venue")
    at = model.plot_effects(effects, "venue", predictions=True, at={"year": 2010}, topics=[1])
    assert list(at.data[0].y) == effects.predict("venue", at={"year": 2010}).filter(topic=1)["estimate"]
    assert list(at.layout.xaxis.ticktext) == ["A", "B", "C"]
    assert "at year=2010" in at.layout.title.text


def test_changes_are_ordered_and_follow_the_planted_slopes(planted: PlantedEffects, model: Any, truth_of: Any) -> None:
    changes = model.trends(planted.corpus, "year").changes()
    assert changes["estimate"] == sorted(changes["estimate"], reverse=True)
    true = (planted.expected_shares(year=2016) - planted.expected_shares(year=2003)).mean(axis=0)[truth_of]
    assert np.corrcoef(changes["estimate"], true[changes["topic"]])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("dates", "every", "period", "labels"),
    [
        (["2001", "2003"], None, "year", ("2001", "2002", "2003")),
        (["2001-11", "2002-02-27"], "quarter", "quarter", ("2001-Q4", "2002-Q1")),
        (["2001-Q4", "2002-Q1"], None, "quarter", ("2001-Q4", "2002-Q1")),
        (["200111", "200201"], None, "month", ("2001-11", "2001-12", "2002-01")),
        (["17 May 2001", "May 19, 2001", "2001-05-20"], "day", "day", tuple(f"2001-05-{d}" for d in range(17, 21))),
        (["Sept. 2001", "november 2001"], None, "month", ("2001-09", "2001-10", "2001-11")),
        (["2020-W53", "2021-W01"], None, "week", ("2020-12-28", "2021-01-04")),
        (["1995", "2004", "2011"], 10, "number", ("1990", "2000", "2010")),
        (["962", "1066"], None, "number", tuple(str(year) for year in range(962, 1068, 2))),
        (np.array(["2001-01", "2001-03"], "datetime64[M]"), None, "month", ("2001-01", "2001-02", "2001-03")),
        (["2024-02-28", "2024-03-01"], "day", "day", ("2024-02-28", "2024-02-29", "2024-03-01")),
        (["20240304", "2024-03-17", "2024-03-18T10:00"], "week", "week", ("2024-03-04", "2024-03-11", "2024-03-18")),
        ([1.0, 3.0, None], None, "number", ("1", "2", "3")),
        ([0.5, 12.5], 5, "number", ("0.5", "5.5", "10.5")),
    ],
)  # fmt: skip
def test_dates_are_cut_into_bins(dates: list[Any], every: Any, period: str, labels: tuple[str, ...]) -> None:
    found = make_timeline(dates, every)
    assert (found.period, found.labels) == (period, labels)
    assert found.sizes.sum() == sum(date is not None for date in dates)


def test_an_unreadable_date_is_named() -> None:
    with pytest.raises(ValueError, match="document 1: cannot read the date 'soon'"):
        make_timeline(["2001", "soon"])
    with pytest.raises(ValueError, match="no document has a date"):
        make_timeline([None, ""])
    with pytest.raises(
        ValueError, match=r"cannot read the date '3' .*, and that of document 0, '2001-05', is not a number"
    ):
        make_timeline(["2001-05", 3])
    for ambiguous in ("3/2/2001", "12.05.2001", "2001-02-30", "2001-W60", "Foo 2001"):
        with pytest.raises(ValueError, match=f"document 0: cannot read the date '{ambiguous}'"):
            make_timeline([ambiguous])
    for every in (0, -1, "decade"):
        with pytest.raises(ValueError, match="every="):
            make_timeline(["2001", "2002"], every)
    with pytest.raises(ValueError, match="for dates with months or days"):
        make_timeline(["2001-05"], 5)


def test_dates_of_less_detail_than_the_bins_are_said() -> None:
    found = make_timeline(["2001", "2001-03", "2001-04-17"], "month")
    assert found.bins.tolist() == [0, 2, 3]
    assert "1 date names no month: it is in the first bin of the time named" in found.notes()
    assert make_timeline(["2001-03", "2002-04"], "year").n_coarse == 0


def test_groups_of_trends_must_be_some(planted: PlantedEffects, model: Any) -> None:
    with pytest.raises(ValueError, match="there is no tag"):
        model.trends(planted.corpus, "year", by=[])
    with pytest.raises(ValueError, match="'x' is a number with 600 values"):
        model.trends(planted.corpus, "year", by="x", data={"x": np.arange(600) / 7})


def test_uneven_bins_are_said() -> None:
    assert "uneven" in make_timeline(["2001"] * 30 + ["2002"]).notes()[0]


def test_groups_are_as_many_as_asked_for_and_nested_and_sum_to_their_parents(
    planted: PlantedEffects, model: Any
) -> None:
    hierarchy = model.hierarchy([3, 2], planted.corpus)
    assert hierarchy.levels == (2, 3)
    coarse, fine = hierarchy.groups
    assert len(set(coarse)) == 2
    assert len(set(fine)) == 3
    assert len(set(zip(coarse, fine, strict=True))) == 3  # nested
    mixes, merged = model.transform(planted.corpus), hierarchy.model(2)
    sums = np.column_stack([mixes[:, coarse == group].sum(axis=1) for group in range(2)])
    assert np.allclose(merged.transform(planted.corpus), sums, atol=1e-6)
    assert np.allclose(merged.topic_shares_.sum(), 1)
    assert merged.topic_names_ == hierarchy.names[0]
    parts = model.trends(planted.corpus, "year")
    whole = hierarchy.model(2).trends(planted.corpus, "year")
    year = [np.mean(parts.table.filter(topic=int(k), bin="2010")["estimate"]) for k in np.flatnonzero(coarse == 0)]
    assert whole.table.filter(topic=0, bin="2010")["estimate"][0] == pytest.approx(sum(year), abs=0.03)
    with pytest.raises(ValueError, match="5 groups cannot be made of 4 topics"):
        model.hierarchy([5])
    for levels in ([], [2, 2], ["two"], [2.5]):
        with pytest.raises(ValueError, match="expected different numbers of groups"):
            model.hierarchy(levels)


def test_topics_used_together_are_grouped_where_they_share_no_words() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 3)
    topics = rng.dirichlet(np.full(300, 0.05), 12)
    mixes = np.repeat(rng.dirichlet(np.full(4, 0.2), 400), 3, axis=1) * rng.dirichlet(np.ones(3), (400, 4)).reshape(
        400, -1
    )
    tree = merge_tree(topic_distances([word_similarity(topics), use_similarity(mixes)]))
    assert adjusted_rand_score(group, cut_tree(tree, 4)) == 1
    assert [len(set(cut_tree(tree, n))) for n in range(1, 13)] == list(range(1, 13))


def test_a_contrast_finds_the_planted_differences(planted: PlantedEffects, model: Any, truth_of: Any) -> None:
    found = model.contrast(planted.corpus, "venue:A", "venue:B")
    venues = [planted.corpus.tags[:, [planted.corpus.tag_names.index(f"venue:{v}")]].toarray()[:, 0] > 0 for v in "AB"]
    assert found.n_documents == (venues[0].sum(), venues[1].sum())
    expected = planted.expected_shares()
    true = (expected[venues[0]].mean(axis=0) - expected[venues[1]].mean(axis=0))[truth_of]
    assert np.corrcoef(found.topics["estimate"], true[found.topics["topic"]])[0, 1] > 0.9
    best = planted.corpus.words.index(found.words["word"][0])
    rates = [planted.corpus.counts[np.flatnonzero(venue)].sum(axis=0)[best] / venue.sum() for venue in venues]
    assert rates[0] > rates[1]
    before = model.contrast(planted.corpus, planted.years < 2010, names=("before", "after"))
    assert (before.first, before.second, sum(before.n_documents)) == ("before", "after", 600)
    with pytest.raises(ValueError, match="is a kind, not a tag"):
        model.contrast(planted.corpus, "venue")


def test_a_word_that_one_document_repeats_is_no_evidence() -> None:
    first, second = np.full((50, 3), 20), np.full((50, 3), 20)
    first[0, 0] = 1000  # one document
    first[:, 1] = 60  # all of them
    table = contrast_words(sp.csr_array(first), sp.csr_array(second), ["burst", "steady", "other"])
    low = dict(zip(table["word"], table["low"], strict=True))
    assert low["burst"] < 0 < low["steady"]


def test_labels_are_frequent_and_exclusive_words() -> None:
    topics = np.array([[0.5, 0.3, 0.1, 0.05, 0.05], [0.5, 0.05, 0.05, 0.3, 0.1]])
    words = ["the", "ship", "ships", "police", "killer"]
    found = distinctive_words(topics, words, np.ones(5), 3)
    assert found[0][0] == "ship"
    assert found[1][0] == "police"
    assert TopicDescription(0, 0.5, (), found[0]).label(2) in ("ship, the", "ship, police", "ship, killer")


def test_a_namer_is_given_words_and_phrases_and_must_give_a_text(planted: PlantedEffects, model: Any) -> None:
    best = [model.top_words(0, 2)[0][0], model.top_words(0, 2)[1][0]]
    texts = planted.corpus.with_texts([" ".join(best)] * 600)
    described: list[TopicDescription] = []

    def namer(topic: TopicDescription) -> str:
        described.append(topic)
        return f" topic\n{topic.topic} "

    labels = model.label_topics(texts, namer=namer)
    assert labels == ["topic 0", "topic 1", "topic 2", "topic 3"]
    assert described[0].phrases == (" ".join(best),)
    with pytest.raises(ValueError, match="gave None for topic 0"):
        model.label_topics(namer=lambda topic: None)
