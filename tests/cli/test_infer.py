"""`tagtopic rank`, `predict`, `similar` and `transform`."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from tests.cli.conftest import Command

from tagtopic import LDA, TWDA, Corpus
from tagtopic.cli.infer import PART_DOCUMENTS

READ = ("--text", "body", "--tags", "author,year")
REPLACED = "is read by this command, which would replace it: give another name"


def test_rank_equals_the_tag_weights_of_the_model(tagtopic: Command, model: Path, documents: Path) -> None:
    ranked: Any = tagtopic("rank", model, documents, *READ, "--json").json
    weights, latent = TWDA.load(model).tag_weights(
        Corpus.read(documents, text="body", tags=["author", "year"]), return_latent=True
    )
    assert [document["id"] for document in ranked] == [f"d{i}" for i in range(60)]
    assert ranked[0]["tags"][0]["tag"] == "author:Ada"
    assert ranked[0]["tags"][0]["weight"] == pytest.approx(weights[[0]].max())
    assert [document["no_tag"] for document in ranked] == pytest.approx(latent.tolist(), abs=1e-5)


def test_rank_prints_the_first_documents(tagtopic: Command, model: Path, documents: Path) -> None:
    outcome = tagtopic("rank", model, documents, *READ, "--top", 1)
    assert outcome.out.startswith("tags by weight of the first 20 of 60 documents")
    assert len(outcome.out.splitlines()) == 22
    assert "year:" not in outcome.out


def test_similar_equals_the_similar_documents_of_the_model(tagtopic: Command, model: Path, documents: Path) -> None:
    corpus = Corpus.read(documents, text="body", tags=["author", "year"])
    fitted = TWDA.load(model)
    by_text: Any = tagtopic("similar", model, documents, *READ, "--query", "engine wheel", "-n", 3, "--json").json
    expected = fitted.similar_documents("engine wheel", corpus, 3)
    assert [(row["id"], row["similarity"]) for row in by_text] == [(id, pytest.approx(value)) for id, value in expected]
    like: Any = tagtopic(
        "similar", model, documents, *READ, "--like", "d3", "-n", 2, "--distance", "jensen-shannon", "--json"
    ).json
    assert [row["id"] for row in like] == [
        id for id, _ in fitted.similar_documents(3, corpus, 2, distance="jensen-shannon")
    ]
    assert "d3" not in {row["id"] for row in like}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give either --query TEXT or --like ID"),
        (("--query", "engine", "--like", "d1"), "give either --query TEXT or --like ID"),
        (("--like", "nobody"), "--like nobody: there is no document of this id among the 60 of the files"),
        (("--query", "zzz"), "no word or tag that the model knows"),
        (("--query", "engine", "--distance", "far"), "distance='far': expected one of 'hellinger'"),
    ],
)
@pytest.mark.filterwarnings("ignore:1 of 1 texts have no word")
def test_similar_reports_invalid_queries(
    options: tuple[str, ...], message: str, tagtopic: Command, model: Path, documents: Path
) -> None:
    outcome = tagtopic("similar", model, documents, *READ, *options)
    assert outcome.code == 1
    assert message in outcome.err


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("row", [{"body": "engine wheel"}, {"body": "engine wheel", "author": "Emily"}])
def test_rank_without_known_tags_warns(tagtopic: Command, model: Path, row: dict[str, str]) -> None:
    named = ["--tags", "author"] if "author" in row else []
    outcome = tagtopic("rank", model, "-", "--text", "body", *named, "-q", stdin=json.dumps(row))
    assert outcome.code == 0
    assert "warning: no document has a tag that the model knows" in outcome.err


def test_rank_with_a_model_without_tags_is_refused(tagtopic: Command, documents: Path, tmp_path: Path) -> None:
    LDA(2, max_iter=1, random_state=0, progress=False).fit(Corpus.read(documents, text="body")).save(tmp_path / "lda")
    outcome = tagtopic("rank", tmp_path / "lda", documents, *READ)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "error: the model has learnt no tags, so it cannot rank any\n"


def test_ranked_rows_have_every_document_and_the_unexplained_share(
    tagtopic: Command, model: Path, tmp_path: Path
) -> None:
    rows = [{"id": "x", "body": "engine gear", "author": "Ada", "year": 1800}, {"id": "y", "body": "a storm"}]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("w.csv", "w.parquet"):
        outcome = tagtopic("rank", model, "-", *READ, "-o", tmp_path / name, stdin=stdin)
        assert outcome.err == f"wrote 3 rows to {tmp_path / name}\n"
    with (tmp_path / "w.csv").open() as file:
        found = list(csv.DictReader(file))
    assert [(row["id"], row["rank"]) for row in found] == [("x", "1"), ("x", "2"), ("y", "")]
    assert (found[2]["tag"], found[2]["weight"]) == ("", "")
    assert float(found[2]["no_tag"]) == pytest.approx(1)
    assert sum(float(row["weight"]) for row in found[:2]) + float(found[0]["no_tag"]) == pytest.approx(1)
    table = parquet.read_table(tmp_path / "w.parquet")
    assert table.column_names == list(found[0])
    assert table.column("tag").to_pylist()[2] is None
    outcome = tagtopic("rank", model, "-", *READ, "-o", tmp_path / "w.json", stdin=stdin)
    assert outcome.err == f"wrote 2 records to {tmp_path / 'w.json'}\n"


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        ("rank", ["id", "rank", "tag", "weight", "no_tag"]),
        ("predict", ["id", "rank", "tag", "probability"]),
        ("transform", ["id", "topic_0", "topic_1", "topic_2"]),
    ],
)
def test_files_without_rows_have_a_header(
    tagtopic: Command, model: Path, tmp_path: Path, command: str, columns: list[str]
) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    for name in ("e.csv", "e.parquet"):
        assert tagtopic(command, model, tmp_path / "empty.jsonl", "-o", tmp_path / name, "-q").code == 0
    assert (tmp_path / "e.csv").read_text() == ",".join(columns) + "\n"
    schema = parquet.read_schema(tmp_path / "e.parquet")
    assert (schema.names, str(schema.types[0]), str(schema.types[-1])) == (columns, "string", "double")


@pytest.mark.parametrize("command", ["rank", "predict", "transform", "audit"])
def test_inputs_and_folders_are_not_overwritten(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path, command: str
) -> None:
    own = tmp_path / "letters.jsonl"
    own.write_bytes(documents.read_bytes())
    for source in (own, f"{tmp_path}/./letters.jsonl", tmp_path, tmp_path / "*.jsonl"):
        outcome = tagtopic(command, model, source, "--text", "body", "-o", own)
        assert (outcome.code, outcome.err) == (1, f"error: {own} {REPLACED}\n")
    assert own.read_bytes() == documents.read_bytes()
    (tmp_path / "d.csv").mkdir()
    outcome = tagtopic(command, model, documents, "--text", "body", "-o", tmp_path / "d.csv")
    assert (outcome.code, outcome.err) == (1, f"error: {tmp_path / 'd.csv'} is a folder: give the name of a file\n")


def test_predict_does_not_read_tags(tagtopic: Command, model: Path) -> None:
    stdin = json.dumps({"body": "engine wheel", "tags": {"not": ["a", "tag"]}})
    assert tagtopic("predict", model, "-", "--text", "body", stdin=stdin).code == 0


def test_output_file_name_determines_the_format(tagtopic: Command, model: Path, tmp_path: Path) -> None:
    outcome = tagtopic("predict", model, "-", "--json", "-o", tmp_path / "p.csv", stdin="a gear")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "p.csv").read_text().startswith("id,rank,tag,probability\n")


def test_transform_writes_topic_mixes(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    target = tmp_path / "topics.csv"
    assert tagtopic("transform", model, documents, *READ, "-o", target).code == 0
    table = np.loadtxt(target, delimiter=",", skiprows=1, usecols=(1, 2, 3))
    expected = TWDA.load(model).transform(Corpus.read(documents, text="body", tags=["author", "year"]))
    np.testing.assert_allclose(table, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("command", ["rank", "predict", "transform"])
def test_files_written_in_parts_have_the_rows_of_all_documents(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path, command: str
) -> None:
    n = PART_DOCUMENTS + 1
    lines = documents.read_text().splitlines()
    (tmp_path / "many.jsonl").write_text("\n".join(lines[i % len(lines)] for i in range(n)))
    many = tmp_path / "many.parquet"
    top = [] if command == "transform" else ["-n", 1]
    assert tagtopic(command, model, documents, *READ, *top, "-o", tmp_path / "few.parquet", "-q").code == 0
    assert tagtopic(command, model, tmp_path / "many.jsonl", *READ, *top, "-o", many, "-q").code == 0
    expected = parquet.read_table(tmp_path / "few.parquet").to_pylist()
    table = parquet.read_table(many)
    assert len(table) == n
    assert parquet.ParquetFile(many).num_row_groups > 1
    for i in (0, PART_DOCUMENTS - 1, PART_DOCUMENTS, n - 1):
        assert table.slice(i, 1).to_pylist() == [expected[i % len(lines)]]
    target = tmp_path / "many.csv"
    assert tagtopic(command, model, tmp_path / "many.jsonl", *READ, *top, "-o", target, "-q").code == 0
    written = target.read_text().splitlines()
    assert len(written) == n + 1
    assert [line for line in written if line.startswith("id,")] == written[:1]


@pytest.mark.filterwarnings("default")
def test_unknown_tags_and_words_are_reported_of_all_documents(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path
) -> None:
    lines = documents.read_text().splitlines()
    last = [json.dumps({"id": "x", "body": "engine gear", "author": "Zoe"}), json.dumps({"id": "y", "body": "qwerty"})]
    many = tmp_path / "many.jsonl"
    many.write_text("\n".join([*(lines[i % len(lines)] for i in range(PART_DOCUMENTS)), *last]))
    Corpus.read(many, text="body", tags=["author", "year"]).save(tmp_path / "many.corpus")
    for source in ([many, *READ], [tmp_path / "many.corpus"]):
        said = tagtopic("transform", model, *source, "-o", tmp_path / "topics.parquet", "-q").err
        assert said.count("does not know 1 tags (new, or left out as rare): 'author:Zoe'") == 1
        assert said.count(f"1 of {PART_DOCUMENTS + 2:,} documents have no word that the model knows") == 1


def test_new_documents_from_standard_input(tagtopic: Command, model: Path) -> None:
    rows = [{"id": "x", "body": "Engine! gear, wheel."}, {"id": "y", "body": "a storm; lightning"}]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    mixes: Any = tagtopic("transform", model, "-", "--text", "body", "--json", stdin=stdin).json
    assert [document["id"] for document in mixes] == ["x", "y"]
    assert np.argmax(mixes[0]["topics"]) != np.argmax(mixes[1]["topics"])


def test_predict_finds_the_author_of_a_new_text(tagtopic: Command, model: Path, tmp_path: Path) -> None:
    rows = [{"id": "x", "body": "Engine! gear, wheel."}, {"id": "y", "body": "a storm; lightning"}]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    command = ("predict", model, "-", "--text", "body")
    found: Any = tagtopic(*command, "--kinds", "author", "--json", stdin=stdin).json
    assert [document["id"] for document in found] == ["x", "y"]
    assert [document["tags"][0]["tag"] for document in found] == ["author:Ada", "author:Mary"]
    assert found[0]["tags"][0]["probability"] > 0.8
    years: Any = tagtopic(*command, "--kinds", "year", "-n", 1, "--json", stdin=stdin).json
    assert [len(document["tags"]) for document in years] == [1, 1]
    assert all(document["tags"][0]["tag"].startswith("year:") for document in years)
    assert tagtopic(*command, "--kinds", "author", "-o", tmp_path / "tags.csv", stdin=stdin).code == 0
    assert (tmp_path / "tags.csv").read_text().startswith("id,rank,tag,probability\nx,1,author:Ada,")
    assert "author:Mary" in tagtopic(*command, "--method", "likelihood", stdin=stdin).out
    assert "no tags of kind 'venue'" in tagtopic(*command, "--kinds", "venue", stdin=stdin).err


@pytest.mark.filterwarnings("default:no document has a tag")
@pytest.mark.parametrize("command", ["predict", "transform", "rank"])
def test_plain_text_from_standard_input(tagtopic: Command, model: Path, command: str) -> None:
    sentences, rows = "Engine! gear, wheel.\n\na storm; lightning\n", '{"text": "Engine! gear"}\n{"text": "a storm"}\n'
    plain: Any = tagtopic(command, model, "-", "--json", stdin=sentences).json
    assert [document["id"] for document in plain] == ["0", "1"]
    assert len(tagtopic(command, model, "-", "--json", stdin=rows).json) == 2  # type: ignore[arg-type]
    assert len(tagtopic(command, model, "-", "--format", "text", "--json", stdin=rows).json) == 2  # type: ignore[arg-type]
    refused = tagtopic(command, model, "-", "--format", "jsonl", stdin=sentences)
    assert (refused.code, "is not JSON" in refused.err) == (1, True)


def test_predict_uses_given_tags_and_says_why(tagtopic: Command, model: Path) -> None:
    rows = [{"id": "x", "body": "Engine! gear, wheel.", "author": ["Ada"]}]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    command = ("predict", model, "-", "--text", "body", "--tags", "author", "--given", "own", "--json")
    answers: Any = tagtopic(*command, "--reasons", stdin=stdin).json
    (found,) = answers
    names = [tag["tag"] for tag in found["tags"]]
    assert names
    assert "author:Ada" not in names
    assert [reason["tag"] for reason in found["reasons"]] == names
    assert {"log_odds", "words", "documents", "tags", "name"} < set(found["reasons"][0])
    answers = tagtopic(*command, "--exclude", "year:", stdin=stdin).json
    (fewer,) = answers
    assert not any(tag["tag"].startswith("year:") for tag in fewer["tags"])
    assert "the only choice is own" in tagtopic(*command[:-3], "--given", "all", stdin=stdin).err


def test_predicted_tags_of_plain_text(tagtopic: Command, model: Path) -> None:
    stdin = "Engine! gear, wheel.\na storm; lightning"
    found: Any = tagtopic("predict", model, "-", "--kinds", "author", "--json", stdin=stdin).json
    assert [document["tags"][0]["tag"] for document in found] == ["author:Ada", "author:Mary"]


@pytest.mark.parametrize(
    ("given", "title"), [("a gear", "tags of 1 document"), ("a gear\na storm", "tags of 2 documents")]
)
def test_titles_count_documents(tagtopic: Command, model: Path, given: str, title: str) -> None:
    assert title in tagtopic("predict", model, "-", stdin=given).out


@pytest.mark.filterwarnings("default")
def test_unknown_tags_give_one_warning(tagtopic: Command, model: Path) -> None:
    stdin = json.dumps({"body": "engine wheel", "author": ["Ada", "Emily", "Anne"]})
    outcome = tagtopic("rank", model, "-", *READ[:2], "--tags", "author", stdin=stdin)
    assert outcome.code == 0
    assert outcome.err.startswith("warning: ")
    assert "author:Emily" in outcome.err
    assert outcome.err.count("\n") == 1
