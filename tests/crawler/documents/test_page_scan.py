"""The compiled scan gives a page the very tags and blocks that the plain one gives it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries
from support.tables import each

from canonry.crawler.documents.page_scan import VERSION, scan_plainly
from canonry.crawler.documents.text_blocks import plain_text_blocks
from canonry.crawler.documents.tokenizer import in_attribute, title_of

native = pytest.importorskip(
    "canonry.crawler.documents._page_scan", reason="needs the compiled kernel"
)

NAMES = [
    *("a", "A", "area", "base", "form", "iframe", "link", "meta", "title", "img", "source", "ab"),
    *("script", "SCRIPT", "style", "textarea", "plaintext", "svg", "math", "template", "b", "h1"),
    *("p", "P", "li", "td", "pre", "br", "noscript", "div", "x-y", "n" * 64, "n" * 70, "é", "a\0"),
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
TEXTS = [
    *("word", "Other. ", "three four five six", "?", "12!", "価格", "x" * 47, "x" * 48, "x" * 49),
    *("X" * 130, "y" * 8, "y" * 7, "\t", "\v", "\n ", ";", "#", "data:x", "a " * 20, "\u0e01" * 90),
    *(' class="a b12"', " CLASS = 'x y '", " class=", " src=/a/b.png?x", ' src="data:y"', " src="),
    *("<![CDATA[", "]]>", "<img", "<li class=>", "<p title='", "<1"),
]
GAPS = [" ", "", "  ", "\n", "/", " x "]
WRITTEN = st.sampled_from(
    ["href", "class", "hrefs", "rel", "relx", "HREF", "src", "id", "data-x", "=", "é"]
)
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
ANY = st.sampled_from(PARTS) | st.sampled_from(TEXTS) | TAGS
# Of few parts, so that what belongs together meets often.
MARKUP = st.lists(ANY, min_size=1, max_size=8).flatmap(
    lambda some: st.lists(st.sampled_from(some), max_size=40).map("".join)
) | st.lists(ANY, max_size=60).map("".join)
MANY = st.tuples(MARKUP, st.sampled_from([" a=b", "=", ' "="', " c", "='"]), MARKUP).map(
    lambda some: f"{some[0]}<a {some[1] * 1005}{some[2]}"
)


# Elements of which something is read, one that is like any other, and two with long names.
_NAMED = (
    b"a area audio base br col dd dt div embed form frame hr iframe img input li link math meta "
    b"noembed noframes noscript object option p param plaintext pre script source style svg td "
    b"template textarea th title tr track video wbr xmp"
)
ELEMENTS = [*(name.decode() for name in _NAMED.split()), "n" * 64, "n" * 65]


class Page:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.found: list[object] = []

    def add_link(self, reference: str) -> None:
        self.found.append(reference)

    def add_title(self, text: str) -> None:
        self.found.append(("title", text))

    def add(self, name: str, attributes: dict[str, str]) -> None:
        self.found.append((name, attributes))


def compiled(
    body: bytes, *, embeds: bool = False, xml: bool = False
) -> tuple[list[object], bytes | None]:
    """Return what the compiled scan gives."""
    page = Page()
    blocks = native.scan_page(
        *(body, xml, True, embeds, page.add_link, lambda text: page.add_title(title_of(text))),
        *(page.add, in_attribute),
    )
    return page.found, blocks


def plain(
    body: bytes, *, embeds: bool = False, xml: bool = False
) -> tuple[list[object], bytes | None]:
    """Return what the plain scan gives."""
    page = Page()
    blocks = scan_plainly(body, page, xml=xml, blocks=True, embeds=embeds)
    return page.found, blocks


def test_the_versions_are_equal() -> None:
    assert native.VERSION == VERSION


@settings(max_examples=tries(1))
@given((MARKUP | MANY).map(str.encode) | st.binary(max_size=300), st.booleans(), st.booleans())
def test_both_scans_agree(body: bytes, embeds: bool, xml: bool) -> None:
    expected = plain(body, embeds=embeds, xml=xml)
    assert compiled(body, embeds=embeds, xml=xml) == expected
    links = Page()  # without blocks, the plain scan skips most tags
    assert scan_plainly(body, links, xml=xml, blocks=False, embeds=embeds) is None
    assert links.found == expected[0]
    assert native.scan_page(body, xml, True, embeds) == expected[1]  # noqa: FBT003


@settings(max_examples=tries(1))
@given(st.lists(st.sampled_from(TEXTS) | st.binary(max_size=9), max_size=60))
def test_both_scans_of_plain_text_agree(parts: list[str | bytes]) -> None:
    body = b"".join(one if isinstance(one, bytes) else one.encode() for one in parts)
    assert native.scan_text(body) == plain_text_blocks(body)


@given(MARKUP | st.text(max_size=20), st.binary(max_size=4), st.binary(max_size=4))
def test_bytes_of_no_encoding_are_replaced_alike(text: str, one: bytes, other: bytes) -> None:
    body = one + text.encode() + other + b"<a href=/x" + one + b">"
    assert compiled(body) == plain(body)


@each("name", ELEMENTS)
@each("xml", [False, True])
def test_each_element_is_read_alike(name: str, xml: bool) -> None:
    given = f"{name} class='b 1' href=/h?q src=/s?q action=/f"
    inside = "one\ntwo <b>three</b>\n<!-- a --!>four<a rel=x href=y>z</a>"
    for tag in (f"<{given}>", f"<{given} />", f"<{given.upper()} rel=c>"):
        for end in (f"</{name}>", f"</{name.upper()} >", f"</{name}x>", f"<{name}>", ""):
            page = f"<i>{tag}{inside}{tag}{inside}{end}five{end}six<link href=l><a href=m>"
            for body in (page.encode(), f"<svg>{page}</svg>{page}".encode()):
                assert compiled(body, embeds=True, xml=xml) == plain(body, embeds=True, xml=xml)


@each("last", ["href=y", "rel=x", "class=z", "src=w"])
@each("name", ["a", "img", "p"])
def test_so_many_attributes_are_read_and_no_more(name: str, last: str) -> None:
    for before in (998, 999, 1000, 1001):
        body = f"<{name} href=a {'b ' * (before - 1)}{last}>text".encode()
        for page in (body, body.replace(b"href=a", b"c")):
            assert compiled(page, embeds=True) == plain(page, embeds=True)


def test_pages_with_many_links_and_blocks_are_read_alike() -> None:
    """Tags are given in batches, and the blocks beyond a limit are one."""
    page = "".join(f"<p class=c{n}><a href=/{n}>{n}</a> one.<a rel=x href=y>" for n in range(3000))
    assert compiled(page.encode()) == plain(page.encode())


def test_a_title_ends_where_the_plain_one_does() -> None:
    for letter in ("x", "é", "価", "😀"):
        for shift in range(5):
            text = f"<title>{'y' * shift}{letter * 17_000}</title><a href=z>"
            assert compiled(text.encode()) == plain(text.encode())


def test_an_error_of_the_page_comes_out() -> None:
    def fail(_text: str) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        native.scan_page(b'<a href="x">', False, True, False, fail, fail, fail, fail)  # noqa: FBT003
    with pytest.raises(ValueError, match="no"):
        native.scan_page(b'<a href="&">', False, True, False, print, fail, fail, fail)  # noqa: FBT003
    with pytest.raises(ValueError, match="no"):
        native.scan_page(b"<link href=&>", False, True, False, fail, fail, fail, fail)  # noqa: FBT003


@each(
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
        *(
            b"<p>",
            b"<p class=x>a.",
            b"</p>",
            b"X" * 50,
            b"<![CDATA[",
            b"<noscript>",
            b"<img src=x>",
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
