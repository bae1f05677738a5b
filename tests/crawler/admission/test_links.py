"""Links of responses, in whole crawls: bodies of redirects, headers, limits."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.crawls import SEED, crawl, host_of, page, target_of
from support.servers import Answer, ok

from canonry.canon import Canonicalizer
from canonry.crawler.admission import links
from canonry.crawler.admission.links import LinkFinder, PageLinks
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.documents.by_type import read_document
from canonry.crawler.fetch.response import Response
from canonry.crawler.settings import load
from canonry.storage import Candidate, Queued
from canonry.storage.records import EarlierLinks

HTML = "Content-Type: text/html"


def site(answers: dict[str, bytes], requested: Counter[str]) -> Callable[[bytes], Answer]:
    """Serve paths of hosts: ``host/path``, or a path of any host."""

    def answer(head: bytes) -> Answer:
        host = host_of(head)
        target = target_of(head)
        requested[host + target] += 1
        return answers.get(host + target) or answers.get(target, ok(b"", status="404 Not Found"))

    return answer


def crawled(
    folder: Path, answers: dict[str, bytes], **settings: object
) -> tuple[set[str], dict[str, int], Counter[str]]:
    """Crawl; return the paths with status 200, reasons of held and refused links, and requests."""
    requested: Counter[str] = Counter()
    status, pages = crawl(folder, site(answers, requested), **settings)  # type: ignore[arg-type]
    found = {p["url"].removeprefix("http://a.example") for p in pages if p["status"] == 200}
    refused = {row["reason"]: row["links"] for row in status["refused"]}
    return found, refused | status["held"], requested


def test_the_bodies_of_redirects_have_links_too(tmp_path: Path) -> None:
    away = b'<a href="/to">here</a> or <a href="/else">there</a>'
    answers = {
        "/": page("/moved", "/nowhere", "/choice"),
        "/moved": ok(away, HTML, "Location: /to", status="301 Moved"),
        "/nowhere": ok(b'<a href="/lost">x</a>', HTML, "Location: http://[", status="302 Found"),
        "/choice": ok(b'<a href="/one">', HTML, status="300 Multiple Choices"),
        **dict.fromkeys(["/to", "/else", "/lost", "/one"], ok(b"x")),
    }
    found, _, requested = crawled(tmp_path, answers)
    assert found == {"/", "/to", "/else", "/lost", "/one"}
    assert set(requested.values()) == {1}


def test_redirects_that_grow_are_cut_although_their_bodies_link_to_the_target(
    tmp_path: Path,
) -> None:
    requested: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[target] += 1
        if target == "/robots.txt":
            return ok(b"")
        body = f'<a href="{target}x">here</a>'.encode()
        return ok(body, HTML, f"Location: {target}x", status="301 Moved")

    status, _ = crawl(tmp_path, answer, max_hops=5)
    assert status["held"] == {"too-many-hops": 1}
    assert len(requested) == 7


def test_links_of_headers_are_followed(tmp_path: Path) -> None:
    answers = {
        "/": ok(b"{}", "Content-Type: application/json", 'Link: </2>; rel="next", </c>; rel=copy'),
        "/2": ok(b"", "Link: </3>; rel=next", "X-Robots-Tag: nofollow"),
        "/3": ok(b""),
    }
    found, refused, _ = crawled(tmp_path, answers)
    assert found == {"/", "/2"}
    assert refused == {"nofollow": 1}


def test_a_redirect_that_is_followed_at_once_obeys_the_robots_txt_of_its_target(
    tmp_path: Path,
) -> None:
    answers = {
        "a.example/": ok(b"", "Location: http://www.a.example/", status="301 Moved"),
        "www.a.example/robots.txt": ok(b"User-agent: *\nDisallow: /"),
    }
    _, refused, requested = crawled(tmp_path, answers, policy="archive")
    assert refused == {"robots": 1}
    assert requested["www.a.example/robots.txt"] == 1
    assert requested["www.a.example/"] == 0


@pytest.mark.parametrize("root", ["urlset", "sitemapindex"])
def test_a_sitemap_that_names_itself_under_new_urls_is_not_read_for_ever(
    tmp_path: Path, root: str
) -> None:
    entry = "url" if root == "urlset" else "sitemap"
    requested: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        requested[target] += 1
        if target == "/robots.txt":
            return ok(b"Sitemap: /sitemap.xml?0")
        if not target.startswith("/sitemap.xml"):
            return ok(b"a page")
        number = int(target.partition("?")[2])
        locations = (f"/sitemap.xml?{number + 1}", f"/page/{number}")
        urls = "".join(f"<{entry}><loc>{SEED}{one[1:]}</loc></{entry}>" for one in locations)
        return ok(f"<{root}>{urls}</{root}>".encode(), "Content-Type: application/xml")

    status, _ = crawl(tmp_path, answer, max_pages=400)
    assert requested["/page/100"] == 1
    assert sum("sitemap" in target for target in requested) < 110
    assert [row["reason"] for row in status["refused"]] == ["too-many-sitemaps"]


def test_links_beyond_the_limit_are_refused_and_counted(tmp_path: Path) -> None:
    many = "".join(f'<a href="/{n}">' for n in range(200_000)).encode()
    requested: Counter[str] = Counter()
    status, pages = crawl(tmp_path, site({"/": ok(many, HTML)}, requested), max_pages=1)
    assert pages[0]["links"] == 200_000
    assert status["urls"]["queued"] == 50_000
    assert {row["reason"]: row["links"] for row in status["refused"]} == {"too-many-links": 150_000}


@pytest.mark.parametrize("count", [512, 513, 1025])
def test_of_very_many_links_only_some_are_in_memory_until_they_are_recorded(count: int) -> None:
    settings = load(None, {})
    finder = LinkFinder(URLFilter(Canonicalizer("web"), Scope("host", [SEED]), settings), settings)
    body = "".join(f'<a href="/{n}">' for n in range(count)).encode()
    response = Response(SEED, 200, {"Content-Type": "text/html"}, {}, body, 0.1)
    document = read_document(body, response.headers, SEED)
    recorded: list[Sequence[Candidate]] = []

    async def record(some: Sequence[Candidate]) -> int:
        recorded.append(some)
        return 2

    def found(*record_links: links.RecordLinks) -> PageLinks:
        return asyncio.run(finder.find(Queued(7, SEED, 0, 0, 0), response, document, *record_links))

    parts, whole = found(record), found()
    assert [len(some) for some in recorded] == [512] * ((count - 1) // 512)
    assert (*(one for some in recorded for one in some), *parts.links) == whole.links
    assert parts.earlier == EarlierLinks(len(recorded) * 512, len(recorded) * 2)
    assert parts.total == whole.total == count


def test_links_recorded_before_their_page_count_as_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {
        "/": page(*(f"/{n % 9}#{n}" for n in range(40)), "http://[", "//b.example/", "mailto:a@b"),
        **{f"/{n}": page("/", "/#top", f"/{n + 1}", "/3?utm_source=x") for n in range(12)},
    }

    def counts(folder: Path) -> tuple[object, ...]:
        status, pages = crawl(folder, site(answers, Counter()), log=str(folder / "log"))
        lines = map(json.loads, (folder / "log").read_text().splitlines())
        logged = {line["url"]: (line["links"], line["refused"]) for line in lines if "url" in line}
        kept = {row["url"]: (row["status"], row["links"]) for row in pages}
        merged = {row["rules"]: row["links"] for row in status["merged"]}
        return status["urls"], status["held"], status["refused"], merged, kept, logged

    whole = counts(tmp_path / "whole")
    monkeypatch.setattr(links, "_WAITING", 3)
    assert counts(tmp_path / "parts") == whole


def test_an_endless_calendar_is_held_and_released_again(tmp_path: Path) -> None:
    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/robots.txt":
            return ok(b"")
        if target == "/":
            return page("/day/1", "/about")
        number = int(target.rpartition("/")[2]) if target.startswith("/day/") else 0
        return page(f"/day/{number + 1}") if number else page()

    requested: dict[str, int] = {}
    for limit, days in ((5, 5), (8, 8)):
        status, pages = crawl(tmp_path, answer, traps={"max_per_pattern": limit})
        requested = {p["url"]: p["status"] for p in pages}
        assert len(requested) == days + 2
        assert status["held"] == {"pattern-budget": 1}
    status, pages = crawl(
        tmp_path, answer, traps={"max_per_pattern": 0, "max_per_host": 12}, max_pages=99
    )
    assert len(pages) == 10 + 12
    assert status["held"] == {"host-budget": 1}


@pytest.mark.parametrize("embeds", [False, True])
def test_what_pages_embed_is_fetched_on_request(tmp_path: Path, embeds: bool) -> None:
    answers = {
        "/": ok(b'<img src="/i.png" srcset="/j.png 2x"><form action="/find">', HTML),
        **dict.fromkeys(["/i.png", "/j.png", "/find"], ok(b"x")),
    }
    found, _, _ = crawled(tmp_path, answers, embeds=embeds)
    assert found == {"/", "/find"} | ({"/i.png", "/j.png"} if embeds else set())


def test_queries_are_encoded_as_their_page_is(tmp_path: Path) -> None:
    body = '<a href="/?q=é">'.encode("latin-1")
    _, _, requested = crawled(tmp_path, {"/": ok(body, f"{HTML}; charset=latin1")})
    assert requested["a.example/?q=%E9"] == 1


def test_urls_of_the_first_patterns_are_fetched_first(tmp_path: Path) -> None:
    requested: list[str] = []

    def answer(head: bytes) -> Answer:
        requested.append(target_of(head))
        if requested[-1] == "/":
            return page("/a", "/b", "/product/1", "/c", "/product/2?x", "/d")
        return page("/product/3") if requested[-1] == "/a" else page()

    crawl(tmp_path, answer, first=["*/product/*", "*/d"], requests_per_host=1, concurrency=1)
    assert requested[:2] == ["/robots.txt", "/"]
    assert requested[2:5] == ["/product/1", "/product/2?x", "/d"]
    assert sorted(requested[5:]) == ["/a", "/b", "/c", "/product/3"]


def test_links_that_lead_to_no_page_are_no_faults(tmp_path: Path) -> None:
    links = ("javascript:void(0)", " JavaScript:x()", "java\nscript:y()", "mailto:a@b.example")
    others = ("tel:+1", "data:text/html,x", "data:" + "x" * 500, "about:blank", "sms:1")
    faults = ("ftp://f.example/", "http://[", "javascripts:x")
    notices: list[str] = []
    answers = {"/": page(*links, *others, *faults, "/a"), "/a": page("javascript:void(0)")}
    status, _ = crawl(tmp_path, site(answers, Counter()), notices=notices)
    assert status["not_pages"] == len(links) + len(others) + 1
    assert {row["reason"]: row["links"] for row in status["refused"]} == {"scheme": 2, "host": 1}
    only_scripts = {"/": page("javascript:void(0)")}
    crawl(tmp_path / "b", site(only_scripts, Counter()), notices=notices)
    assert any("No link was found" in notice for notice in notices)


def test_a_seed_whose_links_are_all_marked_nofollow_is_told(tmp_path: Path) -> None:
    """As gitweb and cvsweb mark theirs; else the crawl ends after a page, and nothing says why."""
    notices: list[str] = []
    marked = b"".join(b'<a href="/%d" rel="nofollow">x</a>' % number for number in range(3))
    closed = {"/": ok(marked, "Content-Type: text/html"), "/a": page()}
    status, _ = crawl(tmp_path, site(closed, Counter()), notices=notices)
    assert status["refused"][0]["reason"] == "nofollow"
    [told] = notices
    assert "3 links marked nofollow: --config crawl.respect_nofollow=false" in told
    crawl(tmp_path / "b", site(closed | {"/": page("/a")}, Counter()), notices=notices)
    assert notices == [told], "a page that a seed links to may well have no links"
