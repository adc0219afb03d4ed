"""`tagtopic effects`, `trends`, `contrast`, `hierarchy` and `labels`."""

import csv
from pathlib import Path
from typing import Any

import pytest
from plotly import graph_objects
from tests.cli.conftest import Command

from tagtopic._core import optional

READ = ("--text", "body", "--tags", "author,year")


def test_effects_find_each_authors_topic(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    found: Any = tagtopic("effects", model, documents, *READ, "--formula", "author + year", "--json").json
    largest = [row for row in found if row["variable"] == "author" and row["low"] > 0.3]
    assert len({row["topic"] for row in largest}) >= 2
    output = tmp_path / "shares.csv"
    predicted = tagtopic("effects", model, documents, *READ, "--formula", "year", "--predict", "year", "-o", output)
    assert predicted.code == 0
    assert "no draws" in predicted.err
    with output.open() as file:
        assert all(0 <= float(row["low"]) <= float(row["high"]) <= 1 for row in csv.DictReader(file))
    figure = tmp_path / "years.html"
    ada = tagtopic(
        "effects", model, documents, *READ, "--formula", "year * author", "--predict", "year", "--at", "author=Ada",
        "--figure", figure, "--json",
    )  # fmt: skip
    lines: Any = ada.json
    assert {row["variable"] for row in lines} == {"year"}
    assert "by year at author=Ada" in figure.read_text()
    at: Any = tagtopic(
        "effects", model, documents, *READ, "--formula", "year*author", "--at", "year=1850", "--json"
    ).json
    assert {row["variable"] for row in at} == {"author"}
    assert at[0]["contrast"].endswith(" at year=1850")
    assert "such as genre=crime" in tagtopic("effects", model, documents, *READ, "--formula", "year", "--at", "x").err
    wrong = tagtopic("effects", model, documents, *READ, "--formula", "authr")
    assert wrong.code == 1
    assert "near it are 'author'" in wrong.err


def test_trends_have_bins_groups_and_a_figure(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    figure = tmp_path / "trends.html"
    outcome = tagtopic(
        "trends", model, documents, *READ, "--time", "year", "--by", "author", "--figure", figure, "--json"
    )
    found: Any = outcome.json
    assert {row["group"] for row in found} == {"Ada", "Jane", "Mary"}
    assert "plotly" in figure.read_text()
    changes: Any = tagtopic("trends", model, documents, *READ, "--time", "year", "--changes", "--json").json
    assert {row["group"] for row in changes} == {"all"}
    assert tagtopic("trends", model, documents, *READ, "--time", "nowhen").code == 1
    assert "ending in" in tagtopic("trends", model, documents, *READ, "--time", "year", "--figure", "t.gif").err


def test_an_image_needs_kaleido_and_a_browser(
    tagtopic: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("hierarchy", model, "--levels", "2", "--figure", tmp_path / "tree.svg")
    monkeypatch.setattr(optional, "is_installed", lambda package: package != "kaleido")
    outcome = tagtopic(*command)
    assert outcome.code == 1
    assert "pip install 'tagtopic[figures]'" in outcome.err
    monkeypatch.setattr(optional, "is_installed", lambda package: True)

    def no_chrome(*_: Any, **__: Any) -> bytes:
        raise RuntimeError("\n\nKaleido requires Google Chrome\nto be installed.")

    monkeypatch.setattr(graph_objects.Figure, "to_image", no_chrome)
    outcome = tagtopic(*command)
    assert (outcome.code, list(tmp_path.iterdir())) == (1, [])
    assert (
        "install one of them, or write .html (kaleido: Kaleido requires Google Chrome to be installed.)" in outcome.err
    )
    monkeypatch.setattr(graph_objects.Figure, "to_image", lambda *_, format: format.encode())
    assert tagtopic(*command).code == 0
    assert (tmp_path / "tree.svg").read_bytes() == b"svg"


def test_contrast_names_the_words_of_each_set(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    sets = ("--first", "author:Ada", "--second", "author:Mary")
    words: Any = tagtopic("contrast", model, documents, *READ, *sets, "--about", "words", "--json").json
    assert words[0]["word"] in ["engine", "number", "machine", "calculate", "wheel", "gear", "punch", "card"]
    assert words[-1]["word"] in ["monster", "storm", "lightning", "laboratory", "creature", "night", "fear", "ice"]
    figure = tmp_path / "words.html"
    topics = tagtopic("contrast", model, documents, *READ, *sets, "--figure", figure, "--about", "words")
    assert topics.out.startswith("words that differ")
    assert '"engine' in figure.read_text() or "monster" in figure.read_text()
    assert tagtopic("contrast", model, documents, *READ, *sets).out.startswith("author:Ada against author:Mary")


def test_hierarchy_and_labels_print_and_save(tagtopic: Command, model: Path, tmp_path: Path) -> None:
    saved = tmp_path / "coarse.tagtopic"
    found: Any = tagtopic("hierarchy", model, "--levels", "2", "--save", saved, "--json").json
    assert [row["level"] for row in found] == [2, 2]
    labels: Any = tagtopic("labels", saved, "--json").json
    assert [row["name"] for row in labels] == [row["name"] for row in sorted(found, key=lambda row: row["group"])]
    assert tagtopic("hierarchy", model, "--levels", "two").code == 1
