"""One small crawl, whose store the panels show."""

from collections.abc import Iterator

import pytest
from support.crawls import crawl, page, target_of
from support.live_pages import Viewer, live_page
from support.servers import Answer, ok

HOSTILE = "<script>document.title='run'</script>\u202eevil"
_ANSWERS = {
    "/": page("/a?utm_source=x", "/a", "/hostile", "/old", "/gone", "http://me:secret@b.example/"),
    "/hostile": ok(f"<title>{HOSTILE}</title>".encode(), "Content-Type: text/html; charset=utf-8"),
    "/old": ok(b"", "Location: /a", status="301 Moved"),
    "/gone": ok(b"no", status="404 Not Found"),
}


def _answer(head: bytes) -> Answer:
    return _ANSWERS.get(target_of(head), ok(b"fine", "Content-Type: text/plain"))


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Crawl a small site; return the URL of its store. Do not write to it."""
    folder = tmp_path_factory.mktemp("live-page")
    crawl(folder, _answer, retries=0)
    return f"sqlite:///{folder / 'store.db'}"


@pytest.fixture(scope="session")
def viewer(crawled: str) -> Iterator[Viewer]:
    """Return a viewer of that store's page."""
    with live_page(crawled) as one:
        yield one
