"""The report: all views in one file that asks for nothing from elsewhere."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from tagtopic.explore import Explorer, ReportLimits, write_report
from tagtopic.explore.report import render_report


def unpacked(html: str, listed: str = "pages") -> dict[str, str]:
    """The pages by their paths; or the files."""
    found: dict[str, str] = {}
    for chunk in re.findall(r'<script type="text/plain" id="chunk-\d+">(.*?)</script>', html):
        found |= json.loads(gzip.decompress(base64.b64decode(chunk)))
    return {path: found[path] for path in json.loads(re.findall(rf'id="{listed}">(.*?)</script>', html)[0])}


@pytest.fixture(scope="module")
def html(explorer: Explorer) -> str:
    return render_report(explorer, ReportLimits(tags=5, documents=20))


def test_every_view_is_in_it(html: str) -> None:
    pages = unpacked(html)
    assert set(pages) >= {"/", "/topics/0", "/topics/2", "/tags", "/documents", "/audit", "/try", "/compare"}
    assert sum(path.startswith("/tags/") for path in pages) == 5
    assert sum(path.startswith("/documents/") for path in pages) == 20
    assert 'class="w c' in pages["/documents/0"]


def test_it_says_what_was_left_out(html: str) -> None:
    pages = unpacked(html)
    assert "5 most used of 7 tags" in html
    assert "20 of 60 documents" in html
    assert "20 of the 60 documents" in pages["/documents"]


def test_the_audit_comes_as_tables_to_act_on(html: str, explorer: Explorer) -> None:
    pages, files = unpacked(html), unpacked(html, "files")
    lines = files["/audit/entries.csv"].removeprefix("\ufeff").splitlines()
    assert lines[0].startswith("id,document_number,tag,plausibility")
    assert len(lines) == 1 + len(explorer.audit.entries)
    assert files["/audit/tags.csv"].count("\n") == 1 + len(explorer.audit.tags)
    assert 'download="audit-entries.csv"' in pages["/audit"]


def test_how_to_try_a_text_is_said(html: str) -> None:
    assert "tagtopic serve MODEL" in unpacked(html)["/try"]


def test_links_lead_only_to_pages_that_are_there(html: str) -> None:
    pages = unpacked(html)
    for page in pages.values():
        for path in re.findall(r'href="#(/[^"]*)"', page):
            assert path in pages | unpacked(html, "files")
    assert not pages.keys() & unpacked(html, "files").keys()  # a file is never shown as a page


def test_it_asks_for_nothing_from_elsewhere(html: str) -> None:
    whole = html + "".join(unpacked(html).values())
    assert not re.search(r'(src|href|action)="(?!#|/tags"|data:)', whole)
    assert "http" not in re.sub(r"http-equiv", "", whole)


def test_its_policy_allows_only_its_own_script(html: str) -> None:
    policy = re.findall(r'Security-Policy" content="(.*?)"', html)[0].replace("&#39;", "'")
    script = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_it_is_written_whole_and_the_same_each_time(explorer: Explorer, html: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(explorer, path, ReportLimits(tags=5, documents=20))
    assert path.read_text("utf-8") == html
    assert list(tmp_path.iterdir()) == [path]


def test_a_model_without_documents_has_a_report_too(bare: Explorer) -> None:
    pages = unpacked(render_report(bare, ReportLimits()))
    assert "/documents" not in pages
    assert "/tags/0" in pages
