"""The live page in a browser: for everybody, on every screen, whatever a site has written."""

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from support.browsing import axe
from support.browsing.shop import store_of_shop
from support.browsing.visits import NARROW, WIDE, too_wide, visit
from support.live_pages import live_page
from support.sites import crawl_words, demo_site, start, wait_for

from canonry.crawler.web.registry import PANELS

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
        expect(page.locator(".strip")).to_contain_text("fetched")
        expect(page.locator("button:visible", has_text="Pause")).to_have_count(0)
    context.close()


def test_values_move_while_a_crawl_runs(browser: Browser, tmp_path: Path) -> None:
    with (
        demo_site(pause=0.01) as served,
        start(tmp_path, *crawl_words(served, "--delay", "0.02", "--serve", "0")) as process,
    ):
        address = process.stderr.readline().decode().split()[-1]
        wait_for(lambda: has_store(address))
        with visit(browser, address) as page:
            fetched = figure(page, "fetched")
            seen = []
            for _ in range(3):
                seen.append(fetched.inner_text())
                expect(fetched).not_to_have_text(seen[-1])
            assert sorted(map(int, seen)) == list(map(int, seen))
        process.terminate()


def has_store(address: str) -> bool:
    """Return True if the page of a crawl has a store to show: none is there in its first moment."""
    try:
        with urlopen(f"{address}strip.json") as answer:  # noqa: S310 - on loopback
            return bool(answer.status == 200)
    except HTTPError:
        return False


def figure(page: Page, name: str) -> Locator:
    """Return a figure of the strip."""
    return page.locator(".figure", has=page.get_by_text(name, exact=True)).locator("dd")
