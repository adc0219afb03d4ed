"""Measure the tasks of the browser's main thread while the map of documents is loaded, panned and zoomed.

    tagtopic serve films.tagtopic --corpus films.jsonl --port 8100
    nice -n -20 python tools/map_tasks.py http://127.0.0.1:8100 20000

The page is given as many points, drawn from those of the service with a little noise. Tasks are read from a trace of
Chromium. Elapsed time includes what other processes take of the processor, unless these have a lower priority.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, sync_playwright

CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]
STEPS = 120
LONG = 100.0
"""Milliseconds from which on a task is long."""


def points(page: Page, n: int) -> dict[str, Any]:
    """Draw n points at the places of the service's documents."""
    data: dict[str, Any] = json.loads(page.evaluate("fetch('/api/v1/map').then((answer) => answer.text())"))
    draw, n_documents = random.Random(0), len(data["x"])
    rows = [draw.randrange(n_documents) for _ in range(n)]
    found = {name: [data[name][i] for i in rows] for name, values in data.items() if isinstance(values, list)}
    for axis in ("x", "y"):
        found[axis] = [value + draw.gauss(0, 4) for value in found[axis]]
    return {**data, **found, "numbers": list(range(n))}


def measure(name: str, page: Page, session: Any, act: Callable[[], None]) -> None:
    """Print the longest tasks of the main thread while something is done."""
    events: list[dict[str, Any]] = []
    ended: list[Any] = []

    def collect(part: Any) -> None:
        events.extend(part["value"])

    session.on("Tracing.dataCollected", collect)
    session.once("Tracing.tracingComplete", lambda answer: ended.append(answer))
    settings = {"traceConfig": {"includedCategories": CATEGORIES}, "transferMode": "ReportEvents"}
    session.send("Tracing.start", settings)
    act()
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)
    session.remove_listener("Tracing.dataCollected", collect)
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [event for event in events if "RunTask" in event.get("name", "") and (event["pid"], event["tid"]) in main]
    elapsed, cpu = ([event.get(key, 0) / 1000 for event in tasks] for key in ("dur", "tdur"))
    long = sum(value > LONG for value in elapsed)
    print(f"{name}: {len(tasks)} tasks, at most {max(elapsed):.0f} ms, {max(cpu):.0f} ms of CPU time; {long} long")


def main(address: str, n: int) -> None:
    """Load, pan, zoom, and pan again."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(address)
        body = json.dumps(points(page, n))
        page.route("**/api/v1/map*", lambda route: route.fulfill(content_type="application/json", body=body))
        session = browser.new_browser_cdp_session()
        canvas = page.locator("canvas[data-points]")

        def load() -> None:
            page.goto(f"{address}/map")
            canvas.wait_for()
            page.wait_for_timeout(500)

        def pan() -> None:
            canvas.scroll_into_view_if_needed()
            box = canvas.bounding_box()
            assert box is not None
            for _ in range(3):
                page.mouse.move(box["x"] + 200, box["y"] + 200)
                page.mouse.down()
                for step in range(STEPS):
                    page.mouse.move(box["x"] + 200 + 2 * step, box["y"] + 200 + step)
                page.mouse.up()
                page.wait_for_timeout(300)

        def zoom() -> None:
            for _ in range(3):
                page.get_by_role("button", name="Zoom in").click()
                page.wait_for_timeout(300)

        for name, act in {"load": load, "pan": pan, "zoom": zoom, "pan the zoomed map": pan}.items():
            measure(name, page, session, act)
        print(f"{canvas.get_attribute('data-points')} points")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
