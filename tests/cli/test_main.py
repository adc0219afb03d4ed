"""The application: commands, version, errors."""

import subprocess
import sys

import pytest
from tests.cli.conftest import Command

from tagtopic import __version__
from tagtopic.cli.main import app

COMMANDS = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]


def test_version(tagtopic: Command) -> None:
    assert tagtopic("--version").out == f"tagtopic {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(tagtopic: Command, command: str) -> None:
    outcome = tagtopic(command, "--help")
    assert outcome.code == 0
    assert "Examples" in outcome.out
    assert f"$ tagtopic {command}" in outcome.out


def test_help_groups_the_commands() -> None:
    groups: dict[str, list[str]] = {}
    for name, command in zip(COMMANDS, app.registered_commands, strict=True):
        groups.setdefault(str(command.rich_help_panel), []).append(name)
    assert list(groups.items()) == [
        ("Describe and fit", ["describe", "fit"]),
        ("Inspect a model", ["topics", "tags", "info", "hierarchy", "labels"]),
        (
            "Apply a model to documents",
            ["rank", "predict", "similar", "transform", "audit", "effects", "trends", "contrast"],
        ),
        ("Curate", ["review", "edit"]),
        ("Explore", ["report", "serve", "demo"]),
        ("Evaluate", ["evaluate", "search-topics", "experiment"]),
    ]


def test_help_imports_no_numerical_libraries() -> None:
    code = (
        "import sys; from tagtopic.cli import main; print([m for m in ('numpy','numba','sklearn') if m in sys.modules])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"


def test_module_runs_the_command() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tagtopic", "--version"], capture_output=True, text=True, check=True
    )
    assert outcome.stdout == f"tagtopic {__version__}\n"


def test_completion_can_be_installed(tagtopic: Command) -> None:
    assert "--install-completion" in tagtopic("--help").out


def test_debug_variable_enables_tracebacks(tagtopic: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tagtopic("info", "nowhere").err == "error: there is no model file nowhere\n"
    monkeypatch.setenv("TAGTOPIC_DEBUG", "1")
    with pytest.raises(FileNotFoundError):
        tagtopic("info", "nowhere")
