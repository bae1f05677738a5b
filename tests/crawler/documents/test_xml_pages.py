"""XML is read as XML: namespaces decide, and what is not well-formed is read as HTML."""

import time

import pytest
from support.crawls import crawl, target_of
from support.servers import Answer, ok
from support.tables import each

from canonry.crawler.documents.by_type import read_document
from canonry.crawler.documents.document import Document
from canonry.crawler.documents.feeds import without_entities

URL = "http://a.example/d/"
X = 'xmlns="http://www.w3.org/1999/xhtml"'
SVG = 'xmlns="http://www.w3.org/2000/svg" xmlns:l="http://www.w3.org/1999/xlink"'
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" '
    '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
)


def read(
    text: str, kind: str | None = "application/xhtml+xml", *, embeds: bool = False
) -> Document:
    """Return what a document says."""
    headers = {} if kind is None else {"Content-Type": kind}
    found = read_document(text.encode(), headers, URL, embeds=embeds)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "kind", ["application/xhtml+xml", "text/xml; charset=utf-8", "application/xml", None]
)
def test_xhtml_is_xml_under_every_type(kind: str | None) -> None:
    """An empty script or title swallows nothing."""
    page = (
        f'<?xml version="1.0"?>{DOCTYPE}<html {X}><head><title/><script src="x"/><base href="/b/"/>'
        '<link rel="canonical" href="c"/></head><body><a href="1?a=1&amp;b=2">1</a><a HREF="no"/>'
        '<style/><textarea/><iframe src="2"/><![CDATA[<a href="no">]]><a href="3" rel="nofollow"/>'
        "</body></html>"
    )
    found = read(page, kind)
    assert (found.links, found.unfollowed) == (("1?a=1&b=2", "2"), ("3",))
    assert (found.base, found.canonical) == ("http://a.example/b/", "http://a.example/b/c")


@each(
    ("text", "links"),
    [
        (f'<h:html {X.replace("=", ":h=", 1)}><h:a href="1"/><a href="no"/></h:html>', ("1",)),
        (f'<doc><p {X}><a href="1"/></p><a href="no"/></doc>', ("1",)),
        (f'<svg {SVG}><a l:href="1"/><a href="2"/></svg>', ("1", "2")),
        (f'{DOCTYPE}<html {X}><a href="caf&eacute;&nbsp;"/></html>', ("café\xa0",)),
        (f'<!DOCTYPE html [<!ENTITY r "/root">]><html {X}><a href="&r;/1"/></html>', ("/root/1",)),
        ("<other><a href='no'/></other>", ()),
        # Not well-formed, or without the namespace: read as HTML, in which "/>" still closes.
        (f'<html {X}><script src="x"/><p><a href="1"></html>', ("1",)),
        (f'<html {X}><a href="&unknown;"/></html>', ("&unknown;",)),
        ("<html><title/><a href='1'/></html>", ("1",)),
        ("<html><title>x<a href=no></title><a href=1>", ("1",)),
    ],
)  # fmt: skip
def test_namespaces_decide(text: str, links: tuple[str, ...]) -> None:
    assert read(text).links == links


def test_titles_and_style_sheets_of_xml() -> None:
    page = (
        '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="s.xsl"?>'
        f'<html {X}><head><title>A<!-- x -->  b</title></head><img src="i"/></html>'
    )
    found = read(page, "text/xml", embeds=True)
    assert (found.title, found.links) == ("A b", ("s.xsl", "i"))
    assert read(page, "text/xml").links == ()


def test_an_xml_declaration_names_the_encoding() -> None:
    page = f'<?xml version="1.0" encoding="windows-1251"?><html {X}><a href="?\u044f"/></html>'
    found = read_document(page.encode("cp1251"), {"Content-Type": "text/xml"}, URL)
    assert found is not None
    assert (found.links, found.charset) == (("?%FF",), "windows-1251")


def test_html_is_no_xml_whatever_it_says() -> None:
    page = f'<?xml version="1.0"?><html {X}><title/><a href="no"></title><a href="1"/></html>'
    assert read(page, "text/html").links == ("1",)


BOMB = '<!DOCTYPE a [<!ENTITY a "' + "x" * 1000 + '">]>'


@pytest.mark.parametrize(
    "text",
    [
        f"{BOMB}<html {X}>" + "&a;" * 100_000 + "</html>",
        f'{BOMB}<html {X}><a href="' + "&a;" * 100_000 + '"/></html>',
        f'<html {X}><a href="1" ' + " ".join(f'a{n}=""' for n in range(300_000)) + "/></html>",
        f"<html {X}>" + "<div>" * 200_000 + "</div>" * 200_000 + "</html>",
        "<!DOCTYPE a [" + "<!--" * 100_000,
        "<![CDATA[" * 100_000 + "&x;" * 10,
    ],
)
def test_hostile_xml_takes_no_time(text: str) -> None:
    start = time.thread_time()
    read(text)
    assert time.thread_time() - start < 5


def test_entities_that_stand_for_too_much_are_refused() -> None:
    with pytest.raises(OSError, match="too much text"):
        without_entities(f"{BOMB}<a>" + "&a;" * 100_000 + "</a>")


@pytest.mark.parametrize("kind", ["application/xhtml+xml", "application/xml"])
def test_a_crawl_of_xhtml_goes_on(tmp_path: object, kind: str) -> None:
    def answer(head: bytes) -> Answer:
        if target_of(head) == "/robots.txt":
            return ok(b"")
        page = f'<html {X}><head><script src="x"/></head><a href="/1"/><a href="/2"/></html>'
        return ok(page.encode(), f"Content-Type: {kind}")

    _, pages = crawl(tmp_path, answer)  # type: ignore[arg-type]
    assert len(pages) == 3
