"""robots.txt by RFC 9309: what each response allows, and how often the file is fetched."""

import asyncio

import pytest
from rfc9309 import ROWS, Row

from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.response import Response
from canonry.crawler.fetch.robots import RobotsChecker, origin_of
from canonry.storage.records import CachedRobots

RULES = b"""User-agent: other
Disallow: /

User-agent: Canonry
Disallow: /private/
Allow: /private/open
Disallow: /*.pdf$
Crawl-delay: 7
"""


class Web:
    """A network of responses, a store and a clock, in memory."""

    def __init__(self, answers: dict[str, Response | FetchError], pause: float = 0.0) -> None:
        self.answers = answers
        self.requested: list[str] = []
        self.kept: dict[str, CachedRobots] = {}
        self.now = 0.0
        self.robots = RobotsChecker(self.get, self, lambda: self.now, "canonry", pause)

    async def get(self, url: str) -> Response:
        self.requested.append(url)
        found = self.answers.get(url, answer(404))
        if isinstance(found, FetchError):
            raise found
        return found

    async def get_robots(self, origin: str) -> CachedRobots | None:
        return self.kept.get(origin)

    async def put_robots(self, origin: str, kept: CachedRobots) -> None:
        self.kept[origin] = kept

    def allows(self, url: str) -> bool:
        """Check one URL."""
        return asyncio.run(self.robots.check(url)).allowed


def answer(status: int, body: bytes = b"", **headers: str) -> Response:
    """Return a response."""
    return Response("", status, headers, {}, body, 0.0)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private/x", False),
        ("/private/open", True),
        ("/private", True),
        ("/a.pdf", False),
        ("/a.pdf?x", True),
        ("/robots.txt", True),
    ],
)
def test_the_group_of_the_product_token_applies(path: str, allowed: bool) -> None:
    web = Web({"http://a.example/robots.txt": answer(200, RULES)})
    assert web.allows(f"http://a.example{path}") is allowed


def test_the_crawl_delay_is_returned() -> None:
    web = Web({"http://a.example/robots.txt": answer(200, RULES)})
    assert asyncio.run(web.robots.check("http://a.example/")).delay == 7.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418])
def test_a_file_that_is_unavailable_allows_all(status: int) -> None:
    web = Web({"http://a.example/robots.txt": answer(status, b"User-agent: *\nDisallow: /")})
    assert web.allows("http://a.example/x")


@pytest.mark.parametrize(
    "found",
    [answer(500), answer(503), answer(429), FetchError(Fault.TIMEOUT), FetchError(Fault.DNS)],
)
def test_a_file_that_is_unreachable_disallows_all_for_now(found: Response | FetchError) -> None:
    web = Web({"http://a.example/robots.txt": found})
    for _ in range(2):
        with pytest.raises(FetchError) as raised:
            web.allows("http://a.example/x")
        assert raised.value.fault is Fault.ROBOTS_UNREACHABLE
    assert web.kept == {"http://a.example": CachedRobots(None, 0.0, unreachable_since=0.0)}
    web.answers.clear()
    assert web.allows("http://a.example/x"), "it is requested again, and found"


def test_a_refused_address_keeps_its_fault() -> None:
    web = Web({"http://a.example/robots.txt": FetchError(Fault.ADDRESS)})
    with pytest.raises(FetchError) as raised:
        web.allows("http://a.example/x")
    assert raised.value.fault is Fault.ADDRESS


@pytest.mark.parametrize(("hops", "allowed"), [(5, False), (6, True)])
def test_five_redirects_are_followed_and_count_for_the_first_origin(
    hops: int, allowed: bool
) -> None:
    answers: dict[str, Response | FetchError] = {
        "http://a.example/robots.txt": answer(301, Location="http://b.example/1")
    }
    for n in range(1, hops):
        answers[f"http://b.example/{n}"] = answer(302, Location=f"/{n + 1}")
    answers[f"http://b.example/{hops}"] = answer(200, b"User-agent: *\nDisallow: /")
    web = Web(answers)
    assert web.allows("http://a.example/x") is allowed
    assert set(web.kept) == {"http://a.example"}


@pytest.mark.parametrize("location", ["http://[", "ftp://a.example/robots.txt"])
def test_a_redirect_to_nowhere_is_unavailable(location: str) -> None:
    web = Web({"http://a.example/robots.txt": answer(301, Location=location)})
    assert web.allows("http://a.example/x")


