"""Figures of effects, trends and groups in a browser, and their downloads as SVG and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tagtopic.explore import Explorer, ReportLimits, write_report

FIGURES = {
    "/": {"topic-map", "topic-groups"},
    "/effects?kind=region": {"effects"},
    "/trends": {f"trend-of-topic-{topic}" for topic in range(4)},
    "/hierarchy": {"topic-tree"},
}
NAMESPACE = "{http://www.w3.org/2000/svg}"


def download(page: Any, name: str, kind: str) -> bytes:
    """Click the button below a figure, and return the file."""
    with page.expect_download() as waiting:
        page.locator(f"figure[data-figure={name}]").get_by_role("button", name=kind).click()
    assert waiting.value.suggested_filename == f"{name}.{kind.lower()}"
    return Path(waiting.value.path()).read_bytes()


@pytest.mark.parametrize("path", FIGURES)
def test_every_figure_can_be_downloaded(page: Any, analysed_address: str, path: str) -> None:
    page.goto(analysed_address + path)
    names = page.locator("figure[data-figure]").evaluate_all("all => all.map((figure) => figure.dataset.figure)")
    assert FIGURES[path] <= set(names)
    for name in sorted(FIGURES[path])[:1]:
        drawing = ElementTree.fromstring(download(page, name, "SVG").decode())
        assert drawing.tag == f"{NAMESPACE}svg"
        assert not [element for element in drawing.iter() if "class" in element.attrib]  # styles are in the file
        texts = [element.text for element in drawing.iter(f"{NAMESPACE}text")]
        assert any("one" in (text or "") or "0" in (text or "") for text in texts)
        png = download(page, name, "PNG")
        width = float(drawing.attrib["width"])
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(png[16:20], "big") == round(2 * width)


def test_the_map_of_documents_can_be_downloaded(page: Any, analysed_address: str, analysed: Explorer) -> None:
    page.goto(f"{analysed_address}/map")
    page.locator("canvas[data-points]").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="as SVG").click()
    drawing = ElementTree.fromstring(Path(waiting.value.path()).read_text())
    points = sum(path.attrib["d"].count("z") for path in drawing.iter(f"{NAMESPACE}path"))
    assert points == len(analysed.documents)


def test_figures_of_a_report_can_be_downloaded(
    page: Any, analysed: Explorer, analysed_address: str, tmp_path: Path
) -> None:
    write_report(analysed, tmp_path / "report.html", ReportLimits(tags=1, documents=1))
    page.goto(f"{(tmp_path / 'report.html').as_uri()}#/effects")
    page.get_by_role("heading", name="Effects of region").wait_for()
    assert download(page, "effects", "PNG")[:4] == b"\x89PNG"
    with page.expect_download() as waiting:
        page.get_by_role("link", name="All contrasts as CSV").click()
    assert waiting.value.suggested_filename == "effects.csv"
