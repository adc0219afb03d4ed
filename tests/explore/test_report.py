"""The report: all views in one self-contained file."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from tagtopic.explore import Explorer, ReportLimits, write_report
from tagtopic.explore.report import render_report


def decompressed(html: str, listed: str = "pages") -> dict[str, str]:
    """The pages, or the files, by path."""
    found: dict[str, str] = {}
    for chunk in re.findall(r'<script type="text/plain" id="chunk-\d+">(.*?)</script>', html):
        found |= json.loads(gzip.decompress(base64.b64decode(chunk)))
    return {path: found[path] for path in json.loads(re.findall(rf'id="{listed}">(.*?)</script>', html)[0])}


@pytest.fixture(scope="module")
def html(explorer: Explorer) -> str:
    return render_report(explorer, ReportLimits(tags=5, documents=20))


def test_report_has_every_view(html: str) -> None:
    pages = decompressed(html)
    assert set(pages) >= {"/", "/topics/0", "/topics/2", "/tags", "/documents", "/audit", "/try", "/compare"}
    assert sum(path.startswith("/tags/") for path in pages) == 5
    assert sum(path.startswith("/documents/") for path in pages) == 20
    assert 'class="w c' in pages["/documents/0"]


def test_report_tells_what_was_left_out(html: str) -> None:
    pages = decompressed(html)
    assert "5 most frequent of 7 tags" in html
    assert "20 of 60 documents" in html
    assert "20 of the 60 documents" in pages["/documents"]


def test_report_has_the_audit_as_csv(html: str, explorer: Explorer) -> None:
    pages, files = decompressed(html), decompressed(html, "files")
    lines = files["/audit/entries.csv"].removeprefix("\ufeff").splitlines()
    assert lines[0].startswith("id,document_number,tag,plausibility")
    assert len(lines) == 1 + len(explorer.audit.entries)
    assert files["/audit/tags.csv"].count("\n") == 1 + len(explorer.audit.tags)
    assert 'download="audit-entries.csv"' in pages["/audit"]


def test_report_tells_how_to_try_a_text(html: str) -> None:
    assert "tagtopic serve MODEL" in decompressed(html)["/try"]


def test_links_lead_to_existing_pages(html: str) -> None:
    pages = decompressed(html)
    for page in pages.values():
        for path in re.findall(r'href="#(/[^"]*)"', page):
            assert path in pages | decompressed(html, "files")
    assert not pages.keys() & decompressed(html, "files").keys()  # a file is not a page


def test_report_has_no_external_resources(html: str) -> None:
    whole = html + "".join(decompressed(html).values())
    assert not re.search(r'(src|href|action)="(?!#|/search"|data:)', whole)
    assert "http" not in re.sub(r"http-equiv", "", whole)


def test_security_policy_allows_its_own_script_only(html: str) -> None:
    policy = re.findall(r'Security-Policy" content="(.*?)"', html)[0].replace("&#39;", "'")
    script = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_report_is_written_atomically_and_reproducibly(explorer: Explorer, html: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(explorer, path, ReportLimits(tags=5, documents=20))
    assert path.read_text("utf-8") == html
    assert list(tmp_path.iterdir()) == [path]


def test_report_without_documents(bare: Explorer) -> None:
    pages = decompressed(render_report(bare, ReportLimits()))
    assert "/documents" not in pages
    assert "/tags/0" in pages
