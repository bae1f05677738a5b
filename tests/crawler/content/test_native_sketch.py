"""The compiled scan gives the very sketches of the plain one."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.crawler.content.plain_scan import VERSION, read, scan
from canonry.crawler.demo.site import build

native = pytest.importorskip("canonry.crawler.content._sketch", reason="needs the compiled kernel")

HTML = True
PARTS = [
    *("<p>", "</p>", "<br/>", "<!--", "-->", "<!-->", "<!--->", "<!doctype html>", "<?xml", "?>"),
    *("<script>", "</script>", "</SCRIPT", "<style", "</style>", "<noscript>", "<template>", "<"),
    *("<title>", "</title>", "<h1 class='a>b'>", "</h1>", '<a href="', '"', "'", "=", "= '", " "),
    *("<img src='/a/b.png?x'>", "<IMG data-SRC=c.gif>", "<img src=", "data:x", "/", "</", ">"),
    *("<img", "src", "src=", "Data:y", "x.png", "<![CDATA[", "<!", "<h1", "<h1>", "<h2", "</h"),
    *("&amp;", "&#8217;", "&", ";", "#", "\0", "\n", "word", "Other", "three four five six", "12"),
    *("a1b2", "19.99", "é", "価格", "x" * 7, "x" * 8, "x" * 9, "X" * 17, "A", "_", "-", "@[`{Zz"),
    *(
        '<div class="post-17 box">',
        "<p CLASS=big>",
        "<p class=",
        "class='",
        "class",
        "</p class=x>",
        "<main>",
        "</footer>",
        "<NAV>",
        "<h6>",
        "<h7>",
        "</ul>",
        "<a href=/x/y.html;z>",
        "<A HREF='?q'>",
        "<a data-href=u/v href='w#x'>",
    ),
    *("y" * 63, "1" * 64, "z" * 65, " " * 61, "w" * 130),
]
MARKUP = st.lists(st.sampled_from(PARTS), max_size=80).map(lambda parts: "".join(parts).encode())
TEXT = st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=20, max_size=300).map(
    lambda words: " ".join(words).encode()
)


def test_the_versions_are_equal() -> None:
    assert native.VERSION == VERSION


@settings(max_examples=1000)
@given(MARKUP | TEXT | st.binary(max_size=300), st.booleans())
def test_both_scans_agree(body: bytes, markup: bool) -> None:
    assert native.scan(body, markup) == scan(body, markup)
    assert native.read(body, markup) == read(body, markup)


@pytest.mark.parametrize("body", [b"1", b"1 " * 50_000, b"1 2 a " * 20_000, b"<1>" * 30_000])
def test_there_is_room_for_all_that_a_body_says(body: bytes) -> None:
    """A number of one digit, which is noted twice, takes two bytes."""
    assert native.read(body, HTML) == read(body, HTML)


def test_both_scans_agree_on_the_demo_site() -> None:
    site = build()
    assert len(site.resources) > 300
    for resource in site.resources.values():
        body = site.body(resource).encode()
        assert native.scan(body, HTML) == scan(body, HTML)


@pytest.mark.parametrize(
    "part",
    [
        *(b"<a b='", b"<", b"<!--", b"<script>", b"<a href=\"x'", b"=", b"<img src=", b"word "),
        *(b"&a;", b"</title", b"<template></", b"x", b"\0", b"<a b='>' \"", b"<a b=\"c='"),
    ],
)
def test_ten_megabytes_of_anything_take_linear_time(part: bytes) -> None:
    body = part * (10_000_000 // len(part))
    start = time.thread_time()
    native.scan(body, HTML)
    assert time.thread_time() - start < 5
    start = time.thread_time()
    scan(body[:300_000], HTML)
    assert time.thread_time() - start < 5
