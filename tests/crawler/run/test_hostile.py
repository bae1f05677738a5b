"""Crawls of sites that fail, bounce and stall: every one ends, with the right set of pages."""

import asyncio
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from support.crawls import SEED, crawl, host_of, page, sendings, target_of
from support.servers import Answer, ok, raw_server

from canonry.crawler.documents import html
from canonry.crawler.run import wiring
from canonry.crawler.run.queue import politeness
from canonry.crawler.run.queue.turns import Turns
from canonry.crawler.settings import load
from canonry.storage.reading import report
from canonry.storage.steering import releases
from canonry.storage.steering.releases import Refusal
from canonry.storage.steering.short_steps import ShortSteps

CLOCKS = 0.001  # seconds by which one clock may run differently from another


def test_transient_faults_are_retried_and_counted(tmp_path: Path) -> None:
    requested: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[target] += 1
        if target == "/":
            return page("/flaky", "/down", "/gone")
        if target == "/flaky":
            return page() if requested[target] == 3 else ok(b"", status="503 Busy")
        if target == "/down":
            return ok(b"", status="500 Broken")
        return ok(b"", status="404 Not Found")

    found, pages = crawl(tmp_path, answer)
    assert requested["/flaky"] == 3
    assert requested["/down"] == 4, "one request and three retries"
    assert {(p["url"], p["status"]) for p in pages} == {
        (SEED, 200),
        ("http://a.example/flaky", 200),
        ("http://a.example/gone", 404),
    }
    assert found["failed"] == {"server": 1}


def test_an_unreachable_robots_txt_disallows_everything(tmp_path: Path) -> None:
    requested: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        requested[target_of(head)] += 1
        return ok(b"", status="503 Busy")

    found, pages = crawl(tmp_path, answer)
    assert set(requested) == {"/robots.txt"}
    assert pages == []
    assert found["failed"] == {"robots-unreachable: status 503": 1}


