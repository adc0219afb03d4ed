"""The demonstration runs on any installation."""

import io
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from tagtopic import TWDA
from tagtopic.cli import demo
from tagtopic.datasets import python_docs


def test_the_demo_draws_a_picture(tagtopic: Command, tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    outcome = tagtopic("demo", "--package", "joblib", "-k", 3, "--model", tmp_path / "m", "--report", picture, "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert picture.read_text("utf-8").startswith("<svg")


def test_the_demo_predicts_for_a_sentence_that_is_given(tagtopic: Command, tmp_path: Path) -> None:
    asked = ("demo", "--package", "joblib", "-k", 3, "--model", tmp_path / "m", "--report", tmp_path / "r.svg")
    given = tagtopic(*asked, "--text", "Run functions in parallel")
    assert "Run functions in parallel" in given.out
    assert demo.SENTENCES[0] not in given.out
    assert demo.SENTENCES[0] in tagtopic(*asked, stdin="not a terminal").out


def test_the_demo_asks_only_a_person_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("Cache results on disk\nmore"))
    assert demo._asked(quiet=False) == "Cache results on disk"
    assert "Type a sentence" in capsys.readouterr().err
    assert demo._asked(quiet=True) == ""
    monkeypatch.setattr(sys, "stdin", io.StringIO("piped"))
    assert demo._asked(quiet=False) == ""


def test_a_package_that_is_not_there(tagtopic: Command, tmp_path: Path) -> None:
    outcome = tagtopic("demo", "--package", "no_such_package", "--model", tmp_path / "m", "-q")
    assert outcome.code == 1
    assert "no_such_package: are they installed" in outcome.err


@pytest.mark.slow
def test_the_demo_as_it_is(tagtopic: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(python_docs, "PACKAGES", ("python", "numpy", "scipy"))  # not all that happens to be installed
    monkeypatch.setattr(demo, "PAGES", (100, 20))  # more pages are more of the same
    outcome = tagtopic("demo")
    assert outcome.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"python-docs.tagtopic", "report.html"}
    for told in ("40 topics", "parameter:axis", "What is a tag about?", "Which tags matter", "Which tags would"):
        assert told in outcome.out
    assert "raises:ValueError" in TWDA.load("python-docs.tagtopic").tag_names_
    report = Path("report.html").read_text("utf-8")
    assert "polynomial" in report
    assert "http:" not in report
    assert "https:" not in report
    # most of what a person who knows Python expects; which of them depends on the versions
    expected = {"eigenvalues", "spline", "polynomial", "encoding", "cluster", "thread", "hypothesis", "socket"}
    assert len(expected & set(outcome.out.replace(",", " ").split())) >= 5
