"""The report opens from a file, can be navigated, and makes no requests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.explore.conftest import HOSTILE
from tests.integration.browser.test_pages import violations_of


@pytest.mark.parametrize(
    "path", ["", "#/topics/1", "#/tags", "#/tags/2", "#/documents/0", "#/audit", "#/try", "#/compare"]
)
def test_views_of_the_report_are_accessible(shared_page: Any, report: str, path: str) -> None:
    requests: list[str] = []
    shared_page.on("request", lambda request: requests.append(request.url))
    shared_page.goto(report + path)
    shared_page.wait_for_function("path => document.getElementById('main').dataset.path === path", arg=path[1:] or "/")
    assert shared_page.locator("h1").inner_text()
    assert violations_of(shared_page) == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_report_can_be_navigated_and_searched(page: Any, report: str) -> None:
    page.goto(report)
    page.locator("svg.map a").first.click()
    page.wait_for_function("() => location.hash.startsWith('#/topics/')")
    page.get_by_role("link", name=re.compile("^author:")).first.click()
    page.wait_for_function("() => document.getElementById('main').dataset.path.startsWith('/tags/')")
    assert page.title().endswith("tagtopic")
    assert page.locator("nav a[aria-current]").inner_text() == "Tags"
    page.go_back()
    page.wait_for_function("() => document.getElementById('main').dataset.path.startsWith('/topics/')")
    page.locator("#search").fill("jane")
    page.get_by_role("option", name="author:Jane").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('h1').textContent.trim() === 'Jane'")


def test_the_audit_can_be_downloaded_from_the_report(page: Any, report: str) -> None:
    page.goto(f"{report}#/audit")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="tags on documents").click()
    assert waiting.value.suggested_filename == "audit-entries.csv"
    lines = Path(waiting.value.path()).read_text("utf-8-sig").splitlines()
    assert lines[0].startswith("id,document_number,tag,plausibility")
    assert len(lines) > 50


def test_pages_that_are_left_out_have_a_message(shared_page: Any, report: str) -> None:
    shared_page.goto(f"{report}#/documents/59999")
    shared_page.get_by_role("heading", name="Not in this report").wait_for()


def test_the_overview_is_shown_without_javascript(browser: Any, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert page.locator("svg.map a").count() == 3
    assert "without JavaScript" in page.content()
    context.close()


@pytest.mark.parametrize("path", ["", "#/topics/0", "#/tags", "#/tags/3", "#/documents/0", "#/audit", "#/compare"])
def test_hostile_names_create_no_elements_in_the_report(shared_page: Any, hostile_report: str, path: str) -> None:
    shared_page.goto(hostile_report + path)
    shared_page.wait_for_function("path => document.getElementById('main').dataset.path === path", arg=path[1:] or "/")
    assert shared_page.locator("main script, main img").count() == 0
    assert shared_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shared_page.locator("#search").fill(HOSTILE[0])
    shared_page.get_by_role("option").first.wait_for()
    assert HOSTILE[0] in shared_page.get_by_role("option").locator("bdi").all_inner_texts()
