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


SOURCE = ROOT / "src" / "tagtopic"
PAGES = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
PATH = re.compile(r"`(?!/)([\w./-]+/[\w.-]+\.(?:py|md|html|svg|toml|json|yml)|(?:[\w-]+/)+)`")


def places(page: Path, name: str) -> list[Path]:
    """Return where a path that a page names may be."""
    return [folder / name for folder in (ROOT, SOURCE, DOCS, page.parent)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_that_a_page_names_exist(page: Path) -> None:
    # of this repository only: a path in an example of the command line is in a block, not in a line
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert [name for name in PATH.findall(text) if not any(path.exists() for path in places(page, name))] == []


def test_the_walks_name_what_the_files_define() -> None:
    text = " ".join((DOCS / "architecture.md").read_text("utf-8").split())
    found = re.findall(r"`([\w.]+)`(?: and `(\w+)`)? \(`([\w/]+\.py)`", text)
    assert len(found) > 15
    for *names, path in found:
        source = (SOURCE / path).read_text("utf-8")
        for name in " ".join(names).replace(".", " ").split():
            assert re.search(rf"(?:def|class) {name}\b", source), f"{name} is not in {path}"


@pytest.mark.parametrize("page", ["promises.md", "results/robustness.md"])
def test_the_pages_of_promises_and_faults_name_tests_that_exist(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and "`test_" in line]
    assert len(rows) > 15
    for row in rows:
        files = re.findall(r"<(?:\.\./)+(tests/[\w/]+\.py)>", row)
        sources = "".join((ROOT / file).read_text("utf-8") for file in files)
        names = re.findall(r"`(test_\w+)`", row)
        assert names
        assert [name for name in names if f"def {name}(" not in sources] == []
