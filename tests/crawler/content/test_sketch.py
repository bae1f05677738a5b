"""Sketches: what counts as text, and that no bytes break them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.content.plain_scan import MOST_SHINGLES
from canonry.crawler.content.sketch import Sketch, encoded_sketch, sketch, without_details

HTML = "text/html; charset=utf-8"
PARTS = [
    *("<p>", "</p>", "<br/>", "<!--", "-->", "<!-->", "<!doctype html>", "<?xml", "?>", ">", "<"),
    *("<script>", "</script>", "</SCRIPT", "<style", "</style>", "<noscript>", "<template>"),
    *("<title>", "</title>", "<h1 class='a>b'>", "</h1>", '<a href="', '"', "'", "=", "= '", " "),
    *(
        "<img src='/a/b.png?x'>",
        "<img data-src=c.gif>",
        "<img src=",
        "data:x",
        "/",
        "</",
        "<![CDATA[",
    ),
    *("&amp;", "&#8217;", "&", ";", "#", "\0", "\n", "word", "Other", "three four five six", "12"),
    *("a1b2", "19.99", "é", "価格", "x" * 7, "x" * 8, "x" * 9, "X" * 17, "A", "_", "-"),
]
MARKUP = st.lists(st.sampled_from(PARTS), max_size=60).map(lambda parts: "".join(parts).encode())


def of(html: str) -> Sketch:
    """Return the sketch of some HTML."""
    made = sketch(html.encode(), HTML)
    assert made is not None
    return made


@given(MARKUP | st.binary(max_size=300))
def test_any_bytes_have_a_sketch_of_at_most_99_bytes(body: bytes) -> None:
    for kind in (HTML, "text/plain"):
        made = sketch(body, kind)
        assert made is not None
        assert list(made.shingles) == sorted(set(made.shingles))
        assert len(made.shingles) <= MOST_SHINGLES
        encoded = made.encode()
        assert encoded == encoded_sketch(body, kind)
        assert len(encoded) <= 99
        assert Sketch.decode(encoded) == made


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- hidden words 1 -->",
        "<!-- > -->",
        "<script>var hidden = '<p>' + 12</script>",
        "<STYLE>p { hidden: 1px }</Style >",
        "<noscript>hidden <b>words</b> 7</noscript>",
        "<template><p>hidden</p></template>",
        "<?php hidden ?>",
        "<!doctype hidden>",
        "&nbsp;",
        "&#8217;",
        "<p data-x=hidden >",
        '<img src="data:image/png;base64,abc123">',
        "</>",
    ],
)
def test_what_is_not_visible_changes_nothing(hidden: str) -> None:
    plain = "<title>One</title><p>Some words of a page {} and <b>others</b> 12 as well</p>"
    assert of(plain.format(hidden)) == of(plain.format(" "))


@pytest.mark.parametrize(
    "tag",
    ['<input type="hidden" value="token 1234 > 5">', "<a title='a > b' href='/?x12'>"],
)
def test_a_tag_changes_nothing_but_where_words_stand(tag: str) -> None:
    plain = "<title>One</title><p>Some words of a page {} and <b>others</b> 12 as well</p>"
    with_tag, without = of(plain.format(tag)), of(plain.format(" "))
    assert with_tag.passages != without.passages
    assert with_tag._replace(passages=without.passages) == without


def test_text_counts_in_any_letter_case_and_layout() -> None:
    one, other = of("<p>Some  words\n<b>of</b> a Page"), of("<div>some words of a page</div>")
    assert one._replace(passages=other.passages) == other
    assert of("<p>Some  words\nOF a Page") == of("<p>some words of a page")
    assert of("a < b <3 words") != of("a b words")


def test_numbers_are_apart_from_the_text() -> None:
    one, other = (of(f"<h1>A page</h1>Some words that cost {p} euros") for p in ("19.99", "24.99"))
    assert one.shingles == other.shingles
    assert one.heading == other.heading
    assert one.text == other.text
    assert sum(a != b for a, b in zip(one.numbers, other.numbers, strict=True)) == 1


def test_the_order_of_numbers_counts() -> None:
    assert of("price 19.24 euros").numbers != of("price 24.19 euros").numbers


def test_headings_are_the_first_title_and_h1_and_their_numbers_have_a_bucket() -> None:
    page = "<title>A shop</title><svg><title>Icon</title></svg><h1>Page <i>{}</i></h1>text"
    one, two = of(page.format("1")), of(page.format("2"))
    assert one.heading == two.heading == of("<title>a shop</title><h1>page</h1>").heading != 0
    assert one.numbers[1:] == two.numbers[1:]
    assert one.numbers[0] != two.numbers[0]
    assert of(page.replace("shop", "store")).heading != one.heading


def test_an_image_counts_by_the_last_segment_of_its_path() -> None:
    page = "<p>A photo</p><img class=x {}>"
    one = of(page.format("src='/photos/1.jpg?v=3'"))
    for same in ('src="https://cdn.example/p/1.jpg"', "SRC=1.jpg", "data-src = '1.jpg' src=''"):
        assert (of(page.format(same)) == one) is ("data-src" not in same)
    assert of(page.format("src=/photos/2.jpg")).numbers != one.numbers


def test_words_are_known_by_the_tag_and_the_class_that_they_stand_under() -> None:
    page = "<p>Words</p><div class='{}'>{}</div><p>last"
    one, other = of(page.format("box", "one")), of(page.format("box", "another one"))
    assert sum(a != b for a, b in zip(one.passages, other.passages, strict=True)) in {1, 2}
    assert of(page.format("box-17", "one")) == of(page.format("box-18", "one"))
    assert of(page.format("box", "one")).passages != of(page.format("bag", "one")).passages
    assert of("<p>new words old").passages == of("<p>old words new").passages, "in any order"


def test_a_sketch_of_an_earlier_version_has_no_passages() -> None:
    made = of("<title>One</title><p>Some words of a page, and 12 others")
    before = made._replace(passages="", links=b"").encode()
    assert len(before) == len(made.encode()) - 13
    assert Sketch.decode(before) == made._replace(passages="", links=b"")
    assert without_details(before) == without_details(made.encode())


def test_links_count_by_the_last_segment_of_their_path_in_any_order() -> None:
    page = "<p>Download it <a href='{}'>here</a> or <a href=/files/2.txt>there</a>"
    one = of(page.format("/files/1.pdf"))
    for same in ("/files/1.pdf?ref=x", "../1.pdf#top", "http://b.example/1.PDF;session=7"):
        assert of(page.format(same)) == one
    assert of(page.format("/files/1.epub")) == one._replace(
        links=of(page.format("/files/1.epub")).links
    )
    assert of(page.format("/files/1.epub")).links != one.links
    assert of(page.format("?sort=name")).links == of("<a href=2.txt>").links


def test_a_page_of_few_words_is_whole() -> None:
    assert of("one two three").shingles == ()
    assert of("one two three four five").whole
    assert not of(
        " ".join(f"w{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]}" for n in range(99))
    ).whole


@pytest.mark.parametrize(
    ("kind", "body", "is_text"),
    [
        ("text/html", b"", True),
        ("text/plain", b"words <b> and more", True),
        ("application/json; charset=utf-8", b'{"a": 1}', True),
        ("application/problem+json", b'{"a": 1}', True),
        ("application/rss+xml", b"<rss>words</rss>", True),
        ("image/png", b"\x89PNG", False),
        ("application/pdf", b"%PDF", False),
        ("application/octet-stream", b"words", False),
        (None, b"<p>words", True),
        (None, b"words", True),
        (None, b"\0\1\2", False),
        (None, b"", False),
    ],
)
def test_which_bodies_are_text(kind: str | None, body: bytes, is_text: bool) -> None:
    assert (sketch(body, kind) is not None) is is_text


def test_tags_of_plain_text_are_text() -> None:
    assert sketch(b"a <b> c", "text/plain") == sketch(b"a b c", "text/plain")
