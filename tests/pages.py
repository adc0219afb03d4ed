"""Run the examples of a documentation page.

`python` blocks are run one after the other, in one namespace and an empty folder; the lines of `sh` blocks are commands
of `tagtopic`. A plain `text` block that follows one of them must equal its output (an ellipsis matches anything). Other
languages (`bash`, a `code-block`) are not run: installations, clusters, output that differs between machines.
"""

import doctest
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tagtopic.cli.main import run

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^```(?P<language>[\w{}-]*)[^\n]*\n(?P<code>.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A code block of a page, its line, and its expected output."""

    language: str
    code: str
    line: int
    output: str | None


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page that are run."""
    text = page.read_text("utf-8")
    found = list(_FENCE.finditer(text))
    for fence, after in zip(found, [*found[1:], None], strict=True):
        if fence["language"] not in ("python", "sh"):
            continue
        expected = None
        if after and after["language"] == "text" and not text[fence.end() : after.start()].strip():
            expected = after["code"]
        yield Block(fence["language"], fence["code"], text.count("\n", 0, fence.start()) + 2, expected)


def run_page(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Run a page from top to bottom; return the namespace of its code."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # replaced by the command line
    names: dict[str, Any] = {}
    capsys.readouterr()
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}, line {block.line}"
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
            printed = capsys.readouterr().out
        else:
            printed = "".join(_run_command(line, where, monkeypatch, capsys) for line in _commands(block.code))
        if block.output is not None:
            same = doctest.OutputChecker().check_output(block.output.replace("…", "..."), printed, _FLAGS)
            assert same, f"{where} prints\n{printed}"
    return names


def _commands(code: str) -> list[str]:
    return [line for line in code.replace("\\\n", " ").splitlines() if line.strip()]


def _run_command(line: str, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
    assert sys.argv[0] == "tagtopic", where
    with pytest.raises(SystemExit) as end:
        run()
    out, err = capsys.readouterr()
    assert not end.value.code, f"{where}: {line}\n{err}"
    assert out or "wrote" in err, f"{where}: {line} has no output"
    return out
