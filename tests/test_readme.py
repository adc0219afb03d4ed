"""What the README says can be done is done here."""

import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest

from tagtopic.cli.main import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    assert sys.argv[0] == "tagtopic"
    with pytest.raises(SystemExit) as end:
        run()
    return int(end.value.code or 0)


def test_every_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which the command line replaces
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert names["model"]
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        assert run_command(line, monkeypatch) == 0, f"{line}\n{capsys.readouterr().err}"
        out, err = capsys.readouterr()
        assert out or "wrote" in err, line


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    commands = re.findall(r"^make (\w+)$", README, flags=re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, flags=re.MULTILINE) for command in commands)
    assert re.search(r"^demo:.*\n\t.*tagtopic demo$", makefile, flags=re.MULTILINE)


def test_every_file_it_points_to_is_there() -> None:
    for path in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (ROOT / path).exists(), path
