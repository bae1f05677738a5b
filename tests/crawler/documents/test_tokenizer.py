"""Tags are read as browsers read them, in linear time, however hostile the markup."""

import time
from collections.abc import Callable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser
from support.strategies import tries
from support.tables import each

from canonry.crawler.documents import html
from canonry.crawler.documents.page_scan import scan_plainly
from canonry.crawler.documents.text_blocks import Visible
from canonry.crawler.documents.tokenizer import tokens

URL = "http://a.example/"


class Seen:
    """Keeps the tags of a page."""

    def __init__(self, text: str) -> None:
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.titles: list[str] = []
        scan_plainly(text.encode(), self, xml=False, blocks=False, embeds=True)

    def add_link(self, reference: str) -> None:
        self.add("a", {"href": reference})

    def add_title(self, text: str) -> None:
        self.titles.append(text)

    def add(self, name: str, attributes: dict[str, str]) -> None:
        self.tags.append((name, attributes))


# Every piece that changes how what follows is read, beside the tags that count.
PIECES = [
    "<a href=1>", '<A HREF="2" rel=nofollow>', "<a href='3&amp;x&copy=1&copy;&notit;&#x41;&#128;'>",
    "</a>", '<div title="<a href=no>">', "<div title='>'>", "<p>", "</p>", "text",
    "<!-- <a href=no> -->", "<!-->", "<!--->", "--!>", "-->", "<!--", "<script>", "</script>",
    "<script src=x />", "<style>", "</style>", "<title>", "</title>", "<textarea>", "</textarea>",
    "<svg><title>t</title><a href=4></a></svg>", "<svg><script src=y /></svg>", "<svg/>", "<b",
    "<a href", '"', "'", ">", "<", "</", "<!", "<?php ?>", "<br/>", "<iframe src=f>", "</iframe>",
    '<img src=i srcset="s 1x">', "<noscript>", "</noscript>", "<form action=/f>", "</form>",
    '<a class="x" href="5?a=1&amp;b=2" title="t">', "<a  href = '6' href=7>", "<a/href=8/>", "</x>",
    "<template>", "</template>", "<xmp>", "</xmp>", "<plaintext>", "<h1 a=b c>", "<a href=9", "\0",
    '<a href="&#0;&#xD800;&#9999999999;&lt">', "<link rel=x href=l>", "<meta content=c>",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=tries(2))
def test_a_tree_of_the_same_page_has_the_same_tags(text: str) -> None:
    """A parser that builds the whole tree is the oracle. It repeats the links that it closes."""
    tree = LexborHTMLParser(text)
    linking = tree.css("a[href], link, form, iframe, img, script, meta")
    expected = {(node.tag or "", _read(node.attributes)): None for node in linking}
    seen = Seen(text)
    assert list({(name, _read(given)): None for name, given in seen.tags}) == list(expected)
    if "svg" not in text:  # which may have titles of their own
        assert seen.titles == [node.text() for node in tree.css("title")]


class Shown:
    """Keeps the visible text of a page, without its white space."""

    def __init__(self, text: str) -> None:
        self.text = ""
        visible = Visible(self)
        for token in tokens(text.encode(), xml=False):
            visible.read(token)

    def open(self, tag: bytes, kind: bytes) -> None: ...

    def close(self, tag: bytes) -> None: ...

    def add(self, text: bytes) -> None:
        self.text += "".join(text.decode().split())

    def add_image(self, source: bytes) -> None: ...


# Elements that hide their text; an unclosed <noscript> ends where its parent does in a tree.
HIDDEN = ["script", "style", "noscript", "template", "iframe", "noembed", "noframes"]
SHOWN = [
    *(one for one in PIECES if "&" not in one and one not in {"<noscript>", "</noscript>", "\0"}),
    *("<noscript>a<b>b</b></noscript>", "<noembed>a", "</noembed>", "<noframes>b", "</noframes>"),
    *(
        "a < b",
        "<1",
        "</ x>",
        "one.",
        "<li>",
        "<pre>",
        "</pre>",
        "<br>",
        "<div class='x>y'>",
        "<?x>",
    ),
]


