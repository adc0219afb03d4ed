"""A model on documents, from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Command

from tagtopic import TWDA, Corpus

READ = ("--text", "body", "--tags", "author,year")


def test_rank_gives_the_tag_weights(tagtopic: Command, model: Path, documents: Path) -> None:
    ranked: Any = tagtopic("rank", model, documents, *READ, "--json").json
    weights, latent = TWDA.load(model).tag_weights(
        Corpus.read(documents, text="body", tags=["author", "year"]), return_latent=True
    )
    assert [document["id"] for document in ranked] == [f"d{i}" for i in range(60)]
    assert ranked[0]["tags"][0]["tag"] == "author:Ada"
    assert ranked[0]["tags"][0]["weight"] == pytest.approx(weights[[0]].max())
    assert [document["no_tag"] for document in ranked] == pytest.approx(latent.tolist(), abs=1e-5)


def test_rank_for_a_person(tagtopic: Command, model: Path, documents: Path) -> None:
    outcome = tagtopic("rank", model, documents, *READ, "--top", 1)
    assert outcome.out.startswith("the first 20 of 60 documents")
    assert len(outcome.out.splitlines()) == 22
    assert "year:" not in outcome.out


def test_transform_to_a_file(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    target = tmp_path / "topics.csv"
    assert tagtopic("transform", model, documents, *READ, "-o", target).code == 0
    table = np.loadtxt(target, delimiter=",", skiprows=1, usecols=(1, 2, 3))
    expected = TWDA.load(model).transform(Corpus.read(documents, text="body", tags=["author", "year"]))
    np.testing.assert_allclose(table, expected, rtol=1e-5, atol=1e-7)


def test_new_documents_from_standard_input(tagtopic: Command, model: Path) -> None:
    rows = [{"id": "x", "body": "Engine! gear, wheel."}, {"id": "y", "body": "a storm; lightning"}]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    mixes: Any = tagtopic("transform", model, "-", "--text", "body", "--json", stdin=stdin).json
    assert [document["id"] for document in mixes] == ["x", "y"]
    assert np.argmax(mixes[0]["topics"]) != np.argmax(mixes[1]["topics"])


def test_predict_finds_the_author_of_a_new_text(tagtopic: Command, model: Path, tmp_path: Path) -> None:
    rows = [{"id": "x", "body": "Engine! gear, wheel."}, {"id": "y", "body": "a storm; lightning"}]
    stdin = "".join(json.dumps(row) + "\n" for row in rows)
    asked = ("predict", model, "-", "--text", "body")
    found: Any = tagtopic(*asked, "--json", stdin=stdin).json
    assert [document["id"] for document in found] == ["x", "y"]
    assert [document["tags"][0]["tag"] for document in found] == ["author:Ada", "author:Mary"]
    assert found[0]["tags"][0]["probability"] > 0.8
    years: Any = tagtopic(*asked, "--kinds", "year", "-n", 1, "--json", stdin=stdin).json
    assert [len(document["tags"]) for document in years] == [1, 1]
    assert all(document["tags"][0]["tag"].startswith("year:") for document in years)
    assert tagtopic(*asked, "-o", tmp_path / "tags.csv", stdin=stdin).code == 0
    assert (tmp_path / "tags.csv").read_text().startswith("id,rank,tag,probability\nx,1,author:Ada,")
    assert "author:Mary" in tagtopic(*asked, "--method", "likelihood", stdin=stdin).out
    assert "no tags of kind 'venue'" in tagtopic(*asked, "--kinds", "venue", stdin=stdin).err


@pytest.mark.parametrize("command", ["predict", "transform", "rank"])
def test_plain_sentences_from_standard_input(tagtopic: Command, model: Path, command: str) -> None:
    sentences, rows = "Engine! gear, wheel.\n\na storm; lightning\n", '{"text": "Engine! gear"}\n{"text": "a storm"}\n'
    plain: Any = tagtopic(command, model, "-", "--json", stdin=sentences).json
    assert [document["id"] for document in plain] == ["0", "1"]
    assert len(tagtopic(command, model, "-", "--json", stdin=rows).json) == 2  # type: ignore[arg-type]
    assert len(tagtopic(command, model, "-", "--format", "text", "--json", stdin=rows).json) == 2  # type: ignore[arg-type]
    refused = tagtopic(command, model, "-", "--format", "jsonl", stdin=sentences)
    assert (refused.code, "is not JSON" in refused.err) == (1, True)


def test_predicted_tags_of_plain_sentences(tagtopic: Command, model: Path) -> None:
    found: Any = tagtopic("predict", model, "-", "--json", stdin="Engine! gear, wheel.\na storm; lightning").json
    assert [document["tags"][0]["tag"] for document in found] == ["author:Ada", "author:Mary"]


@pytest.mark.parametrize(
    ("given", "title"), [("a gear", "1 document and its"), ("a gear\na storm", "2 documents and their")]
)
def test_titles_count_documents(tagtopic: Command, model: Path, given: str, title: str) -> None:
    assert title in tagtopic("predict", model, "-", stdin=given).out


def test_evaluate_measures_perplexity(tagtopic: Command, model: Path, documents: Path) -> None:
    found: Any = tagtopic("evaluate", model, documents, *READ, "--json").json
    corpus = Corpus.read(documents, text="body", tags=["author", "year"])
    assert found["perplexity"] == pytest.approx(TWDA.load(model).perplexity(corpus))
    assert found["scored_words"] > 0
    assert "perplexity" in tagtopic("evaluate", model, documents, *READ).out
    refused = tagtopic("evaluate", model, documents, *READ, "--method", "bound")
    assert refused.code == 1
    assert "does not bound" in refused.err


@pytest.mark.filterwarnings("default")
def test_unknown_tags_are_one_warning(tagtopic: Command, model: Path) -> None:
    stdin = json.dumps({"body": "engine wheel", "author": "Emily"})
    outcome = tagtopic("rank", model, "-", *READ[:2], "--tags", "author", stdin=stdin)
    assert outcome.code == 0
    assert outcome.err.startswith("warning: ")
    assert "author:Emily" in outcome.err
    assert outcome.err.count("\n") == 1


def test_describe_counts_what_is_there(tagtopic: Command, documents: Path) -> None:
    assert "60" in tagtopic("describe", documents, *READ).out
    described: Any = tagtopic("describe", documents, *READ, "--json").json
    assert (described["n_documents"], described["n_tags"], described["kinds"]) == (60, 5, {"author": 3, "year": 2})
