"""A store to look at: of the demo site, and of a site whose texts were written to do harm."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from support.crawls import target_of
from support.servers import Answer, ok, raw_server
from support.sites import crawl_words, demo_site, from_thread, run_command, start, wait_for

EVIL = "http://evil.example/"
TITLES = {
    "/script": "<script>alert('title')</script><img src=x onerror=alert('image')>",
    "/turned": "invoice \u202efdp.exe",
    "/quote": "\"' onmouseover=alert('quote') x=\"{{ 7 * 7 }}",
    "/long": "long " * 400_000,
}
_LINKS = (
    "javascript:alert('link')",
    "/<script>alert('path')</script>",
    "/\u202egnp.exe",
    "/?next=javascript:alert('query')",
    "http://me:secret@evil.example/private",
)
_STORE = "sqlite:///canonry.db"


def store_of_shop(folder: Path) -> str:
    """Crawl the demo site and the hostile one into a store of a folder; return its URL.

    Learned rules are active, and hold some URLs.
    """
    with demo_site() as served:
        _run(*crawl_words(served, "--store", _STORE), folder=folder)
    with from_thread(raw_server(_answer)) as raw:
        to = f"::127.0.0.1:{raw.port}"
        words = ("--connect-to", to, "--delay", "0", "--max-depth", "3", "--store", _STORE)
        _run("crawl", EVIL, *words, folder=folder)
    return f"sqlite:///{folder / 'canonry.db'}"


@contextmanager
def crawl_of_shop(folder: Path, pause: float = 0.02) -> Iterator[str]:
    """Crawl the demo site while a block runs, into a store in a folder; yield its page's address.

    Args:
        folder: for the store.
        pause: between two requests, in seconds.
    """
    with demo_site(pause=pause / 2) as served:
        words = crawl_words(served, "--delay", str(pause), "--serve", "0", "--store", _STORE)
        with start(folder, *words) as process:
            try:
                address = process.stderr.readline().decode().split()[-1]
                wait_for(lambda: _has_store(address))
                yield address
            finally:
                process.terminate()


def _has_store(address: str) -> bool:
    """Return True if there is a store to show: in the first moment of a crawl there is none."""
    try:
        with urlopen(f"{address}now.json") as answer:  # noqa: S310 - on loopback
            return bool(answer.status)
    except HTTPError:
        return False


def _answer(head: bytes) -> Answer:
    """Answer with a page of the hostile site."""
    target = target_of(head)
    if target == "/robots.txt":
        return ok(b"", "Content-Type: text/plain")
    links = [*TITLES, *_LINKS] if target == "/" else []
    items = "".join(f'<a href="{escape(link)}">x</a>' for link in links)
    text = f"<title>{escape(TITLES.get(target, 'evil'))}</title>{target}{items}"
    return ok(text.encode(), "Content-Type: text/html; charset=utf-8")


def _run(*words: str, folder: Path) -> None:
    """Run the command."""
    done = run_command(*words, folder=folder)
    assert done.returncode == 0, done.stderr
