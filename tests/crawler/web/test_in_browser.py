"""The live page in a browser: for everybody, on every screen, whatever a site has written."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browsing import axe
from support.browsing.shop import EVIL, TITLES, crawl_of_shop, store_of_shop
from support.browsing.visits import NARROW, WIDE, figure, too_wide, visit
from support.live_pages import live_page

from canonry.crawler.web.app import PANELS

_PATHS = ["", *(panel.name for panel in PANELS)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the page of the shop; return its address."""
    with live_page(store_of_shop(tmp_path_factory.mktemp("shop"))) as viewer:
        yield f"{viewer.origin}/"


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True)])
def test_everybody_can_read_each_panel(
    browser: Browser, address: str, width: int, dark: bool
) -> None:
    with visit(browser, address, width=width, dark=dark) as page:
        for path in _PATHS:
            page.goto(address + path)
            assert axe.findings(page) == [], path
            assert too_wide(page) == [], path


def test_it_is_dark_where_that_is_wanted(browser: Browser, address: str) -> None:
    shades = []
    for dark in (False, True):
        with visit(browser, address, dark=dark) as page:
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            shades.append([int(n) for n in ground[4:-1].split(", ")])
    assert min(shades[0]) > 192
    assert max(shades[1]) < 64


def test_all_of_it_can_be_reached_by_the_keyboard(browser: Browser, address: str) -> None:
    with visit(browser, address) as page:
        page.keyboard.press("Tab")
        skip = page.locator("a.skip")
        expect(skip).to_be_focused()
        assert skip.bounding_box()["x"] >= 0, "it is on the screen once it has the focus"
        reached = [focused(page)]
        for _ in range(200):
            page.keyboard.press("Tab")
            if (place := focused(page)) is None:
                break
            reached.append(place)
        assert None not in reached
        wanted = page.locator(
            "a[href], button:not([hidden]), input:not([type=hidden]), select, summary"
        )
        assert len(reached) == wanted.count()
        page.locator("a.skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()


def focused(page: Page) -> str | None:
    """Return what has the focus, None for nothing; it has to show that it does."""
    found: dict[str, str] | None = page.evaluate(
        """() => {
            const element = document.activeElement;
            if (element === document.body) return null;
            const style = getComputedStyle(element);
            return {what: element.outerHTML.slice(0, 120), outline: style.outlineStyle,
                    width: style.outlineWidth};
        }"""
    )
    if found is None:
        return None
    assert found["outline"] != "none", found
    assert float(found["width"].removesuffix("px")) >= 2, found
    return found["what"]


def test_it_can_be_read_without_its_script(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for path in _PATHS:
        page.goto(address + path)
        expect(page.locator(".now")).to_contain_text("links merged")
        expect(page.locator("button:visible", has_text="Pause")).to_have_count(0)
    context.close()


def test_values_move_while_a_crawl_runs(browser: Browser, tmp_path: Path) -> None:
    # It must not end before a slow browser has seen three values.
    with crawl_of_shop(tmp_path, pause=0.2) as address, visit(browser, address) as page:
        fetched = figure(page, "pages")
        seen = []
        for _ in range(3):
            seen.append(fetched.inner_text())
            expect(fetched).not_to_have_text(seen[-1])
        assert sorted(map(int, seen)) == list(map(int, seen))


def test_what_sites_write_is_only_text(browser: Browser, address: str) -> None:
    """`visit` fails if a script of theirs runs, or anything of theirs is fetched."""
    with visit(browser, address, width=NARROW) as page:
        for path in [*_PATHS, *(f"not-fetched?url={quote(EVIL + name[1:])}" for name in TITLES)]:
            page.goto(address + path)
            assert too_wide(page) == [], path
            assert page.locator("main img, main script, [onmouseover], [onerror]").count() == 0
            links = page.evaluate("[...document.links].map(link => link.protocol)")
            assert set(links) <= {"http:", "https:"}
            assert "\u202e" not in page.content()
        page.goto(f"{address}not-fetched?url={EVIL}script")
        expect(page.locator("main")).to_contain_text(TITLES["/script"])
        page.goto(f"{address}not-fetched?url={EVIL}turned")
        expect(page.locator("main")).to_contain_text("invoice \u27e8U+202E\u27e9fdp.exe")
        page.goto(f"{address}not-fetched?url={EVIL}quote")
        expect(page.locator("main")).to_contain_text("{{ 7 * 7 }}")
