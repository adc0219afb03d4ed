"""Take the screenshots: each view, light and dark, wide and phone.

python docs/screenshots/take.py http://127.0.0.1:8000 docs/screenshots

The service shows the demo's model, its documents and a second model. The demo has no years: for the picture of a trend,

    python docs/screenshots/take.py letters letters.jsonl

writes letters of three authors over 30 years; fitted and served, they give it by adding the word ``trend`` above.
For the review, serve with ``--ledger`` and ``--token t``, and add ``review token=t``.
Pictures are WebP: the browser writes it itself. The folder keeps those that the documentation shows.
"""

from __future__ import annotations

import base64
import json
import random
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TEXT = (
    "Minimise+a+scalar+function+of+one+variable+within+bounds%2C+and+return+the+eigenvalues+of+its+Hessian+matrix.+"
    "Raises+an+error+if+the+optimisation+does+not+converge."
)
VIEWS = {
    "overview": "/",
    "topic": "/topics/{topic}",
    "tag": "/tags/{tag}",
    "document": "/documents/{document}",
    "try": f"/try?text={TEXT}&tag=package%3Ascipy&tag=parameter%3Abounds",
    "audit": "/audit",
    "compare": "/compare",
    "map": "/map",
    "groups": "/hierarchy",
    "effects": "/effects",
}
ASKED_FOR = {"trend": "/topics/{topic}#trend-title", "review": "/review?kind={kind}&token={token}"}
SIZES = {"wide": (1280, 860), "phone": (390, 780)}


def main(address: str, folder: Path, numbers: dict[str, str], wanted: list[str]) -> None:
    """Take those that are wanted, or all."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"), args=["--no-sandbox"]
        )
        for view, path in (VIEWS | ASKED_FOR).items():
            for scheme in ("light", "dark"):
                for size, (width, height) in SIZES.items():
                    name = f"{view}-{scheme}-{size}"
                    if view not in wanted and (
                        view in ASKED_FOR or (wanted and not set(name.split("-")) & set(wanted))
                    ):
                        continue
                    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                    page = context.new_page()
                    page.goto(address + path.format(**numbers), timeout=120_000)
                    page.wait_for_load_state("networkidle")
                    shot = {"format": "webp", "quality": 72}
                    taken = context.new_cdp_session(page).send("Page.captureScreenshot", shot)
                    (folder / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))
                    context.close()
        browser.close()


def write_letters(path: Path) -> None:
    """Of authors who become more and fewer over the years."""
    chance = random.Random(0)
    words = {
        "Ada": "engine number machine calculate wheel gear punch card table operation",
        "Mary": "monster storm lightning laboratory creature night fear ice science sailor",
        "Jane": "marriage ball letter sister estate fortune pride dance carriage visit",
    }
    with path.open("w") as file:
        for i in range(900):
            year = 1800 + i % 31
            author = chance.choices(list(words), [1 + (year - 1800) / 6, 2, 6 - (year - 1800) / 6])[0]
            text = " ".join(chance.choices(words[author].split(), k=30))
            file.write(json.dumps({"id": f"letter {i}", "text": text, "author": author, "year": year}) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "letters":
        write_letters(Path(sys.argv[2]))
        sys.exit()
    given = dict(pair.split("=") for pair in sys.argv[3:] if "=" in pair)
    chosen = {"topic": "0", "tag": "0", "document": "0", "kind": "suspicious", "token": "", **given}
    main(sys.argv[1], Path(sys.argv[2]), chosen, [part for part in sys.argv[3:] if "=" not in part])
