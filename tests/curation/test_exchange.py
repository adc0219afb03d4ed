"""Questions for annotation tools and spreadsheets, answers back from them, decisions as CSV."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagtopic import Corpus, Ledger
from tagtopic.curation import Candidate, Decision, ReviewQueue
from tagtopic.curation.exchange import (
    argilla_records,
    decision_csv,
    label_studio_tasks,
    parse_table,
    question_csv,
    questions_of,
)
from tagtopic.curation.imports import read_decisions

HOSTILE = ("=HYPERLINK(1)", "+1", "-2", "@x", "\tx", "'=x", "''-y", 'a"b,c;d', "two\nlines", "cr\rhere", "[1]", "ü🤖")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda text: text.strip())


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "decisions.jsonl", who="Ana")


@pytest.fixture
def questions(tmp_path: Path) -> list[dict[str, Any]]:
    texts = ["a ship in space", "=a killer"]
    corpus = Corpus.from_texts(texts, [["SF", "crime"], ["sci-fi"]], ids=["17", "=18"], min_df=1, keep_texts=True)
    candidates = [
        Candidate("suspicious", "crime", 0.9, "17", 0),
        Candidate("missing", "crime", 0.8, "=18", 1),
        Candidate("duplicate", "SF", 0.7, other="sci-fi"),
        Candidate("suspicious", "=SF", 0.6, "17", 0),
    ]
    return questions_of(ReviewQueue(candidates, Ledger.open(tmp_path / "none.jsonl")), corpus, 10)


def kinds(ledger: Ledger) -> list[str]:
    return [entry.what for entry in ledger]


def in_label_studio(questions: list[dict[str, Any]], answers: list[Any]) -> list[Any]:
    """Tasks as Label Studio exports them."""
    tasks = label_studio_tasks(questions)
    for number, (task, word) in enumerate(zip(tasks, answers, strict=True)):
        results = [{"from_name": "answer", "to_name": "text", "type": "choices", "value": {"choices": [word]}}]
        annotation = {"id": number, "completed_by": {"id": 1, "email": "ben@x.org"}, "was_cancelled": False}
        task |= {"id": number, "annotations": [{**annotation, "result": results}] if word else []}
    return tasks


def in_argilla(questions: list[dict[str, Any]], answers: list[Any]) -> list[Any]:
    """Records as Argilla 2 exports them."""
    records = argilla_records(questions)
    for record, word in zip(records, answers, strict=True):
        record["responses"] = {"answer": [{"value": word, "user_id": "ben@x.org"}]} if word else {}
    return records


def in_csv(questions: list[dict[str, Any]], answers: list[Any]) -> str:
    """A table as a spreadsheet saves it."""
    rows = list(csv.DictReader(io.StringIO(question_csv(questions).removeprefix("\ufeff"), newline="")))
    for row, word in zip(rows, answers, strict=True):
        row |= {"answer": word, "who": "ben@x.org"}
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("tool", ["label-studio", "argilla", "csv"])
def test_answers_come_back_from_the_tool(
    tool: str, questions: list[dict[str, Any]], ledger: Ledger, tmp_path: Path
) -> None:
    answers = ["yes", "no", "yes", ""]
    path = tmp_path / ("answers.csv" if tool == "csv" else "answers.json")
    if tool == "csv":
        path.write_text(in_csv(questions, answers), newline="")
    else:
        path.write_text(json.dumps((in_label_studio if tool == "label-studio" else in_argilla)(questions, answers)))
    found = read_decisions(path, ledger)
    assert (found.recorded, found.unanswered, found.known, found.disputed) == (3, 1, 0, 0)
    assert kinds(ledger) == ["tag-wrong", "tag-reject", "tags-merge"]
    assert ledger.entries[1].fields == {"document": "=18", "tag": "crime"}
    assert {entry.who for entry in ledger} == {"ben@x.org"}
    again = read_decisions(path, Ledger.open(ledger.path))
    assert (again.recorded, again.known) == (0, 3)


def test_spreadsheets_evaluate_no_cell_of_a_question(questions: list[dict[str, Any]]) -> None:
    rows = list(csv.reader(io.StringIO(question_csv(questions).removeprefix("\ufeff"), newline="")))
    assert ["'=SF" in row for row in rows].count(True) == 1
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_different_answers_leave_a_question_open(
    questions: list[dict[str, Any]], ledger: Ledger, tmp_path: Path
) -> None:
    tasks = in_label_studio(questions, ["yes", "yes", "yes", "yes"])
    other = json.loads(json.dumps(tasks[0]["annotations"][0]))
    other["result"][0]["value"]["choices"] = ["no"]
    tasks[0]["annotations"].append(other)
    cancelled = {**other, "was_cancelled": True}
    tasks[1]["annotations"].append(cancelled)
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(tasks))
    found = read_decisions(path, ledger)
    assert (found.recorded, found.disputed) == (3, 1)


def test_a_correction_names_another_tag(questions: list[dict[str, Any]], ledger: Ledger, tmp_path: Path) -> None:
    tasks = in_label_studio(questions[:1], ["yes"])
    correction = {"from_name": "correction", "type": "textarea", "value": {"text": ["heist"]}}
    tasks[0]["annotations"][0]["result"].append(correction)
    minimal = {**questions[1], "answer": "no", "correction": "space", "annotator": 3}
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([*tasks, minimal]))
    read_decisions(path, ledger)
    assert kinds(ledger) == ["tag-add", "tag-wrong", "tag-add", "tag-reject"]
    assert ledger.state.corrected_tags("17", ["crime"]) == ["heist"]


def test_answers_of_argilla_1(questions: list[dict[str, Any]], ledger: Ledger, tmp_path: Path) -> None:
    (record,) = argilla_records(questions[:1])
    submitted = {"user_id": "u1", "status": "submitted", "values": {"answer": {"value": "yes"}}}
    discarded = {"user_id": "u2", "status": "discarded", "values": {"answer": {"value": "no"}}}
    record["responses"] = [submitted, discarded]
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(record) + "\n")
    assert read_decisions(path, ledger).recorded == 1
    assert ledger.entries[0].who == "u1"


QUESTION = {"kind": "suspicious", "document": "17", "tag": "a", "other": ""}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "[{]", "it is not JSON"),
        ("a.json", "[1]", "record 1: expected an object"),
        ("a.json", json.dumps([{"data": {**QUESTION, "kind": "odd"}}]), "expected one of suspicious"),
        ("a.json", json.dumps([{"data": {**QUESTION, "tag": " "}}]), '"tag" is empty'),
        ("a.json", json.dumps([{"data": {**QUESTION, "tag": 7}}]), "record 1"),
        ("a.json", json.dumps([{"data": QUESTION, "annotations": "x"}]), '"annotations" is not a list'),
        ("a.json", json.dumps([{**QUESTION, "answer": "perhaps"}]), "expected yes, no or skip"),
        ("a.json", json.dumps([{**QUESTION, "answer": ["yes", "no"]}]), "has 2 values"),
        ("a.json", json.dumps([{**QUESTION, "answer": "yes", "correction": "a"}]), "the tag in question"),
        ("a.json", json.dumps([{"fields": {}, "metadata": None}]), "does not name the question"),
        ("a.json", "[" * 100_000, "a.json"),
        ("a.jsonl", '{"what": "tag-wrong"}\n', "record 1"),
        ("a.jsonl", json.dumps({**QUESTION, "answer": "yes"}) + "\n{\n", "line 2"),
        ("a.csv", "", "it is empty"),
        ("a.csv", "a,b\n1,2\n", 'neither a column "what"'),
        ("a.csv", "what,document,tag,colour\n", "no column 'colour'"),
        ("a.csv", "what,document,tag\ntag-wrong,1,a\ntag-eat,1,a\n", "line 3: there is no decision"),
        ("a.csv", "what,document,tag\ntag-wrong,1,a,b\n", "line 2: it has more cells"),
        ("a.csv", 'what,topic,name\ntopic-rename,{,x\n', "is not JSON"),
        ("a.csv", 'what,topic,name\ntopic-rename,"{}",x\n', "is not a topic"),
        ("a.csv", "what,entry\nundo,nothing\n", "no earlier decision"),
        ("a.csv", "what,words\nwords-ban,[1]\n", "line 2"),
        ("a.tsv", "answer\tkind\ttag\tdocument\nperhaps\tmissing\ta\t1\n", "line 2: the answer is"),
        ("a.txt", "", "expected a file that ends in"),
    ],
)  # fmt: skip
def test_a_file_with_an_error_records_nothing(
    name: str, content: str, message: str, ledger: Ledger, tmp_path: Path
) -> None:
    ledger.record("words-ban", words=["film"])
    before = ledger.path.read_bytes()
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_decisions(path, ledger)
    assert ledger.path.read_bytes() == before


def test_a_file_that_is_not_utf8(ledger: Ledger, tmp_path: Path) -> None:
    for name in ("a.csv", "a.json", "a.ttl"):
        (tmp_path / name).write_bytes(b"what,\xff")
        with pytest.raises(ValueError, match="not UTF-8"):
            read_decisions(tmp_path / name, ledger)


def all_kinds(tag: str, other: str) -> list[dict[str, Any]]:
    topic = {"model": "9f", "number": 3, "words": {tag: 0.25}}
    return [
        {"what": "tag-wrong", "document": other, "tag": tag},
        {"what": "tags-merge", "canonical": tag, "variants": [other, "x"]},
        {"what": "tags-keep-apart", "tags": [tag, "y"]},
        {"what": "topic-rename", "topic": topic, "name": other},
        {"what": "topic-merge", "topics": [topic, {**topic, "number": 4}]},
        {"what": "topic-seed", "name": tag, "words": [other]},
        {"what": "words-ban", "words": [tag]},
        {"what": "undo", "entry": "a1"},
    ]


def check_round_trip(tag: str, other: str, path: Path) -> None:
    given = [
        Decision.from_json({"id": f"a{n}", "time": "2026", "who": other, "why": tag, **fields})
        for n, fields in enumerate(all_kinds(tag, other), 1)
    ]
    path.write_bytes(decision_csv(given).encode())
    assert parse_table(path) == given


@pytest.mark.parametrize("tag", HOSTILE)
def test_decisions_survive_a_spreadsheet(tag: str, ledger: Ledger, tmp_path: Path) -> None:
    check_round_trip(tag, "z", tmp_path / "decisions.csv")
    found = read_decisions(tmp_path / "decisions.csv", ledger)
    assert found.recorded == 8
    assert read_decisions(tmp_path / "decisions.csv", ledger).recorded == 0
    assert "a1" in ledger.state.undone


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(tag=TEXTS, other=TEXTS)
def test_any_decision_survives_a_spreadsheet(tag: str, other: str, tmp_path: Path) -> None:
    if tag not in (other, "x", "y") and other != "x":
        check_round_trip(tag, other, tmp_path / "decisions.csv")


def test_a_table_by_hand_needs_no_ids(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("what;document;tag;canonical;variants\ntag-wrong;17;a;;\n;;;;\ntags-merge;;;b;c\n")
    assert read_decisions(path, ledger).recorded == 2
    assert ledger.state.canonical == {"c": "b"}
    assert all(entry.time for entry in ledger)
    assert read_decisions(path, ledger).known == 2


def test_ledgers_are_joined(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger.open(tmp_path / "other.jsonl", who="Ben")
    first = other.record("tag-wrong", document="17", tag="a")
    other.undo(first)
    ledger.record("words-ban", words=["film"])
    assert read_decisions(other.path, ledger).recorded == 2
    assert ledger.entries[1:] == other.entries
    other.record("tag-right", document="17", tag="a")
    found = read_decisions(other.path, ledger)
    assert (found.recorded, found.known) == (1, 2)
