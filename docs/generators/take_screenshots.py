"""Take the pictures of the live page for the docs: ``make screenshots``.

The first ones are taken while a crawl of the demo site runs, the others of its store afterwards.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from playwright.sync_api import Page, expect
from support.browsing import chromium
from support.browsing.shop import crawl_of_shop, store_of_shop
from support.browsing.visits import NARROW, WIDE, figure, visit
from support.live_pages import live_page

FOLDER = Path(__file__).parents[1] / "screenshots"
_MOST = 150_000  # bytes of a picture
_SOME = re.compile("[1-9][0-9]{2}")  # pages, before the first picture


class Picture(NamedTuple):
    """A picture of a page."""

    name: str
    path: str  # of the page, with its query
    width: int  # pixels, as `height`
    height: int
    dark: bool = False


LIVE = (
    Picture("overview", "", WIDE, 900),
    Picture("overview-phone-dark", "", NARROW, 1100, dark=True),
)
AFTERWARDS = (
    Picture("rules-dark", "made-one?id=7b34cf6b9c", WIDE, 640, dark=True),
    Picture(
        "why-phone", "not-fetched?url=HTTP://Shop.example:80/a/../product/15%23top", NARROW, 1100
    ),
)


def main() -> int:
    """Take all pictures; return 1 if one is too large."""
    FOLDER.mkdir(exist_ok=True)
    sizes = []
    with chromium.running() as browser:
        with _elsewhere() as folder, crawl_of_shop(folder, pause=0.1) as address:
            for picture in LIVE:
                with visit(browser, address, **_screen(picture)) as page:
                    expect(figure(page, "pages")).to_have_text(_SOME, timeout=60_000)
                    sizes.append(_take(page, picture))
        with _elsewhere() as folder, live_page(_stored(folder)) as viewer:
            for picture in AFTERWARDS:
                with visit(browser, f"{viewer.origin}/{picture.path}", **_screen(picture)) as page:
                    sizes.append(_take(page, picture))
    return max(sizes) > _MOST


@contextmanager
def _elsewhere() -> Iterator[Path]:
    """Work in an empty folder, so that the store has a short name."""
    with TemporaryDirectory() as folder, chdir(folder):
        yield Path(folder)


def _stored(folder: Path) -> str:
    """Crawl into a store in the working folder; return its URL as a person would write it."""
    return store_of_shop(folder).replace(f"{folder}/", "")


def _screen(picture: Picture) -> dict[str, Any]:
    """Return the size of a picture's screen, and if it is dark."""
    return {"width": picture.width, "height": picture.height, "dark": picture.dark}


def _take(page: Page, picture: Picture) -> int:
    """Take a picture; return its size in bytes."""
    return len(page.screenshot(path=FOLDER / f"{picture.name}.png"))


if __name__ == "__main__":
    sys.exit(main())
