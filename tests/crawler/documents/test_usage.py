"""What sites say about the use of their pages is read, and only what says no reserves a use."""

import pytest
from multidict import CIMultiDict
from support.tables import each

from canonry.crawler.documents import usage
from canonry.crawler.documents.html import read
from canonry.crawler.documents.usage import UseStatement
from canonry.crawler.fetch.robots_rules import parse_robots


@each(
    ("name", "value", "reserved"),
    [
        ("content-signal", "search=yes, ai-input=no, ai-train=no", "ai-input ai-train"),
        ("content-signal", "search=yes, ai-train=yes", ""),
        ("content-usage", "train-ai=n, search=y", "ai-train"),
        ("content-usage", "train-ai=n;exceptions=1", "ai-train"),  # parameters mean nothing here
        ("content-usage", "train-ai=n, train-ai=y", ""),  # RFC 9651: the last of a name
        ("content-usage", "bots=n, cooking=n", ""),  # of no vocabulary that we know
        ("content-usage", "train-ai, search=?0", ""),
        ("x-robots-tag", "noindex, nofollow", "search"),
        ("x-robots-tag", "none", "search"),
        ("x-robots-tag", "nofollow", ""),
        ("x-robots-tag", "noarchive, nosnippet", "archive snippet"),
        ("robots", "NOAI, noimageai", "ai-train"),
        ("robots", "noimageai", ""),  # of images alone
        ("tdm-reservation", "1", "ai-train tdm"),
        ("tdm-reservation", "0", ""),
        ("tdm-policy", "https://a.example/noindex", ""),
    ],
)
def test_what_says_no_reserves_a_use(name: str, value: str, reserved: str) -> None:
    assert " ".join(usage.reserved([UseStatement("header", name, value)])) == reserved


def test_directives_about_images_reserve_images() -> None:
    said = [UseStatement("header", "x-robots-tag", "noimageai, noimageindex")]
    assert usage.reserved(said, "image/png") == ("search", "ai-train")
    assert usage.reserved(said, "text/html") == ()


def test_one_no_is_enough() -> None:
    said = [
        UseStatement("robots.txt", "content-signal", "ai-train=no"),
        UseStatement("header", "content-usage", "train-ai=y"),
    ]
    assert usage.reserved(said) == ("ai-train",)


def test_headers_for_other_crawlers_are_left_out() -> None:
    headers = CIMultiDict(
        [
            ("X-Robots-Tag", "otherbot: noindex, noai"),
            ("x-robots-tag", "noarchive"),
            ("X-Robots-Tag", "canonry: nosnippet"),
            ("Content-Usage", "train-ai=n"),
            ("Content-Usage", "search=y"),
            ("Server", "noai"),
        ]
    )
    assert list(map(str, usage.in_headers(headers, "Canonry"))) == [
        "header x-robots-tag: noarchive, nosnippet",
        "header content-usage: train-ai=n, search=y",
    ]


def test_meta_elements_are_read_with_any_kernel() -> None:
    html = (
        b'<meta name="Robots" content="noai,noindex"><meta name=canonry content=noarchive>'
        b"<meta name=tdm-reservation content=1><meta name=otherbot content=nosnippet>"
    )
    found = read(html, "text/html", "https://a.example/", own_name="canonry", embeds=False)
    assert found.use == (
        ("robots", "noai,noindex"),
        ("robots", "noarchive"),
        ("tdm-reservation", "1"),
    )


ROBOTS = """\
Content-Signal: search=yes, ai-train=no
User-agent: other
Content-Signal: search=no
Content-Usage: /free train-ai=n
Allow: /

User-agent: *
Content-Usage: train-ai=n
Content-Usage: /free/ train-ai=y
Content-Usage: /free/ search=y
Content-Usage: /*.pdf$ search=n
Disallow: /x
"""


@pytest.mark.parametrize(
    ("agent", "path", "usages"),
    [
        ("canonry", "/", "train-ai=n"),
        ("canonry", "/free", "train-ai=n"),
        ("canonry", "/free/a", "train-ai=y, search=y"),
        ("canonry", "/a.pdf", "search=n"),
    ],
)
def test_the_longest_path_of_robots_decides(agent: str, path: str, usages: str) -> None:
    said = dict(parse_robots(ROBOTS, agent).uses(f"https://a.example{path}"))
    assert said == {"content-signal": "search=yes, ai-train=no", "content-usage": usages}


def test_a_group_of_its_own_wins_and_rules_stay_as_they_were() -> None:
    rules = parse_robots(ROBOTS, "other")
    assert dict(rules.uses("https://a.example/free/a")) == {
        "content-signal": "search=yes, ai-train=no, search=no",
        "content-usage": "train-ai=n",
    }
    assert rules.allow("https://a.example/x")
    assert not parse_robots(ROBOTS, "canonry").allow("https://a.example/x")


def test_fields_about_use_end_no_group_for_other_fields() -> None:
    """Parsing of other records must not interfere with rules (RFC 9309 section 2.2.4)."""
    text = "User-agent: a\nContent-Signal: search=no\nUser-agent: b\nDisallow: /x\nCrawl-delay: 3\n"
    assert not parse_robots(text, "a").allow("https://a.example/x")
    assert parse_robots(text, "a").delay == 3.0
    assert dict(parse_robots(text, "b").uses("https://a.example/")) == {}


def test_statements_are_stored_one_a_line_and_bounded() -> None:
    long = UseStatement("header", "tdm-policy", "x" * 10_000 + "\n y")
    stored = usage.as_stored([long, long, UseStatement("meta", "robots", "noai")])
    assert stored is not None
    assert [line[:18] for line in stored.split("\n")] == ["header tdm-policy:", "meta robots: noai"]
    assert len(stored) < 1_000
    assert usage.as_stored([]) is None
