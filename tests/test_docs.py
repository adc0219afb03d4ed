"""The examples of the tutorial and the how-to guides run. (`test_site.py` builds the documentation.)"""

import re
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


def test_the_page_of_promises_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "promises.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if "test_" in line]
    assert len(rows) > 15
    for row in rows:
        files = re.findall(r"<\.\./(tests/[\w/]+\.py)>", row)
        sources = "".join((ROOT / file).read_text("utf-8") for file in files)
        names = re.findall(r"`(test_\w+)`", row)
        assert names
        assert [name for name in names if f"def {name}(" not in sources] == []
