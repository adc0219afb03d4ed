"""The examples of the README run."""

import re
from pathlib import Path

import pytest
from tests.pages import ROOT, blocks, run_page

PAGE = ROOT / "README.md"
README = PAGE.read_text("utf-8")


def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = run_page(PAGE, tmp_path, monkeypatch, capsys)["model"]
    assert {"logger", "header", "widget"} <= {word for topic in range(12) for word, _ in model.top_words(topic, 10)}
    assert sum(len(block.code.splitlines()) for block in blocks(PAGE) if block.language == "sh") > 5


def test_make_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    commands = re.findall(r"^make (\w+)$", README, flags=re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, flags=re.MULTILINE) for command in commands)
    assert re.search(r"^demo:.*\n\t.*tagtopic demo$", makefile, flags=re.MULTILINE)


def test_linked_files_exist() -> None:
    for path in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (ROOT / path).exists(), path
