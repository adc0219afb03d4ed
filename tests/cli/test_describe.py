"""`tagtopic describe`, `topics`, `tags` and `info`."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import SUBJECTS, Command

from tagtopic import LDA, TWDA, Corpus, Ledger

READ = ("--text", "body", "--tags", "author,year")


def test_topics_lists_words_and_tags(tagtopic: Command, model: Path) -> None:
    outcome = tagtopic("topics", model)
    assert outcome.code == 0
    assert all(word in outcome.out for word in ("monster", "engine", "marriage", "author:Ada"))


def test_topics_as_json(tagtopic: Command, model: Path) -> None:
    topics: Any = tagtopic("topics", model, "--json", "--words", 4, "--tags", 1).json
    assert len(topics) == 3
    assert sum(topic["share"] for topic in topics) == pytest.approx(1)
    assert [len(topic["words"]) for topic in topics] == [4, 4, 4]
    assert {topic["tags"][0]["tag"] for topic in topics} == {"author:Ada", "author:Mary", "author:Jane"}
    assert set(topics[0]["words"][0]) == {"word", "probability"}


def test_one_topic(tagtopic: Command, model: Path) -> None:
    topics: Any = tagtopic("topics", model, "--topic", 2, "--json").json
    assert [topic["topic"] for topic in topics] == [2]
    missing = tagtopic("topics", model, "--topic", 9)
    assert missing.code == 1
    assert "there is no topic 9" in missing.err


def test_a_tag_has_topics_words_and_similar_tags(tagtopic: Command, model: Path) -> None:
    tag: Any = tagtopic("tags", model, "author:Mary", "--json", "--top", 3).json
    assert {word["word"] for word in tag["words"]} <= set(SUBJECTS["author:Mary"].split())
    assert tag["topics"][0]["share"] > 0.5
    assert len(tag["similar"]) == 3
    assert set(tag["similar"][0]) == {"tag", "similarity"}
    table = tagtopic("tags", model, "author:Mary")
    assert table.out.startswith("author:Mary")
    assert "similar" in table.out


def test_tags_by_kind_and_unknown_tags(tagtopic: Command, model: Path) -> None:
    assert len(tagtopic("tags", model, "--kind", "year", "--json").json) == 2  # type: ignore[arg-type]
    unknown = tagtopic("tags", model, "author:Marie")
    assert unknown.code == 1
    assert "'author:Mary'" in unknown.err
    assert "it has author, year" in tagtopic("tags", model, "--kind", "color").err
    both = tagtopic("tags", model, "author:Mary", "--kind", "year")
    assert (both.code, "--kind year is for lists of tags" in both.err) == (1, True)


def test_names_between_colons_are_not_emoji_codes(tagtopic: Command, model: Path) -> None:
    assert "'mood:fire:'" in tagtopic("tags", model, "mood:fire:").err  # rich would print an emoji


def test_tags_of_a_model_without_tags_are_refused(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    LDA(2, max_iter=1, random_state=0, progress=False).fit(Corpus.read(documents, text="body")).save(tmp_path / "lda")
    for tag in ([], ["author:Ada"]):
        outcome = tagtopic("tags", tmp_path / "lda", *tag)
        assert (outcome.code, outcome.err) == (1, "error: the model has learnt no tags, so it has none to show\n")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
def test_results_are_written_to_files_of_every_format(
    tagtopic: Command, model: Path, tmp_path: Path, ending: str
) -> None:
    target = tmp_path / f"topics.{ending}"
    outcome = tagtopic("topics", model, "-n", 2, "-o", target, "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert [file.name for file in tmp_path.iterdir()] == [target.name]
    if ending in ("csv", "tsv"):
        with target.open() as file:
            rows = list(csv.DictReader(file, delimiter="," if ending == "csv" else "\t"))
        assert len(rows) == 6
        assert list(rows[0]) == ["topic", "name", "share", "rank", "word", "probability"]
    if ending == "jsonl":
        assert len([json.loads(line) for line in target.read_text().splitlines()]) == 6
    if ending == "json":
        assert len(json.loads(target.read_text())) == 3
    if ending == "parquet":
        assert pq.read_table(target).num_rows == 6


def test_rows_are_written_to_standard_output(tagtopic: Command, model: Path) -> None:
    lines = tagtopic("topics", model, "-n", 2, "-o", "-").out.splitlines()
    assert len(lines) == 6
    assert set(json.loads(lines[0])) == {"topic", "name", "share", "rank", "word", "probability"}


def test_output_files_of_unknown_format_are_refused_first(tagtopic: Command, tmp_path: Path) -> None:
    outcome = tagtopic("topics", "no-model-needed", "-o", tmp_path / "topics.docx")
    assert outcome.code == 1
    assert ".parquet" in outcome.err


def test_info_summarises_the_model(tagtopic: Command, model: Path) -> None:
    info: Any = tagtopic("info", model, "--json").json
    assert (info["kind"], info["topics"], info["tags"], info["training_words"]) == ("TWDA", 3, 5, 1200)
    assert "TWDA" in tagtopic("info", model).out


@pytest.mark.parametrize("command", ["topics", "tags", "info"])
def test_files_that_are_not_models_are_refused(tagtopic: Command, documents: Path, command: str) -> None:
    outcome = tagtopic(command, documents)
    assert outcome.code == 1
    assert "is not a tagtopic model" in outcome.err
    assert tagtopic(command, "nowhere.tagtopic").code == 1


def test_describe_counts_documents_tags_and_kinds(tagtopic: Command, documents: Path) -> None:
    assert "60" in tagtopic("describe", documents, *READ).out
    described: Any = tagtopic("describe", documents, *READ, "--json").json
    assert (described["n_documents"], described["n_tags"], described["kinds"]) == (60, 5, {"author": 3, "year": 2})


def test_topics_shows_names_and_leaves_out_hidden_topics(tagtopic: Command, model: Path, tmp_path: Path) -> None:
    fitted = TWDA.load(model)
    ledger = Ledger.open(tmp_path / "decisions.jsonl")
    ledger.record("topic-rename", topic=fitted.topic_reference(1), name="Engines")
    ledger.record("topic-hide", topic=fitted.topic_reference(0))
    fitted.edit(ledger).save(tmp_path / "edited.tagtopic")
    found = tagtopic("topics", tmp_path / "edited.tagtopic", "--json").json
    assert isinstance(found, list)
    assert {topic["topic"]: topic["name"] for topic in found} == {1: "Engines", 2: ""}
    assert "Engines" in tagtopic("topics", tmp_path / "edited.tagtopic").out
    assert "name" not in tagtopic("topics", model).out
