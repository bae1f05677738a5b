"""Visits to pages in a browser, which fail if a page did what none of ours may do."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Dialog, Locator, Page, Request, expect

WIDE, NARROW = 1280, 390  # pixels of CSS
_PATIENCE = 60_000  # milliseconds, for whatever a test waits for

expect.set_options(timeout=_PATIENCE)


@contextmanager
def visit(
    browser: Browser, url: str, *, width: int = WIDE, height: int = 844, dark: bool = False
) -> Iterator[Page]:
    """Open a page; leave it when the block ends.

    Raises:
        AssertionError: a script of the page failed, or something was forbidden by its policy; it
            opened a dialog or a window, or asked another server than its own.
    """
    faults: list[str] = []
    own = urlsplit(url)[:2]

    def ask(request: Request) -> None:
        if urlsplit(request.url)[:2] != own and not request.url.startswith("data:"):
            faults.append(f"it asked for {request.url}")

    def dismiss(dialog: Dialog) -> None:
        faults.append(f"it opened a dialog: {dialog.message}")
        dialog.dismiss()

    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    page.on("request", ask)
    page.on("dialog", dismiss)
    page.on("popup", lambda opened: faults.append(f"it opened {opened.url}"))
    page.on("pageerror", lambda error: faults.append(f"a script failed: {error}"))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(url)
    yield page
    context.close()
    assert not faults, faults


def too_wide(page: Page) -> list[str]:
    """Return the elements for which a page would have to be scrolled sideways."""
    found: list[str] = page.evaluate(
        """() => {
            const width = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= width) return [];
            return [...document.querySelectorAll('body *')]
                .filter(element => element.getBoundingClientRect().right > width + 0.5)
                .map(element => element.outerHTML.slice(0, 120));
        }"""
    )
    return found


def figure(page: Page, name: str) -> Locator:
    """Return a figure of the panel "Now"."""
    return page.locator(".now .figure", has=page.get_by_text(name, exact=True)).locator("dd")
