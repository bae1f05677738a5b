"""Crawls of a simulated web inside the process of a test, without sockets."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from multidict import CIMultiDict
from support.simweb.web import Line, Web
from support.simweb.webjudge import Tally, judge
from support.simweb.websites import Site
from support.simweb.webstore import Decisions, decisions

from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.response import Get, Response
from canonry.crawler.learn.walls import WallNews, Walls
from canonry.crawler.run import wiring
from canonry.crawler.settings import Settings, load


class Judged(NamedTuple):
    """What a crawl did, site by site, and what it decided."""

    tallies: list[Tally]
    decisions: list[Decisions]
    questions: int  # requests to find walls


class _Wire(Client):
    """An HTTP client without a network: a web answers at once."""

    def __init__(self, web: Web, settings: Settings) -> None:
        super().__init__(settings)
        self._web = web

    async def get(self, url: str, *_more: object) -> Response:
        """Return the web's answer."""
        reply = self._web.answer_url(url)
        headers = CIMultiDict({"Content-Type": "text/html; charset=utf-8"})
        if reply.location is not None:
            headers["Location"] = reply.location
        return Response(url, reply.status, headers, {}, reply.body, 0.0)

    def cutting(self, _size: int) -> Get:
        """Return the same: no body is that long."""
        return self.get

    async def address_of(self, _host: str) -> str | None:
        """Return None: there are no addresses."""
        return None


def crawl(
    folder: Path,
    sites: list[Site],
    patch: pytest.MonkeyPatch,
    matter: int = 0,
    retries: int = 0,
) -> Judged:
    """Crawl sites to the end, with all the objects of a crawl but the HTTP client.

    Args:
        folder: gets the store.
        sites: what is there.
        patch: puts the web in place of the client.
        matter: what pages are made of, as `Spec.matter`.
        retries: pauses before a wall, of hundredths of a second.
    """
    asked: list[str] = []
    news = Walls.news

    def count(self: Walls) -> Iterator[WallNews]:
        for one in news(self):
            asked.extend(one.questions)
            yield one

    patch.setattr(Walls, "news", count)
    store = f"sqlite:///{folder / 'store.db'}"
    lines: list[Line] = []
    notices: list[str] = []
    web = Web(sites, lines.append, matter=matter)
    patch.setattr(wiring, "Client", lambda settings, *_: _Wire(web, settings))
    flags = {
        "crawl": {"delay": 0.0, "scope": "any"},
        "fetch": {"retries": retries, "retry_wait": 0.05, "allow_private": True},
    }
    done = asyncio.run(wiring.crawl(web.seeds, store, load(None, flags), notify=notices.append))
    assert done.finished
    tallies = judge(sites, lines)
    turns = {tally.site.home: tally.fetches for tally in tallies}
    return Judged(tallies, decisions(sites, store, notices, turns), len(asked))