def test_endless_redirects_are_cut(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/robots.txt":
            return ok(b"")
        return ok(b"", f"Location: {target}x", status="301 Moved")

    found, _ = crawl(tmp_path, answer, max_hops=5)
    assert found["urls"]["redirected"] == 6
    assert found["held"] == {"too-many-hops": 1}


def test_the_target_of_a_seeds_redirect_is_in_scope_and_that_of_a_page_is_not(
    tmp_path: Path,
) -> None:
    def answer(head: bytes) -> Answer:
        host = host_of(head)
        target = target_of(head)
        if target == "/robots.txt":
            return ok(b"")
        if host == "a.example":
            return ok(b"", "Location: http://b.example/", status="301 Moved")
        if target == "/":
            return page("/out", "/in")
        if target == "/out":
            return ok(b"", "Location: http://c.example/", status="302 Found")
        return page()

    found, pages = crawl(tmp_path, answer)
    assert {p["url"] for p in pages} == {"http://b.example/", "http://b.example/in"}
    assert found["held"] == {"out-of-scope": 1}


@pytest.mark.parametrize("location", ["http://[", "mailto:a@b", "http://a b/", "//"])
def test_a_redirect_to_no_valid_url_ends_the_visit(tmp_path: Path, location: str) -> None:
    def answer(head: bytes) -> Answer:
        if target_of(head) == "/robots.txt":
            return ok(b"")
        return ok(b"", f"Location: {location}", status="301 Moved")

    found, pages = crawl(tmp_path, answer)
    assert pages == []
    assert found["urls"]["redirected"] == 1
    assert [row["links"] for row in found["refused"]] == [1]


def test_a_page_of_many_and_huge_links_is_read(tmp_path: Path) -> None:
    links = [f"/{n}" for n in range(20_000)] + ["/" + "y" * 1_000_000, "/" + "../" * 100_000]

    def answer(head: bytes) -> Answer:
        return page(*links) if target_of(head) == "/" else ok(b"")

    found, _ = crawl(tmp_path, answer, max_pages=1)
    assert found["urls"]["queued"] == 20_000
    assert found["held"] == {"too-long": 1}


def test_passwords_never_leave_the_store(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        secret = "http://user:secret@a.example/x"  # noqa: S105 - it must not be found anywhere
        return (
            page(secret, f"{secret}#y", "http://user:secret@[")
            if target_of(head) == "/"
            else page()
        )

    found, pages = crawl(tmp_path, answer)
    assert "secret" not in repr(found)
    assert "secret" not in repr(pages)
    assert "http://user:***@a.example/x" in {p["url"] for p in pages}


@pytest.mark.parametrize(
    "answered",
    [
        b"HTTP/1.1 301 Moved\r\nLocation: http://a.example/\xe9\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 301 Moved\r\nLocation: http://[\xe9\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/\xe9\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nSet-Cookie: a=\xe9\r\nContent-Length: 0\r\n\r\n",
        ok(b"<a href='\\ud800'>", "Content-Type: text/html; charset=unicode_escape"),
        ok(b"<a href='\\ud800'>", "Content-Type: text/html; charset=raw-unicode-escape"),
        ok(b"xn--" * 1000, "Content-Type: text/html; charset=punycode"),
        ok(b"<a href='&#xD800;'>&#xDCE9;", "Content-Type: text/html; charset=utf-16-be"),
        ok(b"", "Retry-After: Mon, 01 Jan 0001 00:00:00 -0000", status="503 Busy"),
        ok(b"", "Retry-After: " + "9" * 5000, status="403 No"),
    ],
)
def test_invalid_responses_end_one_visit_and_not_the_crawl(tmp_path: Path, answered: bytes) -> None:
    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/":
            return page("/bad", "/good")
        return answered if target == "/bad" else page()

    found, pages = crawl(tmp_path, answer, retries=0)
    assert "http://a.example/good" in {p["url"] for p in pages}
    assert found["urls"]["queued"] == 0


@pytest.mark.parametrize("status", ["000 OK", "099", "101 Switching Protocols"])
def test_a_status_below_200_is_no_page(tmp_path: Path, status: str) -> None:
    def answer(head: bytes) -> Answer:
        html = "Content-Type: text/html"
        bad = ok(b"<a href=/x>", html, status=status)
        return {"/": page("/bad"), "/bad": bad}.get(target_of(head), ok(b""))

    found, pages = crawl(tmp_path, answer, retries=0)
    assert [p["url"] for p in pages] == [SEED]
    assert found["failed"] == {"protocol": 1}


def test_a_page_on_which_canonry_fails_is_held_reported_and_retried_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def answer(head: bytes) -> Answer:
        return page("/1", "/2") if target_of(head) == "/" else page("/3")

    read = html.read

    def faulty(
        body: bytes, content_type: str | None, url: str, *_: object, **__: object
    ) -> html.Document:
        return 1 / 0 if url.endswith("/1") else read(body, content_type, url)  # type: ignore[return-value]

    with monkeypatch.context() as patch:
        patch.setattr("canonry.crawler.documents.html.read", faulty)
        found, pages = crawl(tmp_path, answer, notices=said)
    assert found["job"]["state"] == "finished"
    assert found["held"] == {"ours": 1}
    assert {p["url"] for p in pages} == {SEED, "http://a.example/2", "http://a.example/3"}
    [message] = said
    assert message.startswith("Canonry failed on http://a.example/1, which is held")
    assert "ZeroDivisionError" in message
    found, pages = crawl(tmp_path, answer)
    assert found["held"] == {}
    assert len(pages) == 4


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml"])
def test_a_seed_without_links_is_told(tmp_path: Path, kind: str) -> None:
    said: list[str] = []

    def answer(_head: bytes) -> Answer:
        return ok(b"<html><script src='app.js'></script></html>", f"Content-Type: {kind}")

    found, _ = crawl(tmp_path / kind.replace("/", "-"), answer, notices=said)
    assert found["job"]["state"] == "finished"
    [message] = said
    assert message.startswith(f"No link was found on {SEED}, which is a seed and a page ({kind})")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("application/pdf", "links are read from HTML, feeds, sitemaps and plain text"),
        ("application/json; charset=utf-8", "links are read from HTML"),
        ("text/plain", "it names no URL"),
        ("application/rss+xml", "it names no URL"),
    ],
)
def test_a_seed_that_is_no_page_is_told(tmp_path: Path, kind: str, reason: str) -> None:
    said: list[str] = []
    crawl(tmp_path, lambda _head: ok(b'{"a": 1}', f"Content-Type: {kind}"), notices=said)
    [message] = said
    assert message.startswith(f"No link was found on {SEED}, which is a seed and {kind}: {reason}")


