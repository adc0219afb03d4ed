"""The state that decisions amount to."""

from itertools import permutations
from typing import Any

import pytest

from tagtopic.curation import Decision, Decisions, TopicReference
from tagtopic.curation.decisions import FIELDS

SHIP = TopicReference("9f0c", 3, {"ship": 0.2, "planet": 0.1})
CRIME = TopicReference("9f0c", 5, {"police": 0.2})
LAW = TopicReference("9f0c", 6, {"judge": 0.2})

EXAMPLES: dict[str, dict[str, Any]] = {
    **{what: {"document": "17", "tag": "space"} for what in ("tag-wrong", "tag-right", "tag-add", "tag-reject")},
    "tags-merge": {"canonical": "science fiction", "variants": ("sci-fi", "SF")},
    "tags-keep-apart": {"tags": ("mars", "planet")},
    "topic-rename": {"topic": SHIP, "name": "Space"},
    "topic-merge": {"topics": (SHIP, CRIME)},
    "topic-hide": {"topic": SHIP},
    "topic-seed": {"name": "Law", "words": ("judge", "court")},
    "words-ban": {"words": ("film", "movie")},
    "undo": {"entry": "a1"},
}


def replay(*decisions: tuple[str, dict[str, Any]]) -> Decisions:
    return Decisions.replay(Decision(str(n), what, fields) for n, (what, fields) in enumerate(decisions))


def verdict(what: str, tag: str, document: str = "17") -> tuple[str, dict[str, Any]]:
    return what, {"document": document, "tag": tag}


def merge(canonical: str, *variants: str) -> tuple[str, dict[str, Any]]:
    return "tags-merge", {"canonical": canonical, "variants": variants}


@pytest.mark.parametrize("what", FIELDS)
def test_every_kind_survives_json(what: str) -> None:
    decision = Decision("a1", what, EXAMPLES[what], who="Ana", why="because", time="2026-11-18T03:00:00+00:00")
    assert Decision.from_json(decision.to_json()) == decision


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "a decision is an object, not a list"),
        ({"what": "undo"}, 'no "id"'),
        ({"id": "", "what": "undo", "entry": "a"}, '"id" is empty'),
        ({"id": "a", "what": "tag-wrnog"}, "there is no decision 'tag-wrnog'; there are tag-wrong"),
        ({"id": "a", "what": "tag-wrong", "document": "17"}, 'tag-wrong needs "tag"'),
        ({"id": "a", "what": "tag-wrong", "document": 17, "tag": "x"}, '"document" is a number, not a text'),
        ({"id": "a", "what": "tag-wrong", "document": "17", "tag": "x", "tags": []}, 'no field "tags"'),
        ({"id": "a", "what": "tag-wrong", "document": "17", "tag": "\ud800"}, "surrogate"),
        ({"id": "a", "what": "tag-wrong", "document": "17", "tag": "x" * 20_000}, "20,000 characters"),
        ({"id": "a", "what": "words-ban", "words": "film"}, '"words" is a text, not a list'),
        ({"id": "a", "what": "words-ban", "words": []}, "0 items"),
        ({"id": "a", "what": "tags-keep-apart", "tags": ["x", "x"]}, "1 distinct items"),
        ({"id": "a", "what": "topic-hide", "topic": 3}, "not a topic"),
        ({"id": "a", "what": "topic-hide", "topic": {**SHIP.to_json(), "number": -1}}, "whole number from 0"),
        ({"id": "a", "what": "topic-hide", "topic": {**SHIP.to_json(), "words": {"x": 2}}}, "probability 2"),
        ({"id": "a", "what": "topic-merge", "topics": [SHIP.to_json()] * 2}, "two to merge"),
    ],
)
def test_records_that_are_no_decisions_are_refused(record: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Decision.from_json(record)


def test_tags_are_merged_removed_and_added() -> None:
    state = replay(merge("SF", "sci-fi"), verdict("tag-wrong", "robot"), verdict("tag-add", "mars"))
    assert state.corrected_tags("17", ["sci-fi", "robot", "SF", "ship"]) == ["SF", "ship", "mars"]
    assert state.corrected_tags("18", ["sci-fi", "robot"]) == ["SF", "robot"]


def test_decisions_on_a_variant_hold_for_the_canonical_tag_whatever_their_order() -> None:
    for order in permutations([merge("SF", "sci-fi"), verdict("tag-wrong", "sci-fi")]):
        assert replay(*order).corrected_tags("17", ["SF", "ship"]) == ["ship"]


def test_the_last_of_contradictory_verdicts_holds() -> None:
    wrong, right = verdict("tag-wrong", "robot"), verdict("tag-right", "robot")
    assert replay(wrong, right).corrected_tags("17", ["robot"]) == ["robot"]
    assert replay(right, wrong).corrected_tags("17", ["robot"]) == []
    assert replay(verdict("tag-add", "mars"), verdict("tag-reject", "mars")).corrected_tags("17", []) == []


def test_a_merge_of_merged_tags_renames_all_of_them() -> None:
    state = replay(merge("SF", "sci-fi"), merge("science fiction", "SF"), merge("film", "movie"))
    assert state.canonical == {"SF": "science fiction", "sci-fi": "science fiction", "movie": "film"}


def test_a_merge_can_be_turned_round() -> None:
    assert replay(merge("SF", "sci-fi"), merge("sci-fi", "SF")).canonical == {"SF": "sci-fi"}


def test_an_undo_revokes_and_the_undo_of_an_undo_restores() -> None:
    wrong, undo, redo = verdict("tag-wrong", "robot"), ("undo", {"entry": "0"}), ("undo", {"entry": "1"})
    assert replay(wrong, undo).corrected_tags("17", ["robot"]) == ["robot"]
    assert replay(wrong, undo).undone == {"0"}
    assert replay(wrong, undo, redo).corrected_tags("17", ["robot"]) == []


def test_topics_of_merges_that_share_one_are_one_group() -> None:
    state = replay(("topic-merge", {"topics": (SHIP, CRIME)}), ("topic-merge", {"topics": (LAW, CRIME)}))
    assert state.topic_groups == ((SHIP.key, CRIME.key, LAW.key),)


def test_an_undone_name_is_listed_as_empty() -> None:
    rename = ("topic-rename", {"topic": SHIP, "name": "Space"})
    assert replay(rename).topic_names == {SHIP.key: "Space"}
    assert replay(rename, ("undo", {"entry": "0"})).topic_names == {SHIP.key: ""}
    assert replay(("topic-hide", {"topic": SHIP}), ("undo", {"entry": "0"})).hidden_topics == {SHIP.key: False}


def test_tags_kept_apart_are_pairs_of_canonical_names() -> None:
    state = replay(("tags-keep-apart", {"tags": ("b", "sci-fi", "a")}), merge("SF", "sci-fi"))
    assert state.kept_apart == (("SF", "a"), ("SF", "b"), ("a", "b"))
