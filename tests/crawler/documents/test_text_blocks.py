"""Blocks: what the visible text of a page says, and where."""

import pytest

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.documents.text_blocks import MOST, TextBlock, decoded, place_of

HTML = "text/html"


def blocks(html: str, kind: str | None = HTML) -> tuple[TextBlock, ...]:
    found = blocks_of(html.encode(), kind)
    assert found is not None
    return decoded(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>a b</p>", "<p>a  b\n</p>"),
        ("<p>a", "<p>a</p><!-- x --><script>var y</script>"),
        ("<p class='post-17'>a</p>", "<p class='post-18'>a</p>"),
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"),
        ("<img src='/a.png?v=1'>", '<IMG SRC="/a.png?v=2">'),
        ("<a href='/x'>a</a>", "<a href='/y'>a</a>"),
        ("<p title='a>b'>c</p>", "<p>c</p>"),
        ("<p>a<br>b</p>", "<p>a<br/>b</p>"),
    ],
)
def test_what_is_not_told(one: str, other: str) -> None:
    assert blocks(one) == blocks(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>a b</p>", "<p>b a</p>"),
        ("<p>Price 12.50</p>", "<p>Price 12.60</p>"),
        ("<p class=a>x</p>", "<p class=b>x</p>"),
        ("<nav>x</nav>", "<main>x</main>"),
        ("<img src=/a.png>", "<img src=/b.png>"),
        ("<p>a</p><p>b</p>", "<p>b</p><p>a</p>"),
        ("<p>価格</p>", "<p>価値</p>"),
    ],
)
def test_what_is_told(one: str, other: str) -> None:
    assert blocks(one) != blocks(other)


def test_a_clock_spoils_one_block_of_a_paragraph() -> None:
    words = " ".join(f"w{n}" for n in range(40))
    before = blocks(f"<p>{words}. It is 10:15 now. And so on.</p>")
    after = blocks(f"<p>{words}. It is 10:16 now. And so on.</p>")
    assert len(before) == len(after) == 5
    assert len(set(before) ^ set(after)) == 2


def test_each_line_of_preformatted_text_is_a_block() -> None:
    assert len(blocks("<pre>one\ntwo three\n\nfour</pre>")) == 3
    assert len(blocks("one\ntwo three\n\nfour", "text/plain")) == 3
    assert len(blocks("<p>one\ntwo three\n\nfour</p>")) == 1


def test_text_without_spaces_is_cut() -> None:
    one, other = "価" * 200, "価" * 199 + "格"
    assert len(blocks(f"<p>{one}</p>")) == 1
    assert len(blocks(f"<p>{'価' * 2000}</p>")) > 5
    assert blocks(f"<p>{one}</p>") != blocks(f"<p>{other}</p>")


def test_places_are_paths_of_tags() -> None:
    first, second, third = blocks("<div><p>a</p><p>b</p><b>c</b></div>")
    assert place_of(first) == place_of(second) != place_of(third)


def test_what_is_beyond_the_limit_is_one_block() -> None:
    many = MOST + 100
    page = "".join(f"<p>{n}</p>" for n in range(many))
    found = blocks(page)
    assert len(found) == MOST + 1
    assert found[:-1] == blocks(page.replace(f"<p>{many - 1}<", "<p>other<"))[:-1]
    assert found[-1] != blocks(page.replace(f"<p>{many - 1}<", "<p>other<"))[-1]


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "application/octet-stream"])
def test_what_is_no_text_has_no_blocks(kind: str) -> None:
    assert blocks_of(b"<p>a</p>", kind) is None
    assert blocks_of(b"\0\1", None) is None
