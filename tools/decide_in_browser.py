"""Answer questions of the review in Chromium by keys, and check that the ledger has every answer.

    tagtopic serve films.tagtopic --corpus films.jsonl --ledger films.decisions.jsonl --token t --port 8100
    python tools/decide_in_browser.py http://127.0.0.1:8100 t films.decisions.jsonl 1000

Every seventh answer is undone, every eleventh question skipped. The page is loaded again after every hundredth answer.
Recorded lines must be those of the pressed keys, in their order, and the page must report no error.
"""

from __future__ import annotations

import random
import shutil
import sys

from playwright.sync_api import Page, sync_playwright

from tagtopic import Ledger

ACCEPTED = {"tag-wrong", "tag-add", "tags-merge"}


def press(page: Page, key: str) -> str:
    """Press a key, and return what the page reports."""
    status = page.locator("[role=status]")
    status.evaluate("element => { element.textContent = ''; }")
    page.keyboard.press(key)
    page.locator("[role=status]:not(:empty)").wait_for()
    page.locator(".review:not([aria-busy])").wait_for()
    return str(status.text_content())


def main(address: str, token: str, path: str, n: int) -> None:
    """Answer n questions."""
    draw = random.Random(0)
    before = len(Ledger.open(path))
    pressed: list[str] = []
    errors: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/review?token={token}")
        for number in range(n):
            if number % 11 == 10:
                assert press(page, "s") == "Skipped"
            key = draw.choice("yn")
            reported = press(page, key)
            assert reported.startswith("Recorded: "), reported
            pressed.append(key)
            if number % 7 == 6:
                assert press(page, "u").startswith("Undone: ")
                pressed.append("u")
            if number % 100 == 99:
                page.reload()
                print(f"{number + 1} answers", flush=True)
        browser.close()
    recorded = Ledger.open(path).entries[before:]
    kinds = ["u" if entry.what == "undo" else "y" if entry.what in ACCEPTED else "n" for entry in recorded]
    assert kinds == pressed, "the ledger differs from the pressed keys"
    assert not errors, errors
    print(f"{n} answers and {pressed.count('u')} undos, {len(recorded)} lines in {path}, no error")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
