"""robots.txt by RFC 9309: what each response allows, and how often the file is fetched."""

import asyncio
import gc
import gzip
import re
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import pytest
from generators.rfc9309 import ROWS, Row
from hypothesis import given, settings
from hypothesis import strategies as st
from support.crawls import SEED, crawl, page, target_of
from support.servers import Answer, ok
from support.tables import each

from canonry.crawler.fetch import robots
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.response import Response
from canonry.crawler.fetch.robots import MOST_READ, RobotsChecker, origin_of
from canonry.crawler.fetch.robots_rules import DecidingLine, deciding_line, parse_robots
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
    [answer(500), answer(503), answer(429), FetchError(Fault.CONNECT), FetchError(Fault.DNS)],
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


@pytest.mark.parametrize("is_reached", [True, False])
def test_what_is_kept_of_many_origins_is_bounded(
    monkeypatch: pytest.MonkeyPatch, is_reached: bool
) -> None:
    monkeypatch.setattr(robots, "_MOST_KEPT", 100_000)

    class Kept(Web):
        async def get(self, _url: str) -> Response:
            if not is_reached:
                raise FetchError(Fault.CONNECT, "connection refused")
            return answer(200, RULES)

        async def put_robots(self, _origin: str, _kept: CachedRobots) -> None:
            pass

    async def check(web: Web, number: int) -> None:
        with suppress(FetchError):
            await web.robots.check(f"http://{number}.example/")

    async def check_all(web: Web) -> None:
        for number in range(2_000):
            await check(web, number)

    web = Kept({}, pause=1.0)
    asyncio.run(check(web, 0))
    tracemalloc.start()
    asyncio.run(check_all(web))
    origin_of.cache_clear()
    gc.collect()
    held, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 200_000


def test_an_origin_that_was_forgotten_is_read_from_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(robots, "_MOST_KEPT", 3_000)
    web = Web({f"http://{n}.example/robots.txt": answer(200, RULES) for n in range(3)})
    for number in (0, 1, 2, 0, 1, 2):
        assert web.allows(f"http://{number}.example/") is True
        assert web.allows(f"http://{number}.example/private/") is False
    assert len(web.requested) == 3


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


@each("row", ROWS)
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


@pytest.mark.parametrize(
    ("found", "cause", "tries"),
    [
        (answer(500), "status 500", [0, 10, 30, 70, 3670]),
        (answer(503, **{"Retry-After": "50"}), "status 503", [0, 50, 100, 150, 3750]),
        (FetchError(Fault.CONNECT, "connection refused"), "connection refused", [0, 1, 3, 7, 3607]),
        (FetchError(Fault.DNS, "try again"), "dns", [0, 1, 3, 7, 3607]),
        (FetchError(Fault.TIMEOUT), "timeout", [0, 2, 3602]),
        (FetchError(Fault.DNS, final=True), "dns", [0, 3600]),
        (FetchError(Fault.TLS, "expired"), "tls, expired", [0, 3600]),
    ],
)
def test_an_unreachable_file_is_requested_again_later_each_time_and_then_once_an_hour(
    found: Response | FetchError, cause: str, tries: list[int]
) -> None:
    web = Web({"http://a.example/robots.txt": found}, pause=10.0)
    tried, given_up = [], []
    for second in [*range(200), *range(3590, 3760)]:
        web.now = float(second)
        before = len(web.requested)
        with pytest.raises(FetchError) as raised:
            web.allows(f"http://a.example/{second}")
        error = raised.value
        assert error.reason == f"robots-unreachable: {cause}"
        assert error.asked is (len(web.requested) > before)
        if error.asked:
            tried.append(second)
        if error.final:
            assert error.retry_at is None
            given_up.append(second)
        else:
            assert error.retry_at is not None
            assert error.retry_at > second
    assert tried == tries
    assert given_up[0] == tries[-2], "from then on no URL of the origin waits"


def test_a_try_that_took_long_counts_twice() -> None:
    web = Web({"http://a.example/robots.txt": FetchError(Fault.DNS, "no answer in time")}, 10.0)
    quick = web.get

    async def slow(url: str) -> Response:
        web.now += 10.0
        return await quick(url)

    web.robots._get = slow  # noqa: SLF001 - its clock goes on meanwhile
    for tries, is_final in ((1, False), (2, True)):
        with pytest.raises(FetchError) as raised:
            web.allows("http://a.example/")
        assert (len(web.requested), raised.value.final) == (tries, is_final)
        web.now += 2.0


