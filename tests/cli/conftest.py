"""Fixtures: a small file of documents, a model fitted to it, and the command line in this process."""

import io
import json
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tagtopic.cli.main import run

SUBJECTS = {
    "author:Ada": "engine number machine calculate wheel gear punch card",
    "author:Mary": "monster storm lightning laboratory creature night fear ice",
    "author:Jane": "marriage ball letter sister estate fortune pride dance",
}


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> object:
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def tagtopic(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run `tagtopic` in this process, with its exit code, output and errors."""

    def call(*arguments: object, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tagtopic", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command line replaces it
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        out, err = capfd.readouterr()
        return Outcome(int(end.value.code or 0), out, err)

    return call


def write_documents(path: Path, n: int = 60) -> None:
    """Documents of three authors with disjoint vocabularies, and a year unrelated to the text."""
    rng = random.Random(0)
    rows = []
    for i in range(n):
        tag, words = list(SUBJECTS.items())[i % 3]
        body = " ".join(rng.choices(words.split(), k=20))
        rows.append({"id": f"d{i}", "body": body, "author": tag.partition(":")[2], "year": 1800 + i % 2})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "letters.jsonl"
    write_documents(path)
    return path


@pytest.fixture(scope="session")
def model(documents: Path) -> Path:
    from tagtopic import TWDA, Corpus

    corpus = Corpus.read(documents, text="body", tags=["author", "year"])
    path = documents.parent / "letters.tagtopic"
    TWDA(n_topics=3, random_state=0, progress=False).fit(corpus).save(path)
    return path
