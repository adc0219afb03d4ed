"""The map of documents in a browser: points, hover, and the documents of a tag."""

from __future__ import annotations

from typing import Any

from tagtopic.explore import Explorer


def test_the_map_shows_documents_and_those_of_a_tag(page: Any, address: str, explorer: Explorer) -> None:
    page.goto(f"{address}/map")
    canvas = page.locator("canvas[data-points]")
    assert int(canvas.get_attribute("data-points")) == len(explorer.documents)
    box = canvas.bounding_box()
    note = page.locator("[data-note]")
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    assert "documents. Point at one" in note.inner_text()
    point = page.evaluate("fetch('/api/v1/map').then((answer) => answer.json()).then((map) => [map.x[0], map.y[0]])")
    page.mouse.move(box["x"] + point[0] * box["width"] / 1000, box["y"] + point[1] * box["width"] / 1000)
    assert "(topic " in note.inner_text()
    page.get_by_label("Show the documents of a tag").fill("author:Ada")
    page.keyboard.press("Enter")
    page.get_by_text("documents with author:Ada.").wait_for()
    page.get_by_role("button", name="Zoom in").click()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 220)
    page.mouse.up()
    assert page.url.endswith("/map")  # a drag is no click
