"""Take the screenshots: each view, light and dark, wide and phone.

python docs/screenshots/take.py http://127.0.0.1:8000 docs/screenshots

The service shows the demo's model, its documents and a second model. Pictures are WebP: the browser writes it itself.
"""

from __future__ import annotations

import base64
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
}
SIZES = {"wide": (1280, 860), "phone": (390, 780)}


def main(address: str, folder: Path, numbers: dict[str, str], wanted: list[str]) -> None:
    """Take those that are wanted, or all."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for view, path in VIEWS.items():
            for scheme in ("light", "dark"):
                for size, (width, height) in SIZES.items():
                    name = f"{view}-{scheme}-{size}"
                    if wanted and not any(part in name for part in wanted):
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


if __name__ == "__main__":
    given = dict(pair.split("=") for pair in sys.argv[3:] if "=" in pair)
    chosen = {"topic": "0", "tag": "0", "document": "0", **given}
    main(sys.argv[1], Path(sys.argv[2]), chosen, [part for part in sys.argv[3:] if "=" not in part])
