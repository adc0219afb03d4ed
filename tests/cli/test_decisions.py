"""`tagtopic decisions`, `tagtopic edit`, and fits with a ledger."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from tagtopic import TWDA, Ledger

READ = ("--text", "body", "--tags", "author,year")


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "letters.decisions.jsonl"


def test_decisions_are_recorded_listed_and_undone(tagtopic: Command, ledger: Path) -> None:
    wrong = ("tag-wrong", "document=d1", "tag=year:1801", "--who", "Ana", "--why", "no")
    assert tagtopic("decisions", "add", ledger, *wrong).code == 0
    made: Any = tagtopic(
        "decisions", "add", ledger, "tags-merge", "canonical=author:Ada", "variants=author:A=L", "variants=x", "--json"
    ).json
    assert made["variants"] == ["author:A=L", "x"]
    assert tagtopic("decisions", "undo", ledger, made["id"]).code == 0
    listed: Any = tagtopic("decisions", "log", ledger, "--json").json
    assert [(entry["what"], entry["undone"]) for entry in listed] == [
        ("tag-wrong", False), ("tags-merge", True), ("undo", False),
    ]  # fmt: skip
    assert (listed[0]["who"], listed[0]["why"]) == ("Ana", "no")
    printed = tagtopic("decisions", "log", ledger).out
    assert "3 decisions, 1 of them undone" in printed
    assert "document d1, tag year:1801" in printed


def test_decisions_about_topics_refer_to_a_model(tagtopic: Command, ledger: Path, model: Path, tmp_path: Path) -> None:
    assert tagtopic("decisions", "add", ledger, "topic-rename", "topic=1", "name=Engines").code == 1
    for fields in (("topic-rename", "topic=1", "name=Engines"), ("topic-merge", "topics=0", "topics=2")):
        assert tagtopic("decisions", "add", ledger, *fields, "--model", model).code == 0
    outcome = tagtopic("edit", model, "--ledger", ledger, "-o", tmp_path / "edited.tagtopic")
    assert outcome.code == 0
    assert "Engines" in outcome.out
    edited = TWDA.load(tmp_path / "edited.tagtopic")
    assert edited.topic_names_ == ("", "Engines")
    assert len(TWDA.load(model).components_) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tag-wrong", "d1"), "expected FIELD=VALUE"),
        (("tag-wrnog", "document=d1"), "there is no decision 'tag-wrnog'"),
        (("tag-wrong", "document=d1"), 'needs "tag"'),
        (("tag-wrong", "document=d1", "document=d2", "tag=x"), "document= is given 2 times"),
        (("topic-hide", "topic=one", "--model", "MODEL"), "'one' is not the number of a topic"),
        (("topic-hide", "topic=9", "--model", "MODEL"), "there is no topic 9"),
    ],
)
def test_invalid_decisions_are_refused(
    arguments: tuple[str, ...], message: str, tagtopic: Command, ledger: Path, model: Path
) -> None:
    given = [str(model) if argument == "MODEL" else argument for argument in arguments]
    outcome = tagtopic("decisions", "add", ledger, *given)
    assert outcome.code == 1
    assert message in outcome.err
    assert not ledger.exists()


def test_a_ledger_that_does_not_exist_or_is_damaged_is_an_error(tagtopic: Command, ledger: Path) -> None:
    assert f"there is no ledger {ledger}" in tagtopic("decisions", "log", ledger).err
    ledger.write_text("nonsense\n")
    outcome = tagtopic("decisions", "log", ledger)
    assert outcome.code == 1
    assert "line 1: it is not JSON" in outcome.err


def test_records_are_written_with_corrected_tags(
    tagtopic: Command, ledger: Path, documents: Path, tmp_path: Path
) -> None:
    opened = Ledger.open(ledger)
    opened.record("tag-wrong", document="d0", tag="year:1800")
    opened.record("tags-merge", canonical="author:Mary Shelley", variants=["author:Mary"])
    outcome = tagtopic(
        "decisions", "apply", documents, "--tags", "author,year", "--ledger", ledger, "-o", tmp_path / "out.jsonl"
    )
    assert outcome.code == 0
    assert "60 records" in outcome.err
    assert "20 tags renamed, 1 removed, 0 added" in outcome.err
    before = [json.loads(line) for line in documents.read_text().splitlines()]
    after = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert after[0] == {**before[0], "year": None}
    assert after[1] == {**before[1], "author": "Mary Shelley"}
    assert after[2] == before[2]
    outcome = tagtopic("decisions", "apply", documents, "--ledger", ledger, "-o", documents)
    assert "is read by this command" in outcome.err


def test_a_fit_with_a_ledger_corrects_tags_and_keeps_names(
    tagtopic: Command, ledger: Path, documents: Path, model: Path, tmp_path: Path
) -> None:
    old = TWDA.load(model)
    opened = Ledger.open(ledger)
    engines = old.top_topics("author:Ada", 1)[0][0]
    opened.record("topic-rename", topic=old.topic_reference(engines), name="Engines")
    opened.record("tags-merge", canonical="author:Mary Shelley", variants=["author:Mary"])
    opened.record("topic-merge", topics=[old.topic_reference(k) for k in range(3) if k != engines])
    target = tmp_path / "new.tagtopic"
    fit = ("fit", documents, *READ, "-k", 3, "--seed", 5, "--quiet", "-o", target, "--ledger", ledger)
    for more in ((), ("--initial", model)):
        outcome = tagtopic(*fit, *more)
        assert outcome.code == 0, outcome.err
        new = TWDA.load(target)
        assert "author:Mary Shelley" in new.tag_names_
        assert len(new.components_) == 2
        topic = new.topic_names_.index("Engines")
        assert "engine" in dict(new.top_words(topic, 8))


def test_a_review_asks_and_records(tagtopic: Command, ledger: Path, documents: Path, model: Path) -> None:
    command = ("review", model, documents, *READ, "--ledger", ledger, "--predicted", 1)
    outcome = tagtopic(*command, stdin="u\nx\ny\nn\nu\ns\nq\n")
    assert outcome.code == 0
    assert "nothing to undo" in outcome.out
    assert "expected one of: y yes" in outcome.out
    assert "1 decisions recorded" in outcome.out
    entries = Ledger.open(ledger).entries
    assert [entry.what == "undo" for entry in entries] == [False, False, True]
    assert entries[2].fields["entry"] == entries[1].id
    asked = outcome.out.count("[y/n/s/u/q]")
    assert asked == 7
    again = tagtopic(*command, stdin="")
    assert "[1 decided" in again.out
    assert "0 decisions recorded" in again.out


def test_questions_are_written_and_answers_imported(
    tagtopic: Command, ledger: Path, documents: Path, model: Path, tmp_path: Path
) -> None:
    command = ("review", model, documents, *READ, "--ledger", ledger, "--limit", 3)
    for name, options in {"q.json": (), "a.json": ("--tool", "argilla"), "q.csv": ()}.items():
        outcome = tagtopic(*command, "-o", tmp_path / name, *options)
        assert (outcome.code, "wrote 3 questions" in outcome.err) == (0, True)
    assert not ledger.exists()
    tasks = json.loads((tmp_path / "q.json").read_text())
    records = json.loads((tmp_path / "a.json").read_text())
    assert [task["data"]["tag"] for task in tasks] == [record["metadata"]["tag"] for record in records]
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps([{**task["data"], "answer": "yes"} for task in tasks[:2]]))
    outcome = tagtopic("decisions", "import", ledger, answers, "--who", "Ana")
    assert f"recorded 2 decisions in {ledger}" in outcome.out
    assert "2 were decided before" in tagtopic("decisions", "import", ledger, answers).out
    again: Any = tagtopic("decisions", "import", ledger, answers, "--json").json
    assert (again["recorded"], again["known"]) == (0, 2)
    assert {entry.who for entry in Ledger.open(ledger)} == {"Ana"}
    assert "expected label-studio or argilla" in tagtopic(*command, "-o", tmp_path / "x.json", "--tool", "x").err
    assert "ends in .csv or .json" in tagtopic(*command, "-o", tmp_path / "x.txt").err
    assert "is read by this command" in tagtopic(*command, "-o", documents).err


def test_decisions_are_exported_and_imported(tagtopic: Command, ledger: Path, model: Path, tmp_path: Path) -> None:
    opened = Ledger.open(ledger)
    opened.record("tags-merge", canonical="author:Mary Shelley", variants=["author:Mary", "=cmd"])
    opened.undo(opened.record("tag-wrong", document="d1", tag="author:Ada"))
    for name in ("decisions.csv", "thesaurus.ttl", "thesaurus.tsv"):
        assert tagtopic("decisions", "export", ledger, "-o", tmp_path / name).code == 0
        target = tmp_path / f"{name}.jsonl"
        outcome = tagtopic("decisions", "import", target, tmp_path / name)
        assert outcome.code == 0, outcome.err
        assert Ledger.open(target).state.canonical == opened.state.canonical
    assert Ledger.open(tmp_path / "decisions.csv.jsonl").entries == opened.entries
    assert "expected a name that ends in" in tagtopic("decisions", "export", ledger, "-o", tmp_path / "x.doc").err
    assert "is read by this command" in tagtopic("decisions", "export", ledger, "-o", ledger).err
    matched = tmp_path / "matched.jsonl"
    words = tmp_path / "names.tsv"
    words.write_text("Mary Shelley\tmary\tnobody\n")
    assert tagtopic("decisions", "import", matched, words, "--kind", "author", "--model", model).code == 0
    assert Ledger.open(matched).state.canonical == {"author:Mary": "author:Mary Shelley"}
    words.write_text("\tx\n")
    outcome = tagtopic("decisions", "import", matched, words)
    assert (outcome.code, f"{words}, line 1" in outcome.err) == (1, True)
    missing = tagtopic("decisions", "import", matched, tmp_path / "none.csv")
    assert (missing.code, "none.csv" in missing.err, "Traceback" in missing.err) == (1, True, False)