@given(st.lists(st.sampled_from(SHOWN), max_size=12).map("".join))
@settings(max_examples=tries(2))
def test_a_tree_of_the_same_page_has_the_same_visible_text(text: str) -> None:
    page = f"<body>{text}."
    tree = LexborHTMLParser(page)
    tree.strip_tags(HIDDEN)
    body = tree.root
    assert body is not None
    assert Shown(page).text == "".join(body.text().split())


def _read(attributes: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the attributes that count in a link; "" if they have no value."""
    return tuple(attributes[name] or "" for name in ("href", "rel") if name in attributes)


@each(
    ("text", "references"),
    [
        ('<svg><script xlink:href="a.js"/></svg><a href=b>', ["b"]),
        ("<svg><title/><style/></svg><a href=b>", ["b"]),
        ("<math><mtext><a href=b></math>", ["b"]),
        ("<script>'<!--<script></script><a href=no>--></script><a href=b>", ["b"]),
        ("<script><!-- '</script><a href=b>", ["b"]),
        ("<template><a href=no></template><a href=b>", ["b"]),
        ("<a href=b x=<a href=no>", ["b"]),
        ("<title><a href=no></TITLE\n><a href=b>", ["b"]),
        ("<!doctype html SYSTEM '<a href=no>'><a href=b>", ["b"]),
        ("<a " + "x " * 5000 + "><a href=b>", ["b"]),
    ],
)
def test_what_is_text_and_what_is_a_tag(text: str, references: list[str]) -> None:
    found = [given["href"] for name, given in Seen(text).tags if "href" in given]
    assert found == references


HOSTILE: dict[str, Callable[[int], str]] = {
    "deep": lambda n: "<div>" * (n // 5),
    "deep and wide": lambda n: "<div>" * (n // 10) + "</p>" * (n // 10),
    "lists": lambda n: "<ul><li>" * (n // 8),
    "tables": lambda n: "<table><b><a>" * (n // 13),
    "attributes": lambda n: "<a " + " ".join(f"a{i}=1" for i in range(n // 8)) + " href=x>",
    "bare attributes": lambda n: "<a " + " ".join(f"a{i}" for i in range(n // 7)) + ">",
    "bodies": lambda n: "".join(f"<body a{i}=1>" for i in range(n // 14)),
    "misnested": lambda n: "".join(f"<font x={i}>" for i in range(n // 26)) + "<p>x" * (n // 8),
    "links": lambda n: "".join(f"<a href=/{i}>" for i in range(n // 15)),
    "less-than signs": lambda n: "<" * n,
    "unfinished tags": lambda n: "<a" * (n // 2),
    "unfinished quotes": lambda n: "<a b=\"<a b='" * (n // 12),
    "unfinished comments": lambda n: "<!--" * (n // 4),
    "dashes": lambda n: "<!--" + "-" * n,
    "comments": lambda n: "<!---->" * (n // 7),
    "scripts": lambda n: "<script><!--" * (n // 12),
    "nested scripts": lambda n: "<script><!--<script></script>" * (n // 29),
    "titles": lambda n: "<title>" * (n // 7),
    "drawings": lambda n: "<svg><title/>" * (n // 13),
    "references": lambda n: '<a href="' + "&a" * (n // 2) + '">',
    "digits": lambda n: '<a href="&#' + "1" * n + '">',
    "declarations": lambda n: "<!x" * (n // 3),
    "text": lambda n: "x" * n,
}


@each("name", HOSTILE)
def test_the_time_grows_with_the_length_only(name: str) -> None:
    """Four times the page takes four times as long; quadratic time would be sixteen times."""

    def seconds(length: int) -> float:
        body = HOSTILE[name](length).encode()
        start = time.thread_time()
        html.read(body, "text/html; charset=utf-8", URL, embeds=True)
        return time.thread_time() - start

    small, large = 100_000, 400_000
    least = min(seconds(small) for _ in range(3))
    assert min(seconds(large) for _ in range(3)) < 9 * least + 0.02


def test_hostile_beginnings_of_files_take_no_time() -> None:
    assert not html.looks_like_html(b"<!---->" * 100_000)
