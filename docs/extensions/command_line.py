"""The directive `command-line`: all commands of `tagtopic` with their options, from the application itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tagtopic.cli.main import app as application


class CommandLine(SphinxDirective):
    """Insert a section for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the sections."""
        return self.parse_text_to_nodes("\n".join(command_lines()), allow_section_headings=True)


def command_lines() -> Iterator[str]:
    """Yield the commands as Markdown, in the order of `tagtopic --help`."""
    group = typer.main.get_command(application)
    for name, command in _commands(group, "tagtopic"):
        context = typer.Context(command, info_name=name)
        yield f"## {name}\n"
        yield _paragraphs(command.help)
        yield f"```text\n{' '.join([name, *command.collect_usage_pieces(context)])}\n```\n"
        yield from _parameters(command, context)
        if examples := re.findall(r"^\$ (.+)$", command.epilog or "", flags=re.MULTILINE):
            yield "```bash\n" + "\n".join(examples) + "\n```\n"


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) and "--help" not in record[0]:
            yield f"`{record[0]}`\n: {_escaped(record[1]) or '–'}\n"


def _paragraphs(text: str | None) -> str:
    return _escaped("\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))) + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_\[\]])", r"\\\1", text)


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
