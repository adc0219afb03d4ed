"""What the site says can be done is done here; that it builds is `test_site.py`'s."""

from pathlib import Path

import pytest
from tests.pages import ROOT, blocks, run_page

DOCS = ROOT / "docs"
HOW_TO = sorted(path for path in (DOCS / "how-to").glob("*.md") if path.stem not in ("index", "spark"))


def test_the_tutorial_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run_page(DOCS / "tutorial.md", tmp_path, monkeypatch, capsys)
    assert names["found"] > names["there"] / 3  # one in forty would be chance
    assert names["ranks"].recall(10) > 0.6
    assert (tmp_path / "python.html").stat().st_size > 100_000


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_every_guide_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(blocks(page)), "a guide shows how"
    run_page(page, tmp_path, monkeypatch, capsys)
