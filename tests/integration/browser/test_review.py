"""The review queue in a browser: keys, buttons, undo, reload, two tabs, accessibility, hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.explore.conftest import HOSTILE
from tests.integration.browser.conftest import opened, served
from tests.integration.browser.test_pages import violations_of

from tagtopic import Ledger
from tagtopic.curation import Candidate, ReviewQueue
from tagtopic.explore import Explorer

TOKEN = "sesame"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / "letters.decisions.jsonl", who="Ana")


@contextmanager
def reviewed(explorer: Explorer, ledger: Ledger) -> Iterator[str]:
    """The address of the page, which sets the cookie."""
    made = Explorer(explorer.model, explorer.corpus, texts=explorer.texts, name=explorer.name, ledger=ledger)
    made._audit = explorer._audit  # audited once
    assert made.review is not None
    _ = made.review.queue
    with served(made, token=TOKEN) as address:
        yield f"{address}/review?token={TOKEN}"


@pytest.fixture
def review(explorer: Explorer, ledger: Ledger) -> Iterator[str]:
    """The address of the page; a test takes it before `page`, so that the page is closed before the service ends."""
    with reviewed(explorer, ledger) as address:
        yield address


def kinds(ledger: Ledger) -> list[str]:
    ledger.refresh()
    return [entry.what for entry in ledger]


def press(page: Any, key: str, message: str) -> None:
    """Press a key and wait for what the status says."""
    page.bring_to_front()
    page.locator(".keys:not([hidden])").wait_for()  # the script has run
    page.keyboard.press(key)
    page.locator("[role=status]", has_text=message).wait_for()
    page.locator(".review:not([aria-busy])").wait_for()


def heading(page: Any) -> str:
    return str(page.locator("#question-title").inner_text())


def test_questions_are_answered_by_keys(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    first = heading(page)
    press(page, "s", "Skipped")
    assert heading(page) != first
    press(page, "y", "Recorded:")
    assert len(kinds(ledger)) == 1
    second = heading(page)
    press(page, "n", "Recorded:")
    assert page.evaluate("document.activeElement.id") == "question-title"
    press(page, "u", "Undone:")
    assert heading(page) == second
    assert kinds(ledger)[-1] == "undo"
    press(page, "u", "Undone:")
    page.get_by_text("None yet.").wait_for()
    page.keyboard.press("u")  # there is nothing to undo
    assert len(kinds(ledger)) == 4


def test_a_held_key_answers_one_question(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    page.keyboard.down("y")
    page.keyboard.down("y")  # a repetition
    page.locator("[role=status]", has_text="Recorded:").wait_for()
    page.keyboard.down("y")
    page.wait_for_timeout(200)
    page.keyboard.up("y")
    assert len(kinds(ledger)) == 1


def test_questions_are_answered_by_buttons_and_survive_a_reload(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    page.get_by_role("link", name="suspicious tags").click()
    page.wait_for_url("**/review?kind=suspicious")
    assert "letter 0" in heading(page)
    page.get_by_role("button", name="Wrong y", exact=True).click()
    page.locator("[role=status]", has_text="Recorded: tag-wrong").wait_for()
    after = heading(page)
    page.reload()
    assert heading(page) == after
    page.get_by_role("button", name="Undo tag-wrong").click()
    page.locator("[role=status]", has_text="Undone: tag-wrong").wait_for()
    assert "letter 0" in heading(page)
    assert kinds(ledger) == ["tag-wrong", "undo"]


def test_a_tag_is_corrected_with_suggestions(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    page.goto(review.replace("?token", "?kind=suspicious&token"))
    page.keyboard.press("c")
    page.keyboard.type("yada", delay=5)  # keys in a field are text
    page.locator("#correction").fill("ada")
    page.get_by_role("option", name="author:Ada").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#correction").input_value() == "author:Ada"
    page.locator("#why").fill("about engines")
    page.locator("#who").fill("Ben")
    page.keyboard.press("Enter")  # decides nothing
    assert kinds(ledger) == []
    page.locator("#correction").focus()
    page.keyboard.press("Enter")
    page.locator("[role=status]", has_text="Recorded: tag-wrong").wait_for()
    assert kinds(ledger) == ["tag-add", "tag-wrong"]
    assert {(entry.who, entry.why) for entry in ledger} == {("Ben", "about engines")}
    assert page.locator("#who").input_value() == "Ben"
    page.keyboard.press("c")
    with page.expect_response("**/api/v1/tags?*such*"):
        page.locator("#correction").fill("no such tag")
    page.keyboard.press("Enter")
    page.locator("[role=status]", has_text="choose a known one").wait_for()
    page.errors.clear()  # the refusal is expected


def test_keys_can_be_turned_off(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    page.get_by_label("Answer by keys").uncheck()
    page.reload()
    assert not page.get_by_label("Answer by keys").is_checked()
    page.keyboard.press("y")
    page.wait_for_timeout(200)
    assert kinds(ledger) == []


def test_two_tabs_decide_each_question_once(page: Any, browser: Any, review: str, ledger: Ledger) -> None:
    page.goto(review)
    with opened(browser) as other:
        other.goto(review)
        assert heading(other) == heading(page)
        press(page, "y", "Recorded:")
        press(other, "n", "decided meanwhile")
        assert heading(other) == heading(page)
        press(other, "n", "Recorded:")
        press(page, "y", "decided meanwhile")
        assert other.errors == []
    assert len(kinds(ledger)) == 2


def test_a_server_that_is_gone_is_reported(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    page.route("**/review", lambda route: route.abort())
    press(page, "y", "does not answer")
    page.unroute("**/review")
    press(page, "y", "Recorded:")
    page.errors.clear()  # of the aborted request
    assert len(kinds(ledger)) == 1


def test_another_origin_cannot_write(review: str, page: Any, ledger: Ledger) -> None:
    page.goto(review)
    key = page.locator("[name=candidate]").get_attribute("value")
    target = review.partition("?")[0]
    fields = f'<input name="candidate" value="{key}"><input name="answer" value="accept">'
    form = f'<form action="{target}" method="post">{fields}</form>'
    # another port of the same host is the same site: the browser sends the cookie
    page.route("http://127.0.0.1:9000/", lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto("http://127.0.0.1:9000/")
    with page.expect_response(target) as found:
        page.evaluate("document.forms[0].submit()")
    assert found.value.status == 403
    assert "another origin" in found.value.text()
    assert kinds(ledger) == []
    page.errors.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["suspicious", "missing", "duplicate", ""])
def test_the_review_is_accessible_and_fits_a_phone(
    browser: Any, explorer: Explorer, ledger: Ledger, kind: str, scheme: str
) -> None:
    made = Explorer(explorer.model, explorer.corpus, texts=explorer.texts, ledger=ledger)
    assert made.review is not None
    candidates = [
        Candidate("suspicious", "author:Mary", 0.8, "letter 0", 0),
        Candidate("missing", "author:Ada", 0.7, "letter 0", 0),
        Candidate("duplicate", "year:1800", 0.4, other="year:1801", repairs=15),
    ]
    made.review._queue._value = (ReviewQueue([c for c in candidates if c.kind == kind], ledger),)
    ledger.record("tag-right", document="letter 5", tag="author:Jane")
    with served(made, token=TOKEN) as address, opened(browser) as page:
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{address}/review?token={TOKEN}")
        if kind:
            page.keyboard.press("c")
        assert violations_of(page) == []
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert violations_of(page) == []
        if kind:
            assert page.get_by_role("button", name="Skip").is_visible()
        assert page.errors == []


def test_hostile_names_create_no_elements(page: Any, hostile: Explorer, ledger: Ledger) -> None:
    with reviewed(hostile, ledger) as address:
        page.goto(address)
        for _ in range(len(HOSTILE)):
            press(page, "y", "Recorded:")
            page.locator("[role=status]").evaluate("element => { element.textContent = ''; }")
            assert page.locator("main script, main img").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
