"""Options for reading files and standard input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command


def n_documents(outcome_json: object) -> int:
    assert isinstance(outcome_json, dict)
    return int(outcome_json["n_documents"])


def test_encoding_can_be_given(tagtopic: Command, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("text\nélan\n".encode("latin-1"))
    refused = tagtopic("describe", path)
    assert refused.code == 1
    assert "--encoding latin-1" in refused.err
    assert "--skip-errors" in refused.err
    read = tagtopic("describe", path, "--encoding", "latin-1", "--json")
    assert "élan" in read.out


@pytest.mark.parametrize(("written", "typed"), [("~", "~"), ("\t", r"\t"), ("\t", "\t")])
def test_delimiter_can_be_given(tagtopic: Command, tmp_path: Path, written: str, typed: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"id,a{written}text\n1,2{written}engine\n")
    assert tagtopic("describe", path).code == 1
    assert n_documents(tagtopic("describe", path, "--delimiter", typed, "--json").json) == 1


def test_format_of_a_folder_can_be_given(tagtopic: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("an engine\nanother engine\n")
    assert n_documents(tagtopic("describe", tmp_path, "--format", "text", "--json").json) == 2


@pytest.mark.filterwarnings("default")
def test_documents_without_known_words_give_a_warning(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path
) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps({"body": body}) + "\n" for body in ("engine wheel", "qwertz", "asdf yxcv")))
    outcome = tagtopic("predict", model, path, "--text", "body", "--quiet")
    assert outcome.code == 0
    assert outcome.err == "warning: 2 of 3 documents have no word that the model knows\n"
    assert tagtopic("predict", model, documents, "--text", "body", "--quiet").err == ""


def test_closed_standard_input_is_an_error() -> None:
    command = [sys.executable, "-m", "tagtopic", "describe", "-"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=lambda: os.close(0))
    assert outcome.returncode == 1
    assert outcome.stderr == "error: standard input is closed: there is nothing to read from it\n"


def test_csv_on_standard_input_needs_its_format(tagtopic: Command) -> None:
    rows = "text,tags\nan engine,x\n"
    refused = tagtopic("describe", "-", "--tags", "tags", stdin=rows)
    assert refused.code == 1
    assert "--format csv" in refused.err
    read = tagtopic("describe", "-", "--tags", "tags", "--format", "csv", "--json", stdin=rows)
    assert n_documents(read.json) == 1


@pytest.mark.parametrize("option", ["--text", "--tags"])
@pytest.mark.parametrize("names", [",", "a,,b", " "])
def test_empty_column_names_are_refused(tagtopic: Command, documents: Path, option: str, names: str) -> None:
    outcome = tagtopic("describe", documents, option, names)
    assert outcome.code == 1
    assert outcome.err == f"error: {names!r} has an empty name: give one or more, with single commas between\n"


def test_empty_kinds_are_refused(tagtopic: Command, model: Path, documents: Path) -> None:
    outcome = tagtopic("predict", model, documents, "--text", "body", "--kinds", ",")
    assert outcome.code == 1
    assert "has an empty name" in outcome.err
