"""Hostile names of tags, words and documents are shown as text in pages, API and report."""

import json
import re
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient
from tests.explore.conftest import HOSTILE
from tests.explore.test_report import decompressed

from tagtopic.explore import Explorer, ReportLimits
from tagtopic.explore.report import render_report
from tagtopic.explore.service import create_app

ELEMENTS = {
    "a", "aside", "bdi", "body", "button", "canvas", "caption", "circle", "code", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "head", "header", "html", "input", "kbd",
    "label", "legend", "li", "line", "link", "main", "meta", "nav", "noscript", "ol", "option", "p", "path",
    "polyline", "rect", "script", "section", "select", "span", "style", "sub", "summary", "svg", "table",
    "tbody", "td", "template", "text", "textarea", "th", "thead", "title", "tr", "ul",
}  # fmt: skip


class Elements(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag == "script":
            self.scripts.append(dict(attrs))


def check(html: str) -> None:
    """Assert that a page has only elements of the templates and no event handlers."""
    found = Elements()
    found.feed(html)
    assert found.names <= ELEMENTS
    assert not {name for name in found.attributes if name.startswith("on")}
    assert "49{%" not in html


def paths(explorer: Explorer) -> list[str]:
    tags = [f"/tags/{number}" for number in range(len(explorer.model.tag_names_))]
    documents = [f"/documents/{number}" for number in range(0, len(explorer.documents), 5)]
    return ["/", "/topics/0", "/tags", "/documents", "/audit", "/compare", *tags, *documents]


def test_pages_escape_hostile_names(hostile: Explorer) -> None:
    _ = hostile.audit
    with TestClient(create_app(hostile)) as client:
        for path in paths(hostile):
            answer = client.get(path)
            assert answer.status_code == 200, path
            check(answer.text)
            assert {"src": answer.text.split('script src="')[1].split('"')[0]} in [
                {"src": s} for s in _sources(answer.text)
            ]
        listed = client.get("/tags").text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in listed


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_can_be_searched_and_tried(hostile: Explorer, name: str) -> None:
    with TestClient(create_app(hostile)) as client:
        found = client.get("/api/v1/tags", params={"query": name[:900]})
        assert found.status_code == 200
        assert found.headers["content-type"] == "application/json"
        assert name in [tag["tag"] for tag in found.json()["tags"]]
        check(client.get("/tags", params={"query": name[:900]}).text)
        tried = client.post("/try", data={"text": name, "tags": name})
        check(tried.text)
        answer = client.post("/api/v1/infer", json={"documents": [{"text": name, "tags": [name, "</script>"]}]})
        assert answer.json()["documents"][0]["unknown_tags"] == ["</script>"]
        own = client.get(f"/tags/{hostile.tag_numbers[name]}").text
        assert len(own) < 200_000
        check(own)


def test_report_escapes_hostile_names(hostile: Explorer) -> None:
    html = render_report(hostile, ReportLimits())
    check(html)
    for page in decompressed(html).values():
        check(page)
    index = json.loads(re.findall(r'id="search-index">(.*?)</script>', html, flags=re.DOTALL)[0])
    assert {name for name, _, _ in index["tags"]} == set(HOSTILE)
    assert len(re.findall(r"<script>", html)) == 1


def _sources(html: str) -> list[str]:
    found = Elements()
    found.feed(html)
    return [str(script.get("src")) for script in found.scripts]
