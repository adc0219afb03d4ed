"""Every view in a browser: content, search, navigation, keyboard, accessibility, no errors in the console."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.explore.conftest import HOSTILE

from tagtopic.explore import Explorer

VIEWS = {
    "overview": ("/", "letters"),
    "topic": ("/topics/1", ""),
    "tags": ("/tags?query=a", "Tags"),
    "tag": ("/tags/2", "Mary"),
    "documents": ("/documents", "Documents"),
    "document": ("/documents/3", "letter 3"),
    "try": ("/try?text=A+monster+fears+the+storm&tag=author%3AMary", "Try it"),
    "audit": ("/audit", "Audit"),
    "maps": ("/map", "Maps"),
    "search": ("/search?query=storm", "Search"),
    "API": ("/api/v1/docs", "API"),
    "compare": ("/compare", "Model comparison"),
    "error": ("/topics/99", "Not found"),
}

ANALYSES = {
    "overview with groups": ("/", "analysed"),
    "effects": ("/effects", "Effects of region"),
    "trends": ("/trends", "Topics over time"),
    "groups": ("/hierarchy", "Groups of topics"),
}


@pytest.fixture
def view_address(request: pytest.FixtureRequest, view: str) -> str:
    """The address of the service that has a view."""
    return str(request.getfixturevalue("analysed_address" if view in ANALYSES else "address"))


def violations_of(page: Any) -> list[str]:
    """Accessibility violations that axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{violation['id']}: {[node['html'][:150] for node in violation['nodes'][:3]]}"
        for violation in Axe().run(page).response["violations"]
    ]


def ignore_not_found(page: Any) -> None:
    """Ignore the console error of the page that does not exist."""
    page.errors[:] = [text for text in page.errors if "404" not in text]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [*VIEWS, *ANALYSES])
def test_views_are_accessible(shared_page: Any, view_address: str, view: str, scheme: str) -> None:
    path, title = (VIEWS | ANALYSES)[view]
    shared_page.emulate_media(color_scheme=scheme)
    shared_page.goto(view_address + path)
    assert title in shared_page.locator("h1").inner_text()
    assert violations_of(shared_page) == []
    shared_page.set_viewport_size({"width": 390, "height": 780})
    assert violations_of(shared_page) == []
    ignore_not_found(shared_page)


@pytest.mark.parametrize("view", [*VIEWS, *ANALYSES])
def test_views_fit_a_phone(shared_page: Any, view_address: str, view: str) -> None:
    shared_page.set_viewport_size({"width": 360, "height": 740})
    shared_page.goto(view_address + (VIEWS | ANALYSES)[view][0])
    assert shared_page.evaluate("document.documentElement.scrollWidth") <= 360
    for table in shared_page.locator("table").all():
        width, room, scrolls = table.evaluate(
            """table => {
                const box = table.closest(".scroll") ?? table.parentElement;
                return [table.scrollWidth, box.clientWidth, getComputedStyle(box).overflowX === "auto"];
            }"""
        )
        assert width <= room or scrolls
        assert width < 2.5 * 360  # long names wrap
    ignore_not_found(shared_page)


