"""What a run counts adds up to the requests that its server got, those for learning included."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import parse_qs, urlsplit

import pytest
from support.crawls import target_of
from support.made_pages import WORDS
from support.servers import Answer, ok, raw_server
from support.sites import from_thread, run_command

_ITEMS = 60
_GONE = ok(b"", status="404 Not Found")
_BROKEN = ok(b"", status="500 Internal Server Error")
_COUNTS = ("pages", "unchanged", "redirects", "failed", "retries", "probes")


class Shop:
    """A shop whose links have a parameter that selects nothing; each answer has another token."""

    def __init__(self, answer_again: Callable[[bytes], Answer]) -> None:
        """Open it.

        Args:
            answer_again: from the page to the answer where a URL was requested before.
        """
        self._answer_again = answer_again
        self._tokens = random.Random(1)
        self.asked: Counter[str] = Counter()

    def __call__(self, head: bytes) -> Answer:
        """Answer a request."""
        target = target_of(head)
        self.asked[target] += 1
        url = urlsplit(target)
        if url.path not in {"/", "/item"}:
            return _GONE
        number = int(parse_qs(url.query).get("id", ["0"])[0])
        page = ok(self._page(number), "Content-Type: text/html")
        return page if self.asked[target] == 1 else self._answer_again(page)

    def _page(self, number: int) -> bytes:
        chosen = random.Random(number)
        words = " ".join(chosen.choices(WORDS, k=120))
        others = [chosen.randrange(_ITEMS) for _ in range(20)]
        links = "".join(f"<a href='/item?id={n}&ref={number % 7}'>item</a>" for n in others)
        return (
            f"<title>{number}</title><p>{words}</p><p>{self._tokens.random()}</p>{links}".encode()
        )


def _crawl(folder: Path, shop: Shop, *words: str) -> CompletedProcess[bytes]:
    """Crawl a shop with the command."""
    with from_thread(raw_server(shop)) as raw:
        way = ["--connect-to", f"::127.0.0.1:{raw.port}", "--delay", "0"]
        done = run_command("crawl", "http://shop.example/", *way, *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return done


def _again(page: bytes) -> Answer:
    return page


def _broken(_page: bytes) -> Answer:
    return _BROKEN


def _incomplete(page: bytes) -> Answer:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(page[:-10])
        await writer.drain()

    return send


@pytest.mark.parametrize("answer_again", [_again, _broken, _incomplete])
def test_the_counts_of_a_run_add_up_to_what_the_server_got(
    tmp_path: Path, answer_again: Callable[[bytes], Answer]
) -> None:
    """Also where no page comes for a probe: the request was sent."""
    shop = Shop(answer_again)
    run = json.loads(_crawl(tmp_path, shop, "--json").stdout)["run"]
    assert sum(run[name] for name in _COUNTS) == shop.asked.total() - shop.asked["/robots.txt"]
    again = shop.asked.total() - len(shop.asked)
    assert run["retries"] == 0
    assert run["probes"] == again > 0


def test_people_are_told_of_the_requests_for_learning_alone(tmp_path: Path) -> None:
    shop = Shop(_again)
    said = _crawl(tmp_path, shop, "--config", "crawl.workers=2").stderr.decode()
    found = re.search(
        r"(\d+) pages in [\d.]+ s, (\d+) probes \(requests for learning alone\);", said
    )
    assert found is not None, said
    assert "parameter ref selects nothing" in said, "a rule is active"
    pages, probes = map(int, found.groups())
    assert pages + probes == shop.asked.total() - shop.asked["/robots.txt"]


def test_without_learning_nothing_is_said_of_it(tmp_path: Path) -> None:
    shop = Shop(_again)
    said = _crawl(tmp_path, shop, "--config", "learn.enabled=false").stderr.decode()
    assert f"{len(shop.asked) - 1} pages in " in said
    assert "probe" not in said


def test_a_resumed_run_counts_its_own(tmp_path: Path) -> None:
    shop = Shop(_again)
    first = json.loads(_crawl(tmp_path, shop, "--json", "--max-pages", "100").stdout)["run"]
    before = shop.asked.total()
    run = json.loads(_crawl(tmp_path, shop, "--json").stdout)["run"]
    assert 0 < first["probes"] < before
    assert sum(run[name] for name in _COUNTS) == shop.asked.total() - before
