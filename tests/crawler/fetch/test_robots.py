"""robots.txt by RFC 9309: what each answer allows, and how often it is asked for."""

import asyncio

import pytest
from robots import ROWS, Row

from canonry.crawler.fetch.client import Response
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.robots import Robots, origin_of
from canonry.storage.records import Robots as Kept

RULES = b"""User-agent: other
Disallow: /

User-agent: Canonry
Disallow: /private/
Allow: /private/open
Disallow: /*.pdf$
Crawl-delay: 7
"""


class Web:
    """A network of answers, a cache and a clock, in memory."""

    def __init__(self, answers: dict[str, Response | FetchError], pause: float = 0.0) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.kept: dict[str, Kept] = {}
        self.now = 0.0
        self.robots = Robots(self.get, self, lambda: self.now, "canonry", pause)

    async def get(self, url: str) -> Response:
        self.asked.append(url)
        found = self.answers.get(url, answer(404))
        if isinstance(found, FetchError):
            raise found
        return found

    async def get_robots(self, origin: str) -> Kept | None:
        return self.kept.get(origin)

    async def put_robots(self, origin: str, kept: Kept) -> None:
        self.kept[origin] = kept

    def allows(self, url: str) -> bool:
        """Ask once."""
        return asyncio.run(self.robots.ask(url)).allowed


def answer(status: int, body: bytes = b"", **headers: str) -> Response:
    """Return an answer."""
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
def test_the_group_of_the_product_token_holds(path: str, allowed: bool) -> None:
    web = Web({"http://a.example/robots.txt": answer(200, RULES)})
    assert web.allows(f"http://a.example{path}") is allowed


def test_a_crawl_delay_is_told() -> None:
    web = Web({"http://a.example/robots.txt": answer(200, RULES)})
    assert asyncio.run(web.robots.ask("http://a.example/")).delay == 7.0


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
    assert web.kept == {"http://a.example": Kept(None, 0.0, unreachable_since=0.0)}
    web.answers.clear()
    assert web.allows("http://a.example/x"), "it is asked again, and answers"


def test_an_address_that_is_refused_is_told_as_such() -> None:
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


def test_it_is_asked_for_once_a_day_and_origin() -> None:
    web = Web({})
    for _ in range(3):
        assert web.allows("http://a.example/x")
    assert web.allows("https://a.example/x")
    assert web.allows("http://a.example:8080/x")
    assert len(web.asked) == 3
    web.now = 86_399.0
    assert web.allows("http://a.example/x")
    assert len(web.asked) == 3
    web.now = 86_401.0
    assert web.allows("http://a.example/x")
    assert len(web.asked) == 4


def test_many_who_ask_at_once_ask_the_server_once() -> None:
    web = Web({})

    async def many() -> None:
        await asyncio.gather(*(web.robots.ask(f"http://a.example/{n}") for n in range(50)))

    asyncio.run(many())
    assert web.asked == ["http://a.example/robots.txt"]


@pytest.mark.parametrize(
    "body", [b"\xef\xbb\xbfUser-agent: *\nDisallow: /x", b"\xff\nUser-agent: *\r\nDisallow: /x"]
)
def test_marks_and_garbage_do_not_hide_the_rules(body: bytes) -> None:
    web = Web({"http://a.example/robots.txt": answer(200, body)})
    assert not web.allows("http://a.example/x")


def test_half_a_mebibyte_is_read_and_no_more() -> None:
    filler = b"# filler\n" * 50_000
    early = b"User-agent: *\nDisallow: /early\n" + filler + b"User-agent: *\n"
    web = Web({"http://a.example/robots.txt": answer(200, early + filler + b"Disallow: /late\n")})
    assert not web.allows("http://a.example/early")
    assert web.allows("http://a.example/late")


def test_origins() -> None:
    assert origin_of("http://u:p@a.example:81/x?y#z") == "http://a.example:81"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.section} {row.says}")
def test_every_row_of_the_table(row: Row) -> None:
    web = Web({"http://a.example/robots.txt": answer(200, row.file.encode())})
    assert web.allows(f"http://a.example{row.path}") is row.allowed


def test_the_table_can_tell() -> None:
    """Each row would fail under a file that says nothing, or one that disallows all."""
    assert {row.allowed for row in ROWS} == {True, False}
    assert len({(row.file, row.path) for row in ROWS}) == len(ROWS) > 45


def test_what_was_read_last_holds_while_the_file_is_unreachable() -> None:
    robots = "http://a.example/robots.txt"
    web = Web({robots: answer(200, b"User-agent: *\nDisallow: /x")})
    assert not web.allows("http://a.example/x")
    web.answers[robots] = FetchError(Fault.CONNECT)
    web.now = 3 * 86_400.0
    assert not web.allows("http://a.example/x")
    assert web.allows("http://a.example/y")
    assert len(web.asked) == 2
    web.answers[robots] = answer(404)
    web.now += 3_601.0
    assert web.allows("http://a.example/x"), "it is asked for again within the hour"
    assert web.kept["http://a.example"].unreachable_since is None


def test_after_thirty_days_a_file_that_is_unreachable_counts_as_not_there() -> None:
    web = Web({"http://a.example/robots.txt": answer(500)})
    for day in (0, 1, 29):
        web.now = day * 86_400.0
        with pytest.raises(FetchError):
            web.allows("http://a.example/x")
    web.now = 30 * 86_400.0
    assert web.allows("http://a.example/x")


def test_a_file_that_is_back_for_a_moment_begins_the_days_anew() -> None:
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


def test_what_cannot_be_reached_is_left_alone_for_longer_and_longer() -> None:
    web = Web({"http://a.example/robots.txt": answer(500)}, pause=10.0)
    tries = []
    for second in range(100):
        web.now = float(second)
        before = len(web.asked)
        with pytest.raises(FetchError):
            web.allows("http://a.example/x")
        if len(web.asked) > before:
            tries.append(second)
    assert tries == [0, 10, 30, 70]


def test_a_long_file_is_not_cut_within_a_rule() -> None:
    """Half of "Disallow: /private" would be "Disallow: /"."""
    rule = b"Disallow: /private\n"
    body = b"User-agent: *\n" + rule * 30_000
    for cut in range(-20, 20):
        web = Web({"http://a.example/robots.txt": answer(200, b"#" * (100 + cut) + b"\n" + body)})
        assert web.allows("http://a.example/x")
        assert not web.allows("http://a.example/private")
