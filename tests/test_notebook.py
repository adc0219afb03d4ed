"""The notebook of the documentation runs."""

import sys

import pytest
from tests.pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"


@pytest.mark.slow
def test_the_notebook_runs_and_its_outputs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(FOLDER / "python-docs.ipynb", as_version=4)
    kept = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert all(kept)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}")
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    from make import run  # type: ignore[import-not-found]

    outputs = [cell.outputs for cell in run(notebook).cells if cell.cell_type == "code"]
    tables = [output for cell in outputs for output in cell if "text/html" in output.get("data", {})]
    assert len(tables) >= 8
    assert not any(output.output_type == "error" for cell in outputs for output in cell)
