"""Fixtures: a service, a report and Chromium; without Chromium, browser tests are skipped."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.explore.conftest import analysed, explorer, hostile

from tagtopic.explore import Explorer, ReportLimits, write_report

__all__ = ["analysed", "explorer", "hostile"]  # fixtures

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session", autouse=True)
def _java() -> None:
    """Override the fixture of the Spark tests: a browser needs no Java."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip("there is no Chromium: 'make browser' installs one where apt-get may")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def served(explorer: Explorer, token: str | None = None) -> Iterator[str]:
    """The address of a running service."""
    import uvicorn

    from tagtopic.explore.service import Limits, create_app

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(create_app(explorer, token=token, limits=Limits(seconds=600)), log_level="error")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture(scope="session")
def address(explorer: Explorer) -> Iterator[str]:
    _ = explorer.audit
    with served(explorer) as address:
        yield address


@pytest.fixture(scope="session")
def analysed_address(analysed: Explorer) -> Iterator[str]:
    analysed.analyses.effects("region")
    analysed.analyses.trends()
    with served(analysed) as address:
        yield address


@pytest.fixture(scope="session")
def hostile_address(hostile: Explorer) -> Iterator[str]:
    _ = hostile.audit
    with served(hostile) as address:
        yield address


@pytest.fixture(scope="session")
def report(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(explorer, path, ReportLimits(tags=6, documents=20))
    return path.as_uri()


@pytest.fixture(scope="session")
def hostile_report(hostile: Explorer, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(hostile, path, ReportLimits(documents=20))
    return path.as_uri()


def lost(request: Any) -> bool:
    """Whether a request failed, other than by navigation to another page."""
    return bool(request.failure != "net::ERR_ABORTED")


WINDOW = {"width": 1200, "height": 900}


@contextmanager
def opened(browser: Any) -> Iterator[Any]:
    """A page in a new context that records console errors, failed requests and dialogs."""
    context = browser.new_context(viewport=WINDOW)
    context.set_default_timeout(60_000)  # the first of a kind of page may compile kernels on a busy machine
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "requestfailed",
        lambda request: errors.append(f"{request.url}: {request.failure}") if lost(request) else None,
    )

    def refuse(dialog: Any) -> None:
        errors.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    page.errors = errors
    yield page
    context.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page; there must be no errors at the end of the test."""
    with opened(browser) as page:
        yield page
    assert page.errors == []


@pytest.fixture(scope="session")
def kept_page(browser: Any) -> Iterator[Any]:
    with opened(browser) as page:
        yield page


@pytest.fixture
def shared_page(kept_page: Any) -> Iterator[Any]:
    """A page shared by tests that do not change its state, since opening one takes most of the time."""
    kept_page.errors.clear()
    kept_page.set_viewport_size(WINDOW)
    kept_page.emulate_media(color_scheme="light")
    yield kept_page
    kept_page.goto("about:blank")  # so that an address that differs only in its fragment is loaded again
    assert kept_page.errors == []
