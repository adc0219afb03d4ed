"""Runs what a page of documentation says can be done.

Blocks of `python` are run one after the other, in one namespace and an empty folder; lines of `sh` are commands of
`tagtopic`. What a plain `text` block shows right after one of them must be what it printed (an ellipsis stands for
anything). Other languages (`bash`, a `code-block`) are shown only: installations, clusters, output that differs from
machine to machine.
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
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """Code of a page, the line that it begins at, and what the page shows it to print."""

    language: str
    code: str
    line: int
    output: str | None


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page that are run."""
    text = page.read_text("utf-8")
    found = list(_FENCE.finditer(text))
    for fence, after in zip(found, [*found[1:], None], strict=True):
        if fence["language"] not in ("python", "sh"):
            continue
        shown = None
        if after and after["language"] == "text" and not text[fence.end() : after.start()].strip():
            shown = after["code"]
        yield Block(fence["language"], fence["code"], text.count("\n", 0, fence.start()) + 2, shown)


def run_page(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Run a page from top to bottom; the names that its code has made."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which the command line replaces
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
            same = doctest.OutputChecker().check_output(block.output.replace("…", "..."), printed, _SAME)
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
    assert out or "wrote" in err, f"{where}: {line} says nothing"
    return out
