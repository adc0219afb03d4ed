"""The documentation builds without warnings and loads nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pages import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", f"{folder}/doctrees"]
    done = subprocess.run([*command, str(DOCS), str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # a broken link, a page without toctree, a malformed docstring
    return folder


def test_commands_and_public_names_are_documented(site: Path) -> None:
    commands = (site / "reference" / "command-line.html").read_text("utf-8")
    for command in ("fit", "predict", "search-topics", "serve", "experiment"):
        assert f'id="tagtopic-{command}"' in commands
    assert "--checkpoint-every" in commands
    models = (site / "reference" / "models.html").read_text("utf-8")
    assert all(f'id="tagtopic.{name}"' in models for name in ("TWDA", "TWDA.audit_tags", "TWTM", "LDA"))


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(r"""(?:<(?:script|img|iframe|source)[^>]+src|<link[^>]+href)=["'](?:https?:)?//[^"']+""")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not loaded.findall(page.read_text("utf-8")), page
    for stylesheet in site.rglob("*.css"):
        assert not re.findall(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", stylesheet.read_text("utf-8")), stylesheet
    assert "<math" in (site / "model.html").read_text("utf-8")  # formulas need no script either


def test_diagrams_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "figures")
    from draw import DIAGRAMS  # type: ignore[import-not-found]

    for name, draw in DIAGRAMS.items():
        assert draw().document() == (DOCS / "figures" / name).read_text("utf-8"), name


def test_figures_are_small() -> None:
    for figure in (DOCS / "figures").glob("*.svg"):
        assert figure.stat().st_size < 30_000, figure
