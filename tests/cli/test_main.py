"""The command line as a whole."""

import subprocess
import sys

import pytest
from tests.cli.conftest import Command

from tagtopic import __version__
from tagtopic.cli.main import app

COMMANDS = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]


def test_the_version(tagtopic: Command) -> None:
    assert tagtopic("--version").out == f"tagtopic {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(tagtopic: Command, command: str) -> None:
    outcome = tagtopic(command, "--help")
    assert outcome.code == 0
    assert "Examples" in outcome.out
    assert f"$ tagtopic {command}" in outcome.out


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys; from tagtopic.cli import main; print([m for m in ('numpy','numba','sklearn') if m in sys.modules])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"


def test_the_module_is_the_command() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tagtopic", "--version"], capture_output=True, text=True, check=True
    )
    assert outcome.stdout == f"tagtopic {__version__}\n"


def test_completion_is_offered(tagtopic: Command) -> None:
    assert "--install-completion" in tagtopic("--help").out


def test_debugging_brings_tracebacks_back(tagtopic: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tagtopic("info", "nowhere").err == "error: there is no model file nowhere\n"
    monkeypatch.setenv("TAGTOPIC_DEBUG", "1")
    with pytest.raises(FileNotFoundError):
        tagtopic("info", "nowhere")