def test_only_one_visit_waits_for_an_origin_that_failed() -> None:
    robots = "http://a.example/robots.txt"
    web = Web({robots: FetchError(Fault.CONNECT, "connection refused")}, pause=10.0)
    with pytest.raises(FetchError):
        web.allows("http://a.example/")
    web.now = 1.0
    hanging = asyncio.Event()

    async def hang(url: str) -> Response:
        web.requested.append(url)
        await hanging.wait()
        return answer(404)

    async def several() -> None:
        checker = web.robots
        checker._get = hang  # noqa: SLF001 - the server comes back, slowly
        first = asyncio.create_task(checker.check("http://a.example/1"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(FetchError) as raised:
            await checker.check("http://a.example/2")
        assert (raised.value.asked, raised.value.retry_at) == (False, 2.0)
        hanging.set()
        assert (await first).allowed
        assert (await checker.check("http://a.example/2")).allowed

    asyncio.run(several())
    assert web.requested == [robots, robots]


def test_bytes_that_are_not_utf_8_match_their_own_escapes() -> None:
    web = Web({"http://a.example/robots.txt": answer(200, b"User-agent: *\nDisallow: /\xff")})
    assert not web.allows("http://a.example/%FF")
    assert web.allows("http://a.example/%FE")
    assert web.allows("http://a.example/%EF%BF%BD")


@pytest.mark.parametrize("agent", ["Canonry", "canonry2", "canonry bot"])
def test_a_product_token_ends_where_section_2_2_1_ends_it(agent: str) -> None:
    rules = parse_robots("User-agent: canonry\nDisallow: /x", agent)
    assert not rules.allow("http://a.example/x")


def test_a_crawler_without_a_token_obeys_the_group_for_all() -> None:
    rules = parse_robots("User-agent: 7\nDisallow: /x\nUser-agent: *\nDisallow: /y", "7")
    assert rules.allow("http://a.example/x")
    assert not rules.allow("http://a.example/y")


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: canonry\nCrawl-delay: 7\nUser-agent: b\nDisallow: /x", 7.0),
        ("User-agent: b\nCrawl-delay: 7\nUser-agent: canonry\nDisallow: /x", None),
        ("User-agent: canonry\nDisallow: /x\nCrawl-delay: 2\nCrawl-delay: 1", 2.0),
        ("User-agent: *\nCrawl-delay: 7\n\nUser-agent: canonry\nDisallow: /x", None),
        ("User-agent: *\nSitemap: /s\nCrawl-delay: .5 # half", 0.5),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: inf", None),
        ("User-agent: *\nCrawl-delay: 1 s", None),
    ],
)
def test_a_crawl_delay_is_meant_for_the_names_above_it(text: str, delay: float | None) -> None:
    assert parse_robots(text, "canonry").delay == delay


@pytest.mark.parametrize(
    "line", ["Disalow: /x", "dissallow : /x", "Disallow /x", "Disallow\t/x # because"]
)
def test_misspelt_rules_are_rules(line: str) -> None:
    rules = parse_robots(f"User agent: *\n{line}\n", "canonry")
    assert not rules.allow("http://a.example/x")


def test_a_sentence_is_no_rule() -> None:
    text = "User-agent: canonry\nAllow us to explain\nUser-agent: b\nDisallow: /x"
    assert not parse_robots(text, "canonry").allow("http://a.example/x")


def test_sitemaps_belong_to_no_group() -> None:
    text = "Sitemap: http://a.example/1\nUser-agent: b\nDisallow: /\nsite-map: /2\nSitemaps /3"
    assert parse_robots(text, "canonry").sitemaps == ("http://a.example/1", "/2", "/3")


_PIECES = st.sampled_from(
    ["/", "a", "b", "ab", "*", "$", "%61", "%2a", "%2A", "%24", "?", "%", "é"]
)


@settings(max_examples=1000)
@given(st.lists(_PIECES, max_size=8), st.lists(_PIECES, max_size=10))
def test_patterns_match_as_the_expressions_that_they_stand_for(
    pattern: list[str], path: list[str]
) -> None:
    written, target = "/" + "".join(pattern), encoded("/" + "".join(path))
    stem = written.removesuffix("$")
    expression = ".*".join(re.escape(encoded(piece)) for piece in stem.split("*"))
    found = re.match(expression + ("$" if stem != written else ""), target)
    rules = parse_robots(f"User-agent: *\nDisallow: {written}", "canonry")
    assert rules.allow("http://a.example/" + "".join(path)) is (found is None)


