"""Sitemaps, feeds and plain text: all listed URLs are found, and nothing else."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.servers import Answer, Raw, ok, raw_server
from support.sites import exported, from_thread, run_command
from support.strategies import tries

from canonry.crawler.documents import feeds

URL = "http://h.example/feeds/a.xml"
_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_ATOM = "http://www.w3.org/2005/Atom"

CASES: dict[str, tuple[str, list[str]]] = {
    "urlset": (
        (
            f'<?xml version="1.0"?><urlset xmlns="{_SITEMAPS}" xmlns:i="http://www.google.com/image">'
            "<url><loc>http://h.example/1?a=1&amp;b=2</loc>"
            "<i:image><i:loc>http://h.example/not.png</i:loc></i:image></url>"
            "<url><lastmod>2024-01-01</lastmod><loc>\n http://h.example/2 \n</loc></url></urlset>"
        ),
        ["http://h.example/1?a=1&b=2", "http://h.example/2"],
    ),
    "sitemapindex": (
        (
            f'<s:sitemapindex xmlns:s="{_SITEMAPS}"><s:sitemap><s:loc>http://h.example/s.xml.gz</s:loc>'
            "</s:sitemap></s:sitemapindex>"
        ),
        ["http://h.example/s.xml.gz"],
    ),
    "atom": (
        (
            f'<feed xmlns="{_ATOM}" xml:base="http://h.example/b/"><link href="c"/>'
            '<link rel="self" href="not"/><link rel="next" href="?page=2"/>'
            '<entry xml:base="d/"><link rel="alternate" href="1"/>'
            '<link rel="enclosure" href="not.mp3"/>'
            '<content type="html">&lt;a href="not"></content></entry>'
            '<entry><link rel="alternate" href="../2"/><link rel="edit" href="not"/></entry></feed>'
        ),
        [
            "http://h.example/b/c",
            "http://h.example/b/?page=2",
            "http://h.example/b/d/1",
            "http://h.example/2",
        ],
    ),
    "rss": (
        (
            f'<rss version="2.0" xmlns:atom="{_ATOM}"><channel><link>http://h.example/</link>'
            '<atom:link href="http://h.example/not" rel="self"/><title>x</title>'
            "<image><link>http://h.example/not</link></image>"
            "<item><link>\n1?a=1&amp;b</link><guid>not</guid></item>"
            "<item><link><![CDATA[http://o.example/2]]></link></item></channel></rss>"
        ),
        ["http://h.example/", "http://h.example/feeds/1?a=1&b", "http://o.example/2"],
    ),
    "rdf": (
        (
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
            "<channel><link>http://h.example/</link></channel>"
            "<item><link>http://h.example/1</link></item></rdf:RDF>"
        ),
        ["http://h.example/", "http://h.example/1"],
    ),
    "broken": (
        "<urlset><url><loc>http://h.example/1</loc></url><url><loc>http://h.example/2</loc></url><url",
        ["http://h.example/1", "http://h.example/2"],
    ),
    "entities": (
        (
            '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
            "<urlset><url><loc>http://h.example/&b;</loc></url></urlset>"
        ),
        [],
    ),
    "an entity": (
        (
            '<!DOCTYPE a [<!ENTITY h "http://h.example">]><urlset><url><loc>&h;/1</loc></url>'
            "<url><loc>http://h.example/&unknown;</loc></url><url><loc>&h;/2</loc></url></urlset>"
        ),
        ["http://h.example/1", "http://h.example/2"],
    ),
    "a file": (
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><urlset><url><loc>http://h.example/1</loc></url></urlset>',
        ["http://h.example/1"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_listed_urls_are_found(name: str) -> None:
    text, expected = CASES[name]
    assert feeds.is_feed("text/xml", text.encode())
    found = feeds.read(text.encode(), "application/xml", URL)
    assert list(found.links) == expected
    assert (found.unfollowed, found.canonical, found.title) == ((), None, None)
    unreadable = {
        "entities": ("http://h.example/&b;",),
        "an entity": ("http://h.example/&unknown;",),
    }
    assert found.unreadable == unreadable.get(name, ())


def test_a_sitemap_in_pieces_may_declare_entities() -> None:
    """As dedup reads it: nothing is lost, and a URL that cannot be known is told."""
    text, expected = CASES["an entity"]
    text = text.replace("&h;/1", "&h;/1?a&amp;b").replace("[<", "[<!ENTITY unknown SYSTEM 'x'><")
    reader = feeds.FeedReader()
    found = [one for part in text.encode().partition(b"&h;") for one in reader.feed(part)]
    assert [one.reference for one in found if one.is_whole] == [f"{expected[0]}?a&b", expected[1]]
    assert len(found) == 3
    with pytest.raises(OSError, match="does not need"):
        feeds.FeedReader().feed(CASES["entities"][0].encode())


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'<?xml version="1.0" encoding="windows-1251"?><urlset>{}</urlset>', "text/xml"),
        (b"<urlset>{}</urlset>", "text/xml; charset=windows-1251"),
    ],
)
def test_a_feed_is_read_in_its_own_encoding(body: bytes, kind: str) -> None:
    path = "\N{CYRILLIC SMALL LETTER YA}"
    item = f"<url><loc>http://h.example/{path}</loc></url>".encode("cp1251")
    [found] = feeds.read(body.replace(b"{}", item), kind, URL).links
    assert found == "http://h.example/%D1%8F"


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/rss+xml; charset=utf-8", b"<rss>", True),
        ("application/atom+xml", b"<?xml?>\n<!-- c --><atom:feed xmlns:atom=", True),
        (None, b"\xef\xbb\xbf<urlset>", True),
        ("text/html", b"<rss>", False),
        ("application/xml", b"<other>", False),
        ("application/xhtml+xml", b"<html><rssfeed>", False),
        ("text/xml", b"<feedback>", False),
        ("application/json", b"<feed>", False),
    ],
)
def test_which_responses_are_feeds(kind: str | None, body: bytes, expected: bool) -> None:
    assert feeds.is_feed(kind, body) is expected


@given(st.binary(max_size=200), st.sampled_from([*CASES]), st.integers(0, 400))
@settings(max_examples=tries(0.5))
def test_no_content_raises_an_error(noise: bytes, name: str, place: int) -> None:
    body = CASES[name][0].encode()
    feeds.read(body[:place] + noise + body[place:], "text/xml", URL)


def test_a_crawl_follows_sitemaps_feeds_and_texts(tmp_path: Path) -> None:
    """The home page has no links: everything is found through the sitemaps in robots.txt."""

    def page(number: int) -> str:
        return f"http://h.example/page/{number}"

    def listed(*urls: str, outer: str = "urlset", inner: str = "url") -> bytes:
        items = "".join(f"<{inner}><loc>{url}</loc></{inner}>" for url in urls)
        return f"<{outer}>{items}</{outer}>".encode()

    answers = {
        "/robots.txt": (
            (
                b"Sitemap: http://h.example/index.xml\nSitemap: /texts.txt\n"
                b"Sitemap: http://elsewhere.example/s.xml\nUser-agent: *\nDisallow: /page/4"
            ),
            "text/plain",
        ),
        "/": (b"<p>nothing", "text/html"),
        "/index.xml": (
            listed(
                "http://h.example/a.xml.gz",
                "http://h.example/feed",
                outer="sitemapindex",
                inner="sitemap",
            ),
            "application/xml",
        ),
        "/a.xml.gz": (gzip.compress(listed(page(1), page(4), page(1))), "application/gzip"),
        "/feed": (
            f"<rss><channel><item><link>{page(2)}</link></item></channel></rss>".encode(),
            "application/rss+xml",
        ),
        "/texts.txt": (f"{page(3)}\nand <{page(1)}#x>.".encode(), "text/plain; charset=utf-8"),
    }
    requested: list[str] = []

    def site(head: bytes) -> Answer:
        path = head.split(b" ")[1].decode()
        requested.append(path)
        body, kind = answers.get(path, (b"<p>a page", "text/html"))
        return ok(body, f"Content-Type: {kind}")

    def crawl(raw: Raw, *more: str) -> None:
        connect = f"::127.0.0.1:{raw.port}"
        words = ["crawl", "http://h.example/", "--connect-to", connect, "--delay", "0", *more]
        done = run_command(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr

    with from_thread(raw_server(site)) as raw:
        crawl(raw, "--max-pages", "1")
        crawl(raw)  # robots.txt is cached; its sitemaps are followed all the same
        expected = [*answers, "/page/1", "/page/2", "/page/3"]
        assert sorted(requested) == sorted(expected), "each once"
        refused = {row["url"]: row["reason"] for row in exported(tmp_path, "refused")}
        assert refused == {page(4): "robots", "http://elsewhere.example/s.xml": "out-of-scope"}
        requested.clear()
        (tmp_path / "no.toml").write_text("[crawl]\nsitemaps = false\n")
        crawl(raw, "--store", "sqlite:///other.db", "--config", "no.toml")
    assert requested == ["/robots.txt", "/"]
    status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
    assert status["urls"]["queued"] == 0


def test_a_packed_sitemap_is_read_up_to_the_body_limit(tmp_path: Path) -> None:
    """A decompression bomb: the URL before the padding is found."""
    bomb = gzip.compress(b"<urlset><url><loc>http://h.example/1</loc></url>" + b"\n" * (1 << 26))
    requested: list[str] = []

    def site(head: bytes) -> Answer:
        path = head.split(b" ")[1].decode()
        requested.append(path)
        if path == "/s.gz":
            return ok(bomb, "Content-Type: application/x-gzip")
        return ok(b"Sitemap: /s.gz" if path == "/robots.txt" else b"x", "Content-Type: text/plain")

    with from_thread(raw_server(site)) as raw:
        connect = f"::127.0.0.1:{raw.port}"
        words = ["crawl", "http://h.example/", "--connect-to", connect, "--delay", "0"]
        (tmp_path / "c.toml").write_text("[fetch]\nmax_body = 2000000\n")
        done = run_command(*words, "--config", "c.toml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(requested) == ["/", "/1", "/robots.txt", "/s.gz"]


@pytest.mark.parametrize("head", ["", "<!DOCTYPE urlset [<!ENTITY own 'o'>]>"])
def test_an_entity_that_is_not_declared_costs_only_its_own_url(head: str) -> None:
    locs = ("a&eacute;", "b&unheard;", "c&own;", "d")
    text = "".join(f"<url><loc>http://a.example/{loc}</loc></url>" for loc in locs)
    listed = feeds.FeedReader().feed(f"{head}<urlset>{text}</urlset>".encode(), last=True)
    whole = [one.reference.rpartition("/")[2] for one in listed if one.is_whole]
    assert whole == ["aé", *(["co"] if head else []), "d"]
    assert len(listed) == len(locs)
