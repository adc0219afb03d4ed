"""How a command's `--help` shows its examples."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """An epilogue with one example a line."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"$ {line}" for line in lines)])