@each(
    ("path", "number", "text"),
    [
        ("/private/x", 5, "Disallow: /private/"),
        ("/private/open", 6, "Allow: /private/open"),
        ("/a.pdf", 7, "Disallow: /*.pdf$"),
        ("/", None, None),
        ("/robots.txt", None, None),
    ],
)
@each("end", ["\n", "\r\n", "\r"])
def test_the_line_that_decides_is_named(
    path: str, number: int | None, text: str | None, end: str
) -> None:
    file = RULES.decode().replace("\n", end)
    found = deciding_line(file, "canonry", f"http://a.example{path}")
    assert (found and (found.number, found.text)) == (number and (number, text))


def test_of_lines_that_say_the_same_the_first_is_named() -> None:
    file = "User-agent: *\nDisallow: /%61  # first\nDisallow: /a\nAllow: /"
    found = deciding_line(file, "canonry", "http://h/ab")
    assert found == DecidingLine(2, "Disallow: /%61  # first", allows=False)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.booleans(), st.lists(_PIECES, max_size=5)), max_size=6),
    st.lists(_PIECES, max_size=8),
)
def test_the_line_that_decides_says_what_the_rules_say(
    rules: list[tuple[bool, list[str]]], path: list[str]
) -> None:
    lines = [f"{'Allow' if allows else 'Disallow'}: {''.join(p)}" for allows, p in rules]
    file = "\n".join(["User-agent: *", *lines])
    url = f"http://a.example/{''.join(path)}"
    found = deciding_line(file, "canonry", url)
    assert parse_robots(file, "canonry").allow(url) is (found is None or found.allows)


def encoded(path: str) -> str:
    """Return a path in which everything is an escape but what is unreserved."""
    return quote(unquote_to_bytes(path), safe="/?")


@pytest.mark.parametrize(
    "rules",
    [
        "".join(f"Disallow: /dir{n}/\n" for n in range(60_000)),
        "".join(f"Disallow: /*{n}*x\n" for n in range(60_000)),
        "".join(f"Disallow: {'*a' * 40}{n}\n" for n in range(60_000)),
        "Disallow: /" + "*a" * 250_000,
        "Disallow: /*" + "a*" * 250_000 + "b$",
        "Disallow" + " " * 500_000,
        " " * 500_000,
        "Disallow: /" + "%" * 500_000,
        "User-agent: a\n" * 40_000,
    ],
    ids=lambda text: text[:20].strip(),
)
def test_hostile_files_take_linear_time(rules: str) -> None:
    start = time.process_time()
    read = parse_robots(f"User-agent: *\n{rules[:512_000]}", "canonry")
    read.allow("http://a.example/" + "a" * 2_000)
    assert time.process_time() - start < 3


async def _endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /x\n")
    with suppress(ConnectionError):
        while True:
            writer.write(b"# filler\n" * 1_000)
            await writer.drain()


_BOMB = b"User-agent: *\nDisallow: /x\n" + bytes(50_000_000)


@pytest.mark.parametrize(
    "sent",
    [_endless, ok(gzip.compress(_BOMB, 1), "Content-Encoding: gzip"), ok(_BOMB[:600_000])],
    ids=["endless", "bomb", "long"],
)
def test_no_robots_txt_is_too_large(tmp_path: Path, sent: Answer) -> None:
    def serve(head: bytes) -> Answer:
        return sent if target_of(head) == "/robots.txt" else page("/x", "/y")

    found, pages = crawl(tmp_path, serve)
    assert {row["url"] for row in pages} == {SEED, f"{SEED}y"}
    assert found["held"] == {"robots": 1}


def test_a_long_file_is_cut_between_lines() -> None:
    """Half of "Disallow: /private" would be "Disallow: /"."""
    rule = b"Disallow: /private\n"
    few = b"User-agent: *\n" + rule * 1000  # all others are comments, which are read faster
    for cut in range(-20, 20):
        before = b"#" * (MOST_READ - len(few) // 2 + cut) + b"\n"
        web = Web({"http://a.example/robots.txt": answer(200, before + few)})
        assert web.allows("http://a.example/x")
        assert not web.allows("http://a.example/private")
