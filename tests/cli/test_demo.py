"""`tagtopic demo`."""

import io
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from tagtopic import TWDA
from tagtopic.cli import demo

# a model of one package does not know the words of all sentences
pytestmark = pytest.mark.filterwarnings(r"ignore:\d+ of \d+ texts have no word")


def test_demo_writes_its_output_as_svg(tagtopic: Command, tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    outcome = tagtopic("demo", "--package", "joblib", "-k", 3, "--model", tmp_path / "m", "--report", picture, "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert picture.read_text("utf-8").startswith("<svg")


def test_demo_predicts_tags_of_a_given_text(tagtopic: Command, tmp_path: Path) -> None:
    command = ("demo", "--package", "joblib", "-k", 3, "--model", tmp_path / "m", "--report", tmp_path / "r.svg")
    given = tagtopic(*command, "--text", "Run functions in parallel")
    assert "Run functions in parallel" in given.out
    assert demo.EXAMPLE_TEXTS[0] not in given.out
    assert demo.EXAMPLE_TEXTS[0] in tagtopic(*command, stdin="not a terminal").out


def test_demo_prompts_only_in_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("Cache results on disk\nmore"))
    assert demo._ask_for_text(quiet=False) == "Cache results on disk"
    assert "Type a sentence" in capsys.readouterr().err
    assert demo._ask_for_text(quiet=True) == ""
    monkeypatch.setattr(sys, "stdin", io.StringIO("piped"))
    assert demo._ask_for_text(quiet=False) == ""


def test_missing_packages_are_refused(tagtopic: Command, tmp_path: Path) -> None:
    outcome = tagtopic("demo", "--package", "no_such_package", "--model", tmp_path / "m", "-q")
    assert outcome.code == 1
    assert "no_such_package: are they installed" in outcome.err


@pytest.mark.slow
def test_demo_with_real_packages(tagtopic: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    packages = [argument for name in ("numpy", "email") for argument in ("--package", name)]
    outcome = tagtopic("demo", *packages, "--max-tags", 100, "--max-documents", 20)
    assert outcome.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"python-docs.tagtopic", "report.html"}
    for text in ("40 topics", "parameter:axis", "Topics of tags", "Tag weights of documents", "Predicted tags"):
        assert text in outcome.out
    assert "raises:ValueError" in TWDA.load("python-docs.tagtopic").tag_names_
    report = Path("report.html").read_text("utf-8")
    assert "polynomial" in report
    assert "http:" not in report
    assert "https:" not in report
    # which of the well-known words occur depends on the versions of the packages
    expected = {"polynomial", "polynomials", "encoding", "matrix", "matrices", "distribution", "header", "message"}
    assert len(expected & set(outcome.out.replace(",", " ").split())) >= 5