def test_of_many_seeds_without_links_ten_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    seeds = [f"{SEED}{n}" for n in range(14)]
    crawl(
        tmp_path,
        lambda _head: ok(b"%PDF", "Content-Type: application/pdf"),
        notices=said,
        seeds=seeds,
    )
    assert len(said) == 10
    assert said[-1].endswith("Further such seeds are not reported.")


def test_large_pages_are_read_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, set[bool]] = {}
    read = html.read

    def seen(body: bytes, content_type: str | None, url: str, *more: str, **named: bool) -> object:
        on_loop = threading.current_thread() is threading.main_thread()
        threads.setdefault(url, set()).add(on_loop)
        return read(body, content_type, url, *more, **named)

    def answer(head: bytes) -> Answer:
        match target_of(head):
            case "/":
                return page("/deep", "/wide")
            case "/deep":
                return ok(b"<div>" * 400_000, "Content-Type: text/html")
            case "/wide":
                attributes = b" ".join(b"a%d=1" % n for n in range(900_000))
                return ok(b"<a " + attributes + b"><a href=/last>", "Content-Type: text/html")
            case _:
                return page()

    monkeypatch.setattr("canonry.crawler.documents.html.read", seen)
    found, pages = crawl(tmp_path, answer)
    assert found["job"]["state"] == "finished"
    assert len(pages) == 4
    here, elsewhere = {True}, {False}
    assert [threads[f"http://a.example{path}"] for path in ("/", "/deep", "/wide", "/last")] == [
        here, elsewhere, elsewhere, here
    ]  # fmt: skip


def test_a_run_ends_when_canonry_fails_on_every_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(head: bytes) -> Answer:
        return page(*(f"/{n}" for n in range(40))) if target_of(head) == "/" else page()

    read = html.read

    def faulty(
        body: bytes, content_type: str | None, url: str, *_: object, **__: object
    ) -> html.Document:
        return read(body, content_type, url) if url == SEED else 1 / 0  # type: ignore[return-value]

    with monkeypatch.context() as patch:
        patch.setattr("canonry.crawler.documents.html.read", faulty)
        with pytest.raises(ZeroDivisionError):
            crawl(tmp_path, answer)
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        found = report.status(connection)
        assert found["job"]["state"] == "failed"
        assert found["urls"]["queued"] >= 30
    found, pages = crawl(tmp_path, answer)
    assert found["job"]["state"] == "finished"
    assert len(pages) == 41


@pytest.mark.slow
def test_the_delay_is_kept_between_the_starts_of_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = sendings(monkeypatch)

    def answer(head: bytes) -> Answer:
        return page("/1", "/2", "/3") if target_of(head) == "/" else page()

    crawl(tmp_path, answer, delay=0.4)
    assert len(sent) == 5
    assert min(b - a for (a, _), (b, _) in pairwise(sent)) > 0.4 - CLOCKS


def test_the_crawl_delay_of_robots_txt_is_obeyed_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = sendings(monkeypatch)

    def answer(head: bytes) -> Answer:
        if target_of(head) == "/robots.txt":
            return ok(b"User-agent: *\nCrawl-delay: 1000")
        return page("/1") if target_of(head) == "/" else page()

    crawl(tmp_path, answer, max_crawl_delay=0.5)
    [(first, _), (second, _)] = [one for one in sent if not one[1].endswith("/robots.txt")]
    assert 0.5 - CLOCKS < second - first < 60


