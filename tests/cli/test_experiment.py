import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Command


def test_an_experiment_from_the_command_line(tagtopic: Command, tmp_path: Path, documents: Path) -> None:
    out = tmp_path / "results"
    asked = ("experiment", "noise", "--corpus", documents, "--text", "body", "--tags", "author,year", "--output", out)
    first = tagtopic(*asked, "--quick", "-k", "3", "-m", "TWDA", "-j", "1")
    assert first.code == 0, first.err
    assert "perplexity with noise tags added" in first.out
    assert {file.name for file in out.iterdir()} == {"cells", "noise.parquet", "noise.md", "noise.svg", "noise.png"}
    again = tagtopic(*asked, "--quick", "-k", "3", "-m", "TWDA", "-j", "1", "--redo", "TWDA", "--quiet")
    assert again.out == first.out
    assert again.err == ""


def test_labels_are_a_column(tagtopic: Command, tmp_path: Path, documents: Path) -> None:
    outcome = tagtopic(
        "experiment", "classify", "--corpus", documents, "--text", "body", "--tags", "author,year",
        "--labels", "author", "--output", tmp_path, "--quick", "-k", "3", "-m", "tf-idf", "-j", "1",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "| tf-idf | 1.000 |" in outcome.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("classify",), "needs documents with labels: say which kind of tag they are (--labels KIND)"),
        (("noise", "-k", "few"), "-k few: expected whole numbers from 1"),
        (("noise", "-k", "²"), "-k ²: expected whole numbers from 1"),
        (("noise", "-k", "5,0"), "-k 5,0: expected whole numbers from 1"),
        (("scale", "--workers", "-1"), "--workers -1: expected whole numbers from 0"),
        (("noise", "--kinds", "colour"), "no document has a tag of the kind 'colour' to keep; kinds are: author"),
        (("noise", "--model", "LSA"), "noise does not compare 'LSA'"),
        (("all", "--model", "TWDA"), "--model is for one experiment"),
    ],
)
def test_mistakes_are_one_line(
    options: tuple[str, ...], said: str, tagtopic: Command, tmp_path: Path, documents: Path
) -> None:
    source = ("--corpus", documents, "--text", "body", "--tags", "author", "--output", tmp_path)
    outcome = tagtopic("experiment", *options, *source)
    assert outcome.code == 1
    assert said in outcome.err
    assert len(outcome.err.strip().splitlines()) <= 3


@pytest.mark.parametrize("corpus", ["planted", "embedded"])
@pytest.mark.parametrize(
    "options",
    [("--kinds", "author"), ("--labels", "x"), ("--documents", "50"), ("--min-tag-documents", "2"), ("--text", "body")],
)
def test_a_corpus_of_our_own_takes_no_choice(
    corpus: str, options: tuple[str, ...], tagtopic: Command, tmp_path: Path
) -> None:
    outcome = tagtopic("experiment", "noise", "--corpus", corpus, *options, "--output", tmp_path / "out")
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: --corpus {corpus} has documents, tags and labels of its own")
    assert not (tmp_path / "out").exists()


def test_a_number_of_topics_given_twice_is_measured_once(tagtopic: Command, tmp_path: Path) -> None:
    asked = ("-k", "3,3", "-m", "TWDA", "--quick", "-j", "1", "--output", tmp_path)
    assert tagtopic("experiment", "tags", "--corpus", "planted", *asked).code == 0
    assert len(pq.read_table(tmp_path / "tags.parquet")) == 7


def test_what_failed_is_told_in_every_run_and_is_an_error(
    tagtopic: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagtopic.baselines import TfidfCentroid

    def broken(*_: object) -> None:
        raise RuntimeError("out of luck")

    asked = ("experiment", "tags", "--corpus", "planted", "--quick", "-m", "tf-idf centroid", "-j", "1", "-q")
    with monkeypatch.context() as patch:
        patch.setattr(TfidfCentroid, "_fit", broken)
        first = tagtopic(*asked, "--folds", "2", "--output", tmp_path)
    again = tagtopic(*asked, "--folds", "2", "--output", tmp_path)
    for outcome in (first, again):
        assert outcome.code == 1
        assert outcome.err.endswith(
            "tags: 2 cells failed: --redo failed measures them again\n  2 × RuntimeError: out of luck\n"
        )
    assert tagtopic(*asked, "--folds", "2", "--output", tmp_path, "--redo", "failed").code == 0


def test_authors_format_is_taken_as_it_is(tagtopic: Command, tmp_path: Path) -> None:
    """Its words were chosen already: none is left out for being rare or common."""
    (tmp_path / "d.twtm").write_text("1 0 @ 2 0:1 1:2\n" * 30 + "1 1 @ 2 0:1 2:3\n" * 30)
    (tmp_path / "words.txt").write_text("the\nsea\nroad\n")
    (tmp_path / "tags.txt").write_text("ship\ncar\n")
    asked = ("--quick", "-k", "2", "-m", "predict_tags", "-j", "1", "--output", tmp_path / "out")
    outcome = tagtopic("experiment", "tags", "--corpus", tmp_path / "d.twtm", *asked)
    assert outcome.code == 0, outcome.err
    assert "on Corpus(60 documents, 3 words, 2 tags)" in outcome.err
    cells = [json.loads(file.read_text()) for file in (tmp_path / "out" / "cells").iterdir()]
    assert [cell["error"] for cell in cells] == [None]
    assert "no topics: recall of tags at n" in outcome.out
    assert "K = 0" not in outcome.out
