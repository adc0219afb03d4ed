"""Answers for people and for files."""

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from tagtopic.cli.main import _sentence
from tagtopic.cli.output import Answer, Column, print_json, print_table, print_text, remark, write_rows

NAME = "red \x1b[31mtag\x00\nof\u202e two lines\x9b"
SEEN = r"red \x1b[31mtag\x00\nof\u202e two lines\x9b"


def answer() -> Answer:
    rows = [{"tag": NAME}]
    return Answer(title=NAME, columns=[Column("tag")], lines=[[NAME]], value=rows, rows=rows)


def test_control_characters_are_seen_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(answer())
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [SEEN, "tag", SEEN]
    print_text("a \x1b[31mline\nand another")
    assert capsys.readouterr().out == "a \\x1b[31mline\nand another\n"
    remark("going on from \x1b[31m")
    assert capsys.readouterr().err == "going on from \\x1b[31m\n"


def test_errors_show_control_characters_too(tagtopic: Command) -> None:
    assert tagtopic("info", "no\x1b[31mwhere").err == "error: there is no model file no\\x1b[31mwhere\n"


def test_programs_get_names_as_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_json(answer().value)
    assert json.loads(capsys.readouterr().out) == [{"tag": NAME}]
    write_rows(answer().rows, tmp_path / "t.jsonl")
    assert json.loads((tmp_path / "t.jsonl").read_text("utf-8")) == {"tag": NAME}


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl"])
def test_a_file_that_cannot_be_written_is_called_as_it_was_given(tmp_path: Path, name: str) -> None:
    path = tmp_path / "gone" / name
    with pytest.raises(OSError, match="No such file") as told:
        write_rows([{"a": 1}], path)
    assert _sentence(told.value) == f"{path}: No such file or directory"


def test_a_file_that_cannot_be_moved_into_place_is_called_as_it_would_have_been(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("")
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="directory") as told:
        os.replace(tmp_path / "part", tmp_path / "taken")  # noqa: PTH105
    assert _sentence(told.value) == f"{tmp_path / 'taken'}: Is a directory"
