"""Run the notebook of this folder from the start and keep its outputs: python docs/notebooks/make.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "python-docs.ipynb"
SECONDS = 1800


def run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run all cells in a new kernel; an exception in a cell is raised."""
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3")
    return client.execute()


def without_overwritten(outputs: list[Any]) -> list[Any]:
    """Join the streams of a cell, without the lines that later ones were written over."""
    streams = [output for output in outputs if output.output_type == "stream"]
    if not streams:
        return outputs
    lines = "".join(output.text for output in streams).split("\n")
    streams[0].text = "\n".join(line.rpartition("\r")[2].rstrip() for line in lines)
    return [streams[0], *(output for output in outputs if output.output_type != "stream")]


def main() -> None:
    """Run the notebook and write it with its outputs."""
    notebook = run(nbformat.read(NOTEBOOK, as_version=4))
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = without_overwritten(cell.outputs)
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