def test_a_tag_can_be_found_by_keyboard(page: Any, address: str, explorer: Explorer) -> None:
    page.goto(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#search").focus()
    page.keyboard.type("ja")
    page.get_by_role("option", name="author:Jane").wait_for()
    page.keyboard.press("ArrowDown")
    assert page.locator("#search").get_attribute("aria-activedescendant")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/tags/{explorer.tag_numbers['author:Jane']}")
    assert page.locator("h1").inner_text() == "Jane"


def test_suggestions_close_on_escape(page: Any, address: str) -> None:
    page.goto(address)
    page.locator("#search").fill("author")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("option").count() == 0
    page.keyboard.press("Enter")  # submits the search, which needs no script
    page.wait_for_url(re.compile(r"/search\?query=author$"))
    assert page.get_by_role("link", name="author:Ada").count() == 1


def test_suggestions_do_not_open_after_leaving_the_field(page: Any, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Escape")
    page.locator("#search").press_sequentially("ada")
    page.keyboard.press("Tab")
    page.wait_for_timeout(400)
    assert page.locator("#suggestions-0").is_hidden()
    page.locator("#search").press_sequentially("zz")
    page.locator(".suggestions .nothing").wait_for()


@pytest.mark.parametrize("width", [980, 1100, 1280])
def test_tag_weights_stay_in_their_card(shared_page: Any, hostile_address: str, width: int) -> None:
    shared_page.set_viewport_size({"width": width, "height": 900})
    shared_page.goto(f"{hostile_address}/documents/3")  # its tags have long names
    overflow = "[...document.querySelectorAll('.stack .card')].map((card) => card.scrollWidth - card.clientWidth)"
    assert max(shared_page.evaluate(overflow)) <= 0


def test_try_shows_errors(page: Any, address: str) -> None:
    page.goto(f"{address}/try")
    page.fill("#text", "A monster at night")
    page.locator(".prose .w").first.wait_for()
    page.fill("#tags", "\n".join(f"tag{i}" for i in range(300)))
    page.get_by_text("tags can be tried at a time").wait_for()
    page.route("**/try", lambda route: route.abort())
    page.fill("#text", "A monster")
    page.get_by_text("does not answer").wait_for()
    page.errors.clear()  # both errors are expected


def test_back_restores_the_typed_text_and_its_result(page: Any, address: str) -> None:
    page.goto(f"{address}/try")
    page.fill("#text", "A monster at night")
    page.locator(".prose .w").first.wait_for()
    page.fill("#text", "Engine " * 1000)
    page.get_by_text("Engine").nth(900).wait_for(state="attached")
    page.wait_for_url(f"{address}/try")
    page.goto(f"{address}/tags")
    page.go_back()
    page.locator(".prose .w").first.wait_for()
    assert "Engine" in page.locator(".prose").inner_text()


def test_links_lead_from_map_to_topic_to_tag_to_document(page: Any, address: str) -> None:
    page.goto(address)
    page.locator("svg.map a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/topics/"))
    page.get_by_role("link", name=re.compile("^author:")).first.click()
    page.wait_for_url(re.compile("/tags/"))
    page.get_by_role("link", name=re.compile("^letter ")).first.click()
    page.wait_for_url(re.compile("/documents/"))
    page.go_back()
    page.wait_for_url(re.compile("/tags/"))


def test_a_topic_has_one_colour_everywhere(shared_page: Any, address: str) -> None:
    def colour(path: str, selector: str, name: str) -> str:
        shared_page.goto(address + path)
        return str(shared_page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{name}"))

    on_map = colour("/", "svg.map a[href='/topics/1'] circle", "stroke")
    assert on_map == colour("/topics/1", ".bar .fill", "fill")
    assert on_map == colour("/compare", "tr:has(a[href='/topics/1']) .bar .fill", "fill")


def test_words_can_be_coloured_by_topic_or_tag(page: Any, address: str) -> None:
    page.goto(f"{address}/documents/3")
    word = page.locator(".prose .w").first
    by_topic = word.evaluate("e => getComputedStyle(e).boxShadow")
    page.get_by_label("tag", exact=True).check(force=True)
    assert word.evaluate("e => getComputedStyle(e).boxShadow") != by_topic
    assert page.locator(".letter").first.is_visible()
    page.reload()
    assert page.get_by_label("tag", exact=True).is_checked()


def test_try_updates_while_typing(page: Any, address: str) -> None:
    page.goto(f"{address}/try")
    assert "will appear here" in page.locator("#result").inner_text()
    page.locator("#text").press_sequentially("The monster at night", delay=5)
    page.locator("#result .w", has_text="monster").wait_for()
    page.locator("#add").fill("mary")
    page.get_by_role("option", name="author:Mary").click()
    page.locator("#result th", has_text="author:Mary").wait_for()
    assert page.locator("#tags").input_value() == "author:Mary"
    page.wait_for_url(re.compile("tag="))
    shared = page.url
    page.goto("about:blank")
    page.goto(shared)
    assert page.locator("#result .w", has_text="monster").count() == 1
    assert page.locator("#tags").input_value() == "author:Mary"


def test_the_colour_scheme_can_be_switched_and_persists(page: Any, address: str) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(address)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.evaluate(ground) != light
    page.goto(f"{address}/tags")
    assert page.evaluate(ground) != light


def test_the_audit_can_be_downloaded(page: Any, address: str) -> None:
    page.goto(f"{address}/audit")
    with page.expect_download() as download:
        page.get_by_role("link", name="near-duplicates").click()
    assert download.value.suggested_filename == "audit-duplicates.csv"


def test_pages_work_without_javascript(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/try")
    page.locator("#text").fill("The monster at night")
    page.get_by_role("button", name="Analyse").click()
    assert page.locator("#result .w").count() == 2
    context.close()


@pytest.mark.parametrize("path", ["/", "/topics/0", "/tags", "/documents/2", "/audit", "/compare", "/tags/0"])
def test_hostile_names_create_no_elements(shared_page: Any, hostile_address: str, path: str) -> None:
    shared_page.goto(hostile_address + path)
    assert shared_page.locator("main script, main img").count() == 0
    assert shared_page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_hostile_names_are_suggested_as_text(page: Any, hostile_address: str) -> None:
    page.goto(hostile_address)
    for name in HOSTILE[:4]:
        page.locator("#search").fill(name)
        page.get_by_role("option").locator("bdi").get_by_text(name, exact=True).wait_for()
    page.goto(f"{hostile_address}/try")
    page.locator("#text").fill(HOSTILE[0])
    page.locator("#result .prose").wait_for()
    assert HOSTILE[0] in page.locator("#result .prose").inner_text()
