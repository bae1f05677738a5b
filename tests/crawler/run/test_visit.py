"""Visits and probes: one URL, one outcome, whatever the server answers."""

import asyncio
from collections.abc import Mapping

import pytest

import canonry
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.fetch.body_reader import RequestTime, make_room
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.response import Response
from canonry.crawler.fetch.robots import RobotsChecker
from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.run.visit import Visitor
from canonry.crawler.settings import load
from canonry.storage import Outcome, Queued, State
from canonry.storage.records import CachedRobots

SEED = "http://a.example/"
AWAY = "http://away.example/"


class NoRobots:
    """A store without robots.txt files."""

    async def get_robots(self, _origin: str) -> CachedRobots | None:
        return None

    async def put_robots(self, _origin: str, _kept: CachedRobots) -> None:
        pass


class Site:
    """A visitor of one site, whose pages all answer alike."""

    def __init__(self, status: int = 200, robots: bytes = b"", **headers: str) -> None:
        self.status, self.robots, self.headers = status, robots, headers
        self.requests: list[str] = []
        self.delays: list[float] = []
        self.noted: list[str] = []  # requests of probes
        settings = load(None, {"fetch": {"retries": 0}})
        self.filter = URLFilter(canonry.Canonicalizer("web"), Scope("host", [SEED]), settings)
        robots_checker = RobotsChecker(self.get, NoRobots(), lambda: 0.0, "canonry", 0.0)
        self.visitor = Visitor(self.get, robots_checker, self.filter, settings, lambda: 0.0)

    async def get(
        self,
        url: str,
        _cookies: Mapping[str, str] | None = None,
        _headers: Mapping[str, str] | None = None,
        /,
    ) -> Response:
        self.requests.append(url)
        if url.endswith("/robots.txt"):
            return Response(url, 200, {}, {}, self.robots, 0.1)
        if self.status == 0:
            raise FetchError(Fault.TIMEOUT, "too slow")
        return Response(url, self.status, self.headers, {}, b"body", 0.5)

    def slow_down(self, delay: float) -> None:
        self.delays.append(delay)

    async def probe(self) -> Outcome | None:
        probe = Probe(f"{SEED}none")
        return await self.visitor.probe(probe, self.slow_down, lambda: self.noted.append(probe.url))


def test_a_probe_gives_the_page_that_should_not_exist() -> None:
    site = Site(**{"Content-Type": "text/html"})
    found = asyncio.run(site.probe())
    assert found is not None
    assert found.page is not None
    assert len(found.page.digest) == 16
    assert found.blocks == blocks_of(b"body", "text/html") is not None
    assert site.delays == []


def test_only_a_page_that_answers_200_has_blocks() -> None:
    for status, expected in ((200, blocks_of(b"body", "text/html")), (404, None), (203, None)):
        site = Site(status, **{"Content-Type": "text/html"})
        found = asyncio.run(site.visitor.visit(Queued(1, SEED, 0, 0, 0), site.slow_down))
        assert found.page is not None
        assert found.blocks == expected


@pytest.mark.parametrize("status", [404, 503, 0])
def test_a_probe_of_a_host_that_reports_missing_pages_gives_nothing(status: int) -> None:
    site = Site(status)
    assert asyncio.run(site.probe()) is None
    assert site.noted == [f"{SEED}none"], "a request is counted, whatever the answer"


def test_a_probe_obeys_robots_txt() -> None:
    site = Site(robots=b"User-agent: *\nCrawl-delay: 5\nDisallow: /")
    assert asyncio.run(site.probe()) is None
    assert site.requests == [f"{SEED}robots.txt"]
    assert site.noted == [], "no request was sent for it"
    assert site.delays == [5.0], "what a host asks for is known from its first URL, allowed or not"


def test_a_probe_that_is_redirected_does_not_extend_the_scope() -> None:
    site = Site(302, Location=AWAY)
    assert asyncio.run(site.probe()) is None
    assert site.filter.reason_to_hold(AWAY, 0, 0) is not None


def test_a_seed_that_is_redirected_extends_the_scope() -> None:
    site = Site(302, Location=AWAY)
    outcome = asyncio.run(site.visitor.visit(Queued(1, SEED, 0, 0, 0), site.slow_down))
    assert (outcome.url_id, outcome.state, outcome.elapsed) == (1, State.REDIRECTED, 0.5)
    assert [hop.target.held for hop in outcome.leads] == [None]
    assert site.filter.reason_to_hold(AWAY, 0, 0) is None


def test_visits_and_probes_share_the_room_for_large_bodies() -> None:
    going, leaving = asyncio.Event(), asyncio.Event()

    class Large(Site):
        """Each page takes all the room there is; the visit of the first one lasts."""

        async def get(self, url: str, *given: Mapping[str, str] | None) -> Response:
            if url.endswith("/robots.txt"):
                return await super().get(url, *given)
            async with RequestTime(9.0) as request_time:
                await make_room(1 << 30, 1 << 30, request_time)
            response = await super().get(url, *given)
            if url == SEED:
                going.set()
                await leaving.wait()
            return response

    async def run() -> None:
        site = Large()
        visit = asyncio.create_task(site.visitor.visit(Queued(1, SEED, 0, 0, 0), site.slow_down))
        await going.wait()
        probe = asyncio.create_task(site.probe())
        await asyncio.sleep(0.05)
        assert site.requests == [f"{SEED}robots.txt", SEED], "the body of the probe waits"
        leaving.set()
        await asyncio.gather(visit, probe)
        assert site.requests[2:] == [f"{SEED}none"]

    asyncio.run(run())
