"""Links as browsers find them, also in broken pages."""

import pytest
from support.tables import each

from canonry.crawler.documents import document, html

URL = "http://a.example/dir/page?q"


def links(body: str, content_type: str = "text/html; charset=utf-8") -> tuple[str, ...]:
    """Return the links of a page, as written."""
    return html.read(body.encode(), content_type, URL).links


def test_links_are_in_order_and_unique() -> None:
    body = '<a href="b"><area href=a><a href=b><iframe src="c"></iframe><a>no</a><a href>'
    assert links(body) == ("b", "a", "c", "")


def test_frames_are_links() -> None:
    assert links('<frameset><frame src="a"><frame src="b"></frameset>') == ("a", "b")


def test_entities_are_decoded_once_and_nothing_else_is() -> None:
    assert links('<a href="?a=1&amp;b=2&amp;amp;c">') == ("?a=1&b=2&amp;c",)
    assert links('<a href=" /x%20y \n">') == (" /x%20y \n",)


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", URL),
        ('<base href="/up/">', "http://a.example/up/"),
        ('<base href="http://b.example/x">', "http://b.example/x"),
        ('<base href="/1/"><base href="/2/">', "http://a.example/1/"),
        ('<base target="_top"><base href="/2/">', "http://a.example/2/"),
        ('<base href="http://[">', URL),
        ('<base href="data:text/html,x">', URL),
        ('<base href="javascript:1">', URL),
        ('<base href="">', URL),
    ],
)
def test_the_first_base_counts(head: str, base: str) -> None:
    assert html.read(f"<html>{head}<a href=x>".encode(), "text/html", URL).base == base


@pytest.mark.parametrize(
    ("head", "canonical"),
    [
        ('<link rel="canonical" href="/c">', "http://a.example/c"),
        ('<link rel="Canonical nofollow" href="c">', "http://a.example/dir/c"),
        ('<base href="/up/"><link rel=canonical href=c>', "http://a.example/up/c"),
        ('<link rel="canonical" href="http://[">', None),
        ('<link rel="canonicals" href="/c">', None),
        ('<link rel="canonical">', None),
    ],
)
def test_the_canonical_link(head: str, canonical: str | None) -> None:
    assert html.read(f"<html>{head}".encode(), "text/html", URL).canonical == canonical


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<a href='/é'>".encode(), "text/html; charset=utf-8"),
        ("<a href='/é'>".encode(), "text/html"),
        ("<a href='/é'>".encode("cp1252"), "text/html"),
        ("<a href='/é'>".encode("cp1252"), "text/html; charset=ISO-8859-1"),
        (b"<meta charset=windows-1252>" + "<a href='/é'>".encode("cp1252"), "text/html"),
        ("<a href='/é'>".encode("utf-8-sig"), "text/html; charset=latin1"),
        ("\ufeff<a href='/é'>".encode("utf-16-le"), "text/html"),
        ("<a href='/é'>".encode(), "text/html; charset=no-such-thing"),
        ("<a href='/é'>".encode(), "text/html; charset=rot13"),
    ],
)
def test_encodings(body: bytes, content_type: str) -> None:
    assert html.read(body, content_type, URL).links == ("/é",)


def test_titles_are_collapsed_and_cut() -> None:
    assert html.read(b"<title> a\n  b </title>", "text/html", URL).title == "a b"
    assert html.read(b"<title></title>", "text/html", URL).title is None
    long = html.read(b"<title>" + b"x" * 100_000, "text/html", URL).title
    assert long == "x" * 1000


def test_broken_pages_still_have_links() -> None:
    body = "<p><b><table><tr><a href='1'><ul><a href=2 <a href=3></b>\0<![CDATA[<a href=4>"
    assert links(body)[:2] == ("1", "2")


@pytest.mark.parametrize("body", [b"", b"\0" * 1000, b"\xff\xfe", b"<" * 10_000, b"\xef\xbb\xbf"])
def test_a_body_that_is_not_a_page_has_no_links(body: bytes) -> None:
    assert html.read(body, None, URL).links == ()


