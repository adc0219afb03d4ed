"""`tagtopic report` and `serve`."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command
from tests.explore.test_report import decompressed

from tagtopic import Corpus
from tagtopic._core import optional
from tagtopic.explore import Explorer
from tagtopic.explore.service import app


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The arguments of the server, which is not started."""

    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(app, "serve", lambda *arguments, notify: calls.append(arguments))
    return calls


def test_report_has_model_documents_and_comparison(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path
) -> None:
    output = tmp_path / "letters.html"
    outcome = tagtopic(
        "report",
        model,
        "--corpus",
        documents,
        "--text",
        "body",
        "--tags",
        "author,year",
        "--compare",
        model,
        "-o",
        output,
    )
    assert (outcome.code, outcome.out) == (0, "")
    assert "wrote" in outcome.err
    pages = decompressed(output.read_text("utf-8"))
    assert {"/audit", "/compare", "/documents/0", "/tags/0"} <= pages.keys()
    assert 'class="w c' in pages["/documents/0"]  # the text is in the file


def test_report_without_documents_and_with_a_saved_corpus(
    tagtopic: Command, model: Path, documents: Path, tmp_path: Path
) -> None:
    assert tagtopic("report", model, "-o", tmp_path / "a.html", "--max-tags", 2, "-q").code == 0
    assert sum(path.startswith("/tags/") for path in decompressed((tmp_path / "a.html").read_text("utf-8"))) == 2
    Corpus.read(documents, text="body", tags=["author"]).save(tmp_path / "letters.corpus")
    assert tagtopic("report", model, "--corpus", tmp_path / "letters.corpus", "-o", tmp_path / "b.html").code == 0
    assert "/documents/59" in decompressed((tmp_path / "b.html").read_text("utf-8"))


def test_invalid_options_give_an_error_message(
    tagtopic: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no folder" in tagtopic("report", model, "-o", tmp_path / "no" / "a.html").err
    assert tagtopic("report", model, "-o", tmp_path).err.startswith(f"error: {tmp_path} is a folder")
    for option in ("--text", "--tags", "--id", "--tag-separator"):
        for command in ("report", "serve"):
            assert f"{option} is for the documents of --corpus" in tagtopic(command, model, option, "body").err
    assert "there is no model file" in tagtopic("serve", tmp_path / "none.tagtopic").err
    assert "--token is empty" in tagtopic("serve", model, "--token", " ").err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = tagtopic("serve", model, "--port", taken.getsockname()[1])
    assert outcome.code == 1
    assert "cannot be listened on" in outcome.err
    monkeypatch.setattr(optional, "find_spec", lambda package: None)
    for command in ("report", "serve"):
        assert "pip install 'tagtopic[explore]'" in tagtopic(command, model).err


def test_report_does_not_overwrite_its_inputs(tagtopic: Command, model: Path, documents: Path, tmp_path: Path) -> None:
    originals = {"m": model, "other": model, "letters.jsonl": documents}
    for name, original in originals.items():
        (tmp_path / name).write_bytes(original.read_bytes())
    command = ("report", tmp_path / "m", "--compare", tmp_path / "other", "--corpus", tmp_path / "letters.jsonl")
    for name, original in originals.items():
        outcome = tagtopic(*command, "--text", "body", "-o", tmp_path / name)
        assert (outcome.code, outcome.err.startswith(f"error: {tmp_path / name} is read by this command")) == (1, True)
        assert (tmp_path / name).read_bytes() == original.read_bytes()


def test_a_token_is_generated_for_other_addresses_only(
    tagtopic: Command, model: Path, started: list[tuple[Any, ...]]
) -> None:
    for arguments in ([], ["--host", "0.0.0.0"], ["--host", "::1", "--token", "secret", "--name", "my model"]):
        assert tagtopic("serve", model, *arguments).code == 0
    (explorer, host, port, token), (_, _, _, made), (named, _, _, given) = started
    assert isinstance(explorer, Explorer)
    assert (explorer.name, host, port, token) == ("letters", "127.0.0.1", 8000, None)
    assert len(made) > 20
    assert (named.name, given) == ("my model", "secret")


def test_a_review_has_a_token_on_this_machine_too(
    tagtopic: Command, model: Path, documents: Path, started: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    ledger = tmp_path / "letters.decisions.jsonl"
    read = ("--corpus", documents, "--text", "body", "--tags", "author")
    assert tagtopic("serve", model, *read, "--ledger", ledger, "--who", "Ana").code == 0
    (explorer, _, _, token) = started[0]
    assert len(token) > 20
    assert explorer.review.ledger.path == ledger
    assert explorer.review.ledger.who == "Ana"
    assert not ledger.exists()
    assert "--corpus" in tagtopic("serve", model, "--ledger", ledger).err
    ledger.write_text("nonsense\n")
    outcome = tagtopic("serve", model, *read, "--ledger", ledger)
    assert (outcome.code, f"{ledger}, line 1" in outcome.err) == (1, True)


@pytest.mark.parametrize(("options", "printed"), [(["--host", "0.0.0.0"], True), (["--host", "127.0.0.1"], False)])
def test_a_random_token_is_printed_even_if_quiet(
    tagtopic: Command, model: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], printed: bool
) -> None:
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    outcome = tagtopic("serve", model, "--port", 0, "--quiet", *options)
    assert ("?token=" in outcome.err) is printed
    assert tagtopic("serve", model, "--port", 0, "--quiet", *options, "--token", "known").err == ""


@pytest.mark.parametrize("place", ["asyncio.Runner.run", "uvicorn.Server.startup"])
def test_ctrl_c_while_the_server_starts_ends_it_silently(model: Path, place: str) -> None:
    code = f"""
import asyncio, gc, signal, sys, uvicorn
from tagtopic.cli.main import run

original = {place}

def interrupted(*arguments, **named):
    signal.raise_signal(signal.SIGINT)
    return original(*arguments, **named)

{place} = interrupted
sys.argv = ["tagtopic", "serve", {str(model)!r}, "--port", "0"]
try:
    run()
finally:
    gc.collect()
"""
    # a process of its own: in this one, the browser's event loop may be running
    outcome = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=False)
    assert outcome.returncode == 130
    assert "letters is at http://127.0.0.1:" in outcome.stderr
    assert "never awaited" not in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_serve_prints_the_address(tagtopic: Command, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    outcome = tagtopic("serve", model, "--port", 0, "--token", "secret")
    assert outcome.code == 0
    assert "letters is at http://127.0.0.1:" in outcome.err
    assert "/?token=secret" in outcome.err
