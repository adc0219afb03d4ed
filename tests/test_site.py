"""The site builds without a warning and needs nothing from elsewhere."""

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
    outcome = subprocess.run([*command, str(DOCS), str(folder)], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr  # a broken link, a page in no table of contents, a bad docstring
    return folder


def test_every_command_and_public_name_has_its_place(site: Path) -> None:
    commands = (site / "reference" / "command-line.html").read_text("utf-8")
    for command in ("fit", "predict", "search-topics", "serve", "experiment"):
        assert f'id="tagtopic-{command}"' in commands
    assert "--checkpoint-every" in commands
    models = (site / "reference" / "models.html").read_text("utf-8")
    assert all(f'id="tagtopic.{name}"' in models for name in ("TWDA", "TWDA.audit_tags", "TWTM", "LDA"))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"""(?:<(?:script|img|iframe|source)[^>]+src|<link[^>]+href)=["'](?:https?:)?//[^"']+""")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not loaded.findall(page.read_text("utf-8")), page
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"""(?:@import|url\()\s*["']?(?:https?:)?//""", sheet.read_text("utf-8")), sheet
    assert "<math" in (site / "model.html").read_text("utf-8")  # formulas need no script either


def test_the_drawings_are_what_the_script_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "figures")
    from draw import DIAGRAMS  # type: ignore[import-not-found]

    for name, draw in DIAGRAMS.items():
        assert draw().document() == (DOCS / "figures" / name).read_text("utf-8"), name


def test_pictures_are_light() -> None:
    for picture in (DOCS / "figures").glob("*.svg"):
        assert picture.stat().st_size < 30_000, picture
