"""The examples of the tutorial and the how-to guides run. (`test_site.py` builds the documentation.)"""

from pathlib import Path

import pytest
from tests.pages import ROOT, blocks, run_page

DOCS = ROOT / "docs"
HOW_TO = sorted(path for path in (DOCS / "how-to").glob("*.md") if path.stem not in ("index", "spark"))


def test_the_tutorial_runs_and_finds_planted_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run_page(DOCS / "tutorial.md", tmp_path, monkeypatch, capsys)
    assert names["found"] > names["there"] / 3  # by chance: one in forty
    assert names["ranks"].recall(10) > 0.6
    assert (tmp_path / "python.html").stat().st_size > 100_000


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_how_to_guides_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(blocks(page)), "the guide has no example"
    run_page(page, tmp_path, monkeypatch, capsys)