@pytest.mark.parametrize(
    ("content_type", "body", "answer"),
    [
        ("text/html", b"", True),
        ("TEXT/HTML;charset=x", b"", True),
        ("application/xhtml+xml", b"", False),
        ("application/json", b"<html>", False),
        (None, b"  <html>", True),
        (None, b"%PDF", False),
    ],
)
def test_which_responses_are_read_as_html(
    content_type: str | None, body: bytes, answer: bool
) -> None:
    assert html.is_html(content_type, body) is answer


@each(
    ("page", "links", "unfollowed"),
    [
        ("<a href=a rel='x NoFollow'>", (), ("a",)),
        ("<a href=a rel=nofollow><a href=a>", ("a",), ()),
        ("<a href=a><a href=a rel=nofollow>", ("a",), ()),
        ("<meta name=robots content=none><a href=a>", (), ("a",)),
        ("<a href=a><meta name=ROBOTS content='noindex,nofollow'>", (), ("a",)),
        ("<meta name=canonry content=nofollow><a href=a>", (), ("a",)),
        ("<meta name=googlebot content=nofollow><a href=a>", ("a",), ()),
        ("<meta name=robots content=noindex><a href=a>", ("a",), ()),
        ("<meta content=nofollow><a href=a>", ("a",), ()),
        ("<link rel=next href=n><link rel='alternate x' href=b>", ("n", "b"), ()),
        ("<link rel=stylesheet href=s>", (), ()),
        ("<meta http-equiv=Refresh content='5; URL=r'>", ("r",), ()),
        ("<meta http-equiv=refresh content='0;\"r s\"'>", ("r s",), ()),
        ("<meta http-equiv=refresh content='0.5, r'>", ("r",), ()),
        ("<meta http-equiv=refresh content='5'>", (), ()),
        ("<meta http-equiv=refresh content='5;'>", (), ()),
        ("<meta http-equiv=refresh content='x; url=r'>", (), ()),
    ],
)  # fmt: skip
def test_directives_and_links_of_pages(
    page: str, links: tuple[str, ...], unfollowed: tuple[str, ...]
) -> None:
    found = html.read(page.encode(), None, "http://a.example/", "Canonry")
    assert (found.links, found.unfollowed) == (links, unfollowed)


@each(
    ("values", "forbidden"),
    [
        (["nofollow"], True),
        (["noindex, NONE"], True),
        (["noindex"], False),
        (["canonry: nofollow"], True),
        (["otherbot: nofollow"], False),
        (["otherbot: noindex, nofollow"], False),
        (["otherbot: noindex", "nofollow"], True),
        (["unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow"], True),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow"], True),
        (["unavailable_after: Fri, 2010-06-25T15:00:00Z, nofollow"], True),
        (["bot: unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow"], False),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, bot2: nofollow"], False),
        (["max-snippet: 20"], False),
        ([], False),
    ],
)
def test_nofollow_in_headers(values: list[str], forbidden: bool) -> None:
    assert document.header_forbids_following(values, "canonry") is forbidden


@pytest.mark.parametrize(
    ("values", "target"),
    [
        (["<http://a.example/>; rel=canonical"], "http://a.example/"),
        (['</a,b;c>; title="x, <y>; rel=canonical"; REL="next  Canonical"'], "/a,b;c"),
        (['</n>; rel="next", </c>;rel=canonical;x'], "/c"),
        (["</n>; rel=next", "</c>; rel=canonical"], "/c"),
        (["</n>; rel=next"], None),
        (["rel=canonical"], None),
        (["</n>; rel"], None),
        (["<" * 100_000 + ";" * 100_000], None),
        (["<a>" + ";x" * 100_000 + "</c>; rel=canonical"], "/c"),
    ],
)
def test_the_canonical_link_of_a_header(values: list[str], target: str | None) -> None:
    named = document.link_headers(values)
    assert next((link for link, how in named if "canonical" in how), None) == target


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("<form action=/find><input name=q></form>", ("/find",)),
        ("<form action=/find method=GET>", ("/find",)),
        ("<form action=/send method=post>", ()),
        ("<form action=/x method=dialog>", ()),
        ("<form><input name=q></form>", ()),
    ],
)
def test_forms_with_get_are_links(body: str, found: tuple[str, ...]) -> None:
    assert links(body) == found


