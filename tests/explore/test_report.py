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


def unpacked(html: str) -> dict[str, str]:
    pages: dict[str, str] = {}
    for chunk in re.findall(r'<script type="text/plain" id="chunk-\d+">(.*?)</script>', html):
        pages |= json.loads(gzip.decompress(base64.b64decode(chunk)))
    return pages


@pytest.fixture(scope="module")
def html(explorer: Explorer) -> str:
    return render_report(explorer, ReportLimits(tags=5, documents=20))


def test_every_view_is_in_it(html: str) -> None:
    pages = unpacked(html)
    assert set(pages) >= {"/", "/topics/0", "/topics/2", "/tags", "/documents", "/audit", "/compare"}
    assert sum(path.startswith("/tags/") for path in pages) == 5
    assert sum(path.startswith("/documents/") for path in pages) == 20
    index = json.loads(re.findall(r'id="pages">(.*?)</script>', html)[0])
    assert index.keys() == pages.keys()
    assert 'class="w c' in pages["/documents/0"]


def test_it_says_what_was_left_out(html: str) -> None:
    pages = unpacked(html)
    assert "5 most used of 7 tags" in html
    assert "20 of 60 documents" in html
    assert "20 of the 60 documents" in pages["/documents"]


def test_links_lead_only_to_pages_that_are_there(html: str) -> None:
    pages = unpacked(html)
    for page in pages.values():
        for path in re.findall(r'href="#(/[^"]*)"', page):
            assert path in pages


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
