"""Results as tables, JSON and files."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from tagtopic.cli.main import _error_message
from tagtopic.cli.output import Column, Result, emit, notify, print_json, print_table, print_text, write_rows

NAME = "red \x1b[31mtag\x00\nof\u202e two lines\x9b"
ESCAPED = r"red \x1b[31mtag\x00\nof\u202e two lines\x9b"


def result() -> Result:
    rows = [{"tag": NAME}]
    return Result(title=NAME, columns=[Column("tag")], lines=[[NAME]], value=rows, rows=rows)


def test_control_characters_are_escaped_in_output(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(result())
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [ESCAPED, "tag", ESCAPED]
    print_text("a \x1b[31mline\nand another")
    assert capsys.readouterr().out == "a \\x1b[31mline\nand another\n"
    notify("resuming from \x1b[31m")
    assert capsys.readouterr().err == "resuming from \\x1b[31m\n"


def test_control_characters_are_escaped_in_errors(tagtopic: Command) -> None:
    assert tagtopic("info", "no\x1b[31mwhere").err == "error: there is no model file no\\x1b[31mwhere\n"


def test_json_and_files_have_names_unchanged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_json(result().value)
    assert json.loads(capsys.readouterr().out) == [{"tag": NAME}]
    write_rows(result().rows, tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text("utf-8")) == {"tag": NAME}


def test_json_has_no_character_that_a_terminal_interprets(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"tag": NAME, "é": "ü"})
    printed = capsys.readouterr().out
    assert not set(NAME) & set("\x1b\x00\u202e\x9b") & set(printed)
    assert '"é": "ü"' in printed
    emit(result(), output="-")
    assert capsys.readouterr().out == json.dumps({"tag": NAME}) + "\n"


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.tsv", "\t")])
def test_cells_are_not_formulas(tmp_path: Path, name: str, separator: str) -> None:
    write_rows([{"tag": f"{sign}1+1", "weight": -1.5} for sign in "=+-@"], tmp_path / name)
    lines = (tmp_path / name).read_text("utf-8").splitlines()
    assert lines == [f"tag{separator}weight", *(f"'{sign}1+1{separator}-1.5" for sign in "=+-@")]


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl"])
def test_errors_name_the_file_that_was_given(tmp_path: Path, name: str) -> None:
    path = tmp_path / "gone" / name
    with pytest.raises(OSError, match="No such file") as raised:
        write_rows([{"a": 1}], path)
    assert _error_message(raised.value) == f"{path}: No such file or directory"


def test_errors_of_moves_name_the_target(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("")
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="directory") as raised:
        os.replace(tmp_path / "part", tmp_path / "taken")  # noqa: PTH105
    assert _error_message(raised.value) == f"{tmp_path / 'taken'}: Is a directory"
