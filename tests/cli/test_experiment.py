"""`tagtopic experiment`."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Command


def test_experiment_writes_tables_and_plots(tagtopic: Command, tmp_path: Path, documents: Path) -> None:
    out = tmp_path / "results"
    command = ("experiment", "noise", "--corpus", documents, "--text", "body", "--tags", "author,year", "--output", out)
    first = tagtopic(*command, "--quick", "-k", "3", "-m", "TWDA", "-j", "1")
    assert first.code == 0, first.err
    assert "perplexity with noise tags added" in first.out
    assert {file.name for file in out.iterdir()} == {"cells", "noise.parquet", "noise.md", "noise.svg", "noise.png"}
    again = tagtopic(*command, "--quick", "-k", "3", "-m", "TWDA", "-j", "1", "--redo", "TWDA", "--quiet")
    assert again.out == first.out
    assert again.err == ""


def test_classify_uses_a_kind_of_tag_as_labels(tagtopic: Command, tmp_path: Path, documents: Path) -> None:
    outcome = tagtopic(
        "experiment", "classify", "--corpus", documents, "--text", "body", "--tags", "author,year",
        "--labels", "author", "--output", tmp_path, "--quick", "-k", "3", "-m", "tf-idf", "-j", "1",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "| tf-idf | 1.000 |" in outcome.out


@pytest.mark.parametrize(
    ("options", "message"),
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
def test_invalid_options_give_one_error_message(
    options: tuple[str, ...], message: str, tagtopic: Command, tmp_path: Path, documents: Path
) -> None:
    source = ("--corpus", documents, "--text", "body", "--tags", "author", "--output", tmp_path)
    outcome = tagtopic("experiment", *options, *source)
    assert outcome.code == 1
    assert message in outcome.err
    assert len(outcome.err.strip().splitlines()) <= 3


@pytest.mark.parametrize("corpus", ["planted", "embedded"])
@pytest.mark.parametrize(
    "options",
    [("--kinds", "author"), ("--labels", "x"), ("--documents", "50"), ("--min-tag-documents", "2"), ("--text", "body")],
)
def test_built_in_corpora_take_no_selection(
    corpus: str, options: tuple[str, ...], tagtopic: Command, tmp_path: Path
) -> None:
    outcome = tagtopic("experiment", "noise", "--corpus", corpus, *options, "--output", tmp_path / "out")
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: --corpus {corpus} has documents, tags and labels of its own")
    assert not (tmp_path / "out").exists()


def test_duplicate_numbers_of_topics_run_once(tagtopic: Command, tmp_path: Path) -> None:
    command = ("-k", "3,3", "-m", "TWDA", "--quick", "-j", "1", "--output", tmp_path)
    assert tagtopic("experiment", "tags", "--corpus", "planted", *command).code == 0
    assert len(pq.read_table(tmp_path / "tags.parquet")) == 7


def test_failed_cells_are_reported_in_every_run(
    tagtopic: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagtopic.baselines import TfidfCentroid

    def broken(*_: object) -> None:
        raise RuntimeError("out of luck")

    command = ("experiment", "tags", "--corpus", "planted", "--quick", "-m", "tf-idf centroid", "-j", "1", "-q")
    with monkeypatch.context() as patch:
        patch.setattr(TfidfCentroid, "_fit", broken)
        first = tagtopic(*command, "--folds", "2", "--output", tmp_path)
    again = tagtopic(*command, "--folds", "2", "--output", tmp_path)
    for outcome in (first, again):
        assert outcome.code == 1
        assert outcome.err.endswith(
            "tags: 2 cells failed: --redo failed runs them again\n  2 × RuntimeError: out of luck\n"
        )
    assert tagtopic(*command, "--folds", "2", "--output", tmp_path, "--redo", "failed").code == 0


def test_vocabulary_of_the_authors_format_is_kept(tagtopic: Command, tmp_path: Path) -> None:
    """Its vocabulary is given: no rare or frequent words are dropped."""
    (tmp_path / "d.twtm").write_text("1 0 @ 2 0:1 1:2\n" * 30 + "1 1 @ 2 0:1 2:3\n" * 30)
    (tmp_path / "words.txt").write_text("the\nsea\nroad\n")
    (tmp_path / "tags.txt").write_text("ship\ncar\n")
    command = ("--quick", "-k", "2", "-m", "predict_tags", "-j", "1", "--output", tmp_path / "out")
    outcome = tagtopic("experiment", "tags", "--corpus", tmp_path / "d.twtm", *command)
    assert outcome.code == 0, outcome.err
    assert "on Corpus(60 documents, 3 words, 2 tags)" in outcome.err
    cells = [json.loads(file.read_text()) for file in (tmp_path / "out" / "cells").iterdir()]
    assert [cell["error"] for cell in cells] == [None]
    assert "no topics: recall of tags at n" in outcome.out
    assert "K = 0" not in outcome.out