@pytest.mark.slow
def test_a_large_host_does_not_delay_hosts_that_are_found_later(tmp_path: Path) -> None:
    """The large one answers only when all others were asked: behind its pages they never would."""
    others: set[str] = set()
    asked = asyncio.Event()
    in_time: list[bool] = []

    async def late(writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(asked.wait(), 60)
        in_time.append(asked.is_set())
        writer.write(page())

    def answer(head: bytes) -> Answer:
        host = host_of(head)
        target = target_of(head)
        if target == "/robots.txt":
            return ok(b"")
        if host != "a.example":
            others.add(host)
            if len(others) == 10:
                asked.set()
            return page()
        if target == "/":
            return page(*(f"/{n}" for n in range(400)))
        if target == "/3":
            return page(*(f"http://h{n}.example/" for n in range(10)))
        return late if target not in {"/0", "/1", "/2"} else page()

    how = {"delay": 0.3, "concurrency": 4, "requests_per_host": 1}
    crawl(tmp_path, answer, timeout=90.0, scope="any", max_pages=17, **how)
    assert len(others) == 10
    assert in_time == [True] * 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_faulty_site_is_crawled_completely(tmp_path: Path, seed: int) -> None:
    """Resets, half bodies, wrong lengths, garbage, slow bytes and 5xx, a few times for each URL."""
    rng = random.Random(seed)
    total = 60
    links = {
        n: [f"/{rng.randrange(total)}" for _ in range(4)] + [f"/{n + 1}"] for n in range(total)
    }
    faults = {n: rng.choice(list(_FAULTS)) if rng.random() < 0.5 else None for n in range(total)}
    times = [rng.randrange(1, 3) for _ in range(total)]
    requested: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[target] += 1
        if target == "/robots.txt":
            return ok(b"")
        if target == "/":
            return page("/0")
        n = int(target[1:])
        if n >= total:
            return ok(b"", status="404 Not Found")
        name = faults[n]
        if name is not None and requested[target] <= times[n]:
            return _FAULTS[name]
        return page(*links[n])

    found, pages = crawl(tmp_path, answer, timeout=1.0, retries=7)
    assert {p["url"] for p in pages if p["status"] == 200} == {
        SEED,
        *(f"http://a.example/{n}" for n in range(total)),
    }
    assert found["failed"] == {}


async def _reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _slow(writer: asyncio.StreamWriter) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n":
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def _half(writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<a href=/half>"
    )
    await writer.drain()


_FAULTS: dict[str, Answer] = {
    "reset": _reset,
    "slow": _slow,
    "half": _half,
    "garbage": b"\0\xff garbage\r\n\r\n",
    "busy": ok(b"", "Retry-After: 0", status="503 Busy"),
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


def test_nofollow_links_are_counted_and_not_followed(tmp_path: Path) -> None:
    head = "Content-Type: text/html"

    def answer(request: bytes) -> Answer:
        match target_of(request):
            case "/":
                links = (
                    b'<a href=/1>1</a><a href=/x rel="nofollow">x</a><a href=/both rel=nofollow>'
                )
                return ok(links + b"<a href=/both>both</a><a href=/meta><a href=/header>", head)
            case "/meta":
                return ok(b"<meta name=Robots content='noindex, NoFollow'><a href=/y>y</a>", head)
            case "/header":
                return ok(b"<a href=/z>z</a>", head, "X-Robots-Tag: canonry: nofollow")
            case _:
                return page()

    found, pages = crawl(tmp_path / "obeying", answer)
    expected = {SEED} | {f"http://a.example/{name}" for name in ("1", "both", "meta", "header")}
    assert {p["url"] for p in pages} == expected
    [left] = found["refused"]
    assert (left["reason"], left["links"]) == ("nofollow", 3)
    _, pages = crawl(tmp_path / "not", answer, respect_nofollow=False)
    assert {p["url"] for p in pages} == expected | {f"http://a.example/{name}" for name in "xyz"}


def test_a_canonical_link_in_a_header_counts(tmp_path: Path) -> None:
    def answer(request: bytes) -> Answer:
        if target_of(request) == "/":
            return ok(b"text", "Content-Type: text/plain", 'Link: </c?a=1>; rel="canonical"')
        return page()

    found, pages = crawl(tmp_path, answer)
    assert found["aliases"] == [{"kind": "canonical", "status": 200, "aliases": 1}]
    assert pages[0]["canonical"] == "http://a.example/c?a=1"
    assert len(pages) == 2


@pytest.mark.slow
def test_hosts_on_one_address_share_its_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two names of this machine, without --connect-to."""
    monkeypatch.setattr(politeness, "_ADDRESS_DELAY", 0.4)
    sent = sendings(monkeypatch)

    def answer(_head: bytes) -> Answer:
        return page(*(f"/{n}" for n in range(3)))

    async def run() -> None:
        async with raw_server(answer) as raw:
            settings = load(
                None,
                {
                    "crawl": {"delay": 0.4, "scope": "host"},
                    "fetch": {"allow_private": True},
                },
            )
            seeds = [f"http://{host}:{raw.port}/" for host in ("localhost", "127.0.0.1")]
            store = f"sqlite:///{tmp_path / 'store.db'}"
            assert (await wiring.crawl(seeds, store, settings, notify=print)).finished

    asyncio.run(run())
    assert len({url.split("/")[2] for _, url in sent}) == 2
    assert len(sent) == 2 * (1 + 4)
    assert min(b - a for (a, _), (b, _) in pairwise(sent)) > 0.4 - CLOCKS


def test_an_overloaded_host_gets_a_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[tuple[float, str]] = []
    rests: list[float] = []
    slow_down = Turns.slow_down

    def note(turns: Turns, name: str, *, delay: float | None = None, until: float = 0.0) -> None:
        rests.extend([until] * (until > 0))
        slow_down(turns, name, delay=delay, until=until)

    monkeypatch.setattr(Turns, "slow_down", note)

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested.append((time.monotonic(), target))
        if target == "/":
            return page(*(f"/{n}" for n in range(9)))
        busy = sum(target == "/0" for _, target in requested) == 1 and target == "/0"
        return ok(b"", status="429 Too Many Requests") if busy else ok(b"")

    crawl(tmp_path, answer, retry_wait=0.5, requests_per_host=1)
    first = next(n for n, (_, target) in enumerate(requested) if target == "/0")
    gaps = [b - a for (a, _), (b, _) in pairwise(requested)]
    assert gaps[first] > 0.45, "no other page of the host either"
    assert len(rests) == 1, "and only once"


def test_what_is_not_requested_costs_no_turns(tmp_path: Path) -> None:
    """Links to https, where nothing listens, and to disallowed pages, on ten pages of http."""
    requested: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[target] += 1
        if target == "/robots.txt":
            return ok(b"User-agent: *\nDisallow: /no")
        n = int(target[1:] or 0)
        dead = [f"https://a.example/{n}-{k}" for k in range(20)]
        return page(*([f"/{n + 1}"] if n < 9 else []), *(f"/no{n}-{k}" for k in range(10)), *dead)

    async def run() -> wiring.CrawlResult:
        async with raw_server(answer) as raw:
            connect = [f":80:127.0.0.1:{raw.port}", ":443:127.0.0.1:9"]
            fetch = {"connect_to": connect, "retry_wait": 0.05}
            settings = load(None, {"crawl": {"delay": 0.2}, "fetch": fetch})
            store = f"sqlite:///{tmp_path / 's.db'}"
            return await wiring.crawl([SEED], store, settings, notify=lambda _text: None)

    result = asyncio.run(run())
    ended = result.progress.pages, result.progress.failed, result.progress.held
    assert ended == (10, 200, 100)
    assert set(requested.values()) == {1}
    assert result.seconds < 40.0, "300 turns would take a minute, and each retry more"


@pytest.mark.parametrize("is_last", [False, True])
def test_pages_that_always_fail_cost_little_and_can_be_released(
    tmp_path: Path, *, is_last: bool
) -> None:
    """Most are requested once where the host answers others meanwhile, else thrice at most."""
    requested: Counter[str] = Counter()
    works = False

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[target] += 1
        if target == "/":
            return page(*links)
        if target.startswith("/bad/"):
            return page() if works else ok(b"", status="500 Broken")
        return page()

    bad = [f"/bad/page{n}" for n in range(15)]
    good = [f"/good/{n}" for n in range(400)]
    links = good + bad if is_last else bad + good
    found, pages = crawl(tmp_path, answer, retry_wait=0.2 if is_last else 0.5)
    assert found["failed"] == {"server": 15}
    assert len(pages) == 401
    assert sum(requested[target] for target in bad) <= (45 if is_last else 30), "not 60"
    works = True
    with ShortSteps(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        assert releases.release(opened, Refusal("failed", "server")) == 15
    found, pages = crawl(tmp_path, answer, retry_wait=0.2)
    assert (found["failed"], len(pages)) == ({}, 416)


@pytest.mark.parametrize("status", ["500 Broken", "503 Busy\r\nRetry-After: 1"])
def test_nothing_is_lost_when_a_host_fails_for_a_time(tmp_path: Path, status: str) -> None:
    """It begins while requests are answered, and lasts for two of three retries."""
    answered = 0
    down_from = 0.0

    def answer(head: bytes) -> Answer:
        nonlocal answered, down_from
        target = target_of(head)
        answered += 1
        if answered > 60:
            down_from = down_from or time.monotonic()
            if time.monotonic() < down_from + 1.0:
                return ok(b"", status=status)
        return page(*(f"/{n % 3}/{n}" for n in range(200))) if target == "/" else page()

    found, pages = crawl(tmp_path, answer, retry_wait=0.3)
    assert found["failed"] == {}
    assert len(pages) == 201