def test_it_is_fetched_once_a_day_for_each_origin() -> None:
    web = Web({})
    for _ in range(3):
        assert web.allows("http://a.example/x")
    assert web.allows("https://a.example/x")
    assert web.allows("http://a.example:8080/x")
    assert len(web.requested) == 3
    web.now = 86_399.0
    assert web.allows("http://a.example/x")
    assert len(web.requested) == 3
    web.now = 86_401.0
    assert web.allows("http://a.example/x")
    assert len(web.requested) == 4


def test_simultaneous_checks_make_one_request() -> None:
    web = Web({})

    async def many() -> None:
        await asyncio.gather(*(web.robots.check(f"http://a.example/{n}") for n in range(50)))

    asyncio.run(many())
    assert web.requested == ["http://a.example/robots.txt"]


@pytest.mark.parametrize(
    "body", [b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", b"\xff\nUser-agent: *\r\nDisallow: /x"]
)
def test_marks_and_garbage_do_not_hide_the_rules(body: bytes) -> None:
    web = Web({"http://a.example/robots.txt": answer(200, body)})
    assert not web.allows("http://a.example/x")


def test_five_hundred_kibibytes_are_read_and_no_more() -> None:
    filler = b"# filler\n" * 50_000
    early = b"User-agent: *\nDisallow: /early\n" + filler + b"User-agent: *\n"
    web = Web({"http://a.example/robots.txt": answer(200, early + filler + b"Disallow: /late\n")})
    assert not web.allows("http://a.example/early")
    assert web.allows("http://a.example/late")


def test_the_origin_is_scheme_host_and_port() -> None:
    assert origin_of("http://u:p@a.example:81/x?y#z") == "http://a.example:81"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.says}")
def test_every_row_of_the_table(row: Row) -> None:
    web = Web({"http://a.example/robots.txt": answer(200, row.file.encode())})
    assert web.allows(f"http://a.example{row.path}") is row.allowed


def test_the_table_has_both_outcomes_and_no_row_twice() -> None:
    assert {row.allowed for row in ROWS} == {True, False}
    assert len({(row.file, row.path) for row in ROWS}) == len(ROWS) > 45


def test_the_last_file_applies_while_the_file_is_unreachable() -> None:
    robots = "http://a.example/robots.txt"
    web = Web({robots: answer(200, b"User-agent: *\nDisallow: /x")})
    assert not web.allows("http://a.example/x")
    web.answers[robots] = FetchError(Fault.CONNECT)
    web.now = 3 * 86_400.0
    assert not web.allows("http://a.example/x")
    assert web.allows("http://a.example/y")
    assert len(web.requested) == 2
    web.answers[robots] = answer(404)
    web.now += 3_601.0
    assert web.allows("http://a.example/x"), "it is fetched again within the hour"
    assert web.kept["http://a.example"].unreachable_since is None


def test_after_thirty_days_an_unreachable_file_counts_as_missing() -> None:
    web = Web({"http://a.example/robots.txt": answer(500)})
    for day in (0, 1, 29):
        web.now = day * 86_400.0
        with pytest.raises(FetchError):
            web.allows("http://a.example/x")
    web.now = 30 * 86_400.0
    assert web.allows("http://a.example/x")


def test_a_file_that_was_reachable_once_starts_the_thirty_days_again() -> None:
    robots = "http://a.example/robots.txt"
    web = Web({robots: answer(500)})
    with pytest.raises(FetchError):
        web.allows("http://a.example/x")
    web.answers[robots] = answer(200, b"User-agent: *\nDisallow: /x")
    web.now = 20 * 86_400.0
    assert not web.allows("http://a.example/x")
    web.answers[robots] = answer(500)
    web.now = 40 * 86_400.0
    assert not web.allows("http://a.example/x")


def test_the_pause_before_the_next_try_doubles() -> None:
    web = Web({"http://a.example/robots.txt": answer(500)}, pause=10.0)
    tries = []
    for second in range(100):
        web.now = float(second)
        before = len(web.requested)
        with pytest.raises(FetchError):
            web.allows("http://a.example/x")
        if len(web.requested) > before:
            tries.append(second)
    assert tries == [0, 10, 30, 70]


@pytest.mark.slow
def test_a_long_file_is_cut_between_lines() -> None:
    """Half of "Disallow: /private" would be "Disallow: /"."""
    rule = b"Disallow: /private\n"
    body = b"User-agent: *\n" + rule * 30_000
    for cut in range(-20, 20):
        web = Web({"http://a.example/robots.txt": answer(200, b"#" * (100 + cut) + b"\n" + body)})
        assert web.allows("http://a.example/x")
        assert not web.allows("http://a.example/private")
