"""The compiled reader gives a page the very tags that the plain one gives it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.crawler.documents.encodings import decode, encoded_in_utf8
from canonry.crawler.documents.html import EMBEDDING, LINKING
from canonry.crawler.documents.tags import VERSION, in_attribute, read_tags, title_of

native = pytest.importorskip("canonry.crawler.documents._tags", reason="needs the compiled kernel")

NAMES = [
    *("a", "A", "area", "base", "form", "iframe", "link", "meta", "title", "img", "source", "ab"),
    *("script", "SCRIPT", "style", "textarea", "plaintext", "svg", "math", "template", "b", "h1"),
]
PARTS = [
    *(f"{mark}{name}{end}" for name in NAMES for mark in ("<", "</") for end in ("", ">", " ")),
    *(' href="/b"', " href=c", " href='d'", ' HREF = "e" ', ' rel="nofollow"', ' class="x"'),
    *(' href="/b">', ' class="y" href="z" id="i">', ' href="f" href="g">', ' hrefs="h"', "/>"),
    *("<a href='/1'>", '<a href="/2">', '<a class="c" href="/3?a=1&amp;b=2">', "<title>t</title>"),
    *("<!--", "-->", "--!>", "<!-->", "<!--->", "<!", "<?", "<", "</", "</>", ">", "/", "=", '"'),
    *("'", " ", "\n", "\f", "&", "&amp;", "&#x41;", "\0", "é", "価", "😀", "-", "!", "x", "\x7f"),
    *(
        "\u017f",
        "<\u017fcript>",
        "</\u017ftyle>",
        "<!--<script>",
        "</script>",
        "content",
        "src=",
        "a=b",
        "==",
        "=",
    ),
]
GAPS = [" ", "", "  ", "\n", "/", " x "]
WRITTEN = st.sampled_from(["href", "hrefs", "rel", "relx", "HREF", "src", "id", "data-x", "=", "é"])
VALUES = st.sampled_from(['="a&amp;b"', "='c>d'", "=e=f", "", "=", '="', " = 'g'", '="h"', "=i/"])
TAGS = st.builds(
    lambda name, attributes, end: f"<{name}{''.join(map(''.join, attributes))}{end}",
    st.just("a") | st.sampled_from(NAMES),  # most tags as most are
    st.lists(
        st.tuples(st.just(" ") | st.sampled_from(GAPS), WRITTEN, st.just('="v"') | VALUES),
        max_size=3,
    ),
    st.just(">") | st.sampled_from([" >", "/>", ""]),
)
MARKUP = st.lists(st.sampled_from(PARTS) | TAGS, max_size=40).map("".join)
MANY = st.tuples(MARKUP, st.sampled_from([" a=b", "=", ' "="', " c", "='"]), MARKUP).map(
    lambda some: f"{some[0]}<a {some[1] * 1005}{some[2]}"
)


class Page:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.found: list[object] = []

    def add_link(self, reference: str) -> None:
        self.found.append(reference)

    def add_title(self, text: str) -> None:
        self.found.append(("title", text))

    def add(self, name: str, attributes: dict[str, str]) -> None:
        if name == "a" and "rel" not in attributes:
            self.found += [attributes[key] for key in ("href",) if key in attributes]
        else:
            self.found.append((name, attributes))


def compiled(body: bytes, *, embeds: bool = False, xml: bool = False) -> list[object]:
    """Return what the compiled reader gives."""
    page = Page()
    native.read_tags(
        *(body, embeds, xml, page.add_link, lambda text: page.add_title(title_of(text))),
        *(page.add, in_attribute),
    )
    return page.found


def test_the_versions_are_equal() -> None:
    assert native.VERSION == VERSION


@settings(max_examples=tries(1))
@given(MARKUP | MANY, st.booleans(), st.booleans())
def test_both_readers_agree(text: str, embeds: bool, xml: bool) -> None:
    page = Page()
    read_tags(text, page, EMBEDDING if embeds else LINKING, xml=xml)
    assert compiled(text.encode(), embeds=embeds, xml=xml) == page.found


@given(MARKUP | st.text(max_size=20), st.binary(max_size=4), st.binary(max_size=4))
def test_bytes_of_no_encoding_are_replaced_alike(text: str, one: bytes, other: bytes) -> None:
    for kind in (None, "text/html; charset=utf-8", "text/html; charset=gbk"):
        body = one + text.encode() + other + b"<a href=/x" + one + b">"
        page = Page()
        decoded = decode(body, kind)
        read_tags(decoded.text, page, LINKING)
        markup, encoding = encoded_in_utf8(body, kind)
        assert (compiled(markup), encoding) == (page.found, decoded.encoding)


def test_a_title_ends_where_the_plain_one_does() -> None:
    for letter in ("x", "é", "価", "😀"):
        for shift in range(5):
            text = f"<title>{'y' * shift}{letter * 17_000}</title><a href=z>"
            page = Page()
            read_tags(text, page, LINKING)
            assert compiled(text.encode()) == page.found


def test_an_error_of_the_page_comes_out() -> None:
    def fail(_text: str) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        native.read_tags(b'<a href="x">', False, False, fail, fail, fail, fail)  # noqa: FBT003
    with pytest.raises(ValueError, match="no"):
        native.read_tags(b'<a href="&">', False, False, print, fail, fail, fail)  # noqa: FBT003


@pytest.mark.parametrize(
    "part",
    [
        *(b"<a b='", b"<", b"<!--", b"<script>", b"<script><!--", b"<a href=\"x'", b"=", b"<a ="),
        *(
            b"&a;",
            b"</title",
            b"<template>",
            b"x",
            b"\0",
            b"<a b='>' \"",
            b"<a b=\"c='",
            b"-",
            b"/ ",
        ),
        *(b"<svg><title>", b"<!", b"<a", b"< a", b'<a href="', b"<style></styl", b"--!", b" a='"),
    ],
)
def test_two_megabytes_of_anything_take_linear_time(part: bytes) -> None:
    body = b"<a " + part * (2_000_000 // len(part)) + b">"
    start = time.thread_time()
    compiled(body)
    compiled(body[3:])
    assert time.thread_time() - start < 2