EMBEDDING = """<link rel=stylesheet href=s.css><link rel="shortcut icon" href=i.ico>
<img src=1.png srcset="2.png 2x, 3.png 640w,4.png"><picture><source srcset=5.webp></picture>
<video src=6.mp4 poster=7.jpg><track src=8.vtt></video><audio src=9.ogg></audio>
<embed src=10.swf><object data=11.pdf></object><script src=12.js></script>
<input type=image src=13.gif><input src=no.gif><img src="data:image/png;base64,AA"><img>"""


def test_embedded_things_are_links_on_request() -> None:
    read = html.read(EMBEDDING.encode(), "text/html", URL, embeds=True).links
    numbers = [link.partition(".")[0] for link in read]
    assert numbers == ["s", "i", *map(str, range(1, 14))]
    assert links(EMBEDDING) == ()


@each(
    ("srcset", "found"),
    [
        ("a", ["a"]),
        ("a, b 2x", ["a", "b"]),
        ("a 1x, b 2x ,c", ["a", "b", "c"]),
        ("a,b", ["a,b"]),
        ("a,, b", ["a", "b"]),
        (" ,, a (x, y) 1w, b", ["a", "b"]),
        ("data:image/png,x 1x, b 2x", ["data:image/png,x", "b"]),
        ("", []),
        (" , ", []),
        ("a (", ["a"]),
    ],
)
def test_the_urls_of_a_srcset(srcset: str, found: list[str]) -> None:
    assert list(html.srcset_urls(srcset)) == found


def test_a_hostile_srcset_takes_no_time() -> None:
    assert len(list(html.srcset_urls("a (" * 50_000))) == 1
    assert len(list(html.srcset_urls("," * 500_000))) == 0


@each(
    ("charset", "link", "sent"),
    [
        ("windows-1252", "?q=é", "?q=%E9"),
        ("iso-8859-1", "/é?q=é#é", "/é?q=%E9#é"),
        ("utf-8", "?q=é", "?q=é"),
        ("windows-1251", "?q=я", "?q=%FF"),
        ("shift_jis", "?q=表", "?q=%95\\"),
        ("euc-jp", "?q=日本", "?q=%C6%FC%CB%DC"),
        ("gb2312", "?q=中", "?q=%D6%D0"),
        ("windows-1252", "?q=中&x", "?q=%26%2320013%3B&x"),
        ("windows-1252", "http://b.example/?é", "http://b.example/?%E9"),
        ("windows-1252", "/é", "/é"),
        ("windows-1252", "#?é", "#?é"),
        ("windows-1252", "?q=\x81", "?q=%81"),
    ],
)
def test_queries_are_sent_in_the_encoding_of_their_page(charset: str, link: str, sent: str) -> None:
    """Source: the URL Standard's query state."""
    page = f'<a href="{link}">'
    codec = {"gb2312": "gbk", "shift_jis": "cp932"}.get(charset, charset)
    body = (
        bytes(ord(c) if c == "\x81" else c.encode(codec)[0] for c in page)
        if "\x81" in page
        else (page.encode(codec, "xmlcharrefreplace"))
    )
    read = html.read(body, f"text/html; charset={charset}", URL)
    assert read.links == (sent,)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        ("ASCII", "windows-1252"),
        ("utf8", "utf-8"),
        ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("no-such-thing", "utf-8"),
    ],
)
def test_charset_labels_are_those_of_the_encoding_standard(label: str, name: str) -> None:
    assert html.read(b"<p>", f"text/html; charset={label}", URL).charset == name


def test_a_meta_that_names_utf_16_means_utf_8() -> None:
    assert html.read(b"<meta charset=utf-16><a href=x>", "text/html", URL).charset == "utf-8"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('</2>; rel="next"', [("/2", {"next"})]),
        ("</2>; rel=next, </0>; rel=prev", [("/2", {"next"}), ("/0", {"prev"})]),
        ('</2>; rel=next; anchor="#x"', []),
        ("</2>", [("/2", set())]),
    ],
)
def test_the_links_of_link_headers(value: str, found: list[tuple[str, set[str]]]) -> None:
    assert [(link, set(how)) for link, how in document.link_headers([value])] == found
